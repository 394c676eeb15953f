"""The forecaster: every schedule counted once, whatever fires, dies or comes while it reads."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from cronfleet.adapters.memory.job_store import MemoryJobStore
from cronfleet.domain.dispatch_plan import first_fire
from cronfleet.domain.forecast_reading import MARGIN, WALK_EVERY
from cronfleet.domain.instant import DAY, HOUR, LATEST, MINUTE, SECOND, Instant
from cronfleet.domain.schedule import Pause, Policies, Spec, Status, Timer
from cronfleet.domain.spread import Spread
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.tenant import Tenant
from cronfleet.domain.trigger import Trigger
from cronfleet.ports.job_store import CreateTimer, NoAnswer
from cronfleet.services import forecaster
from cronfleet.services.access import Caller
from cronfleet.services.forecaster import Forecaster
from cronfleet.services.schedules import Schedules
from tests.support.builders import cron, every, timer
from tests.support.settable_clock import NOON, CountingIds, SettableClock

SHARDS = 3
LONG = NOON + HOUR


class Installation:
    """A store with some schedules, and a forecaster in front of it."""

    def __init__(self) -> None:
        self.clock = SettableClock()
        self.store = MemoryJobStore(self.clock)
        self.forecaster = Forecaster(store=self.store, clock=self.clock)

    def have(self, name: str, trigger: Trigger, shard: int = 0, **changes: Any) -> None:
        waits = timer(trigger, None, schedule_id=name, shard=shard, **changes)
        fire = first_fire(waits, self.clock.now())
        assert fire is not None
        self.store.commit([CreateTimer(replace(waits, nominal_at=fire.nominal_at, due_at=fire.due_at))])

    def claim(self, name: str) -> None:
        """Move a schedule on, as a claim does."""
        state = self.store.state
        before = state.timers["acme", name]
        fire = first_fire(before, before.nominal_at or 0)
        assert fire is not None
        moved = replace(before, nominal_at=fire.nominal_at, due_at=fire.due_at)
        state.timers["acme", name] = moved
        state.due_index.put(("acme#" + name, "TIMER"), moved.shard, fire.due_at, moved)

    def fires(self, shard: int | None = None) -> int:
        reading = self.store.state.forecasts[shard]
        return sum(reading.counts.between(NOON, NOON + DAY))

    def timers(self) -> list[Timer]:
        return list(self.store.state.timers.values())


@pytest.fixture
def world() -> Installation:
    made = Installation()
    made.have("hourly", cron("7 * * * *"), 0)
    made.have("nightly", cron("0 0 * * *"), 1)
    made.have("often", every(60), 2)  # at noon it has fired
    made.have("rival", cron("30 3 * * *"), 0, tenant="rival")
    return made


def test_one_sweep_counts_a_small_installation_and_the_next_ones_do_nothing_for_an_hour(world: Installation) -> None:
    assert world.forecaster.advance(LONG, SHARDS) == SHARDS
    assert [world.fires(shard) for shard in range(SHARDS)] == [24 + 1, 1, 1_439]
    assert world.fires() == 24 + 1 + 1 + 1_439
    whole = world.store.get_forecast()
    assert whole is not None
    assert (whole.started_at, whole.counts.schedules, sorted(whole.counts.tenants)) == (NOON, 4, ["acme", "rival"])
    assert whole.counts.until - whole.started_at >= WALK_EVERY + 7 * DAY
    world.have("more", cron("0 0 * * *"))
    world.clock.advance(WALK_EVERY - 1)
    assert world.forecaster.advance(LATEST, SHARDS) == 0
    world.clock.advance(1)
    assert world.forecaster.advance(LATEST, SHARDS) == SHARDS
    again = world.store.get_forecast()
    assert again is not None
    assert again.counts.schedules == 5


def test_a_walk_that_takes_many_sweeps_counts_each_schedule_once_though_it_fires_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    a_page_a_sweep(monkeypatch, 2)
    world = Installation()
    for number in range(9):
        world.have(f"hourly-{number}", cron(f"{number} * * * *"))
    world.have("daily", cron("0 11 * * *"))
    sweeps = 0
    while world.store.get_forecast() is None:
        world.forecaster.advance(world.clock.now() + 1, 1)
        # What is due next fires in between, and stands further on.
        sweeps += 1
        world.clock.advance(MINUTE)
        if sweeps <= 8:
            world.claim(f"hourly-{sweeps}")
    whole = world.store.get_forecast()
    assert whole is not None
    assert (whole.counts.schedules, sweeps > 5) == (10, True)


def a_page_a_sweep(monkeypatch: pytest.MonkeyPatch, items: int) -> None:
    monkeypatch.setattr(forecaster, "ITEMS_PER_PAGE", items)
    monkeypatch.setattr(forecaster, "MAX_PAGES", 1)


def test_what_has_not_come_by_is_counted_by_a_walk_of_many_sweeps_although_its_trigger_names_earlier_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    a_page_a_sweep(monkeypatch, 1)
    world = Installation()
    world.have("first", cron("1 * * * *"))
    world.have("starts-later", cron("0 * * * *"), start_at=NOON + 5 * HOUR)
    pause = Pause("ops", NOON, "maintenance", until=NOON + 6 * HOUR)
    asleep = timer(cron("0 * * * *"), NOON, schedule_id="asleep", status=Status.PAUSED, pause=pause)
    world.store.commit([CreateTimer(replace(asleep, due_at=pause.until))])
    world.clock.set(NOON - MINUTE)
    jittered = [f"jittered-{number}" for number in range(10)]
    for name in jittered:
        world.have(name, cron("0 * * * *"), jitter_seconds=120)
    world.clock.set(NOON + 2 * MINUTE - SECOND)
    dues = [one.due_at or 0 for one in world.timers() if one.jitter_seconds]
    assert max(dues) < world.clock.now(), "else this test is about something else"
    for name in jittered:
        world.claim(name)  # each was due by now, and waits for one o'clock
    while world.store.get_forecast() is None:
        world.forecaster.advance(world.clock.now() + 1, 1)
        world.clock.advance(SECOND)
    whole = world.store.get_forecast()
    assert whole is not None
    assert whole.counts.schedules == 3 + len(jittered)


def test_a_sweep_that_dies_is_gone_on_with_and_a_walk_that_is_stuck_begins_anew(world: Installation) -> None:
    broken = Faulty(world.store, "put_forecast", after=1)
    with pytest.raises(NoAnswer):
        Forecaster(store=broken, clock=world.clock).advance(LONG, SHARDS)  # type: ignore[arg-type]  # a store that fails
    assert world.store.get_forecast() is None
    assert world.forecaster.advance(LONG, SHARDS) == SHARDS
    assert world.fires() == 24 + 1 + 1 + 1_439
    world.clock.advance(WALK_EVERY)
    world.forecaster.advance(world.clock.now() - 1, SHARDS)
    world.clock.advance(MARGIN)
    assert world.forecaster.advance(LATEST, SHARDS) == SHARDS
    whole = world.store.get_forecast()
    assert whole is not None
    assert whole.started_at == world.clock.now()


class Faulty:
    """The store, whose method of that name fails after so many calls."""

    def __init__(self, store: MemoryJobStore, name: str, after: int) -> None:
        self._store, self._name, self._left = store, name, after

    def __getattr__(self, name: str) -> Any:
        if name != self._name:
            return getattr(self._store, name)

        def call(*arguments: Any) -> Any:
            self._left -= 1
            if self._left < 0:
                raise NoAnswer("silent")
            return getattr(self._store, name)(*arguments)

        return call


def test_what_is_spread_goes_where_the_forecast_says_that_less_is_due() -> None:
    world = Installation()
    for number in range(200):
        world.have(f"crowd-{number}", cron(f"{number % 30} 1 * * *"))
    world.forecaster.advance(LONG, 1)
    late = [_offset(world, f"spread-{number}") >= 1_800 for number in range(60)]
    assert sum(late) > 37, "three quarters of them, where a coin would have half"


def _offset(world: Installation, name: str) -> int:
    schedules = Schedules(store=world.store, clock=world.clock, ids=CountingIds(), shards=1)
    spec = Spec(cron("0 1 * * *"), HandlerTarget("billing.nightly"), policies=Policies(spread=Spread()))
    make: Callable[[Spec | None, Instant], Spec] = lambda _current, _now: spec  # noqa: E731 - what the service wants
    answer = schedules.create(Caller(Tenant("acme"), "demo", "request"), name, make)
    offset = answer.form["spread_offset_seconds"]
    assert isinstance(offset, int)
    assert offset * SECOND < HOUR + SECOND
    return offset
