"""Every order of steps of two dispatchers while missed fires are caught up, with changes by callers in between.

The promise under test: each nominal that a timer has moved past, or holds in its backlog, is accounted for exactly
once: as a run that was sent, as a skip in the ledger, or as one that still waits for its turn.
"""

from collections.abc import Callable

import pytest

from cronfleet.domain.change import cancelled, edited, paused, resumed
from cronfleet.domain.instant import HOUR, MINUTE, SECOND
from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.schedule import Pause, Spec, Timer
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.trigger import OneShotTrigger, fires
from cronfleet.ports.job_store import InsertDefinition, InsertRun, InsertRunTimer, UpdateTimer, Write
from tests.support.actors import overtake
from tests.support.builders import at, backlog_of, cron, every, timer
from tests.support.world import World

TWO = at("2026-12-01 02:00")
PAST_EVERY_LEASE = 20 * SECOND
BEHIND, ONCE = "behind", "once"
SOME = Misfire(MisfirePolicy.CATCH_UP, 40, 60, window_seconds=3_000, per_minute=30)
FIRST = {BEHIND: TWO - HOUR, ONCE: TWO - HOUR}


def behind() -> World:
    """Twenty minutes of catching up lie ahead; the next tick drops, catches up and fires, all in one claim."""
    world = World(TWO)
    world.add(timer(cron("* * * * *"), TWO - HOUR, schedule_id=BEHIND, misfire=SOME))
    world.add(timer(OneShotTrigger(TWO - HOUR, "", None), TWO - HOUR, schedule_id=ONCE))
    return world


def in_the_middle() -> World:
    """The same, two ticks on: a part is caught up, the rest waits for its turns."""
    world = behind()
    for _ in range(2):
        world.tick()
        world.clock.advance(5 * SECOND)
    return world


SCENES = {scene.__name__: scene for scene in (behind, in_the_middle)}


def settle(world: World) -> None:
    for _ in range(3):
        world.clock.advance(PAST_EVERY_LEASE)
        world.tick()


def check(world: World) -> None:
    """Nothing lost, nothing doubled, nothing invented."""
    for schedule_id, first_at in FIRST.items():
        held = world.timer(schedule_id)
        until = held.nominal_at - 1 if held.nominal_at is not None else world.clock.now()
        named = list(fires(held.trigger, first_at - 1, until))
        assert sorted(world.accounted(held) + backlog_of(held)) == named, schedule_id
    assert len(world.sent) >= len(world.sent_keys)
    lease = world.store.get_lease(0)
    assert lease is not None
    assert lease.open_batch is None


def steps_of(scene: Callable[[], World]) -> int:
    return len(scene().tick_as_actor("alone").run().steps)


def test_the_tick_drops_catches_up_and_fires_and_stops_between_all_of_it() -> None:
    world = behind()
    actor = world.tick_as_actor("alone").run()
    assert {step.split()[0] for step in actor.steps} >= {"put_batch", "announce", "claim", "send", "insert_run"}
    late = [message for message in world.sent if message.late is not None]
    assert late
    assert len(late) < len(world.sent)


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_a_dispatcher_that_dies_anywhere_is_followed_by_one_that_dies_anywhere(scene: Callable[[], World]) -> None:
    steps = steps_of(scene)
    for first_steps in range(steps):
        for second_steps in range(0, steps + 4, 2):
            world = scene()
            world.tick_as_actor("first").run(first_steps).kill()
            world.clock.advance(PAST_EVERY_LEASE)
            world.tick_as_actor("second").run(second_steps).kill()
            settle(world)
            check(world)


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_a_dispatcher_that_lost_its_lease_anywhere_and_lives_on_does_no_harm(scene: Callable[[], World]) -> None:
    steps = steps_of(scene)
    for first_steps in range(steps):
        for second_steps in range(0, steps + 4, 2):
            world = scene()
            first = world.tick_as_actor("first").run(first_steps)
            world.clock.advance(PAST_EVERY_LEASE)
            second = world.tick_as_actor("second")
            overtake(first, second, second_steps)
            settle(world)
            check(world)


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_a_lost_reply_at_any_step_loses_and_doubles_nothing(scene: Callable[[], World]) -> None:
    for lost in range(steps_of(scene)):
        world = scene()
        actor = world.tick_as_actor("first").run(lost)
        if actor.at is None or not actor.at.endswith("done") or actor.at.startswith("send"):
            actor.kill()
            continue
        actor.step("lose the reply")
        actor.run()
        settle(world)
        check(world)


# --- changes by callers, between any two steps ---------------------------------------------------------------


def pause_and_resume(world: World, held: Timer) -> list[Write]:
    now, ids = world.clock.now(), world.ids
    off = paused(held, Pause("ada", now), now=now, change_id=ids.unique())
    world.store.commit([UpdateTimer(off, held)])
    on, rows = resumed(off, now=now, change_id=ids.unique(), catch_up=Misfire(MisfirePolicy.CATCH_UP, 9))
    return [UpdateTimer(on, off), *(InsertRun(row) for row in rows)]


def cancel(world: World, held: Timer) -> list[Write]:
    after, rows = cancelled(held, now=world.clock.now(), change_id=world.ids.unique())
    return [UpdateTimer(after, held), *(InsertRun(row) for row in rows)]


def retime(world: World, held: Timer) -> list[Write]:
    before = world.store.get_definition(held.tenant, held.schedule_id, held.version)
    assert before is not None
    spec = Spec(every(7, TWO), HandlerTarget("billing.nightly"))
    now, change_id = world.clock.now(), world.ids.unique()
    after, definition, rows, timers = edited(
        held, before, spec, now=now, change_id=change_id, author="ada", reason="faster"
    )
    waits: list[Write] = [InsertRunTimer(one) for one in timers]
    return [UpdateTimer(after, held), InsertDefinition(definition), *(InsertRun(row) for row in rows), *waits]


CHANGES = {one.__name__: one for one in (pause_and_resume, cancel, retime)}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
@pytest.mark.parametrize("crash", [False, True], ids=["goes on", "dies"])
def test_a_change_between_any_two_steps_leaves_no_missed_fire_unaccounted(
    scene: Callable[[], World], change: Callable[[World, Timer], list[Write]], crash: bool
) -> None:
    for steps in range(steps_of(scene)):
        world = scene()
        actor = world.tick_as_actor("first").run(steps)
        held = world.timer(BEHIND)
        world.store.commit(change(world, held))
        changed_at = world.clock.now()
        if crash:
            actor.kill()
        actor.run()
        settle(world)
        after = world.timer(BEHIND)
        named = [one for one in fires(held.trigger, TWO - HOUR - 1, changed_at) if one <= TWO - MINUTE]
        found = [one for one in world.accounted(held) if one <= TWO - MINUTE]
        if after.epoch != held.epoch and after.trigger == held.trigger:
            found += [one for one in world.accounted(after) + backlog_of(after) if one <= TWO - MINUTE]
        assert sorted(found) == named, f"after {steps} steps"
