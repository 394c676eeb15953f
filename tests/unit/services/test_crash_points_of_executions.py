"""Every crash point of workers and clerks around an execution, alone and in pairs: it is started once, and ends right.

The scene: a run whose first execution fails, whose second succeeds, beside one that is cancelled and one that outlives
its time limit. Wherever a function dies, no run has two executions at once, none goes on that nobody follows, and the
ledger says how each ended.
"""

from dataclasses import replace
from typing import Any

import pytest

from cronfleet.domain.attempt import Result
from cronfleet.domain.instant import MINUTE, SECOND
from cronfleet.domain.retry import Backoff, BackoffKind, Retry
from cronfleet.domain.run import Outcome, RunStatus
from cronfleet.domain.schedule import Policies, Spec
from cronfleet.domain.trigger import OneShotTrigger
from cronfleet.ports.target import Call
from tests.support.builders import at
from tests.support.crashing import DISPATCHER, SWEEPER, WORKER, Moment, told
from tests.support.elsewhere import CLERK, MACHINE, FollowedWorld
from tests.support.lived import ACME

TWO = at("2026-12-01 02:00")
FAILS, CANCELLED, LATE = "fails", "cancelled", "late"
ENDS = {FAILS: RunStatus.SUCCEEDED, CANCELLED: RunStatus.CANCELLED, LATE: RunStatus.DEAD}
CALM = 20 * MINUTE
"""By then every lease that a stop left has ended, and what followed from that is over."""

SPEC = Spec(
    OneShotTrigger(TWO, "", None),
    MACHINE,
    policies=Policies(retry=Retry(3, Backoff(BackoffKind.FIXED, base_seconds=10)), timeout_seconds=900),
)


def lasts(call: Call) -> int:
    return {FAILS: 8, CANCELLED: 600, LATE: 600}[call.key.schedule_id]


def comes_to(call: Call) -> Result:
    if call.key.schedule_id == FAILS and call.attempt == 1:
        return Result(Outcome.FAILED, "failed: it was to")
    return Result(Outcome.SUCCEEDED)


def scene(foresees: bool) -> FollowedWorld:
    world = FollowedWorld(TWO - 3 * SECOND, lasts=lasts, comes_to=comes_to, foresees=foresees)
    late = replace(SPEC.policies, timeout_seconds=30, retry=Retry(1, SPEC.policies.retry.backoff))
    world.schedules.create(ACME, FAILS, lambda *_: SPEC)
    world.schedules.create(ACME, CANCELLED, lambda *_: SPEC)
    world.schedules.create(ACME, LATE, lambda *_: replace(SPEC, policies=late))
    return world


def lived(foresees: bool, *stops: tuple[str, int], all_moments: bool = False) -> FollowedWorld:
    """A world that went through these stops and came to rest."""
    world = scene(foresees)
    planned = world.plan(*stops, all_moments=all_moments)
    with told(world):
        world.live(15)
        cancel(world)
        end = world.clock.now() + CALM
        while not is_over(world):
            assert world.clock.now() < end, [str(run.status) for run in world.store.state.runs.values()]
            world.live(5)
        planned.forgo()
        world.live(5 * 60)
        check(world)
    return world


def cancel(world: FollowedWorld) -> None:
    """Ask for it as soon as there is a row, through a store that answers."""
    rows = [run for run in world.store.state.runs.values() if run.key.schedule_id == CANCELLED]
    while not rows:
        world.live(5)
        rows = [run for run in world.store.state.runs.values() if run.key.schedule_id == CANCELLED]
    world.runs.cancel(ACME, rows[0].key.run_id)


def is_over(world: FollowedWorld) -> bool:
    rows = list(world.store.state.runs.values())
    return len(rows) == len(ENDS) and all(run.is_terminal for run in rows) and not world.store.state.errands


def check(world: FollowedWorld) -> None:
    world.check_followed()
    for run in world.store.state.runs.values():
        wanted = {ENDS[run.key.schedule_id]}
        # A worker that died before it handed the last attempt over took that attempt with it.
        lost = any(one.outcome is Outcome.LOST for one in run.attempts)
        assert run.status in wanted or (lost and run.status is RunStatus.DEAD), run
        made = [one for one in run.attempts if one.execution is not None]
        names = {one.key for one in world.cloud.executions.values()}
        assert run.key in names or not made or run.status is not RunStatus.SUCCEEDED
    before = dict(world.store.state.runs)
    for message in world.sent:
        world.handle(message)
    assert before == world.store.state.runs


def moments(foresees: bool, function: str, *, all_moments: bool) -> list[Moment]:
    """Where `function` can be stopped."""
    world = scene(foresees)
    stops = world.plan(all_moments=all_moments)
    world.live(15)
    cancel(world)
    world.live(180)
    assert is_over(world)
    check(world)
    return [one for one in stops.heard if one.function == function]


def test_the_scene_passes_through_every_call_that_matters() -> None:
    heard = {one.step.split()[-1] for one in moments(True, WORKER, all_moments=True)}
    assert heard >= {"insert_run", "get_timer", "get_definition", "handle", "get_errand", "commit", "start"}
    heard = {one.step.split()[-1] for one in moments(True, CLERK, all_moments=True)}
    assert heard >= {"get_errand", "get_run", "look", "stop", "put_log", "move_errand", "retire_errand", "replace_run"}


@pytest.mark.parametrize("function", [WORKER, CLERK])
@pytest.mark.parametrize("foresees", [True, False], ids=["foreseen", "unforeseen"])
def test_a_function_may_die_at_any_call(foresees: bool, function: str) -> None:
    for one in moments(foresees, function, all_moments=True):
        lived(foresees, (function, one.number), all_moments=True)


@pytest.mark.parametrize("function", [DISPATCHER, SWEEPER])
def test_who_sends_errands_and_who_closes_the_books_may_die_after_any_write(function: str) -> None:
    for one in moments(False, function, all_moments=False)[::3]:
        lived(False, (function, one.number))


@pytest.mark.parametrize("then", [WORKER, CLERK])
def test_a_worker_may_die_and_whoever_comes_after_it_as_well(then: str) -> None:
    for first in moments(False, WORKER, all_moments=False):
        for number in range(0, 6, 2):
            lived(False, (WORKER, first.number), (then, number))


def silent(world: FollowedWorld, names: set[str], seconds: int) -> None:
    world.cloud.silent = names
    world.live(seconds)
    world.cloud.silent = set()


@pytest.mark.parametrize("names", ["start", "look", "stop", "start look stop"])
@pytest.mark.parametrize("foresees", [True, False], ids=["foreseen", "unforeseen"])
def test_a_cloud_that_is_silent_for_a_while_changes_no_end(names: str, foresees: bool) -> None:
    world: Any = scene(foresees)
    silent(world, set(names.split()), 20)
    cancel(world)
    silent(world, set(names.split()), 40)
    world.live(600)
    assert is_over(world)
    check(world)
