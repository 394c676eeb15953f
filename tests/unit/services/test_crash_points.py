"""Every crash point of dispatcher, worker and sweeper, alone and in pairs, and how long recovery takes.

A function is stopped before and after each call through a port. Then the real services live on in virtual time, and
`CrashingWorld` makes the sum: each nominal has exactly one entry, nothing ran twice, and every attempt began within
the bounds of docs/guarantees.md, "How long recovery takes". A failure tells who died where. The callers' writes are in
`test_crash_points_of_changes.py`; dispatchers and workers that stand still and live on, in the `*_interleavings.py`.
"""

from collections.abc import Callable
from typing import Any

import pytest

from cronfleet.domain.attempt import Result
from cronfleet.domain.instant import MINUTE, SECOND, Instant
from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.retry import Backoff, BackoffKind, Retry
from cronfleet.domain.run import Outcome
from cronfleet.domain.schedule import Policies, Spec
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.trigger import OneShotTrigger, Trigger
from cronfleet.ports.target import Call
from tests.support.builders import at, every
from tests.support.crashing import DISPATCHER, SWEEPER, WORKER, CrashingWorld, Moment, told
from tests.support.lived import ACME, WorkerDied

TWO = at("2026-12-01 02:00")
NIGHTLY, LATE, LOST, DEAD, WAITING, SHADOW = "nightly", "late", "lost", "dead", "waiting", "shadow"
RECOVERY = 70 * SECOND
"""Within this a sweep has come, and every message that it sends."""

FUNCTIONS = (DISPATCHER, WORKER, SWEEPER)


def script(call: Call) -> Result:
    if call.key.schedule_id == DEAD and call.attempt == 1:
        raise WorkerDied
    fails = call.attempt == 1 and (call.key.schedule_id == WAITING or call.key.nominal_at == TWO)
    return Result(Outcome.FAILED, "it was to fail") if fails else Result(Outcome.SUCCEEDED)


def spec(
    trigger: Trigger, *, wait: int = 20, timeout_seconds: int = 20, start_at: Instant | None = None, **policies: Any
) -> Spec:
    retry = Retry(max_attempts=6, backoff=Backoff(BackoffKind.FIXED, base_seconds=wait))
    made = Policies(retry=retry, timeout_seconds=timeout_seconds, **policies)
    return Spec(trigger, HandlerTarget("billing.nightly"), policies=made, start_at=start_at)


def once(instant: Instant) -> OneShotTrigger:
    return OneShotTrigger(instant, "", None)


def busy() -> CrashingWorld:
    """A second before two o'clock. Then: a fire under a gate that fails first, a misfire to skip, a retry that is
    due, a message lost six minutes ago, a worker that died, whose lease ended a minute ago, and a stretch to note in
    shadow."""
    world = CrashingWorld(TWO - 8 * MINUTE, script)
    skip = Misfire(MisfirePolicy.SKIP, grace_seconds=20)
    for schedule_id, wanted in {
        NIGHTLY: spec(every(30), start_at=TWO, overlap=Overlap.SKIP),
        LATE: spec(every(30), start_at=TWO - 60 * SECOND, misfire=skip),
        LOST: spec(once(TWO - 6 * MINUTE)),
        DEAD: spec(once(TWO - 90 * SECOND)),
        WAITING: spec(once(TWO - 90 * SECOND), wait=90),
    }.items():
        world.schedules.create(ACME, schedule_id, lambda *_, wanted=wanted: wanted)
    in_shadow = spec(every(30), start_at=TWO - 5 * MINUTE)
    world.schedules.create(ACME, SHADOW, lambda *_: in_shadow, held=True, shadow=True)
    world.clock.set(TWO - 6 * MINUTE)
    world.tick()
    world.lose_messages()
    world.clock.set(TWO - 90 * SECOND)
    world.tick()
    world.deliver()
    world.clock.set(TWO - SECOND)
    return world


def unticked() -> CrashingWorld:
    """The same, but the tick queue is down, and the sweeper serves the shard."""
    world = busy()
    world.ticking = False
    return world


SCENES = {scene.__name__: scene for scene in (busy, unticked)}


def lived(scene: Callable[[], CrashingWorld], *stops: tuple[str, int], all_moments: bool = False) -> CrashingWorld:
    """A world that went through these stops and recovered."""
    world = scene()
    world.plan(*stops, all_moments=all_moments)
    with told(world):
        while not world.stops.is_over:
            world.live(5)
            assert world.clock.now() < TWO + 5 * MINUTE
        world.recover()
        world.check()
    return world


def moments(scene: Callable[[], CrashingWorld], function: str, *, all_moments: bool) -> list[Moment]:
    """Where `function` can be stopped at two o'clock."""
    world = scene()
    stops = world.plan(all_moments=all_moments)
    world.step(TWO)
    return [one for one in stops.heard if one.function == function]


DECIDING = {"get_notices", "get_tenants", "draw"}
"""What a dispatcher asks besides what is due, before it plans."""


def test_the_scene_passes_through_every_call_that_matters() -> None:
    calls = {
        DISPATCHER: {
            *("take_lease", "due", *DECIDING, "release"),
            *("put_batch", "announce", "claim", "send", "insert_run"),
        },
        WORKER: {
            *("insert_run", "get_run", "get_timer", "get_definition", "replace_run", "take_gate", "call", "commit"),
            *("get_notices", "get_breaker", "put_breaker"),
        },
        SWEEPER: {"get_notices", "get_tenants", "get_lease", "get_books", "batches", "get_runs", "send", "put_books"},
    }
    for function, names in calls.items():
        heard = {one.step.split()[-1] for one in moments(busy, function, all_moments=True)}
        assert heard == {"begin", *names}
    in_its_own_tick = {one.step.split()[-1] for one in moments(unticked, SWEEPER, all_moments=True)}
    # It knows that there is one shard here, which has all of a tenant's rate: no place is drawn in a line of others.
    assert in_its_own_tick >= {"begin", *calls[DISPATCHER], *calls[SWEEPER]} - {"draw"}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_a_function_may_die_at_any_call(scene: Callable[[], CrashingWorld], function: str) -> None:
    for one in moments(scene, function, all_moments=True):
        lived(scene, (function, one.number), all_moments=True)


def later(scene: Callable[[], CrashingWorld], first: Moment) -> list[Moment]:
    """Where any function can be stopped after `first` while the world recovers from it."""
    stops = lived(scene, (first.function, first.number)).stops
    return [one for one in stops.heard if one.at <= TWO + RECOVERY]


@pytest.mark.parametrize(("scene", "function"), [(busy, one) for one in FUNCTIONS] + [(unticked, SWEEPER)])
def test_a_function_may_die_anywhere_and_then_it_or_another_one_anywhere(
    scene: Callable[[], CrashingWorld], function: str
) -> None:
    for first in moments(scene, function, all_moments=False):
        for second in later(scene, first):
            lived(scene, (first.function, first.number), (second.function, second.number))


@pytest.mark.parametrize("timeout_seconds", [1, 20, 60])
@pytest.mark.parametrize("second", range(0, 60, 5))
def test_a_dead_worker_is_found_within_its_lease_and_a_minute_whatever_its_limit(
    timeout_seconds: int, second: int
) -> None:
    """Whenever in the minute it dies, and also when younger and older batches hold runs with longer limits."""

    def scene() -> CrashingWorld:
        world = CrashingWorld(TWO - 20 * SECOND)
        dies_at = TWO + second * SECOND
        limits = {"before": (-15, 60), NIGHTLY: (0, timeout_seconds), "after": (5, 60)}
        for schedule_id, (offset, limit) in limits.items():
            wanted = spec(once(dies_at + offset * SECOND), timeout_seconds=limit)
            world.schedules.create(ACME, schedule_id, lambda *_, wanted=wanted: wanted)
        return world

    world = lived(scene, (WORKER, 6))
    assert [stop.step for stop in world.stops.made] == ["after call"]
    assert max(len(row.attempts) for row in world.store.state.runs.values()) == 2
