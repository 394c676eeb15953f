"""Operational cases about clocks, as docs/guarantees.md lists them by their ids."""

from dataclasses import dataclass

import pytest

from cronfleet.adapters.memory.side_by_side import OneByOne
from cronfleet.domain.errors import ClockSkewed
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND, Instant
from cronfleet.domain.lease import slot_of
from cronfleet.domain.run import RunMessage
from cronfleet.domain.schedule import Policies
from cronfleet.domain.trigger import fires
from cronfleet.ports.queues import Tick
from cronfleet.services.dispatcher import Dispatcher
from cronfleet.services.worker import Worker
from tests.support.builders import at, cron, definition, every, timer
from tests.support.workshop import Effects, succeeds
from tests.support.world import SHARD, World

TWO = at("2026-12-01 02:00")


@dataclass
class OffsetClock:
    """The clock of a process that is so far from the right one."""

    world: World
    offset: int

    def now(self) -> Instant:
        return self.world.clock.now() + self.offset


@dataclass
class SteppingClock:
    """Steps forward by two seconds between every two readings."""

    world: World

    def now(self) -> Instant:
        self.world.clock.advance(2 * SECOND)
        return self.world.clock.now()


class Fleet:
    """A world with dispatchers whose clocks differ, and one worker whose clock is right."""

    def __init__(self, offsets: tuple[int, ...]) -> None:
        self.world = World(TWO)
        self.dispatchers = [self._dispatcher(offset) for offset in offsets]
        self.targets = Effects(self.world, succeeds)  # type: ignore[arg-type]  # it needs a clock and a store
        self.started: list[tuple[RunMessage, Instant]] = []

    def _dispatcher(self, offset: int) -> tuple[Dispatcher, OffsetClock]:
        clock = OffsetClock(self.world, offset)
        world = self.world
        made = Dispatcher(
            store=world.store,
            run_queue=world.run_queue,
            errand_queue=world.errand_queue,
            side_by_side=OneByOne(),
            clock=clock,
            ids=world.ids,
            telemetry=world.notes,
        )
        return made, clock

    def tick_all(self) -> None:
        for dispatcher, clock in self.dispatchers:
            dispatcher.tick(Tick(SHARD, slot_of(clock.now())), clock.now() + MINUTE)

    def work(self) -> None:
        world = self.world
        queue = world.run_queue.tier("standard")
        worker = Worker(
            store=world.store,
            run_queue=world.run_queue,
            targets=self.targets,
            clock=world.clock,
            ids=world.ids,
            telemetry=world.notes,
        )
        for received in queue.receive(100):
            worker.handle(received.body)
            queue.delete(received.receipt)


@pytest.mark.parametrize("apart", [5, 30, 90])
def test_dispatchers_whose_clocks_differ_make_one_run_of_each_fire_and_none_early(apart: int) -> None:
    """O15: even where nobody notices the difference; the job takes no time, so nothing but its key can protect it."""
    fleet = Fleet((0, apart * SECOND, -apart * SECOND))
    trigger = cron("* * * * *")
    fleet.world.add(timer(trigger, TWO), definition(trigger, policies=Policies()))
    for _ in range(10 * 60):
        if fleet.world.clock.now() % (5 * SECOND) == 0:
            fleet.tick_all()
        fleet.work()
        fleet.world.clock.advance(SECOND)
    made = fleet.targets.made
    nominals = [one.key.nominal_at for one in made]
    assert len(nominals) == len(set(nominals))
    assert set(nominals) >= set(fires(trigger, TWO - 1, TWO + 8 * MINUTE))
    assert all(one.began_at >= one.key.nominal_at for one in made)


@pytest.mark.parametrize("apart", [5, 30, 90])
def test_a_dispatcher_whose_clock_differs_so_much_stops_as_soon_as_it_hears_the_stores(apart: int) -> None:
    """O15."""
    world = World(TWO)
    world.add(timer(cron("0 2 * * *"), TWO))
    for skew in (apart * SECOND, -apart * SECOND):
        world.store.state.skew_ms = skew
        with pytest.raises(ClockSkewed):
            world.tick()
    assert not world.sent
    assert world.store.get_lease(SHARD) is None


def test_a_clock_that_steps_between_every_two_readings_loses_no_slot() -> None:
    """O18: what is due is decided by one reading in each tick."""
    world = World(TWO)
    trigger = every(1, TWO)
    world.add(timer(trigger, TWO))
    clock = SteppingClock(world)
    dispatcher = Dispatcher(
        store=world.store,
        run_queue=world.run_queue,
        errand_queue=world.errand_queue,
        side_by_side=OneByOne(),
        clock=clock,
        ids=world.ids,
        telemetry=world.notes,
    )
    for _ in range(60):
        dispatcher.tick(Tick(SHARD, slot_of(world.clock.now())), world.clock.now() + HOUR)
    held = world.timer()
    assert held.nominal_at is not None
    assert held.nominal_at > TWO + 5 * MINUTE
    assert world.accounted(held) == list(fires(trigger, TWO - 1, held.nominal_at - 1))


def test_after_a_clock_was_eight_hours_ahead_nothing_waits_for_the_false_time_and_nothing_is_replayed() -> None:
    """O20: for two ticks, then it is corrected."""
    world = World(TWO)
    trigger = cron("*/10 * * * *")
    world.add(timer(trigger, TWO + 10 * MINUTE))
    right = world.clock.now()
    for _ in range(2):
        world.clock.set(right + 8 * HOUR)
        world.store.state.skew_ms = 8 * HOUR
        with pytest.raises(ClockSkewed):
            world.tick()
        right += 5 * SECOND
    world.clock.set(right)
    world.store.state.skew_ms = 0
    while world.clock.now() < TWO + HOUR:
        world.tick()
        world.clock.advance(5 * SECOND)
    assert sorted(key.nominal_at for key in world.sent_keys) == list(fires(trigger, TWO, TWO + HOUR))
    assert len(world.sent) == len(world.sent_keys)


def test_a_second_that_the_clock_repeats_makes_no_second_run() -> None:
    """O21: 23:59:59 twice, before midnight of the first of a month."""
    midnight = at("2027-01-01 00:00")
    world = World(midnight - 2 * SECOND)
    world.add(timer(cron("0 0 1 * *"), midnight))
    for offset in (-2, -1, -1, 0, 1, 5):
        world.clock.set(midnight + offset * SECOND)
        world.tick()
    (message,) = world.sent
    assert message.key.nominal_at == midnight
    assert world.timer().nominal_at == midnight + 31 * DAY
