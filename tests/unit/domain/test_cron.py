"""When an expression fires, held against an oracle that walks UTC minute by minute."""

from datetime import UTC, date, datetime, timedelta
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cronfleet.domain import cron, cron_grammar, zones
from cronfleet.domain.clock_policy import Gap, Repeat
from cronfleet.domain.cron import LAST_LISTED_CHANGE, MonthDays, days_of_shape
from cronfleet.domain.cron_grammar import Dialect
from cronfleet.domain.errors import Invalid
from simulator.golden import POLICIES
from simulator.oracle import Oracle, WallOracle, utc
from tests.support.cron_expressions import changes, expressions, field
from tests.support.tzif import offset_changes

HARD_ZONES = [
    "Africa/Cairo", "Africa/Casablanca", "America/Asuncion", "America/New_York", "America/Nuuk", "America/Santiago",
    "America/Sao_Paulo", "America/St_Johns", "Antarctica/Casey", "Antarctica/Troll", "Asia/Beirut", "Asia/Gaza",
    "Asia/Pyongyang", "Asia/Tehran", "Australia/Lord_Howe", "Europe/Dublin", "Europe/Volgograd", "Pacific/Apia",
    "Pacific/Chatham", "Pacific/Easter", "Pacific/Kwajalein",
]  # fmt: skip
ALL_CHANGES = changes()
HARD_CHANGES = [(name, moment) for name, moment in ALL_CHANGES if name in HARD_ZONES]


def _fires(
    expression: str, zone: str, after: datetime, until: datetime, gap: str = "after", overlap: str = "first"
) -> list[datetime]:
    found = []
    dialect = Dialect.AWS if expression.startswith("cron(") else Dialect.CRON
    parsed, place, second = cron.parse(expression, dialect), zones.load(zone), int(after.timestamp())
    policy = Gap(gap), Repeat(overlap)
    while (fire := cron.next_fire(parsed, place, second, *policy)) is not None and fire <= until.timestamp():
        assert fire > second
        found.append(datetime.fromtimestamp(fire, UTC))
        second = fire
    return found


def _can_fire(expression: str) -> bool:
    try:
        cron.parse(expression)
    except Invalid:
        return False
    return True


def _check_around(
    expression: str, zone: str, change: datetime, days: float, policy: tuple[str, str] = ("after", "first")
) -> None:
    after, until = change - timedelta(days=days), change + timedelta(days=days)
    expected = list(Oracle(expression, zone, *policy).fires(after, until))
    assert _fires(expression, zone, after, until, *policy) == expected
    if change.year > 1990:  # of old, clocks were changed by odd seconds, which walls do not name
        assert list(WallOracle(expression, zone, *policy).fires(after, until)) == expected


@settings(max_examples=350, deadline=None)
@given(st.data(), st.sampled_from(HARD_CHANGES))
def test_around_a_change_of_a_hard_zone_stepping_gives_exactly_the_oracles_fires(
    data: st.DataObject, where: tuple[str, datetime]
) -> None:
    zone, change = where
    wall = (change + timedelta(seconds=zones.load(zone).segment_at(int(change.timestamp())).offset)).replace(
        tzinfo=None
    )
    expression = data.draw(expressions(near=wall, star_hours=data.draw(st.booleans())).filter(_can_fire))
    _check_around(expression, zone, change, days=1.25, policy=data.draw(st.sampled_from(POLICIES)))


@settings(max_examples=300, deadline=None)
@given(st.data(), st.sampled_from(ALL_CHANGES))
def test_around_any_change_of_any_zone_stepping_gives_exactly_the_oracles_fires(
    data: st.DataObject, where: tuple[str, datetime]
) -> None:
    zone, change = where
    wall = (change + timedelta(seconds=zones.load(zone).segment_at(int(change.timestamp())).offset)).replace(
        tzinfo=None
    )
    expression = data.draw(expressions(near=wall).filter(_can_fire))
    _check_around(expression, zone, change, days=1)


@settings(max_examples=300, deadline=None)
@given(
    expressions().filter(_can_fire),
    st.sampled_from([*HARD_ZONES, "UTC", "Asia/Kolkata", "Etc/GMT+12", "Pacific/Kiritimati"]),
    st.integers(int(utc("1973-01-01T00:00:00Z").timestamp()), zones.LATEST_SECOND - 10 * zones.DAY_SECONDS),
)
def test_the_next_fire_of_any_expression_is_the_first_one_the_oracle_meets(
    expression: str, zone: str, second: int
) -> None:
    after = datetime.fromtimestamp(second, UTC)
    fire = cron.next_fire(cron.parse(expression), zones.load(zone), second)
    until = after + timedelta(days=4)
    expected = next(Oracle(expression, zone).fires(after, until), None)
    if expected is None:
        assert fire is None or fire > until.timestamp()
    else:
        assert fire == expected.timestamp()


@settings(max_examples=150, deadline=None)
@given(expressions().filter(_can_fire), st.dates(date(1990, 1, 1), date(2090, 1, 1)))
def test_between_now_and_the_next_fire_no_day_was_skipped(expression: str, day: date) -> None:
    """Reaches as far as the next fire is away, day by day instead of minute by minute."""
    oracle = Oracle(expression, "UTC")
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    fire = cron.next_fire(cron.parse(expression), zones.load("UTC"), int(start.timestamp()))
    assert fire is not None
    assert oracle.matches(datetime.fromtimestamp(fire, UTC))
    days = min((datetime.fromtimestamp(fire, UTC) - start).days, 3000)
    assert not any(oracle.names_day(day + timedelta(days=n)) for n in range(1, days))


@settings(max_examples=60, deadline=None)
@given(field(1, 31), field(0, 7), st.booleans())
def test_croniter_finds_the_same_days_as_our_own_reading_in_every_shape_of_month(
    month_day: str, weekday: str, both: bool
) -> None:
    rule = cron_grammar.expand(f"0 0 {month_day}{',*' if both else ''} * {weekday}").days
    search = MonthDays(rule)
    for length, first_weekday in product((28, 29, 30, 31), range(7)):
        found, day = set(), 1
        while day <= length and (day := search.first_from(day, length, first_weekday)):
            found.add(day)
            day += 1
        assert found == days_of_shape(rule, length, first_weekday)


@pytest.mark.parametrize(
    ("expression", "zone", "after", "expected"),
    [
        # Kwajalein had no 21 August 1993: the make-up fire comes once, however many of its times were skipped.
        ("0 1-22 * * *", "Pacific/Kwajalein", "1993-08-21T10:30:00Z", ["1993-08-21T12:00:00Z", "1993-08-21T13:00:00Z"]),
        # Nothing of Apia's missing Friday is named by a Thursday job, and a Friday job is made up for on Saturday.
        ("0 12 * * 4", "Pacific/Apia", "2011-12-29T23:00:00Z", ["2012-01-04T22:00:00Z"]),
        ("0 12 30 12 *", "Pacific/Apia", "2011-12-29T23:00:00Z", ["2011-12-30T10:00:00Z", "2012-12-29T22:00:00Z"]),
        # The skipped hour lies on 31 March in Beirut, so only a job that names that day is made up for.
        ("30 0 30 3 *", "Asia/Beirut", "2024-03-30T12:00:00Z", ["2025-03-29T22:00:00Z"]),
        ("30 0 31 3 *", "Asia/Beirut", "2024-03-30T12:00:00Z", ["2024-03-30T22:00:00Z", "2025-03-30T21:30:00Z"]),
        # Nuuk springs forward from Saturday 23:00 (22:00 before 2024) to Sunday midnight.
        ("15,45 23 * * 6", "America/Nuuk", "2024-03-30T12:00:00Z", ["2024-03-31T01:00:00Z", "2024-04-07T00:15:00Z"]),
        # Lord Howe repeats half an hour: a wildcard job fires in both passes, a fixed-time job in the first.
        ("45 * * * *", "Australia/Lord_Howe", "2026-04-04T14:40:00Z", ["2026-04-04T14:45:00Z", "2026-04-04T15:15:00Z"]),
        ("30-59/15 1 * * *", "Australia/Lord_Howe", "2026-04-04T14:00:00Z",
         ["2026-04-04T14:30:00Z", "2026-04-04T14:45:00Z", "2026-04-05T15:00:00Z"]),
        # Troll moves by two hours, Casablanca leaves and re-enters its zone for Ramadan, Volgograd moved for good.
        ("30 2 * * *", "Antarctica/Troll", "2024-10-26T12:00:00Z", ["2024-10-27T00:30:00Z", "2024-10-28T02:30:00Z"]),
        ("30 2 * * *", "Africa/Casablanca", "2024-03-09T12:00:00Z", ["2024-03-10T01:30:00Z", "2024-03-11T02:30:00Z"]),
        ("30 1 * * *", "Europe/Volgograd", "2020-12-26T12:00:00Z", ["2020-12-26T21:30:00Z", "2020-12-27T22:30:00Z"]),
        # Gaza changes at two in the morning after a rule that no POSIX string of the old kind can say.
        ("15 2 * * *", "Asia/Gaza", "2024-04-19T12:00:00Z", ["2024-04-20T00:00:00Z", "2024-04-20T23:15:00Z"]),
        # A start inside the second pass goes on to the next day, and never back.
        ("30 1 * * *", "America/New_York", "2026-11-01T06:10:00Z", ["2026-11-02T06:30:00Z"]),
        # Kiritimati skipped 31 December 1994: New Year itself is there, an hour of it is not named.
        ("0 0 1 1 *", "Pacific/Kiritimati", "1994-12-30T00:00:00Z", ["1994-12-31T10:00:00Z", "1995-12-31T10:00:00Z"]),
        # 29 February on a Sunday comes every 28 years, and 40 around 2100.
        ("0 0 29 2 */7", "UTC", "2026-01-01T00:00:00Z",
         ["2032-02-29T00:00:00Z", "2060-02-29T00:00:00Z", "2088-02-29T00:00:00Z", "2128-02-29T00:00:00Z"]),
        # Months without a 31st have no weekday nearest to it, and W never leaves its month.
        ("0 0 31W * *", "UTC", "2026-01-31T00:00:00Z", ["2026-03-31T00:00:00Z", "2026-05-29T00:00:00Z"]),
        ("0 0 LW * *", "UTC", "2026-01-01T00:00:00Z", ["2026-01-30T00:00:00Z", "2026-02-27T00:00:00Z"]),
        ("0 0 1W,15W,L-2 2 *", "UTC", "2026-01-01T00:00:00Z",
         ["2026-02-02T00:00:00Z", "2026-02-16T00:00:00Z", "2026-02-26T00:00:00Z"]),
    ],
)  # fmt: skip
def test_a_named_hard_day(expression: str, zone: str, after: str, expected: list[str]) -> None:
    fires = _fires(expression, zone, utc(after), utc(expected[-1]))
    assert fires == [utc(text) for text in expected]


@pytest.mark.parametrize("text", ["* * * * *", "0 0 1 1 *", "0 0 29 2 *", "59 23 31 12 *", "*/15 1 * * *"])
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York", "Pacific/Kiritimati", "Etc/GMT+12"])
def test_at_the_end_of_the_calendar_the_answer_is_never_again(text: str, zone: str) -> None:
    parsed, place = cron.parse(text), zones.load(zone)
    second, count = int(utc("9998-12-31T00:00:00Z").timestamp()), 0
    while (fire := cron.next_fire(parsed, place, second)) is not None:
        assert second < fire <= zones.LATEST_SECOND
        second, count = fire if count % 50 else max(fire, second + 40 * 86_400), count + 1
    assert count > 0 or text == "0 0 29 2 *"


def test_a_leap_day_job_after_2096_waits_for_2104() -> None:
    assert _fires("0 0 29 2 *", "Europe/Paris", utc("2096-03-01T00:00:00Z"), utc("2105-01-01T00:00:00Z")) == [
        utc("2104-02-28T23:00:00Z")
    ]


def test_no_zone_lists_a_change_so_late_that_the_search_would_miss_it() -> None:
    assert max(second for name in zones.names() for second, _, _ in offset_changes(name)) < LAST_LISTED_CHANGE


def test_a_search_for_what_the_clock_never_shows_ends() -> None:
    """On the second Sunday of March New York has no 02:00 to 03:00, in any year."""
    new_york, second = zones.load("America/New_York"), int(utc("2026-12-01T00:00:00Z").timestamp())
    assert cron.next_fire(cron.parse("*/15 2 * 3 SUN#2"), new_york, second) is None
    assert cron.next_fire(cron.parse("15 2 * 3 SUN#2"), new_york, second, Gap.SKIP) is None
    assert cron.next_fire(cron.parse("15 2 * 3 SUN#2"), new_york, second) is not None
