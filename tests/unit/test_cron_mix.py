"""The mix of public crontabs, and what spreading does to a small draw of it."""

import random
from xml.etree import ElementTree as Xml

import pytest

from benchmarks import spread, spread_picture
from benchmarks.cron_mix import drawn, found, mean_fires_a_day, thinned


def test_the_mix_is_thinned_to_the_pace_that_is_asked_for() -> None:
    assert mean_fires_a_day(thinned(14.4)) == pytest.approx(14.4)
    rare = {line.expression: line.weight for line in found() if line.fires_a_day <= 24}
    assert rare.items() <= {line.expression: line.weight for line in thinned(14.4)}.items()
    assert drawn(random.Random(1), 5) == drawn(random.Random(1), 5)
    with pytest.raises(ValueError, match="cannot be had"):
        thinned(10_000)


def test_spreading_flattens_the_peak_of_a_small_draw_and_the_picture_shows_both() -> None:
    lines = drawn(random.Random(1), 150, thinned(5))
    before, after = (spread.profile(list(spread.timers(way, lines))).minutes for way in (spread.BEFORE, spread.AFTER))
    assert before.sum() == pytest.approx(after.sum(), rel=0.01)
    assert spread.ratio(after) < spread.ratio(before) / 3
    drawing = spread_picture.svg(before[:1_440].tolist(), after[:1_440].tolist())
    picture = Xml.fromstring(drawing)  # noqa: S314 - we have just written it
    assert len(picture.findall("{http://www.w3.org/2000/svg}path")) == 2
