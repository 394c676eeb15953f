"""What schedules share: a next fire that was worked out for one is what each of the others would have found alone."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cronfleet.domain import catch_up, cron, trigger, zone_stamp, zones
from cronfleet.domain.calendar import Calendar, CalendarRule, DateKind, Dates, Mode, day_text, to_day
from cronfleet.domain.calendar_change import bound_to
from cronfleet.domain.claim import ScheduleClaim
from cronfleet.domain.clock_policy import Gap, Repeat
from cronfleet.domain.cron_grammar import Dialect
from cronfleet.domain.dispatch_plan import claim_schedule, first_fire
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND, Instant
from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.schedule import Timer
from cronfleet.domain.schedule_answer import lint_of_trigger
from cronfleet.domain.trigger import CronTrigger, IntervalTrigger, Trigger, fires
from cronfleet.domain.warning import WarningCode
from cronfleet.domain.zones import ZoneSource
from cronfleet.ports.bound import NOT_THERE
from tests.support.builders import at, timer
from tests.support.zone_sources import release

Found = TypeVar("Found")

NIGHT = at("2026-10-24 23:00")
"""Before the clocks of Europe are put back, and a week before those of America are."""
FIRST_DAY = to_day(date(2026, 10, 20))


@contextmanager
def keeping_nothing() -> Iterator[None]:
    """Nothing that was found before is known, and nothing that is found is kept."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in (
            (trigger, "shared_next"),
            (zone_stamp, "shared_stamp"),
            (catch_up, "_latest"),
            (cron, "parse"),
            (cron, "day_search"),
        ):
            patch.setattr(module, name, getattr(module, name).__wrapped__)
        yield


def alone(ask: Callable[[], Found]) -> Found:
    with keeping_nothing():
        return ask()


def calendar(tenant: str, holidays: list[int]) -> Calendar:
    dates = tuple(Dates(FIRST_DAY + day, FIRST_DAY + day, DateKind.HOLIDAY) for day in sorted(set(holidays)))
    return Calendar(tenant, "trading", 1, frozenset({5, 6}), dates, FIRST_DAY + 400)


def bound(made: CronTrigger, tenant: str, holidays: list[int]) -> Trigger:
    return bound_to(made, calendar(tenant, holidays))


crons = st.builds(
    CronTrigger,
    st.sampled_from(["*/5 * * * *", "30 2 * * *", "0 * * * *", "30 1-3 * * *", "0 9 * * 1-5", "15 2 25 * *"]),
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"]),
    st.sampled_from([None, *Gap]),
    st.sampled_from([None, *Repeat]),
    calendar=st.none() | st.builds(CalendarRule, st.just("trading"), st.just(1), st.sampled_from(list(Mode)[:4])),
)
aws = st.builds(CronTrigger, st.just("30 2 * * ? *"), st.just("Europe/Berlin"), dialect=st.just(Dialect.AWS))
anchored = st.builds(IntervalTrigger, st.sampled_from([60, 300, 3_600]), st.integers(0, 59).map(lambda n: n * SECOND))


@st.composite
def waiting(draw: st.DrawFn) -> Timer:
    """An active timer of one of two tenants, whose calendars have one name and hold different days."""
    made = draw(crons | aws | anchored)
    tenant = draw(st.sampled_from(["acme", "globex"]))
    if isinstance(made, CronTrigger) and made.calendar is not None:
        made = bound(made, tenant, [1, 2, 5] if tenant == "acme" else [3, 6])
    started_at = NIGHT + draw(st.sampled_from([0, 0, DAY, 7 * DAY])) + draw(st.integers(0, 3)) * HOUR
    ends = st.none() | st.integers(1, 40).map(lambda hours: started_at + hours * HOUR)
    late = st.sampled_from(
        [Misfire(), Misfire(MisfirePolicy.SKIP, grace_seconds=60), Misfire(MisfirePolicy.CATCH_UP, 5)]
    )
    waits = timer(
        made,
        started_at,
        tenant=tenant,
        schedule_id=draw(st.sampled_from(["one", "two", "three"])),
        jitter_seconds=draw(st.sampled_from([0, 0, 30, 900])),
        is_spread=draw(st.booleans()),
        misfire=draw(late),
        start_at=draw(st.none() | st.just(NIGHT)),
        end_at=draw(ends),
    )
    first = first_fire(waits, started_at - 1)
    return replace(waits, nominal_at=first.nominal_at, due_at=first.due_at) if first is not None else waits


def claimed(waits: Timer, now: Instant) -> ScheduleClaim:
    return claim_schedule(waits, now)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(waiting(), st.sampled_from([0, 1, 3, 60, 4_000])), min_size=2, max_size=15))
def test_the_claims_of_a_batch_are_those_that_each_schedule_has_alone(batch: list[tuple[Timer, int]]) -> None:
    asked = [(waits, (waits.due_at or 0) + minutes * MINUTE) for waits, minutes in batch]
    shared = [claimed(waits, now) for waits, now in asked]
    again = [claimed(waits, now) for waits, now in reversed(asked)]
    lone = [alone(lambda waits=waits, now=now: claimed(waits, now)) for waits, now in asked]
    assert shared == lone
    assert again == lone[::-1]


@settings(max_examples=100, deadline=None)
@given(crons | aws, st.integers(0, 14 * 24 * 60 * 60), st.integers(0, 999))
def test_fires_one_after_the_other_are_the_same_whatever_was_asked_before(made: Any, second: int, part: int) -> None:
    own = bound(made, "acme", [1, 2, 5])
    after = NIGHT + second * SECOND + part
    until = after + 3 * DAY
    wanted = alone(lambda: list(fires(own, after, until)))
    list(fires(bound(made, "globex", [3, 6]), after, until))
    assert list(fires(own, after, until)) == wanted
    assert list(fires(own, after, until)) == wanted


def test_two_tenants_with_calendars_of_one_name_each_have_their_own_days() -> None:
    rule = CalendarRule("trading", 1, Mode.EXCLUDE)
    made = CronTrigger("0 9 * * *", "UTC", calendar=rule)
    ours, theirs = bound(made, "acme", [5]), bound(made, "globex", [6])
    eve = at("2026-10-24 12:00")
    assert ours == theirs  # a rule says the same whatever its calendar holds
    assert ours.next_after(eve) == at("2026-10-26 09:00")
    assert theirs.next_after(eve) == at("2026-10-25 09:00")
    assert ours.next_after(eve) == at("2026-10-26 09:00")


def test_missed_time_of_two_tenants_with_calendars_of_one_name_is_each_ones_own() -> None:
    made = CronTrigger("0 9 * * *", "UTC", calendar=CalendarRule("trading", 1, Mode.EXCLUDE))
    policy = Misfire(MisfirePolicy.CATCH_UP, 2)
    first_at, last_at = at("2026-10-21 09:00"), at("2026-10-27 09:00")
    kept = [
        catch_up.wanted(bound(made, tenant, holidays), first_at, last_at, policy, last_at, 2).kept_from
        for tenant, holidays in (("acme", [6]), ("globex", []))
    ]
    assert kept == [at("2026-10-25 09:00"), at("2026-10-26 09:00")]


def test_a_calendar_that_cannot_be_read_is_refused_each_time_and_never_answered_for_by_another() -> None:
    made = CronTrigger("0 9 * * *", "UTC", calendar=CalendarRule("trading", 1, Mode.EXCLUDE))
    assert bound(made, "acme", []).next_after(NIGHT) is not None
    gone = bound_to(made, NOT_THERE)
    for _ in range(2):
        with pytest.raises(Invalid, match="trading"):
            gone.next_after(NIGHT)


def test_what_warns_of_a_trigger_tells_of_the_calendar_of_whoever_asks_in_the_same_minute() -> None:
    """Two tenants write the same trigger, under calendars of one name: neither is told of the other's dates."""
    made = CronTrigger("0 9 * * *", "UTC", calendar=CalendarRule("trading", 1, Mode.EXCLUDE))
    covered = {"acme": FIRST_DAY + 30, "globex": FIRST_DAY + 60}
    for tenant in (*covered, *covered):
        known = replace(calendar(tenant, [1]), covers_until=covered[tenant])
        (runs_out,) = (
            one.text
            for one in lint_of_trigger(bound_to(made, known), 1, NIGHT).warnings
            if one.code is WarningCode.CALENDAR_RUNS_OUT
        )
        assert day_text(covered[tenant]) in runs_out
    lost = lint_of_trigger(bound_to(made, NOT_THERE), 1, NIGHT)
    assert [one.code for one in lost.warnings] == [WarningCode.UNCOMPUTABLE]


@pytest.fixture
def releases(tmp_path: Path) -> tuple[ZoneSource, ZoneSource]:
    """Two releases of one zone: by the second its clock is put forward on 1 December."""
    change = at("2026-12-01 00:00") // SECOND
    old = release(tmp_path, "2026e", {"Test/Place": [(0, 5 * 3600)]})
    return old, release(tmp_path, "2026f", {"Test/Place": [(0, 5 * 3600), (change, 6 * 3600)]})


def test_each_release_of_the_zone_data_has_answers_of_its_own(releases: tuple[ZoneSource, ZoneSource]) -> None:
    made, eve = CronTrigger("30 2 * * *", "Test/Place"), at("2026-12-03 00:00")
    policy = Misfire(MisfirePolicy.FIRE_ONCE)
    for _ in range(2):
        for source, hour in zip(releases, (21, 20), strict=True):
            with zones.working_with(source):
                assert made.next_after(eve) == eve + hour * HOUR + 30 * MINUTE
                found = zone_stamp.stamp(made, eve)
                assert str(found) == f"{source.release}{(26 - hour) * 3600:+d}"
                newest = catch_up.wanted(made, eve - 5 * DAY, eve + DAY, policy, eve + 2 * DAY, 1)
                assert newest.kept_from == eve + hour * HOUR + 30 * MINUTE


def test_a_zone_that_leaves_the_package_is_refused_though_its_fires_were_known(
    releases: tuple[ZoneSource, ZoneSource], tmp_path: Path
) -> None:
    made = CronTrigger("30 2 * * *", "Test/Place")
    with zones.working_with(releases[0]):
        assert made.next_after(NIGHT) is not None
    with zones.working_with(release(tmp_path / "later", "2026g", {"Test/Other": [(0, 0)]})), pytest.raises(Invalid):
        made.next_after(NIGHT)


def test_what_is_kept_has_a_bound() -> None:
    for one in (trigger.shared_next, zone_stamp.shared_stamp, cron.parse, cron.day_search):
        assert 0 < one.cache_parameters()["maxsize"] <= 4_096


def test_a_walk_through_years_keeps_no_more_than_the_bound() -> None:
    made = CronTrigger("* * * * *", "Europe/Berlin")
    until = NIGHT + timedelta(days=4) // timedelta(milliseconds=1)
    assert sum(1 for _ in fires(made, NIGHT, until)) == 4 * 24 * 60
    assert trigger.shared_next.cache_info().currsize <= trigger.FIRES_KEPT
