"""Calendars against a brute force that walks day by day, or minute by minute, and shares no code with the product."""

from datetime import UTC, date, datetime, timedelta
from itertools import islice, pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cronfleet.domain.calendar import WEEKDAYS, to_date, to_day
from cronfleet.domain.calendar_change import bound_to
from cronfleet.domain.calendar_form import parse_content
from cronfleet.domain.calendared import CalendaredCron, search_of
from cronfleet.domain.instant import from_datetime, to_datetime
from cronfleet.domain.trigger import CronTrigger, fires, parse_trigger
from simulator.calendar_oracle import CalendarOracle

FIRST = date(2026, 11, 1)
DAYS = 150
MODES = ["exclude", "business_days", "roll_forward", "roll_back", "nth_business_day"]

days = st.integers(-20, DAYS + 20).map(lambda n: FIRST + timedelta(days=n))
entries = st.one_of(
    days.map(date.isoformat),
    st.tuples(days, st.integers(0, 12)).map(
        lambda pair: {"from": pair[0].isoformat(), "to": (pair[0] + timedelta(days=pair[1])).isoformat()}
    ),
)
calendars = st.fixed_dictionaries(
    {
        "weekend": st.lists(st.sampled_from(WEEKDAYS), max_size=5, unique=True),
        "holidays": st.lists(entries, max_size=8),
        "workdays": st.lists(entries, max_size=4),
        "freezes": st.lists(entries, max_size=3),
    }
)
day_fields = st.sampled_from(
    [
        "* * *",
        "1 * *",
        "L * *",
        "15,31 * *",
        "*/7 * *",
        "* * 1-5",
        "* * fri",
        "13 * fri",
        "* 12,1 *",
        "1W * *",
        "* * 1#2",
    ]
)
uses = st.sampled_from(MODES).flatmap(
    lambda mode: st.fixed_dictionaries(
        {"mode": st.just(mode)}
        | ({"nth": st.sampled_from([1, 2, 5, 15, 23, -1, -2, -9, -22])} if mode == "nth_business_day" else {})
    )
)


def trigger(expression: str, zone: str, use: dict[str, Any], calendar: dict[str, Any]) -> CronTrigger:
    form = {"cron": expression, "timezone": zone, "calendar": {"name": "c", "version": 1, **use}}
    made = bound_to(parse_trigger(form, 0), parse_content(calendar).of("acme", "c", 1))
    assert isinstance(made, CronTrigger)
    return made


def expression_of(times: str, fields: str, use: dict[str, Any]) -> str:
    if use["mode"] != "nth_business_day":
        return f"{times} {fields}"
    return f"{times} * {fields.split()[1]} *"


@settings(max_examples=400, deadline=None)
@given(calendar=calendars, fields=day_fields, use=uses)
def test_the_named_days_are_those_that_a_walk_from_day_to_day_finds(calendar: Any, fields: str, use: Any) -> None:
    expression = expression_of("0 9", fields, use)
    search = search_of(trigger(expression, "UTC", use, calendar))
    assert isinstance(search, CalendaredCron)
    oracle = CalendarOracle(expression, "UTC", use={**use, "content": calendar})
    walked = [FIRST + timedelta(days=n) for n in range(DAYS)]
    wanted = [day for day in walked if oracle.matches(datetime(day.year, day.month, day.day, 9))]  # noqa: DTZ001 - no zone
    assert [to_date(day) for day in search.days(to_day(FIRST), to_day(walked[-1]))] == wanted


@settings(max_examples=40, deadline=None)
@given(
    calendar=calendars,
    fields=day_fields,
    use=uses,
    times=st.sampled_from(["30 1", "30 2", "0 0", "*/20 0", "45 23", "15 */2"]),
    zone=st.sampled_from(["Europe/Paris", "America/New_York", "Africa/Cairo", "Asia/Beirut", "Australia/Lord_Howe"]),
    at=st.integers(0, 500),
)
def test_the_fires_are_those_that_a_walk_from_minute_to_minute_finds(
    calendar: Any, fields: str, use: Any, times: str, zone: str, at: int
) -> None:
    expression = expression_of(times, fields, use)
    made = trigger(expression, zone, use, calendar)
    after = datetime(2026, 10, 20, tzinfo=UTC) + timedelta(hours=at)
    until = after + timedelta(days=12)
    oracle = CalendarOracle(expression, zone, use={**use, "content": calendar})
    found = [to_datetime(one) for one in fires(made, from_datetime(after), from_datetime(until))]
    assert found == list(oracle.fires(after, until))


@settings(max_examples=100, deadline=None)
@given(calendar=calendars, fields=day_fields, use=uses, start=st.integers(0, 10**7))
def test_time_moves_strictly_forward_and_no_step_skips_a_fire(calendar: Any, fields: str, use: Any, start: int) -> None:
    made = trigger(expression_of("*/30 9", fields, use), "Europe/Paris", use, calendar)
    after = from_datetime(datetime(2026, 10, 1, tzinfo=UTC)) + start * 1_000
    found = list(islice(fires(made, after), 12))
    assert all(before < later for before, later in zip([after, *found], found, strict=False))
    for before, later in pairwise(found):
        assert made.next_after((before + later) // 2) == later


@settings(max_examples=150, deadline=None)
@given(calendar=calendars, fields=day_fields, use=uses, day=days)
def test_every_day_that_is_taken_away_has_a_fate_and_a_day_that_is_named_has_none(
    calendar: Any, fields: str, use: Any, day: date
) -> None:
    search = search_of(trigger(expression_of("0 9", fields, use), "UTC", use, calendar))
    assert isinstance(search, CalendaredCron)
    is_named = search.days(to_day(day), to_day(day)) == [to_day(day)]
    if search.plain_day(to_day(day)) == to_day(day):
        fate = search.fate_of(to_day(day))
        assert (fate is None) is is_named
        if fate is not None and fate.target is not None and fate.blocked_by is None:
            assert search.days(fate.target, fate.target) == [fate.target]


@pytest.mark.parametrize("mode", ["roll_forward", "roll_back"])
def test_a_year_of_holidays_is_rolled_over(mode: str) -> None:
    calendar = {"holidays": [{"from": "2026-01-01", "to": "2026-12-31"}], "weekend": []}
    made = trigger("0 9 1 * *", "UTC", {"mode": mode}, calendar)
    found = [
        to_datetime(one).date().isoformat()
        for one in islice(fires(made, from_datetime(datetime(2025, 11, 2, tzinfo=UTC))), 4)
    ]
    assert (
        found
        == {
            "roll_forward": ["2025-12-01", "2027-01-01", "2027-02-01", "2027-03-01"],
            "roll_back": ["2025-12-01", "2025-12-31", "2027-01-01", "2027-02-01"],
        }[mode]
    )


@pytest.mark.parametrize(
    ("expression", "use", "calendar"),
    [
        ("0 9 * * 0", {"mode": "business_days"}, {}),
        ("0 9 * * *", {"mode": "nth_business_day", "nth": 10}, {"weekend": ["mon", "tue", "wed", "thu", "fri", "sat"]}),
        ("0 9 29 2 *", {"mode": "business_days"}, {"weekend": ["mon", "tue", "wed", "thu", "fri", "sat"]}),
    ],
)
def test_what_never_fires_under_its_calendar_is_soon_known(expression: str, use: Any, calendar: Any) -> None:
    found = trigger(expression, "UTC", use, calendar).next_after(0)
    assert found is None or expression.startswith("0 9 29 2")


def test_the_business_day_of_a_year_far_ahead_is_waited_for() -> None:
    use = {"mode": "nth_business_day", "nth": 1}
    made = trigger("cron(0 9 * 3 ? 2190)", "UTC", use, {})
    assert [to_datetime(at).date().isoformat() for at in islice(fires(made, 0), 2)] == ["2190-03-01"]
