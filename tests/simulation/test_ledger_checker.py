"""The ledger's checker: what waits for its place is no loss, and nothing that is lost hides behind it."""

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from cronfleet.domain.rate import Rate
from cronfleet.domain.schedule import Spec, Status
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.trigger import IntervalTrigger
from simulator import population
from simulator.checkers.ledger import check_ledger
from simulator.faults import MINUTE, NONE
from simulator.world import START, World

KEY = (population.TENANTS[0], "often")
CALM_AT = START + 5 * MINUTE
WAITS_AT = START + 8 * MINUTE
SETTLED_AT = START + 10 * MINUTE


@pytest.fixture
def world() -> World:
    """A schedule that fired each half minute, and whose fires of the last two minutes wait for their places."""
    made = World(1, NONE, Rate(100, 2_500))
    spec = Spec(IntervalTrigger(30, START), HandlerTarget("sim.job"))
    made.loop.at(START + MINUTE, partial(made.ask, *KEY, "create", population.create(spec)))
    made.loop.run_until(SETTLED_AT + 2 * MINUTE)
    assert said(made) == set()
    for key in [key for key in made.rows if key.nominal_at >= WAITS_AT]:
        del made.rows[key]
    assert said(made) == {"a fire is lost"}
    stand(made, nominal_at=WAITS_AT, due_at=SETTLED_AT + 9 * MINUTE, reserved_at=SETTLED_AT + 9 * MINUTE)
    return made


def stand(world: World, **changes: Any) -> None:
    """Have the timer stand as somebody left it."""
    timers = world.store.state.timers
    timers[KEY] = replace(timers[KEY], **changes)


def said(world: World, calm_at: int = CALM_AT) -> Collection[str]:
    """What the checker finds."""
    return {one.promise for one in check_ledger(world, SETTLED_AT, calm_at)}


def test_what_waits_for_its_place_since_the_calm_is_not_lost(world: World) -> None:
    assert said(world) == set()


def test_what_waits_since_before_the_calm_is_put_off_for_ever(world: World) -> None:
    assert said(world, calm_at=WAITS_AT) == {"a fire is lost"}


def test_a_fire_before_the_one_that_waits_is_lost_all_the_same(world: World) -> None:
    del world.rows[max(world.rows, key=lambda key: key.nominal_at)]
    assert said(world) == {"a fire is lost"}


@pytest.mark.parametrize(
    "changes",
    [{"reserved_at": None}, {"due_at": None}, {"status": Status.PARKED}, {"nominal_at": None}],
    ids=["has no place", "is not due", "is parked", "names no time"],
)
def test_a_timer_of_which_nobody_can_see_what_waits_is_no_excuse(world: World, changes: dict[str, Any]) -> None:
    stand(world, **changes)
    assert said(world) == {"a fire is lost"}


def test_what_waits_may_not_have_two_entries_either(world: World) -> None:
    latest = max(world.rows, key=lambda key: key.nominal_at)
    row, again = world.rows[latest], replace(latest, nominal_at=WAITS_AT)
    world.rows[again] = replace(row, key=again)
    assert said(world) == set()
    world.rows[latest] = replace(row, until_nominal_at=WAITS_AT)
    assert said(world) == {"a fire has more than one entry"}
