"""Spread: one offset for good, inside its window, never past the next fire, where less is due."""

from collections import Counter
from dataclasses import replace
from itertools import islice, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cronfleet.domain.calendar import CalendarRule, Mode
from cronfleet.domain.dispatch_plan import first_fire
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import HOUR, MINUTE, SECOND, Instant
from cronfleet.domain.spread import Spread, draw, kept, parse_spread, spread_text
from cronfleet.domain.trigger import OneShotTrigger, Trigger, fires
from tests.support.builders import at, cron, every, timer

NOW = at("2026-11-30 12:00:30")
HALF_AN_HOUR = Spread(1_800)
TRIGGERS: tuple[Trigger, ...] = (
    cron("0 0 * * *"),
    cron("* * * * *"),
    cron("0,5 * * * *"),
    cron("30 1 * * *", "America/New_York"),
    cron("*/5 9-17 * * 1-5", "Asia/Kolkata"),
    cron("0 0 29 2 *"),
    every(1),
    every(90, 7 * SECOND),
    OneShotTrigger(NOW + HOUR, "soon", None),
)


@given(st.sampled_from(TRIGGERS), st.integers(1, 86_400), st.text("abc~", max_size=8))
@settings(max_examples=60)
def test_an_offset_lies_inside_its_window_and_before_the_next_fire(trigger: Trigger, window: int, key: str) -> None:
    drawn = draw(Spread(window), key, trigger, NOW, None)
    offset = drawn.offset_seconds
    assert offset is not None
    assert 0 <= offset <= window
    ahead = list(islice(fires(trigger, NOW), 20))
    assert all(earlier + offset * SECOND < later for earlier, later in pairwise(ahead))
    assert drawn == draw(Spread(window), key, trigger, NOW, None)


def test_every_fire_of_a_spread_schedule_is_put_off_by_the_same() -> None:
    spread = timer(cron("0 * * * *"), None, jitter_seconds=734, is_spread=True)
    fire, offsets = first_fire(spread, NOW), set()
    for _ in range(50):
        assert fire is not None
        offsets.add(fire.due_at - fire.nominal_at)
        fire = first_fire(spread, fire.nominal_at)
    assert offsets == {734 * SECOND}


def test_a_fire_that_another_follows_closely_or_that_is_near_the_end_is_put_off_by_less() -> None:
    # 02:30 is skipped on 8 March in New York: both come right after the gap, at 03:00 and at 03:10.
    uneven = timer(cron("30 2,3 * * *", "America/New_York"), None, jitter_seconds=3_000, is_spread=True)
    fire = first_fire(uneven, at("2026-03-08 06:59"))
    assert fire is not None
    assert fire.due_at < fire.nominal_at + 30 * MINUTE
    ends = timer(cron("0 0 * * *"), None, jitter_seconds=600, is_spread=True, end_at=at("2026-12-01 00:05"))
    last = first_fire(ends, NOW)
    assert last is not None
    assert last.due_at == at("2026-12-01 00:05")


def test_of_two_offsets_the_one_at_which_less_is_due_is_taken() -> None:
    def crowded_first_half(instant: Instant) -> int:
        return 100 if instant % HOUR < 30 * MINUTE else 0

    midnight, names = cron("0 0 * * *"), [f"acme~s{number}" for number in range(400)]
    blind = Counter(_is_late(draw(Spread(), name, midnight, NOW, None)) for name in names)
    seeing = Counter(_is_late(draw(Spread(), name, midnight, NOW, crowded_first_half)) for name in names)
    assert 160 < blind[True] < 240
    assert 270 < seeing[True] < 330, "three quarters: both candidates fall into the first half for one in four"


def _is_late(spread: Spread) -> bool:
    assert spread.offset_seconds is not None
    return spread.offset_seconds >= 1_800


def test_an_offset_is_kept_until_the_trigger_or_the_window_is_another() -> None:
    drawn = Spread(3_600, 734)
    assert kept(Spread(), cron("0 2 * * *"), drawn, cron("0 2 * * *")) == drawn
    assert kept(Spread(), cron("0 3 * * *"), drawn, cron("0 2 * * *")) == Spread()
    assert kept(HALF_AN_HOUR, cron("0 2 * * *"), drawn, cron("0 2 * * *")) == HALF_AN_HOUR
    assert kept(Spread(), cron("0 2 * * *"), None, cron("0 2 * * *")) == Spread()
    brought_back = replace(HALF_AN_HOUR, offset_seconds=5)
    assert kept(brought_back, cron("0 3 * * *"), drawn, cron("0 2 * * *")) == brought_back


def test_a_new_version_of_its_calendar_moves_no_offset() -> None:
    """Also where a schedule is put again as it was, while the new version is still on its way to it."""
    drawn, nightly = Spread(3_600, 734), cron("0 2 * * *")
    first, second = (replace(nightly, calendar=CalendarRule("days", version, Mode.EXCLUDE)) for version in (1, 2))
    assert kept(Spread(), second, drawn, first) == drawn
    assert kept(Spread(), replace(second, calendar=CalendarRule("others", 2, Mode.EXCLUDE)), drawn, first) == Spread()
    assert kept(Spread(), nightly, drawn, first) == Spread()


@pytest.mark.parametrize(
    ("text", "window"), [("auto", 3_600), ("auto:30m", 1_800), ("auto:60m", 3_600), ("auto:1d", 86_400)]
)
def test_a_spread_is_read_and_written(text: str, window: int) -> None:
    assert parse_spread(text) == Spread(window)
    assert parse_spread(spread_text(Spread(window))) == Spread(window)


@pytest.mark.parametrize("text", ["", "Auto", "auto:", "auto:0s", "auto:2d", "auto 30m", "30m"])
def test_what_is_no_spread_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(Invalid, match='write "auto", or "auto:"'):
        parse_spread(text)
