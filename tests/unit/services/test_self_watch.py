"""The self-watch: lag, queues' age and dead letters are each told once, and healed once, and do not flap."""

from dataclasses import replace
from typing import Any

import pytest

from cronfleet.domain.incident import PLATFORM, Incident, IncidentKind
from cronfleet.domain.instant import HOUR, MINUTE, SECOND
from cronfleet.domain.lease import SLOT, slot_of
from cronfleet.domain.run import Run, RunStatus
from cronfleet.domain.self_watch import FEW, SWEEPS
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.job_store import CreateTimer, InsertRun, NoAnswer
from cronfleet.ports.queues import Tick
from cronfleet.services.access import Caller
from cronfleet.services.arrivals import Arrivals
from cronfleet.services.health import Health
from cronfleet.services.self_watch import SelfWatch
from cronfleet.services.sweeper import Sweeper
from tests.support.builders import at, every, timer
from tests.support.faults import Crash, FaultAt, Faulty
from tests.support.watch_room import CHANNEL, WatchRoom

ACME = Caller(Tenant("acme"), "ada", "request-1")
NOW = at("2026-12-01 02:00")


class Room(WatchRoom):
    def __init__(self) -> None:
        super().__init__(NOW, replace(CHANNEL, tenant=PLATFORM))

    def serve(self) -> None:
        """Serve the slot of now, as its tick does."""
        self.dispatcher().tick(Tick(0, slot_of(self.clock.now())), self.clock.now() + MINUTE)

    def sweep_and_watch(self, store: Any = None) -> None:
        Sweeper(
            store=self.store,
            run_queue=self.run_queue,
            dispatcher=self.dispatcher(),
            side_by_side=self.side_by_side,
            clock=self.clock,
            telemetry=self.notes,
            shards=1,
            self_watch=SelfWatch(store=store or self.store, incidents=self.incidents(store)),
        ).sweep(self.clock.now() + MINUTE)

    def arrivals(self, store: Any = None) -> Arrivals:
        return Arrivals(incidents=self.incidents(store), clock=self.clock, telemetry=self.notes)

    def due(self, name: str, due_at: int) -> None:
        self.store.commit([CreateTimer(timer(every(3_600, due_at), due_at, schedule_id=name))])

    def starts_everything(self) -> None:
        for message in self.sent:
            run = Run(message.key, RunStatus.SUCCEEDED, message.due_at, "standard", finished_at=self.clock.now())
            if self.store.get_run(message.key) is None:
                self.store.commit([InsertRun(run)])

    def told(self) -> list[tuple[IncidentKind, str]]:
        return [(one.kind, one.status.value) for one in self.all_incidents(PLATFORM)]

    @property
    def incident(self) -> Incident:
        (one,) = self.all_incidents(PLATFORM)
        return one


def test_fires_that_are_due_for_long_in_a_shard_that_is_served_are_lag_told_once_and_healed_once() -> None:
    room = Room()
    room.serve()
    room.due("nightly", NOW - 3 * MINUTE)
    room.due("soon", NOW - 20 * SECOND)
    room.sweep_and_watch()
    room.sweep_and_watch()
    assert room.incident.broken.schedules == ("acme/nightly",)
    assert room.incident.broken.since_at == NOW - 3 * MINUTE
    for _ in range(3):
        room.clock.advance(MINUTE)
        room.serve()
        room.sweep_and_watch()
    assert room.told() == [(IncidentKind.LAG, "healed")]
    room.clock.advance(5 * MINUTE)
    room.tell()
    titles = ["[BROKEN] scheduler: fires are claimed late", "[HEALED] scheduler: fires are claimed late"]
    assert sorted(room.courier.titles) == titles


def test_lag_between_its_two_lines_neither_opens_nor_ends_an_incident() -> None:
    room = Room()
    room.serve()
    room.due("a", NOW - 100 * SECOND)
    room.sweep_and_watch()
    assert room.told() == []
    room.due("b", NOW - 3 * MINUTE)
    room.sweep_and_watch()
    room.clock.advance(SLOT)
    room.serve()
    room.due("c", NOW - 90 * SECOND)
    room.sweep_and_watch()
    assert room.told() == [(IncidentKind.LAG, "open")]


def test_a_lag_of_which_a_shard_could_not_be_looked_at_is_not_healed() -> None:
    room = Room()
    room.serve()
    room.due("nightly", NOW - 3 * MINUTE)
    room.sweep_and_watch()
    room.clock.advance(2 * MINUTE)  # no tick served meanwhile: the sweeper serves the shard, and is not the dispatcher
    room.sweep_and_watch()
    assert room.told() == [(IncidentKind.LAG, "open")]


@pytest.mark.parametrize(("fires", "waited"), [(FEW + 1, 3 * MINUTE), (1, 8 * MINUTE)])
def test_claimed_fires_that_wait_for_a_worker_are_told_once_and_healed_once(fires: int, waited: int) -> None:
    room = Room()
    for number in range(fires):
        room.due(f"job-{number:02}", NOW)
    room.serve()
    room.clock.set(NOW + waited)
    room.serve()
    for _ in range(3):
        room.sweep_and_watch()
    assert room.told() == [(IncidentKind.QUEUE_AGE, "open")]
    assert room.incident.broken.count == fires
    assert room.incident.broken.detail == {"fires": fires, "queues": "standard"}
    room.starts_everything()
    for _ in range(3):
        room.sweep_and_watch()
    assert room.told() == [(IncidentKind.QUEUE_AGE, "healed")]


def test_a_single_message_that_the_queue_lost_and_that_is_sent_again_alarms_nobody() -> None:
    room = Room()
    room.due("job", NOW)
    for minutes in range(7):
        room.clock.set(NOW + minutes * MINUTE)
        room.serve()
        room.sweep_and_watch()
    room.starts_everything()
    room.clock.advance(MINUTE)
    room.serve()
    room.sweep_and_watch()
    assert room.told() == []


def test_what_comes_to_a_dead_letter_queue_is_told_once_and_ends_when_none_has_come_for_long() -> None:
    room = Room()
    arrivals = room.arrivals()
    for schedule in ("acme/nightly", "acme/nightly", "other/hourly", ""):
        arrivals.came("runs-dead", schedule)
    assert room.incident.broken.schedules == ("acme/nightly", "other/hourly")
    room.clock.advance(10 * MINUTE)
    arrivals.came("runs-dead", "acme/nightly")
    for _ in range(4):
        room.clock.advance(5 * MINUTE)
        room.serve()
        room.sweep_and_watch()
    assert room.told() == [(IncidentKind.DEAD_LETTERS, "healed")]
    assert room.incident.ended_at == NOW + 30 * MINUTE
    room.clock.advance(HOUR)
    arrivals.came("runs-dead", "acme/nightly")
    assert [status for _, status in room.told()] == ["healed", "open"]


def test_a_storm_of_dead_letters_of_one_schedule_is_noted_once_a_minute() -> None:
    room = Room()
    arrivals = room.arrivals()
    for _ in range(100):
        arrivals.came("runs-dead", "acme/nightly")
    assert room.incident.rev == 1


def test_a_silent_store_keeps_no_dead_letter_from_being_dealt_with() -> None:
    class Silent:
        def __getattr__(self, name: str) -> Any:
            raise NoAnswer(name)

    room = Room()
    room.arrivals(Silent()).came("runs-dead", "acme/nightly")
    assert [name for name, _ in room.notes.alarms] == ["arrival_not_told"]


def test_a_sweeper_that_dies_at_any_call_of_its_watch_tells_nothing_twice() -> None:
    def late() -> Room:
        room = Room()
        room.serve()
        room.due("nightly", NOW - 3 * MINUTE)
        return room

    moments = FaultAt(None)
    room = late()
    room.sweep_and_watch(Faulty(room.store, moments))
    assert moments.moments
    for step in range(len(moments.moments)):
        room = late()
        with pytest.raises(Crash):
            room.sweep_and_watch(Faulty(room.store, FaultAt(step)))
        room.sweep_and_watch()
        room.tell()
        assert room.told() == [(IncidentKind.LAG, "open")]
        assert len(room.courier.delivered) == 1


def test_health_says_when_the_last_whole_sweep_was() -> None:
    room = Room()
    health = Health(store=room.store, clock=room.clock)
    assert health.check(ACME).last_sweep_at is None
    room.sweep_and_watch()
    room.clock.advance(MINUTE)
    assert health.check(ACME).last_sweep_at == NOW
    watch = room.store.get_watch(PLATFORM, SWEEPS)
    assert watch is not None
    assert watch.rev == 1
