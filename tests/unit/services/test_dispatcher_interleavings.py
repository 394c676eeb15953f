"""Every order of steps of two dispatchers on one shard, with crashes, lost replies and stolen leases in between.

The promise under test: each nominal that a timer has moved past is accounted for exactly once, as a run that was
sent or a skip in the ledger; nothing else was sent; and the shard goes on.
"""

from collections.abc import Callable, Iterator

import pytest

from cronfleet.domain.change import cancelled, edited, paused, resumed, shadowed
from cronfleet.domain.claim import RunTimer, TimerKind
from cronfleet.domain.instant import HOUR, MINUTE, SECOND
from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.run import Run, RunKey, RunStatus
from cronfleet.domain.schedule import Hold, Pause, Shadow, Spec, Status, Timer
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.trigger import OneShotTrigger, fires
from cronfleet.ports.job_store import InsertDefinition, InsertRun, InsertRunTimer, UpdateTimer
from tests.support.actors import Actor, no_actor_left, overtake
from tests.support.builders import at, cron, every, timer
from tests.support.world import World

TWO = at("2026-12-01 02:00")
PAST_EVERY_LEASE = 20 * SECOND
NIGHTLY, OFTEN, ONCE, LATE, SHADOW = "nightly", "often", "once", "late", "shadow"
IN_SHADOW = Hold("ada", TWO - HOUR, Shadow("ada", TWO - HOUR))
WAITING_RUN = RunKey("acme", "nightly", 1, TWO - HOUR)


def herd() -> World:
    """What a shard may hold at once: two nominals due together, a one-shot, a misfire to skip, a run's own timer, and a
    schedule that is held in shadow.
    """
    world = World(TWO)
    world.add(timer(every(10, TWO), TWO, schedule_id=OFTEN))
    world.add(timer(OneShotTrigger(TWO, "2026-12-01T02:00:00Z", None), TWO, schedule_id=ONCE))
    world.add(
        timer(
            cron("*/10 * * * *"),
            TWO - HOUR,
            schedule_id=LATE,
            misfire=Misfire(MisfirePolicy.FIRE_ONCE, grace_seconds=60),
        )
    )
    world.add(timer(every(10, TWO), TWO - 20 * SECOND, schedule_id=SHADOW, status=Status.HELD, hold=IN_SHADOW))
    retry = RunTimer(WAITING_RUN, TimerKind.RETRY, 2, TWO, "standard", 0, 1, 60)
    row = Run(WAITING_RUN, RunStatus.WAITING, due_at=TWO - HOUR, tier="standard", retry_at=TWO)
    world.store.commit([InsertRunTimer(retry), InsertRun(row)])
    return world


def settle(world: World) -> None:
    """Undisturbed ticks: whatever was left open is finished."""
    for _ in range(3):
        world.clock.advance(PAST_EVERY_LEASE)
        world.tick()


def check(world: World, first: dict[str, int]) -> None:
    """Nothing lost, nothing doubled, nothing invented."""
    for schedule_id, first_at in first.items():
        held = world.timer(schedule_id)
        until = held.nominal_at - 1 if held.nominal_at is not None else None
        named = list(fires(held.trigger, first_at - 1, until if until is not None else world.clock.now()))
        assert world.accounted(held) == named, schedule_id
    assert WAITING_RUN in world.sent_keys
    check_shadow(world)
    lease = world.store.get_lease(0)
    assert lease is not None
    assert lease.open_batch is None


def check_shadow(world: World) -> None:
    """What is held in shadow is never sent, and stays held until somebody turns it on."""
    rows = [row for row in world.store.state.runs.values() if row.key.schedule_id == SHADOW]
    on_since = world.timer(SHADOW).epoch_since
    if world.timer(SHADOW).status is Status.HELD:
        assert {row.status for row in rows} == {RunStatus.SHADOW}
    sent = [key for key in world.sent_keys if key.schedule_id == SHADOW]
    assert all(key.epoch == 2 and key.nominal_at > on_since for key in sent)


FIRST = {OFTEN: TWO, ONCE: TWO, LATE: TWO - HOUR, SHADOW: TWO - 20 * SECOND}


def steps_of_one() -> int:
    """How many steps an undisturbed tick of the herd has."""
    world = herd()
    return len(world.tick_as_actor("alone").run().steps)


STEPS = steps_of_one()


DECIDING = {"get_notices", "get_tenants"}
"""What a dispatcher asks besides what is due, before it plans."""


def test_the_herd_really_stops_between_all_the_steps_that_matter() -> None:
    actor = herd().tick_as_actor("alone").run()
    assert actor.error is None
    names = {step.split()[0] for step in actor.steps}
    asked = {"begin", "take_lease", "due", *DECIDING}
    assert names == {*asked, "put_batch", "announce", "claim", "send", "insert_run", "release"}
    assert actor.steps.count("claim") == 5


@pytest.mark.parametrize("first_steps", range(STEPS))
def test_a_dispatcher_that_dies_anywhere_is_followed_by_one_that_dies_anywhere(first_steps: int) -> None:
    for second_steps in range(STEPS + 4):
        world = herd()
        first = world.tick_as_actor("first").run(first_steps)
        first.kill()
        world.clock.advance(PAST_EVERY_LEASE)
        second = world.tick_as_actor("second").run(second_steps)
        second.kill()
        settle(world)
        check(world, FIRST)


@pytest.mark.parametrize("first_steps", range(STEPS))
def test_a_dispatcher_that_lost_its_lease_anywhere_and_lives_on_does_no_harm(first_steps: int) -> None:
    """It stands still past its lease, another works (and stands still in its turn), then it goes on."""
    for second_steps in range(STEPS + 4):
        world = herd()
        first = world.tick_as_actor("first").run(first_steps)
        world.clock.advance(PAST_EVERY_LEASE)
        second = world.tick_as_actor("second")
        overtake(first, second, second_steps)
        settle(world)
        check(world, FIRST)


@pytest.mark.parametrize("first_steps", range(STEPS))
def test_a_dispatcher_that_returns_after_two_successors_does_no_harm(first_steps: int) -> None:
    """By then the timers have moved on under other batches: its late claims must all lose."""
    for more in range(0, STEPS, 3):
        world = herd()
        first = world.tick_as_actor("first").run(first_steps)
        with no_actor_left(first):
            world.clock.advance(PAST_EVERY_LEASE)
            world.tick()
            world.clock.advance(PAST_EVERY_LEASE)
            first.run(more)
            world.tick()
            first.run()
        settle(world)
        check(world, FIRST)


@pytest.mark.parametrize("lost", range(STEPS))
def test_a_lost_reply_at_any_step_loses_and_doubles_nothing(lost: int) -> None:
    world = herd()
    actor = world.tick_as_actor("first").run(lost)
    if actor.at is None or not actor.at.endswith("done") or actor.at.startswith("send"):
        actor.kill()  # Not a reply of the store; that a queue's reply may be lost is its adapter's contract.
        return
    actor.step("lose the reply")
    actor.run()
    settle(world)
    check(world, FIRST)


def two_lost_replies() -> Iterator[tuple[int, int]]:
    return ((first, second) for first in range(STEPS) for second in range(0, STEPS, 2))


def test_two_lost_replies_lose_and_double_nothing() -> None:
    for first_lost, second_lost in two_lost_replies():
        world = herd()
        actor = world.tick_as_actor("first")
        for steps in (first_lost, second_lost):
            actor.run(steps)
            if actor.at is not None and actor.at.endswith("done") and not actor.at.startswith("send"):
                actor.step("lose the reply")
        actor.run()
        settle(world)
        check(world, FIRST)


# --- changes by callers, between any two steps ---------------------------------------------------------------


def pause(world: World, held: Timer) -> None:
    after = paused(held, Pause("ada", world.clock.now()), now=world.clock.now(), change_id=world.ids.unique())
    world.store.commit([UpdateTimer(after, held)])


def cancel(world: World, held: Timer) -> None:
    after, rows = cancelled(held, now=world.clock.now(), change_id=world.ids.unique())
    world.store.commit([UpdateTimer(after, held), *(InsertRun(row) for row in rows)])


def retime(world: World, held: Timer) -> None:
    before = world.store.get_definition(held.tenant, held.schedule_id, held.version)
    assert before is not None
    spec = Spec(every(7, TWO), HandlerTarget("billing.nightly"))
    after, definition, rows, timers = edited(
        held, before, spec, now=world.clock.now(), change_id=world.ids.unique(), author="ada", reason="faster"
    )
    writes = [InsertRun(row) for row in rows] + [InsertRunTimer(one) for one in timers]
    world.store.commit([UpdateTimer(after, held), InsertDefinition(definition), *writes])


CHANGES: dict[str, Callable[[World, Timer], None]] = {"pause": pause, "cancel": cancel, "retime": retime}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("crash", [False, True], ids=["goes on", "dies"])
def test_a_change_between_any_two_steps_leaves_no_nominal_unaccounted(name: str, crash: bool) -> None:
    """What was claimed before the change was sent; what was not is the change's to account for."""
    for steps in range(STEPS):
        world = herd()
        actor = world.tick_as_actor("first").run(steps)
        held = world.timer(OFTEN)
        CHANGES[name](world, held)
        after = world.timer(OFTEN)
        if crash:
            actor.kill()
        actor.run()
        settle(world)
        accounted = world.accounted(held)
        claimed_or_left = list(fires(held.trigger, TWO - 1, (held.nominal_at or TWO) - 1))
        if name == "pause":
            assert accounted == claimed_or_left
            assert world.timer(OFTEN).nominal_at == held.nominal_at
        else:
            due = list(fires(held.trigger, TWO - 1, after.epoch_since))
            assert accounted == sorted({*claimed_or_left, *due})
        check(world, {ONCE: TWO, LATE: TWO - HOUR})


def turn_on(world: World, held: Timer) -> None:
    after, rows = resumed(held, now=world.clock.now(), change_id=world.ids.unique(), catch_up=None)
    world.store.commit([UpdateTimer(after, held), *(InsertRun(row) for row in rows)])


def leave_shadow(world: World, held: Timer) -> None:
    now = world.clock.now()
    after, rows = shadowed(held, None, now=now, change_id=world.ids.unique(), by="ada")
    world.store.commit([UpdateTimer(after, held), *(InsertRun(row) for row in rows)])


HELD_CHANGES: dict[str, Callable[[World, Timer], None]] = {
    "turned on": turn_on,
    "out of shadow": leave_shadow,
    "cancelled": cancel,
    "retimed": retime,
}


@pytest.mark.parametrize("name", HELD_CHANGES)
@pytest.mark.parametrize("crash", [False, True], ids=["goes on", "dies"])
@pytest.mark.parametrize("behind", [0, 2 * SECOND], ids=["clocks agree", "the caller's is behind"])
def test_what_is_held_in_shadow_and_changed_between_any_two_steps_has_each_nominal_once(
    name: str, crash: bool, behind: int
) -> None:
    """No double and no gap: what was named up to the change is noted, what comes after it is fired, noted, or not."""
    for steps in range(STEPS):
        world = herd()
        actor = world.tick_as_actor("dispatcher").run(steps)
        world.clock.set(TWO + 500 - behind)
        HELD_CHANGES[name](world, world.timer(SHADOW))
        after = world.timer(SHADOW)
        world.clock.set(TWO + 500)
        if crash:
            actor.kill()
        actor.run()
        world.tick()
        settle(world)
        until = world.timer(SHADOW).nominal_at or after.epoch_since + 1
        rows = [row for row in world.store.state.runs.values() if row.key.schedule_id == SHADOW]
        noted = [one for row in rows for one in _stood_for(row, row.key.nominal_at, row.last_nominal_at)]
        sent = [key.nominal_at for key in world.sent_keys if key.schedule_id == SHADOW]
        named = [*fires(every(10, TWO), TWO - 20 * SECOND - 1, after.updated_at)]
        named += fires(after.trigger, after.updated_at, until - 1)
        assert sorted([*noted, *sent]) == named, (name, steps)
        check_shadow(world)


def _stood_for(row: Run, first_at: int, last_at: int) -> list[int]:
    every_seconds = 7 if row.key.epoch == 2 else 10
    return list(fires(every(every_seconds, TWO), first_at - 1, last_at))


def test_a_tick_that_is_delivered_twice_at_once_is_served_once() -> None:
    """O01: twenty invocations for one slot, in every order of their first steps."""
    world = herd()
    actors: list[Actor] = [world.tick_as_actor(f"copy {number}") for number in range(20)]
    with no_actor_left(*actors):
        for step in range(3):
            for actor in actors[:: -1 if step % 2 else 1]:
                actor.run(1)
        for actor in actors:
            actor.finish()
    assert sum(actor.result.fires for actor in actors) == len(world.sent)
    assert len(world.sent) == len(world.sent_keys)
    settle(world)
    check(world, FIRST)


def test_ten_thousand_seconds_of_a_busy_schedule_survive_a_crash_in_every_tick() -> None:
    """O05: each tick dies at another step; the next finishes its batch."""
    world = World(TWO)
    world.add(timer(every(1, TWO), TWO, schedule_id=OFTEN))
    for number in range(200):
        world.tick_as_actor(f"tick {number}").run(number % 13).kill()
        world.clock.advance(PAST_EVERY_LEASE)
    for _ in range(4):
        settle(world)
    held = world.timer(OFTEN)
    assert held.nominal_at is not None
    assert world.accounted(held) == list(fires(held.trigger, TWO - 1, held.nominal_at - 1))
    assert world.clock.now() - held.nominal_at < MINUTE
