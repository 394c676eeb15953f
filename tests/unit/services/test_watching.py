"""Watching: a broken objective is told once, heals once, and is silent while nothing is expected."""

from dataclasses import replace

import pytest

from cronfleet.domain.change import paused
from cronfleet.domain.freeze import Freeze, FreezeDirectory, FreezeList, TenantScope, with_freeze
from cronfleet.domain.heartbeat import Ping, PingState
from cronfleet.domain.incident import IncidentKind, IncidentStatus
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND, Instant
from cronfleet.domain.objective import Objectives
from cronfleet.domain.run import RunStatus
from cronfleet.domain.schedule import Pause, Status, Timer
from cronfleet.ports.freezes import PutFreezeDirectory, PutFreezeList
from cronfleet.ports.job_store import InsertPing, UpdateTimer
from tests.support.builders import at, cron, timer
from tests.support.faults import Crash, FaultAt, Faulty
from tests.support.watch_room import WatchRoom

NIGHTLY = cron("0 2 * * *")
TWO = at("2026-12-01 02:00")
BEFORE = TWO - HOUR
STARTS = Objectives(starts_within_seconds=300)
SUCCEEDS = Objectives(succeeds_within_seconds=3_600)


def room_with(objectives: Objectives | None, now: Instant = BEFORE) -> tuple[WatchRoom, Timer]:
    room = WatchRoom(now)
    return room, room.watched(timer(NIGHTLY, TWO), objectives)


def test_a_look_sleeps_until_something_could_be_broken() -> None:
    room, _ = room_with(STARTS)
    assert room.look() == TWO + 5 * MINUTE + 2 * SECOND
    assert room.all_incidents() == []


def test_a_fire_that_nobody_started_is_told_once_and_heals_once() -> None:
    room, nightly = room_with(STARTS)
    room.clock.set(TWO + 5 * MINUTE + 2 * SECOND)
    for _ in range(3):
        room.look()
        room.clock.advance(MINUTE)
    (broken,) = room.open_incidents
    assert broken.kind is IncidentKind.STARTS_WITHIN
    assert broken.broken.schedules == ("nightly",)
    assert broken.broken.since_at == TWO + 5 * MINUTE
    room.ran(nightly, TWO, RunStatus.SUCCEEDED, began_at=TWO + 7 * MINUTE, ended_at=TWO + 8 * MINUTE)
    room.clock.set(TWO + 10 * MINUTE)
    for _ in range(3):
        room.look()
    (healed,) = room.all_incidents()
    assert healed.status is IncidentStatus.HEALED
    room.tell()
    assert room.courier.titles == [
        "[BROKEN] nightly: did not start in time",
        "[HEALED] nightly: did not start in time",
    ]


def test_what_broke_and_healed_between_two_looks_is_told_all_the_same() -> None:
    room, nightly = room_with(STARTS)
    room.look()
    room.ran(nightly, TWO, RunStatus.SUCCEEDED, began_at=TWO + 7 * MINUTE, ended_at=TWO + 8 * MINUTE)
    room.clock.set(TWO + HOUR)
    for _ in range(2):
        room.look()
    (incident,) = room.all_incidents()
    assert incident.status is IncidentStatus.HEALED
    room.tell()
    assert len(room.courier.delivered) == 2


def test_a_run_in_time_breaks_nothing() -> None:
    room, nightly = room_with(SUCCEEDS)
    room.ran(nightly, TWO, RunStatus.SUCCEEDED)
    room.clock.set(TWO + 2 * HOUR)
    assert room.look() is not None
    assert room.all_incidents() == []


@pytest.mark.parametrize("status", [RunStatus.DEAD, RunStatus.MISSED, RunStatus.REFUSED, RunStatus.RUNNING])
def test_what_did_not_succeed_is_a_break(status: RunStatus) -> None:
    room, nightly = room_with(SUCCEEDS)
    ended = None if status is RunStatus.RUNNING else TWO + MINUTE
    room.ran(nightly, TWO, status, ended_at=ended)
    room.clock.set(TWO + 2 * HOUR)
    room.look()
    assert [one.kind for one in room.open_incidents] == [IncidentKind.SUCCEEDS_WITHIN]


@pytest.mark.parametrize("status", [RunStatus.SKIPPED, RunStatus.FROZEN, RunStatus.PAUSED, RunStatus.CANCELLED])
def test_what_somebody_kept_from_running_is_no_break(status: RunStatus) -> None:
    room, nightly = room_with(SUCCEEDS)
    room.ran(nightly, TWO, status, began_at=None)
    room.clock.set(TWO + 2 * HOUR)
    room.look()
    assert room.all_incidents() == []


def test_a_re_run_of_a_dead_run_makes_it_whole() -> None:
    room, nightly = room_with(SUCCEEDS)
    dead = room.ran(nightly, TWO, RunStatus.DEAD)
    room.clock.set(TWO + 2 * HOUR)
    room.look()
    assert len(room.open_incidents) == 1
    again = TWO + 2 * HOUR + MINUTE
    room.ran(nightly, again, RunStatus.SUCCEEDED, cause="rerun-1", ancestor=dead.key.run_id)
    room.clock.set(TWO + 3 * HOUR)
    room.look()
    assert room.open_incidents == []


def test_the_next_fire_that_succeeds_makes_it_whole() -> None:
    room, nightly = room_with(SUCCEEDS)
    room.ran(nightly, TWO, RunStatus.DEAD)
    room.clock.set(TWO + 2 * HOUR)
    room.look()
    room.ran(nightly, TWO + DAY, RunStatus.SUCCEEDED)
    room.clock.set(TWO + DAY + MINUTE)
    room.look()
    assert [one.status for one in room.all_incidents()] == [IncidentStatus.HEALED]


def test_an_objective_by_the_time_of_day_goes_by_the_zone_of_the_schedule() -> None:
    room = WatchRoom(at("2026-11-30 12:00"))
    two_in_mumbai = at("2026-11-30 20:30")
    objectives = Objectives(succeeds_by=6 * 60)
    room.watched(timer(cron("0 2 * * *", "Asia/Kolkata"), two_in_mumbai), objectives)
    assert room.look() == at("2026-11-30 18:00") - 2 * SECOND
    room.clock.set(at("2026-12-01 00:29"))
    room.look()
    assert room.open_incidents == []
    room.clock.set(at("2026-12-01 00:31"))
    room.look()
    (incident,) = room.open_incidents
    assert "by 06:00 Asia/Kolkata" in incident.broken.text


def test_a_run_that_takes_longer_than_its_history_lets_expect_is_told_while_it_runs() -> None:
    room, nightly = room_with(Objectives(learns_longest=True))
    for days in range(1, 9):
        fire = TWO - days * DAY
        room.ran(nightly, fire, RunStatus.SUCCEEDED, ended_at=fire + 10 * MINUTE)
    room.ran(nightly, TWO, RunStatus.RUNNING, began_at=TWO, ended_at=None)
    room.clock.set(TWO + 12 * MINUTE)
    room.look()
    assert room.open_incidents == []
    room.clock.set(TWO + 25 * MINUTE)
    room.look()
    (incident,) = room.open_incidents
    assert incident.kind is IncidentKind.RUNS_TOO_LONG


def test_four_successes_teach_nothing() -> None:
    room, nightly = room_with(Objectives(learns_longest=True))
    for days in range(1, 5):
        room.ran(nightly, TWO - days * DAY, RunStatus.SUCCEEDED)
    room.ran(nightly, TWO, RunStatus.RUNNING, began_at=TWO, ended_at=None)
    room.clock.set(TWO + 10 * HOUR)
    room.look()
    assert room.all_incidents() == []


@pytest.mark.parametrize("status", [Status.ACTIVE, Status.HELD])
def test_a_job_elsewhere_that_sends_no_ping_is_told_and_heals_with_its_ping(status: Status) -> None:
    room = WatchRoom(BEFORE)
    room.watched(timer(NIGHTLY, TWO, status=status), Objectives(ping_within_seconds=600))
    room.clock.set(TWO + 9 * MINUTE)
    room.store.commit([InsertPing(Ping("acme", "nightly", "p1", TWO + MINUTE, PingState.FAIL))])
    room.look()
    assert room.open_incidents == []
    room.clock.set(TWO + 11 * MINUTE)
    room.look()
    assert [one.kind for one in room.open_incidents] == [IncidentKind.PING_WITHIN]
    room.store.commit([InsertPing(Ping("acme", "nightly", "p2", TWO + 12 * MINUTE))])
    room.clock.set(TWO + 13 * MINUTE)
    room.look()
    assert [one.status for one in room.all_incidents()] == [IncidentStatus.HEALED]


def test_nothing_is_told_while_paused_and_the_fires_of_the_pause_never() -> None:
    room, nightly = room_with(STARTS)
    pause = Pause("ada", BEFORE, "holiday")
    after = paused(nightly, pause, now=BEFORE, change_id="c2")
    room.store.commit([UpdateTimer(after, nightly)])
    room.clock.set(TWO + HOUR)
    assert room.look() is None
    assert room.all_incidents() == []


def test_nothing_is_told_while_frozen_nor_of_a_fire_that_the_freeze_held() -> None:
    room, _ = room_with(STARTS)
    freeze = Freeze("f1", TenantScope("acme"), "ada", TWO - MINUTE, until=TWO + HOUR)
    kept, directory = with_freeze(FreezeList("acme"), FreezeDirectory(), freeze, now=BEFORE, change_id="c1")
    room.store.commit([PutFreezeList(kept), PutFreezeDirectory(directory)])
    room.clock.set(TWO + 30 * MINUTE)
    assert room.look() == TWO + 35 * MINUTE - 2 * SECOND
    room.clock.set(TWO + 2 * HOUR)
    room.look()
    assert room.all_incidents() == []


def test_a_deleted_schedule_and_an_objective_that_was_taken_away_withdraw_what_is_open() -> None:
    room, nightly = room_with(STARTS)
    room.clock.set(TWO + HOUR)
    room.look()
    gone = replace(room.timer(), status=Status.CANCELLED)
    room.store.state.timers[nightly.tenant, nightly.schedule_id] = gone
    assert room.look() is None
    assert [one.status for one in room.all_incidents()] == [IncidentStatus.WITHDRAWN]
    room.tell()
    assert room.courier.titles[-1] == "[NO LONGER WATCHED] nightly: did not start in time"


def test_fires_from_before_it_was_watched_are_not_judged() -> None:
    room, _ = room_with(STARTS, now=TWO + 10 * MINUTE)
    room.clock.set(TWO + HOUR)
    room.look()
    assert room.all_incidents() == []


def test_a_schedule_of_each_second_is_looked_at_once_a_minute() -> None:
    room = WatchRoom(BEFORE)
    room.watched(timer(cron("* * * * *"), BEFORE + MINUTE), STARTS)
    assert room.look() == BEFORE + 5 * MINUTE + 2 * SECOND
    room.clock.advance(10 * MINUTE)
    next_at = room.look()
    assert next_at is not None
    assert next_at >= room.clock.now() + MINUTE - 2 * SECOND


def test_a_clerk_that_dies_at_any_call_tells_nothing_twice_and_loses_nothing() -> None:
    """Open and heal in one look: three transactions, before and after each of which a clerk may die."""
    moments = FaultAt(None)
    room, _ = late_start()
    room.look(store=Faulty(room.store, moments))
    assert [name for _, name in moments.moments].count("commit") == 2 * 3
    for step in range(len(moments.moments)):
        room, _ = late_start()
        with pytest.raises(Crash):
            room.look(store=Faulty(room.store, FaultAt(step)))
        room.look()
        room.tell()
        assert [one.status for one in room.all_incidents()] == [IncidentStatus.HEALED]
        assert len(room.courier.delivered) == 2


def late_start() -> tuple[WatchRoom, Timer]:
    room, nightly = room_with(STARTS)
    room.look()
    room.ran(nightly, TWO, RunStatus.SUCCEEDED, began_at=TWO + 7 * MINUTE, ended_at=TWO + 8 * MINUTE)
    room.clock.set(TWO + HOUR)
    return room, nightly
