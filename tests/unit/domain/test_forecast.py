"""The forecast counts what a brute-force walk through every schedule's next fires finds, minute by minute."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cronfleet.domain.calendar import LAST_DAY, Calendar, CalendarRule, Mode
from cronfleet.domain.calendar_form import parse_content
from cronfleet.domain.claim import Fire
from cronfleet.domain.dependency import AfterTrigger
from cronfleet.domain.dispatch_plan import first_fire
from cronfleet.domain.forecast import Counts, Tally
from cronfleet.domain.forecast_reading import OTHERS, trimmed
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND, Instant
from cronfleet.domain.outlook import fires_of
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.schedule import Status, Timer
from cronfleet.domain.trigger import OneShotTrigger, Trigger
from tests.support.builders import at, cron, every, timer

# Over the end of summer time in Europe, New York still in it.
NOW = at("2026-10-24 21:17:31")
SINCE = NOW // MINUTE * MINUTE


def brute_force(one: Timer, since: Instant, until: Instant) -> Iterator[Instant]:
    """When each fire is due, one after the other, as the dispatcher would claim them."""
    if one.status is Status.ACTIVE and one.nominal_at is not None:
        fires: Sequence[Fire] | Iterator[Fire] = fires_of(one, one.nominal_at - 1, until, 100_000)
    elif one.status is Status.PAUSED and one.due_at is not None:
        fires = _from(one, first_fire(one, one.due_at))
    else:
        return
    for fire in fires:
        if fire.nominal_at >= until:
            return
        if since <= fire.due_at < until:
            yield fire.due_at


def _from(one: Timer, fire: Fire | None) -> Iterator[Fire]:
    while fire is not None:
        yield fire
        fire = first_fire(one, fire.nominal_at)


EXPRESSIONS = (
    "0 0 * * *",
    "* * * * *",
    "*/5 * * * *",
    "0 * * * *",
    "30 2 * * *",
    "15,45 1-3 * * *",
    "0,1 2 * * *",
    "0 9 * * 1-5",
    "0 0 1 * *",
    "0 0 29 2 *",
)
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe")


def calendar_of(tenant: str, holiday: str) -> Calendar:
    content = parse_content({"holidays": [holiday]}, covers_until=LAST_DAY)
    return Calendar(tenant, "days", 1, content.weekend, content.dates, content.covers_until)


@st.composite
def triggers(draw: st.DrawFn) -> Trigger:
    kind = draw(st.sampled_from(["cron", "cron", "every", "once"]))
    if kind == "every":
        return every(draw(st.sampled_from([7, 30, 60, 90, 3_600, 86_400])), draw(st.integers(0, 90)) * SECOND)
    if kind == "once":
        return OneShotTrigger(SINCE + draw(st.integers(-60, 100_000)) * SECOND, "once", None)
    return cron(draw(st.sampled_from(EXPRESSIONS)), draw(st.sampled_from(ZONES)))


@st.composite
def timers(draw: st.DrawFn) -> Timer:
    trigger = draw(triggers())
    spread = draw(st.booleans())
    made = timer(
        trigger,
        None,
        tenant=draw(st.sampled_from(["acme", "globex"])),
        schedule_id=draw(st.text("abcdef", min_size=1, max_size=6)),
        jitter_seconds=draw(st.sampled_from([0, 0, 30, 60, 3_600])),
        is_spread=spread,
        start_at=draw(st.none() | st.just(SINCE + 5 * HOUR)),
        end_at=draw(st.none() | st.just(SINCE + 20 * HOUR + 30 * SECOND)),
    )
    fire = first_fire(made, NOW - draw(st.sampled_from([0, 0, 600])) * SECOND)
    standing = draw(st.sampled_from(["active"] * 5 + ["deferred", "paused", "paused until", "parked"]))
    if standing == "paused until":
        return replace(made, status=Status.PAUSED, due_at=SINCE + draw(st.integers(1, 40_000)) * SECOND)
    if fire is None:
        return replace(made, status=Status.COMPLETED)
    waits = replace(made, nominal_at=fire.nominal_at, due_at=fire.due_at)
    if standing == "deferred":
        return replace(waits, due_at=fire.due_at + 95 * SECOND)
    if standing in ("paused", "parked"):
        return replace(waits, status=Status(standing), due_at=None)
    return waits


def is_exact(one: Timer) -> bool:
    """Whether its fires are counted in just their minutes: not if they come more often and are jittered."""
    every_seconds = getattr(one.trigger, "every_seconds", 60)
    return every_seconds >= 60 or (one.jitter_seconds == 0 and one.due_at in (None, one.nominal_at))


@given(st.lists(timers().filter(is_exact), max_size=8), st.sampled_from([0, HOUR, DAY]), st.sampled_from([HOUR, DAY]))
@settings(max_examples=60)
def test_it_counts_what_brute_force_finds(found: list[Timer], ahead: int, length: int) -> None:
    since = SINCE + ahead
    tally = Tally(since, since + length)
    for one in found:
        tally.add(one)
    counts = tally.counts()
    expected = Counter(due // MINUTE for one in found for due in brute_force(one, since, since + length))
    counted = {since // MINUTE + n: fires for n, fires in enumerate(counts.minutes) if fires}
    assert counted == dict(expected)
    for tenant in ("acme", "globex"):
        dues = [due for one in found if one.tenant == tenant for due in brute_force(one, since, since + length)]
        hours = Counter((due - since) // HOUR for due in dues)
        assert {n: fires for n, fires in enumerate(counts.tenants.get(tenant, ())) if fires} == dict(hours)


def test_a_week_over_a_change_of_the_clock_is_counted_by_the_clock() -> None:
    tally = Tally(SINCE, SINCE + 7 * DAY)
    for number, expression in enumerate(EXPRESSIONS):
        for zone in ZONES:
            one = timer(cron(expression, zone), None, schedule_id=f"{number}-{zone}")
            fire = first_fire(one, NOW)
            assert fire is not None
            tally.add(replace(one, nominal_at=fire.nominal_at, due_at=fire.due_at))
    counts = tally.counts()
    assert counts.schedules == len(EXPRESSIONS) * len(ZONES)
    assert counts.at(at("2026-10-25 00:30")) == counts.at(at("2026-10-25 00:30:59")) > 0
    assert counts.at(SINCE - 1) == counts.at(SINCE + 7 * DAY) == 0


def test_the_calendars_of_two_tenants_that_share_a_name_are_two() -> None:
    nightly = cron("0 9 * * *")
    tally = Tally(SINCE, SINCE + 2 * DAY)
    for tenant, holiday in (("acme", "2026-10-25"), ("globex", "2026-10-26")):
        rule = CalendarRule("days", 1, Mode.EXCLUDE, days=calendar_of(tenant, holiday))
        one = timer(replace(nightly, calendar=rule), None, tenant=tenant)
        fire = first_fire(one, NOW)
        assert fire is not None
        tally.add(replace(one, nominal_at=fire.nominal_at, due_at=fire.due_at))
    counts = tally.counts()
    assert (counts.at(at("2026-10-25 09:00")), counts.at(at("2026-10-26 09:00"))) == (1, 1)
    assert [n for n, fires in enumerate(counts.tenants["acme"]) if fires] == [35]


def test_what_names_no_times_of_its_own_and_what_cannot_be_computed_is_said_apart() -> None:
    tally = Tally(SINCE, SINCE + DAY)
    tally.add(timer(AfterTrigger(("load",)), None))
    tally.add(timer(cron("0 0 * * *", "Nowhere/Land"), SINCE))
    tally.add(timer(cron("0 0 * * *"), SINCE, status=Status.PARKED, parked=Reason(Code.UNREADABLE, "no zone")))
    counts = tally.counts()
    assert (counts.schedules, counts.following, counts.uncomputable, sum(counts.minutes)) == (0, 1, 1, 0)


@pytest.mark.parametrize("jitter", [20, 40])
def test_a_jittered_interval_shorter_than_a_minute_is_counted_to_the_fire(jitter: int) -> None:
    tally = Tally(SINCE, SINCE + HOUR)
    tally.add(timer(every(45), SINCE + 14 * SECOND, jitter_seconds=jitter, due_at=SINCE + 20 * SECOND))
    counted = tally.counts().minutes
    assert abs(sum(counted) - 80) <= 2
    assert set(counted) <= {1, 2, 3}


def test_tenants_past_a_number_are_counted_together() -> None:
    tally = Tally(SINCE, SINCE + DAY)
    for number, tenant in enumerate("abcd"):
        for _ in range(number + 1):
            tally.add(timer(every(3_600), SINCE + MINUTE, due_at=SINCE + MINUTE, tenant=tenant))
    whole = tally.counts()
    few = trimmed(whole, 2)
    assert {name: sum(hours) for name, hours in few.tenants.items()} == {"d": 96, "c": 72, OTHERS: 72}
    again = Counts(whole.since, whole.until)
    again.take_in(few)
    again.take_in(few)
    assert sum(again.minutes) == 2 * sum(whole.minutes) == sum(map(sum, again.tenants.values()))
