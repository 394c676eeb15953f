"""Quiet hours: nights that go over midnight, days that they begin on, changes of the clock."""

import pytest

from cronfleet.domain.errors import Invalid
from cronfleet.domain.quiet_hours import QuietHours, next_time_of_day, parse_quiet_hours
from tests.support.builders import at

NIGHT = QuietHours(22 * 60, 7 * 60, "UTC")


@pytest.mark.parametrize(
    ("now", "until"),
    [
        ("2026-12-01 21:59:59", None),
        ("2026-12-01 22:00", "2026-12-02 07:00"),
        ("2026-12-02 06:59:59", "2026-12-02 07:00"),
        ("2026-12-02 07:00", None),
    ],
)
def test_a_night_goes_over_midnight(now: str, until: str | None) -> None:
    assert NIGHT.until(at(now)) == (None if until is None else at(until))


def test_a_night_belongs_to_the_day_that_it_begins_on() -> None:
    friday = QuietHours(22 * 60, 7 * 60, "UTC", (4,))
    assert friday.until(at("2026-12-05 03:00")) == at("2026-12-05 07:00")  # a Saturday morning
    assert friday.until(at("2026-12-04 03:00")) is None
    assert friday.until(at("2026-12-05 23:00")) is None


def test_days_that_follow_each_other_are_one_stretch() -> None:
    weekend = QuietHours(0, 0, "UTC", (5, 6))
    assert weekend.until(at("2026-12-05 03:00")) == at("2026-12-07 00:00")


def test_always_quiet_ends_some_day() -> None:
    assert QuietHours(0, 0, "UTC").until(at("2026-12-05 03:00")) is not None


def test_the_clock_of_the_zone_counts_also_where_it_changes() -> None:
    berlin = QuietHours(22 * 60, 7 * 60, "Europe/Berlin")
    assert berlin.until(at("2026-03-28 22:00")) == at("2026-03-29 05:00")
    assert berlin.until(at("2026-10-24 21:00")) == at("2026-10-25 06:00")


def test_a_time_of_day_that_the_clock_skips_comes_after_the_gap() -> None:
    assert next_time_of_day(at("2026-03-28 12:00"), 2 * 60 + 30, "Europe/Berlin") == at("2026-03-29 01:00")
    assert next_time_of_day(at("2026-12-01 06:00"), 6 * 60, "UTC") == at("2026-12-02 06:00")


@pytest.mark.parametrize(
    "said", [("24:00", "07:00", "UTC"), ("22", "07:00", "UTC"), ("22:00", "7", "UTC"), ("22:00", "07:00", "Mars")]
)
def test_what_is_no_time_or_zone_is_refused(said: tuple[str, str, str]) -> None:
    with pytest.raises(Invalid):
        parse_quiet_hours(*said)
