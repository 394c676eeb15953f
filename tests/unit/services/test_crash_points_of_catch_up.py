"""Every crash point while missed fires are caught up: of dispatcher, worker and sweeper, and of callers' changes.

An hour was missed. What dies dies at any call of the ticks that notice it and catch it up; a second outage, a pause,
a cancellation, a changed trigger and a changed pace come in the middle. Whatever happens, `CrashingWorld` makes the
sum: each missed fire has exactly one entry, none ran twice, none started after a pause had returned.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from cronfleet.domain.instant import HOUR, MINUTE, SECOND, Instant
from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.run import RunStatus
from cronfleet.domain.schedule import Policies, Spec, Status
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.trigger import OneShotTrigger, Trigger
from tests.support.builders import at, backlog_of, every
from tests.support.crashing import API, DISPATCHER, SWEEPER, WORKER, CrashingWorld, Moment, told
from tests.support.lived import ACME

TWO = at("2026-12-01 02:00")
BEHIND, ENDED, ONCE, LATEST, NONE = "behind", "ended", "once", "latest", "none"
NAMES = (BEHIND, ENDED, ONCE, LATEST, NONE)
ALL_BUT_OLD = Misfire(MisfirePolicy.CATCH_UP, 100, 20, window_seconds=1_800, per_minute=30)
FEW = Misfire(MisfirePolicy.CATCH_UP, 5, 20, per_minute=12)
CAUGHT_UP = 3 * MINUTE
"""Within this everything that is wanted has had its turn."""


def spec(trigger: Trigger, misfire: Misfire, **changes: Any) -> Spec:
    return Spec(trigger, HandlerTarget("billing.nightly"), policies=Policies(misfire, timeout_seconds=20), **changes)


SPECS = {
    BEHIND: spec(every(60), ALL_BUT_OLD),
    ENDED: spec(every(300), FEW, end_at=TWO - 5 * MINUTE),
    ONCE: spec(OneShotTrigger(TWO - 30 * MINUTE, "", None), Misfire(grace_seconds=20)),
    LATEST: spec(every(30), Misfire(MisfirePolicy.FIRE_ONCE, 1, 20), end_at=TWO + 30 * SECOND),
    NONE: spec(every(60), Misfire(MisfirePolicy.SKIP, 1, 20)),
}


def world_of(*names: str) -> CrashingWorld:
    """A second before two o'clock, after an hour in which nothing ran."""
    world = CrashingWorld(TWO - HOUR - MINUTE)
    for name in names or NAMES:
        world.schedules.create(ACME, name, lambda *_, name=name: SPECS[name])
    world.live(30)
    world.clock.set(TWO - SECOND)
    return world


def lived(
    *stops: tuple[str, int],
    all_moments: bool = False,
    seconds: int = 15,
    meanwhile: Callable[[CrashingWorld], object] = lambda _: None,
    world: CrashingWorld | None = None,
) -> CrashingWorld:
    """A world that went through these stops, with `meanwhile` in the middle, and recovered."""
    world = world_of() if world is None else world
    world.plan(*stops, all_moments=all_moments)
    with told(world):
        world.live(seconds)
        meanwhile(world)
        while not world.stops.is_over:
            world.live(5)
            assert world.clock.now() < TWO + CAUGHT_UP
        world.recover()
        world.check()
    return world


def moments(*functions: str, all_moments: bool, until: Instant = TWO + 6 * SECOND) -> list[Moment]:
    """Where these functions can be stopped while the outage is noticed and catching up begins."""
    world = world_of()
    stops = world.plan(all_moments=all_moments)
    while world.clock.now() < until:
        world.live(5)
    return [one for one in stops.heard if one.function in functions and one.at <= until]


def caught_up(world: CrashingWorld, name: str) -> list[int]:
    rows = [row for row in world.store.state.runs.values() if row.key.schedule_id == name and row.late is not None]
    return sorted(row.key.nominal_at for row in rows if row.status is RunStatus.SUCCEEDED)


def test_undisturbed_each_policy_gets_what_it_wants_of_the_hour_and_the_last_schedule_is_completed() -> None:
    world = lived()
    assert caught_up(world, BEHIND) == [TWO - n * MINUTE for n in range(30, 0, -1)]
    assert caught_up(world, ENDED) == [TWO - n * 5 * MINUTE for n in range(5, 0, -1)]
    assert caught_up(world, ONCE) == [TWO - 30 * MINUTE]
    assert len(caught_up(world, LATEST)) == 1
    assert caught_up(world, NONE) == []
    assert {world.timer(name).status for name in (ENDED, ONCE, LATEST)} == {Status.COMPLETED}
    due = sorted(row.due_at for row in world.store.state.runs.values() if row.late and row.key.schedule_id == BEHIND)
    assert all(later - earlier >= 2 * SECOND for earlier, later in pairwise(due))


@pytest.mark.parametrize("function", [DISPATCHER, WORKER, SWEEPER])
def test_a_function_may_die_at_any_call(function: str) -> None:
    found = moments(function, all_moments=True)
    assert function == SWEEPER or len(found) > 20
    # Workers pass the same calls run by run: the first runs, and then each seventh moment.
    for one in found if function != WORKER else [*found[:12], *found[12::7]]:
        lived((function, one.number), all_moments=True)


@pytest.mark.parametrize("second", [DISPATCHER, WORKER])
def test_a_dispatcher_may_die_after_any_write_and_then_it_or_a_worker_after_any(second: str) -> None:
    for first in moments(DISPATCHER, all_moments=False):
        for number in (1, 3):
            lived((DISPATCHER, first.number), (second, number), seconds=30)


@pytest.mark.parametrize("after", [0, 5, 10, 20, 60])
@pytest.mark.parametrize("seconds", [25, 90, 600])
def test_a_second_outage_in_the_middle_loses_and_doubles_nothing(after: int, seconds: int) -> None:
    world = world_of()
    world.live(after)
    world.outage(seconds)
    with told(world):
        world.recover()
        world.check_once()
    late = [row for row in world.store.state.runs.values() if row.late is not None]
    for noticed_at in {row.late.noticed_at for row in late if row.late}:
        few = [row for row in late if row.key.schedule_id == ENDED and row.late and row.late.noticed_at == noticed_at]
        assert len(few) <= FEW.max


def pause(world: CrashingWorld) -> None:
    world.schedules.pause(ACME, BEHIND, reason="lunch")


def pause_and_go_on(world: CrashingWorld) -> None:
    pause(world)
    paused_at = world.clock.now()
    world.live(40)
    rows = [row for row in world.store.state.runs.values() if row.status is RunStatus.SUCCEEDED]
    assert all((row.started_at or 0) <= paused_at for row in rows), "started after the pause had returned"
    held = world.timer(BEHIND)
    assert backlog_of(held) or held.nominal_at == TWO - HOUR, "what is still to come waits"
    world.schedules.resume(ACME, BEHIND, missed=Misfire(MisfirePolicy.CATCH_UP, 7, per_minute=60))


def cancel(world: CrashingWorld) -> None:
    world.schedules.delete(ACME, BEHIND)


def retime(world: CrashingWorld) -> None:
    world.schedules.edit(ACME, BEHIND, lambda *_: replace(SPECS[BEHIND], trigger=every(45)))


def hurry(world: CrashingWorld) -> None:
    faster = replace(ALL_BUT_OLD, per_minute=300)
    world.schedules.edit(ACME, BEHIND, lambda *_: spec(every(60), faster))


CHANGES = {one.__name__: one for one in (pause_and_go_on, cancel, retime, hurry)}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("after", [0, 1, 5, 6, 30])
def test_a_change_in_the_middle_leaves_no_missed_fire_without_an_entry(
    change: Callable[[CrashingWorld], None], after: int
) -> None:
    world = lived(seconds=after, meanwhile=change, world=world_of(BEHIND))
    ran = caught_up(world, BEHIND)
    assert len(ran) <= 30
    if change is hurry:
        assert len(ran) == 30, "an edit that does not touch the trigger drops nothing"


@pytest.mark.parametrize("change", [cancel, retime, hurry], ids=lambda one: one.__name__)
def test_a_caller_may_die_anywhere_in_such_a_change_and_the_dispatcher_after_it(
    change: Callable[[CrashingWorld], None],
) -> None:
    world = world_of(BEHIND)
    world.live(6)
    stops = world.plan(all_moments=True)
    world.invoke(API, lambda: change(world))
    for one in [moment for moment in stops.heard if moment.function == API]:
        for number in (0, 3, 5):
            lived(
                (API, one.number),
                (DISPATCHER, number),
                all_moments=True,
                seconds=6,
                meanwhile=lambda world: world.invoke(API, lambda: change(world)),
                world=world_of(BEHIND),
            )
