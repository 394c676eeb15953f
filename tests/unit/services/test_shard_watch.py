"""The shard watch: a stopped shard is told once, of exactly the schedules whose fires came due, and heals once."""

from dataclasses import replace

import pytest

from cronfleet.domain.incident import PLATFORM, IncidentStatus
from cronfleet.domain.instant import MINUTE, SECOND
from cronfleet.domain.lease import slot_of
from cronfleet.domain.schedule import Status, Timer
from cronfleet.ports.job_store import CreateTimer
from cronfleet.ports.queues import Tick
from cronfleet.services.shard_watch import ShardWatch
from cronfleet.services.sweeper import Sweeper
from tests.support.builders import at, every, timer
from tests.support.faults import Crash, FaultAt, Faulty
from tests.support.watch_room import CHANNEL, WatchRoom

NOW = at("2026-12-01 02:00")


class Room(WatchRoom):
    def watch(self) -> ShardWatch:
        return ShardWatch(store=self.store, incidents=self.incidents())

    def sweeper_that_watches(self) -> Sweeper:
        return Sweeper(
            store=self.store,
            run_queue=self.run_queue,
            dispatcher=self.dispatcher(),
            side_by_side=self.side_by_side,
            clock=self.clock,
            telemetry=self.notes,
            shards=1,
            shard_watch=self.watch(),
        )

    def sweep_and_watch(self) -> None:
        self.sweeper_that_watches().sweep(self.clock.now() + MINUTE)


def furnished() -> Room:
    """A shard that was served until two: some schedules come due within minutes, some do not."""
    room = Room(NOW, CHANNEL, replace(CHANNEL, tenant="other"), replace(CHANNEL, tenant=PLATFORM))
    for tenant, name, due_at, status in (
        ("acme", "soon", NOW + 20 * SECOND, Status.ACTIVE),
        ("acme", "later", NOW + 30 * MINUTE, Status.ACTIVE),
        ("acme", "asleep", NOW + 20 * SECOND, Status.PAUSED),
        ("other", "too", NOW + 40 * SECOND, Status.ACTIVE),
        ("calm", "hourly", NOW + 30 * MINUTE, Status.ACTIVE),
    ):
        room.store.commit([CreateTimer(_timer(tenant, name, due_at, status))])
    room.dispatcher().tick(Tick(0, slot_of(NOW)), NOW + MINUTE)
    return room


def _timer(tenant: str, name: str, due_at: int, status: Status) -> Timer:
    return timer(every(3_600, due_at), due_at, tenant=tenant, schedule_id=name, status=status)


def named(room: Room, tenant: str) -> list[tuple[str, ...]]:
    return [one.broken.schedules for one in room.all_incidents(tenant)]


def test_a_stopped_shard_is_told_once_and_names_exactly_the_schedules_affected() -> None:
    room = furnished()
    room.clock.set(NOW + 2 * MINUTE)
    for _ in range(3):
        room.sweep_and_watch()
        room.clock.advance(MINUTE)
    assert named(room, "acme") == [("soon",)]
    assert named(room, "other") == [("too",)]
    assert named(room, "calm") == []
    assert named(room, PLATFORM) == [("acme/soon", "other/too")]
    room.clock.advance(5 * MINUTE)  # the dispatcher has sent the notices, and nobody has carried them on yet
    room.tell()
    assert room.courier.titles == ["[BROKEN] shard 0: nobody dispatches it"] * 3


def test_it_heals_once_when_ticks_are_served_again() -> None:
    room = furnished()
    room.clock.set(NOW + 2 * MINUTE)
    room.sweep_and_watch()
    for _ in range(3):
        room.clock.advance(MINUTE)
        room.dispatcher().tick(Tick(0, slot_of(room.clock.now())), room.clock.now() + MINUTE)
        room.sweep_and_watch()
    for tenant in ("acme", "other", PLATFORM):
        assert [one.status for one in room.all_incidents(tenant)] == [IncidentStatus.HEALED]
    room.clock.advance(5 * MINUTE)
    room.tell()
    assert len(room.courier.delivered) == 6


def test_a_sweeper_that_serves_the_shard_is_not_its_dispatcher_however_soon_the_next_sweep_comes() -> None:
    room = furnished()
    room.clock.set(NOW + 2 * MINUTE)
    room.sweep_and_watch()
    room.clock.advance(10 * SECOND)
    room.sweep_and_watch()
    for tenant in ("acme", "other", PLATFORM):
        assert [one.status for one in room.all_incidents(tenant)] == [IncidentStatus.OPEN]
    room.dispatcher().tick(Tick(0, slot_of(room.clock.now())), room.clock.now() + MINUTE)
    room.clock.advance(SECOND)
    room.sweep_and_watch()
    for tenant in ("acme", "other", PLATFORM):
        assert [one.status for one in room.all_incidents(tenant)] == [IncidentStatus.HEALED]


def test_what_comes_due_while_it_is_stopped_is_added_without_a_word() -> None:
    room = furnished()
    room.clock.set(NOW + 2 * MINUTE)
    room.sweep_and_watch()
    room.store.commit([CreateTimer(_timer("acme", "newer", NOW + 3 * MINUTE, Status.ACTIVE))])
    room.clock.set(NOW + 4 * MINUTE)
    room.sweep_and_watch()
    assert named(room, "acme") == [("newer", "soon")]
    room.clock.advance(5 * MINUTE)
    room.tell()
    assert len(room.courier.delivered) == 3


def test_a_shard_without_ticks_in_which_nothing_was_due_harms_nobody() -> None:
    room = Room(NOW, CHANNEL)
    room.dispatcher().tick(Tick(0, slot_of(NOW)), NOW + MINUTE)
    room.clock.set(NOW + 5 * MINUTE)
    room.sweep_and_watch()
    assert room.all_incidents(PLATFORM) == []


def test_a_sweeper_that_dies_at_any_call_of_the_watch_tells_nothing_twice() -> None:
    moments = FaultAt(None)
    room = furnished()
    room.clock.set(NOW + 2 * MINUTE)
    lease = room.store.get_lease(0)
    ShardWatch(store=Faulty(room.store, moments), incidents=room.incidents(Faulty(room.store, moments))).stopped(
        0, lease, room.clock.now()
    )
    for step in range(len(moments.moments)):
        room = furnished()
        room.clock.set(NOW + 2 * MINUTE)
        faulty = Faulty(room.store, FaultAt(step))
        with pytest.raises(Crash):
            ShardWatch(store=faulty, incidents=room.incidents(faulty)).stopped(0, lease, room.clock.now())
        room.watch().stopped(0, lease, room.clock.now())
        room.tell()
        assert named(room, "acme") == [("soon",)]
        assert len(room.courier.delivered) == 3
