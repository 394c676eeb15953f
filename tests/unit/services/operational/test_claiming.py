"""Operational cases about claiming, missed fires and the store, as docs/guarantees.md lists them by their ids."""

import random
from collections import Counter
from collections.abc import Callable

import pytest

from cronfleet.adapters.memory.due_index import DueIndex, ItemKey
from cronfleet.adapters.memory.job_store import MemoryJobStore
from cronfleet.adapters.memory.side_by_side import OneByOne
from cronfleet.domain.claim import DueItem
from cronfleet.domain.dispatch_plan import CATCH_UP_SHARE
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND, Instant
from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.run import RunKey
from cronfleet.domain.schedule import Spec, Status
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.tenant import Tenant
from cronfleet.domain.trigger import OneShotTrigger, fires
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import NoAnswer, Page
from cronfleet.ports.queues import Tick
from cronfleet.services.access import Caller
from cronfleet.services.dispatcher import Dispatcher
from cronfleet.services.schedules import Schedules
from cronfleet.services.worker import Worker
from tests.support.actors import no_actor_left
from tests.support.builders import at, cron, timer
from tests.support.faults import Crash, FaultAt, Faulty, FaultyQueue, FaultyStore, Hook
from tests.support.workshop import Effects, succeeds
from tests.support.world import SHARD, World

TWO = at("2026-12-01 02:00")
ACME = Caller(Tenant("acme"), "demo", "request-1")
SKIP = Misfire(MisfirePolicy.SKIP, 1, 30)
CATCH_UP_ONCE = Misfire(MisfirePolicy.FIRE_ONCE, 1, 30)


def faulty_dispatcher(world: World, hook: Hook) -> Dispatcher:
    return Dispatcher(
        store=FaultyStore(world.store, hook),  # type: ignore[arg-type]  # every call of the port goes through it
        run_queue=FaultyQueue(world.run_queue, hook),  # type: ignore[arg-type]  # as above
        errand_queue=world.errand_queue,
        side_by_side=OneByOne(),
        clock=world.clock,
        ids=world.ids,
        telemetry=world.notes,
    )


def tick_with(world: World, hook: Hook) -> None:
    slot_at = world.clock.now() - world.clock.now() % (5 * SECOND)
    faulty_dispatcher(world, hook).tick(Tick(SHARD, slot_at), world.clock.now() + MINUTE)


def accounts_for_all(world: World, first_at: Instant, schedule_id: str = "nightly") -> bool:
    held = world.timer(schedule_id)
    until = world.clock.now() if held.nominal_at is None else held.nominal_at - 1
    return world.accounted(held) == list(fires(held.trigger, first_at - 1, until))


@pytest.mark.parametrize("seed", range(15))
def test_twenty_dispatchers_in_parallel_and_a_redelivered_tick_make_one_run(seed: int) -> None:
    """O01: in an order of steps that the seed draws."""
    world = World(TWO)
    world.add(timer(cron("0 2 * * *"), TWO))
    order = random.Random(seed)
    actors = [world.tick_as_actor(f"dispatcher {number}") for number in range(20)]
    with no_actor_left(*actors):
        while going := [actor for actor in actors if not actor.is_over]:
            order.choice(going).step()
    world.tick_as_actor("redelivered").run()
    assert [message.key for message in world.sent] == [RunKey("acme", "nightly", 1, TWO)]
    assert len(world.store.state.batches) == 1


@pytest.mark.parametrize("error", [NoAnswer("throttled"), NoAnswer("time-out"), RuntimeError("unknown")])
def test_nothing_that_is_due_is_read_or_sent_without_a_lease_that_was_confirmed(error: Exception) -> None:
    """O03: whatever the store says instead of yes, and the next tick recovers."""
    world = World(TWO)
    world.add(timer(cron("0 2 * * *"), TWO))
    asked: list[str] = []

    def refuses(when: str, name: str) -> None:
        asked.append(name)
        if when == "before" and name == "take_lease":
            raise error

    with pytest.raises(type(error)):
        tick_with(world, refuses)
    assert set(asked) - {"skew_ms"} == {"get_notices", "take_lease"}
    assert not world.sent
    world.clock.advance(5 * SECOND)
    world.tick()
    assert len(world.sent) == 1


def test_a_tick_that_the_store_did_not_answer_is_counted() -> None:
    """O03: so that an alarm can watch it."""
    world = World(TWO)

    def silent(when: str, name: str) -> None:
        if when == "before" and name == "take_lease":
            raise NoAnswer

    with pytest.raises(NoAnswer):
        tick_with(world, silent)
    assert world.notes.counts["ticks_unanswered"] == 1


def test_a_one_shot_whose_row_is_written_late_fires_once_and_late() -> None:
    """O08: due in one second, and the write takes three."""
    world = World(TWO)

    def slow(when: str, name: str) -> None:
        if when == "before" and name == "commit":
            world.clock.advance(3 * SECOND)

    schedules = Schedules(
        store=Faulty(world.store, slow),  # type: ignore[arg-type]  # every call of the port goes through it
        clock=world.clock,
        ids=world.ids,
        shards=1,
    )
    once = OneShotTrigger(TWO + SECOND, "2026-12-01T02:00:01Z", None)
    schedules.create(ACME, "once", lambda *_: Spec(once, HandlerTarget("billing.nightly")))
    for _ in range(4):
        world.tick()
        world.clock.advance(5 * SECOND)
    assert [message.key.nominal_at for message in world.sent] == [TWO + SECOND]
    assert world.timer("once").status is Status.COMPLETED


def one_shot_world() -> World:
    world = World(TWO)
    world.add(timer(OneShotTrigger(TWO, "2026-12-01T02:00:00Z", None), TWO, schedule_id="once"))
    return world


def test_a_one_shot_is_never_used_up_without_a_run_wherever_its_dispatcher_dies() -> None:
    """O08: between marking it done and sending it too."""
    count = FaultAt(None)
    tick_with(one_shot_world(), count)
    assert ("after", "claim") in count.moments
    for step in range(len(count.moments)):
        world = one_shot_world()
        with pytest.raises(Crash):
            tick_with(world, FaultAt(step))
        for _ in range(3):
            world.clock.advance(20 * SECOND)
            world.tick()
        assert world.sent_keys == {RunKey("acme", "once", 1, TWO)}, count.moments[step]
        assert world.timer("once").status is Status.COMPLETED


def test_a_daily_job_whose_dispatcher_was_away_at_its_time_runs_once_and_says_why_it_is_late() -> None:
    """O11: away from ten seconds before to sixty after, which is past its grace."""
    world = World(TWO - 15 * SECOND)
    world.add(timer(cron("0 2 * * *"), TWO, misfire=CATCH_UP_ONCE))
    world.tick()
    world.clock.set(TWO + MINUTE)
    world.tick()
    (message,) = world.sent
    parts = {"store": world.store, "run_queue": world.run_queue, "clock": world.clock, "ids": world.ids}
    effects = Effects(world, succeeds)  # type: ignore[arg-type]  # it needs a clock and a store
    Worker(targets=effects, telemetry=world.notes, **parts).handle(message)
    row = world.store.get_run(message.key)
    assert row is not None
    assert (row.key.nominal_at, row.due_at, row.lag_ms) == (TWO, TWO + MINUTE, 0)
    assert (world.notes.measures["lag"], world.notes.measures["catch_up_lag"]) == ([], [0.0])
    assert row.late is not None
    assert row.late.reason.text.startswith("caught up: missed from 2026-12-01T02:00:00Z to 2026-12-01T02:00:00Z")


@pytest.mark.parametrize("misfire", [SKIP, CATCH_UP_ONCE], ids=["skip", "catch up once"])
def test_no_minute_is_overlooked_when_ticks_come_further_apart(misfire: Misfire) -> None:
    """O13: gaps of 61, 90 and 200 s, and ordinary ticks in between."""
    world = World(TWO)
    world.add(timer(cron("* * * * *"), TWO, misfire=misfire))
    for gap in (61, 5, 90, 5, 200, 5, 5, 61):
        world.tick()
        world.clock.advance(gap * SECOND)
    world.tick()
    assert accounts_for_all(world, TWO)
    assert len(world.sent_keys) == len(world.sent)


def test_an_hours_outage_of_two_thousand_minutely_schedules_is_caught_up_once_each() -> None:
    """O26: no schedule runs more than one of what it missed, and every minute of it is in the ledger."""
    world = World(TWO)
    names = [f"job-{number:04}" for number in range(2_000)]
    for name in names:
        world.add(timer(cron("* * * * *"), TWO, schedule_id=name, misfire=CATCH_UP_ONCE))
    world.clock.advance(HOUR + 30_500)
    world.allow(10_000, 100_000)
    for _ in range(len(names) // CATCH_UP_SHARE + 1):
        before = world.notes.counts["caught_up"]
        world.tick()
        assert world.notes.counts["caught_up"] - before <= CATCH_UP_SHARE
        world.clock.advance(5 * SECOND)
    late = Counter(key.schedule_id for key in world.sent_keys if key.nominal_at <= TWO + HOUR)
    assert set(late.values()) == {1}
    assert len(late) == len(names)
    assert all(accounts_for_all(world, TWO, name) for name in names[::100])


def test_catching_up_once_stays_once_for_a_tenant_that_has_had_its_share_of_the_tick() -> None:
    """O26: a deferral must not make fires that were missed look as if they were in time."""
    world = World(TWO)
    names = [f"job-{number:02}" for number in range(20)]
    for name in names:
        world.add(timer(cron("* * * * *"), TWO, schedule_id=name, misfire=CATCH_UP_ONCE))
    world.clock.advance(HOUR + 31_000)
    world.allow(1, 5)
    for _ in range(60):
        world.tick(shards=64)
        world.clock.advance(5 * SECOND)
    late = Counter(key.schedule_id for key in world.sent_keys if key.nominal_at <= TWO + HOUR)
    assert late == dict.fromkeys(names, 1)
    assert all(accounts_for_all(world, TWO, name) for name in names)


def test_what_is_paused_finished_or_cancelled_is_in_nobodys_way() -> None:
    """O40: a thousand of them with past times, and one active schedule that fires at once."""
    world = World(TWO)
    for number in range(1_000):
        status = (Status.PAUSED, Status.COMPLETED, Status.CANCELLED)[number % 3]
        past = timer(cron("0 1 * * *"), TWO - DAY, schedule_id=f"past-{number:04}", status=status, due_at=None)
        world.add(past)
    world.add(timer(cron("0 2 * * *"), TWO))
    page = world.store.due(SHARD, TWO + 10 * SECOND, None, 100)
    assert [item.schedule_id for item in page.items] == ["nightly"]  # type: ignore[union-attr]  # a schedule's timer
    world.tick()
    assert [message.key.schedule_id for message in world.sent] == ["nightly"]


def throttled_until(world: World, end: Instant, name: str) -> Callable[[str, str], None]:
    """Every second call of `name` goes unanswered until `end`."""
    calls: Counter[str] = Counter()

    def hook(when: str, called: str) -> None:
        if when == "before" and called == name and world.clock.now() < end:
            calls[called] += 1
            # Longer than one tick asks: most ticks end without an answer.
            if calls[called] % 7:
                raise NoAnswer

    return hook


@pytest.mark.parametrize("throttled", ["claim", "due", "announce"])
def test_five_minutes_of_throttling_lose_and_double_nothing(throttled: str) -> None:
    """O60: ticks slow down and keep their place; afterwards everything is accounted for."""
    world = World(TWO)
    names = [f"job-{number:02}" for number in range(30)]
    for name in names:
        world.add(timer(cron("* * * * *"), TWO, schedule_id=name, misfire=Misfire(MisfirePolicy.CATCH_UP, 60, 30)))
    hook = throttled_until(world, TWO + 5 * MINUTE, throttled)
    unanswered = 0
    while world.clock.now() < TWO + 8 * MINUTE:
        try:
            tick_with(world, hook)
        except NoAnswer:
            unanswered += 1
        world.clock.advance(5 * SECOND)
    assert unanswered, "nothing was throttled"
    assert all(accounts_for_all(world, TWO, name) for name in names)
    assert all(world.timer(name).nominal_at == TWO + 9 * MINUTE for name in names)


class LaggingIndex(DueIndex):
    """Shows the world as it was seven seconds ago: longer than a tick takes to come again."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._shown = DueIndex()
        self._pending: list[tuple[Instant, Callable[[], None]]] = []

    def put(self, key: ItemKey, shard: int, due_at: Instant, item: DueItem) -> None:
        self._pending.append((self._clock.now(), lambda: self._shown.put(key, shard, due_at, item)))

    def remove(self, key: ItemKey) -> None:
        self._pending.append((self._clock.now(), lambda: self._shown.remove(key)))

    def page(self, shard: int, until: Instant, cursor: str | None, limit: int) -> Page[DueItem]:
        while self._pending and self._pending[0][0] <= self._clock.now() - 7 * SECOND:
            self._pending.pop(0)[1]()
        return self._shown.page(shard, until, cursor, limit)


def test_an_index_seven_seconds_behind_hides_no_fire_and_repeats_none() -> None:
    """O61: claims of stale entries are lost; a schedule made two seconds before its time is found by a later tick."""
    world = World(TWO)
    world.store = MemoryJobStore(world.clock, LaggingIndex(world.clock))
    world.add(timer(cron("* * * * *"), TWO, schedule_id="minutely"))
    world.add(
        timer(OneShotTrigger(TWO + 2 * SECOND, "2026-12-01T02:00:02Z", None), TWO + 2 * SECOND, schedule_id="new")
    )
    for _ in range(40):
        world.tick()
        world.clock.advance(5 * SECOND)
    assert accounts_for_all(world, TWO, "minutely")
    assert [message.key.schedule_id for message in world.sent].count("new") == 1
    assert len(world.sent) == len(world.sent_keys)
    assert world.notes.counts["claims_lost"] > 0, "nothing was stale"
