"""Triggers: read, described, stored, and stepped through."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import islice, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cronfleet.domain import cron, zones
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import DAY, HOUR, LATEST, MINUTE, SECOND, Instant, from_datetime, to_text
from cronfleet.domain.trigger import (
    CronTrigger,
    IntervalTrigger,
    OneShotTrigger,
    Trigger,
    describe,
    fires,
    from_record,
    latest_fires,
    parse_trigger,
    to_record,
)
from simulator.oracle import zone as oracle_zone
from tests.support.cron_expressions import changes, expressions

NOW = from_datetime(datetime(2026, 11, 29, 12, 0, 0, 250_000, tzinfo=UTC))


def _at(text: str) -> Instant:
    return from_datetime(datetime.fromisoformat(text))


def _can_fire(expression: str) -> bool:
    try:
        cron.parse(expression)
    except Invalid:
        return False
    return True


crons = st.builds(
    CronTrigger,
    expressions().filter(_can_fire),
    st.sampled_from(["UTC", "Asia/Kolkata", "America/New_York", "Pacific/Apia"]),
)
intervals = st.builds(
    IntervalTrigger, st.integers(1, 366 * 86_400), st.integers(0, LATEST // SECOND).map(lambda second: second * SECOND)
)
one_shots = st.integers(NOW // SECOND + 1, LATEST // SECOND).map(
    lambda second: OneShotTrigger(second * SECOND, to_text(second * SECOND), None)
)
triggers: st.SearchStrategy[Trigger] = crons | intervals | one_shots


def test_a_cron_trigger_is_read_trimmed_and_described_as_read() -> None:
    trigger = parse_trigger({"cron": " 0  2 * * * ", "timezone": "Asia/Kolkata"}, NOW)
    assert trigger == CronTrigger("0 2 * * *", "Asia/Kolkata")
    assert describe(trigger) == {"cron": "0 2 * * *", "timezone": "Asia/Kolkata"}
    assert trigger.next_after(NOW) == _at("2026-11-29T20:30:00+00:00")


def test_an_interval_without_an_anchor_counts_from_now_cut_to_the_second() -> None:
    trigger = parse_trigger({"every": "10s"}, NOW)
    assert describe(trigger) == {"every": "10s", "anchor": "2026-11-29T12:00:00Z"}
    assert trigger.next_after(NOW) == _at("2026-11-29T12:00:10+00:00")


def test_an_interval_fires_before_and_after_its_anchor() -> None:
    trigger = parse_trigger({"every": "1h", "anchor": "2030-01-01T00:30:00+01:00"}, NOW)
    assert trigger.next_after(NOW) == _at("2026-11-29T12:30:00+00:00")
    assert trigger.next_after(_at("2031-01-01T00:30:00+00:00")) == _at("2031-01-01T01:30:00+00:00")


def test_an_anchor_between_two_seconds_is_never_early() -> None:
    trigger = parse_trigger({"every": "10s", "anchor": "2026-11-29T12:00:00.0001Z"}, NOW)
    assert describe(trigger)["anchor"] == "2026-11-29T12:00:01Z"


def test_a_one_shot_keeps_what_the_user_wrote() -> None:
    fields = {"at": "2026-12-01T02:00:00", "timezone": "Asia/Kolkata"}
    trigger = parse_trigger(fields, NOW)
    assert trigger == OneShotTrigger(_at("2026-11-30T20:30:00+00:00"), "2026-12-01T02:00:00", "Asia/Kolkata")
    assert describe(trigger) == fields
    assert trigger.next_after(trigger.at - 1) == trigger.at
    assert trigger.next_after(trigger.at) is None


def test_the_default_zone_counts_only_where_none_is_named() -> None:
    assert parse_trigger({"cron": "0 2 * * *"}, NOW, "Asia/Tokyo") == CronTrigger("0 2 * * *", "Asia/Tokyo")
    named = parse_trigger({"cron": "0 2 * * *", "timezone": "UTC"}, NOW, "Asia/Tokyo")
    assert named == CronTrigger("0 2 * * *", "UTC")


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({}, ""),
        ({"timezone": "UTC"}, ""),
        ({"cron": "0 2 * * *", "every": "10s"}, ""),
        ({"cron": "0 2 * * *"}, "timezone"),
        ({"cron": "0 2 * * *", "timezone": None}, "timezone"),
        ({"cron": "0 2 * * *", "timezone": 5}, "timezone"),
        ({"cron": "0 2 * * *", "timezone": ["UTC"]}, "timezone"),
        ({"cron": "0 2 * * *", "timezone": "Mars/Olympus"}, "timezone"),
        ({"cron": "0 2 * * *", "timezone": "UTC", "jitter": 5}, "jitter"),
        ({"cron": {"expr": "* * * * *"}, "timezone": "UTC"}, "cron"),
        ({"cron": "0 25 * * *", "timezone": "UTC"}, "cron"),
        ({"every": "10s", "timezone": "UTC"}, "timezone"),
        ({"every": 10}, "every"),
        ({"every": "10s", "anchor": "2026-01-01T00:00:00"}, "anchor"),
        ({"every": "10s", "anchor": 1798761600}, "anchor"),
        ({"at": "2026-11-29T12:00:00Z"}, "at"),
        ({"at": "2026-12-01T02:00:00"}, "at"),
        ({"at": "2026-12-01T02:00:00", "timezone": "Nowhere"}, "timezone"),
        ({"at": "2026-12-01T02:00:00Z", "timezone": "Nowhere"}, "timezone"),
        ({"at": "9999-12-31T23:59:59", "timezone": "America/Chicago"}, "at"),
        ({"at": "0001-01-01T00:00:00", "timezone": "Asia/Tokyo"}, "at"),
        ({"at": "9999-12-31T23:59:59.5Z"}, "at"),
    ],
)
def test_a_wrong_trigger_is_refused_by_the_name_of_the_field(fields: dict[str, object], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_trigger(fields, NOW)
    assert refused.value.field == field


def test_a_one_shot_at_this_very_instant_is_past() -> None:
    with pytest.raises(Invalid, match="is past"):
        parse_trigger({"at": "2026-11-29T12:00:00Z"}, _at("2026-11-29T12:00:00+00:00"))


def test_a_one_shot_whose_fraction_rounds_into_the_future_is_accepted() -> None:
    trigger = parse_trigger({"at": "2026-11-29T12:00:00.1Z"}, NOW)
    assert trigger.next_after(NOW) == _at("2026-11-29T12:00:01+00:00")


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(changes()), st.integers(-2 * 1440, 2 * 1440))
def test_a_local_one_shot_is_the_first_moment_that_shows_its_time_or_the_end_of_the_gap(
    where: tuple[str, datetime], minutes: int
) -> None:
    name, change = where
    zone = oracle_zone(name)
    wall = change.astimezone(zone).replace(tzinfo=None) + timedelta(minutes=minutes)
    trigger = parse_trigger({"at": wall.isoformat(), "timezone": name}, 0)
    moment = change - timedelta(days=4)
    while moment.astimezone(zone).replace(tzinfo=None) < wall:  # never shown before, so the first that is not less
        step = wall - moment.astimezone(zone).replace(tzinfo=None)
        # Far away in strides, near a change minute by minute.
        moment += max(step - timedelta(days=2), timedelta(minutes=1))
    assert trigger.next_after(0) == from_datetime(moment)


@settings(max_examples=300, deadline=None)
@given(triggers, st.integers(0, LATEST))
def test_every_next_time_is_a_whole_second_strictly_later(trigger: Trigger, instant: Instant) -> None:
    previous = instant
    for nominal_at in islice(fires(trigger, instant), 5):
        assert nominal_at > previous
        assert nominal_at % SECOND == 0
        assert nominal_at <= LATEST
        previous = nominal_at


@settings(max_examples=200, deadline=None)
@given(triggers, st.integers(0, LATEST), st.integers(0, 3000))
def test_from_anywhere_before_the_next_time_the_next_time_is_the_same(
    trigger: Trigger, instant: Instant, permille: int
) -> None:
    following = trigger.next_after(instant)
    if following is not None:
        between = min(instant + (following - instant) * permille // 1000, following - 1)
        assert trigger.next_after(between) == following


@given(intervals, st.integers(0, LATEST))
def test_an_interval_steps_by_its_length_and_meets_its_anchor(trigger: IntervalTrigger, instant: Instant) -> None:
    times = list(islice(fires(trigger, instant), 4))
    assert all(later - earlier == trigger.every_seconds * SECOND for earlier, later in pairwise(times))
    assert all((time - trigger.anchor_at) % (trigger.every_seconds * SECOND) == 0 for time in times)
    if times:
        assert times[0] - instant <= trigger.every_seconds * SECOND


def test_fires_are_strictly_after_and_up_to_and_including() -> None:
    trigger = CronTrigger("*/10 * * * *", "UTC")
    assert list(fires(trigger, 0, 30 * MINUTE)) == [10 * MINUTE, 20 * MINUTE, 30 * MINUTE]
    assert list(fires(trigger, 0, 9 * MINUTE)) == []


@settings(max_examples=300, deadline=None)
@given(triggers, st.integers(0, LATEST), st.integers(-1000, 40 * DAY), st.integers(0, 70))
def test_the_latest_fires_are_the_tail_of_all_fires(trigger: Trigger, after: Instant, span: int, limit: int) -> None:
    if isinstance(trigger, IntervalTrigger):
        span = min(span, 500 * trigger.every_seconds * SECOND)
    elif span > 3 * DAY and trigger.next_after(after) is not None and "*" in to_record(trigger).get("c", ""):
        span //= 20
    every = list(fires(trigger, after, after + span)) if span > 0 else []
    assert latest_fires(trigger, after, after + span, limit) == (every[-limit:] if limit else [])


def test_the_latest_fires_of_a_stretch_past_the_end_of_time_are_the_last_there_are() -> None:
    trigger = IntervalTrigger(60, LATEST)
    assert latest_fires(trigger, LATEST - HOUR, LATEST + HOUR, 2) == [LATEST - MINUTE, LATEST]


@pytest.mark.parametrize("expression", ["* * * * *", "* * * 1 *", "0 0 29 2 *", "0 3 1 1 *"])
def test_the_latest_fires_of_ten_years_cost_few_looks(expression: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    really = cron.next_fire

    def counted(*arguments):
        nonlocal looks
        looks += 1
        return really(*arguments)

    monkeypatch.setattr(cron, "next_fire", counted)
    found = latest_fires(CronTrigger(expression, "Europe/Paris"), NOW - 3650 * DAY, NOW, 60)
    assert found == sorted(found)
    assert looks < 700


@settings(max_examples=300)
@given(triggers)
def test_a_trigger_survives_the_store_and_the_api(trigger: Trigger) -> None:
    assert from_record(to_record(trigger)) == trigger
    from_store = {key: Decimal(value) if isinstance(value, int) else value for key, value in to_record(trigger).items()}
    assert from_record(from_store) == trigger
    if not isinstance(trigger, CronTrigger):
        assert parse_trigger(describe(trigger), NOW) == trigger


def test_a_cron_trigger_that_was_read_survives_the_api() -> None:
    trigger = parse_trigger({"cron": "0 9 ? * mon-fri", "timezone": "US/Eastern"}, NOW)
    assert parse_trigger(describe(trigger), NOW) == trigger


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"c": "* * * * *"},
        {"c": "* * * *", "z": "UTC"},
        {"c": "0 0 31 2 *", "z": "UTC"},
        {"c": "* * * * *", "z": "Gone/Zone"},
        {"c": 5, "z": "UTC"},
        {"c": "* * * * *", "z": None},
        {"i": "10", "a": 0},
        {"i": 0, "a": 0},
        {"i": -5, "a": 0},
        {"i": Decimal("1.5"), "a": 0},
        {"i": Decimal("NaN"), "a": 0},
        {"i": float("inf"), "a": 0},
        {"i": 10**12, "a": 0},
        {"i": True, "a": 0},
        {"i": 10},
        {"i": 10, "a": 10**15},
        {"o": "x", "t": "2026-12-01T02:00:00Z"},
        {"o": 1, "t": 5},
        {"o": 1, "t": "2026-12-01T02:00:00", "z": "Gone/Zone"},
        {"o": 1, "t": "2026-12-01T02:00:00", "z": 7},
    ],
)
def test_a_damaged_record_is_refused_so_that_its_schedule_can_be_parked(record: dict[str, object]) -> None:
    with pytest.raises(Invalid):
        from_record(record)


def test_a_search_that_would_stand_still_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cron, "next_fire", lambda parsed, zone, second, *policy: second)
    with pytest.raises(Invalid, match="not later than"):
        CronTrigger("* * * * *", "UTC").next_after(HOUR)


def test_a_zone_keeps_nothing_of_a_name_that_is_none() -> None:
    before = zones.PACKAGE.load.cache_info().currsize
    for number in range(50):
        with pytest.raises(Invalid):
            CronTrigger("* * * * *", f"No/Zone{number}").next_after(0)
    assert zones.PACKAGE.load.cache_info().currsize == before


@pytest.mark.parametrize(
    ("fields", "described"),
    [
        ({"cron": "30 2 * * *", "gap": "skip"}, {"cron": "30 2 * * *", "gap": "skip"}),
        ({"cron": "30 2 * * *", "gap": "after", "overlap": "first"}, {"cron": "30 2 * * *"}),
        ({"cron": "30 2 * * *", "overlap": "both", "dialect": "cron"}, {"cron": "30 2 * * *", "overlap": "both"}),
        ({"cron": " cron( 30  2 * * ? * ) ", "dialect": "aws"}, {"cron": "cron(30 2 * * ? *)"}),
        ({"cron": "30 2 * * ? *", "dialect": "aws"}, {"cron": "30 2 * * ? *", "dialect": "aws"}),
        ({"cron": "cron(30 2 * * ? *)", "gap": "skip"}, {"cron": "cron(30 2 * * ? *)"}),
        ({"cron": "cron(30 2 * * ? *)", "gap": "after"}, {"cron": "cron(30 2 * * ? *)", "gap": "after"}),
    ],
)
def test_a_policy_or_dialect_that_is_the_default_anyway_is_left_out(fields: dict, described: dict) -> None:
    trigger = parse_trigger(fields, NOW, "Europe/Paris")
    assert describe(trigger) == {**described, "timezone": "Europe/Paris"}
    assert parse_trigger(describe(trigger), NOW) == trigger
    assert from_record(to_record(trigger)) == trigger
