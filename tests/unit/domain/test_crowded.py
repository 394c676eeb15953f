"""Crowded times, and the jitter that they have by default."""

import pytest

from cronfleet.domain.crowded import DEFAULT_JITTER_SECONDS, Jitter, default_jitter, jitter_of
from cronfleet.domain.trigger import OneShotTrigger
from tests.support.builders import at, cron, every


@pytest.mark.parametrize("expression", ["0 0 * * *", "@daily", "@monthly", "0 * * * *", "0 */6 * * *", "0 0 * * mon"])
def test_midnight_sharp_is_spread_over_a_minute_unless_someone_says_otherwise(expression: str) -> None:
    assert default_jitter(cron(expression, "Asia/Kolkata")) == DEFAULT_JITTER_SECONDS


@pytest.mark.parametrize(
    "expression", ["0 2 * * *", "30 0 * * *", "* * * * *", "*/30 * * * *", "0,30 0 * * *", "0 9-17 * * *"]
)
def test_every_other_cron_keeps_its_second(expression: str) -> None:
    assert default_jitter(cron(expression)) == 0


def test_intervals_and_one_shots_keep_their_second_even_at_midnight() -> None:
    midnight = at("2026-12-01 00:00")
    assert default_jitter(every(24 * 3600, midnight)) == 0
    assert default_jitter(OneShotTrigger(midnight, "2026-12-01T00:00:00Z", None)) == 0


def test_where_a_jitter_comes_from_is_told_by_its_time() -> None:
    midnight, two = cron("0 0 * * *"), cron("0 2 * * *")
    assert [jitter_of(midnight, seconds) for seconds in (0, 60, 90)] == [Jitter.NONE, Jitter.DEFAULT, Jitter.CHOSEN]
    assert jitter_of(two, 60) is Jitter.CHOSEN
