"""What every job store promises about retimings: jobs, the zone release, and the way through all schedules."""

from dataclasses import replace
from typing import Any

import pytest

from cronfleet.domain.claim import Unreadable
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import HOUR, MINUTE
from cronfleet.domain.retiming import Retiming, Tally, for_calendar, for_zone_data
from cronfleet.domain.schedule import Status
from cronfleet.domain.zone_release import ZoneRelease, first_seen
from cronfleet.ports.job_store import CreateTimer, InsertRetiming, PutZoneRelease, Refused, ScheduleKey, UpdateTimer
from tests.support.examples import TENANT, changed, waiting
from tests.support.settable_clock import NOON
from tests.support.stores import Engine

CALENDAR = for_calendar(TENANT, "holidays", 4, NOON)
ZONE = for_zone_data("01job", "2026f", NOON)


def started(store: Any, *jobs: Retiming) -> None:
    store.commit([InsertRetiming(job) for job in jobs])


def paged(job: Retiming, cursor: str | None, now: int = NOON + MINUTE) -> Retiming:
    return job.on_to(cursor).noted(Tally(100, 7, 1), (("acme", "busy", 1),) if cursor else (), now)


def test_a_job_is_kept_exactly_from_its_start_to_its_end(store: Any) -> None:
    started(store, ZONE, CALENDAR)
    assert store.open_retimings(10) == [ZONE, CALENDAR]
    first = paged(CALENDAR, "onwards")
    assert store.put_retiming(first)
    assert store.open_retimings(10) == [ZONE, first]
    assert store.open_retimings(1) == [ZONE]
    last = paged(first, None)
    assert not last.is_open
    assert store.put_retiming(last)
    assert store.open_retimings(10) == [ZONE]
    assert store.finished_retimings(10) == [last]
    assert (last.seen, last.changed, last.failed) == (200, 14, 2)


def test_finished_jobs_are_read_newest_end_first(store: Any) -> None:
    started(store, ZONE, CALENDAR)
    ends = [paged(CALENDAR, None, NOON + HOUR), paged(ZONE, None, NOON + MINUTE)]
    assert all(store.put_retiming(job) for job in ends)
    assert store.finished_retimings(10) == ends
    assert store.finished_retimings(1) == ends[:1]


def test_of_two_sweeps_with_the_same_page_one_notes_it(store: Any) -> None:
    started(store, ZONE)
    mine, other = paged(ZONE, "mine"), paged(ZONE, "other")
    assert store.put_retiming(mine)
    assert not store.put_retiming(other)
    assert not store.put_retiming(paged(ZONE, None))
    assert store.open_retimings(10) == [mine]
    assert store.finished_retimings(10) == []


@pytest.mark.parametrize("cursor", ["onwards", None])
def test_a_page_whose_first_reply_was_lost_is_ones_own(store: Any, cursor: str | None) -> None:
    started(store, ZONE)
    page = paged(ZONE, cursor)
    assert store.put_retiming(page)
    assert store.put_retiming(page)


def test_a_finished_job_is_not_opened_again_by_a_late_page(store: Any) -> None:
    started(store, ZONE)
    store.put_retiming(paged(ZONE, None))
    assert not store.put_retiming(paged(ZONE, "late"))
    assert store.open_retimings(10) == []


def test_a_job_that_is_open_is_not_started_a_second_time(store: Any) -> None:
    started(store, CALENDAR)
    with pytest.raises(Refused):
        started(store, replace(CALENDAR, started_at=NOON + HOUR))
    assert store.open_retimings(10) == [CALENDAR]


def test_the_zone_release_goes_on_only_from_what_was_read(store: Any) -> None:
    assert store.get_zone_release() is None
    first = first_seen("2026e", NOON)
    store.commit([PutZoneRelease(first)])
    assert store.get_zone_release() == first
    in_force = ZoneRelease("2026e", NOON + HOUR, rev=2)
    coming = replace(in_force, coming="2026f", coming_since=NOON + 2 * HOUR, rev=3)
    store.commit([PutZoneRelease(in_force), InsertRetiming(ZONE)])
    store.commit([PutZoneRelease(coming)])
    assert store.get_zone_release() == coming
    store.commit([PutZoneRelease(coming)])
    with pytest.raises(Refused) as refused:
        store.commit([PutZoneRelease(replace(in_force, release="2025z")), InsertRetiming(CALENDAR)])
    assert refused.value.stored == coming
    assert store.open_retimings(10) == [ZONE]


def everywhere(store: Any, limit: int) -> list[ScheduleKey]:
    found: list[ScheduleKey] = []
    cursor = None
    while True:
        page = store.list_everywhere(cursor, limit)
        assert len(page.items) <= limit
        found += page.items
        cursor = page.cursor
        if cursor is None:
            return found


def test_the_way_through_all_schedules_meets_each_tenants_once_and_no_tombstone(store: Any) -> None:
    keys = [(tenant, f"s{number}") for tenant in ("acme", "rival", "third") for number in range(4)]
    timers = [waiting(schedule_id, tenant=tenant) for tenant, schedule_id in keys]
    store.commit([CreateTimer(timer) for timer in timers])
    store.commit([UpdateTimer(changed(timers[5], "gone", status=Status.CANCELLED, due_at=None), timers[5])])
    left = sorted({*keys} - {("rival", "s1")})
    assert sorted(everywhere(store, 100)) == left
    for limit in (1, 2, 5, 11):
        assert sorted(everywhere(store, limit)) == left
    assert everywhere(store, 3) == everywhere(store, 3), "the order does not change"


def test_a_foreign_cursor_is_refused(store: Any) -> None:
    with pytest.raises(Invalid):
        store.list_everywhere("nonsense", 10)


def test_timers_are_read_together_and_a_damaged_one_says_so(engine: Engine) -> None:
    store = engine.store
    good, bad = waiting("good"), waiting("bad")
    store.commit([CreateTimer(good), CreateTimer(bad)])
    engine.spoil(bad)
    found = store.get_timers([(TENANT, "good"), (TENANT, "bad"), (TENANT, "absent")])
    assert set(found) == {(TENANT, "good"), (TENANT, "bad")}
    assert found[TENANT, "good"] == good
    assert isinstance(found[TENANT, "bad"], Unreadable)
