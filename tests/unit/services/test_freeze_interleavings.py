"""A freeze and a worker, a freeze and a dispatcher, in every order of their steps: what returned is obeyed."""

from typing import Any

import pytest

from cronfleet.domain.instant import MINUTE, SECOND
from cronfleet.domain.run import RunStatus
from cronfleet.services.freezing import Freezing, WholeTenant
from tests.support.actors import Actor, no_actor_left
from tests.support.builders import every, timer
from tests.support.lived import ACME
from tests.support.workshop import TWO, Workshop
from tests.support.world import World


def freezing_actor(world: World, act: Any) -> Actor:
    def body(actor: Actor) -> Any:
        return act(Freezing(store=actor.port(world.store), clock=world.clock, ids=world.ids))

    return Actor("freezer", body)


def freeze(freezing: Freezing) -> str:
    return str(freezing.freeze(ACME, WholeTenant(), reason="the ledger moves").form["id"])


def steps_of(make: Any) -> int:
    return len(make().run().steps)


WORKER_STEPS = steps_of(lambda: Workshop().deliver_as_actor("worker"))
FREEZE_STEPS = steps_of(lambda: freezing_actor(Workshop(), freeze))


@pytest.mark.parametrize("worker_steps", range(WORKER_STEPS))
def test_a_worker_that_a_freeze_overtakes_anywhere_starts_only_what_it_had_asked_about_before(
    worker_steps: int,
) -> None:
    world = Workshop()
    worker = world.deliver_as_actor("worker").run(worker_steps)
    with no_actor_left(worker):
        had_asked = "get_notices" in worker.steps
        had_begun = bool(world.targets.made)
        freezing_actor(world, freeze).finish()
        worker.finish()
    if not had_asked:
        assert not world.targets.made
        assert world.stored.status is RunStatus.FROZEN
    elif world.targets.made and not had_begun:
        # It stood still between its look and its call, as it may after any look.
        assert world.stored.status is RunStatus.SUCCEEDED


@pytest.mark.parametrize("freeze_steps", range(FREEZE_STEPS))
@pytest.mark.parametrize("worker_steps", range(0, WORKER_STEPS, 3))
def test_whatever_their_order_the_row_ends_once_and_a_second_message_starts_nothing(
    freeze_steps: int, worker_steps: int
) -> None:
    world = Workshop()
    freezer = freezing_actor(world, freeze).run(freeze_steps)
    worker = world.deliver_as_actor("worker").run(worker_steps)
    with no_actor_left(freezer, worker):
        freezer.finish()
        worker.finish()
    assert world.stored.status in (RunStatus.FROZEN, RunStatus.SUCCEEDED)
    called = len(world.targets.made)
    assert called == (world.stored.status is RunStatus.SUCCEEDED)
    world.clock.advance(MINUTE)
    world.deliver()
    assert len(world.targets.made) == called


def crowd() -> World:
    world = World(TWO)
    for number in range(3):
        world.add(timer(every(10, TWO), TWO, schedule_id=f"s{number}"))
    return world


TICK_STEPS = steps_of(lambda: crowd().tick_as_actor("dispatcher"))


@pytest.mark.parametrize("tick_steps", range(TICK_STEPS))
def test_a_tick_that_a_freeze_overtakes_anywhere_loses_and_doubles_nothing(tick_steps: int) -> None:
    world = crowd()
    dispatcher = world.tick_as_actor("dispatcher").run(tick_steps)
    with no_actor_left(dispatcher):
        freezing_actor(world, freeze).finish()
        dispatcher.finish()
    for _ in range(4):
        world.clock.advance(30 * SECOND)
        world.tick()
    for number in range(3):
        held = world.timer(f"s{number}")
        assert held.nominal_at is not None
        named = list(range(TWO, held.nominal_at, 10 * SECOND))
        assert world.accounted(held) == named
