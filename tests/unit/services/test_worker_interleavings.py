"""Every order of steps of a worker, with crashes, lost replies, stolen leases and callers' changes in between.

The promises under test: a run never has two live leases and its fence rises; a terminal row never changes; the effect
happens once; nothing starts after a pause or a cancel that returned; and whatever died leaves a row that a later
message finishes. `workshop.Ledger` and `workshop.Effects` watch the first ones at every write and every call.
"""

from collections.abc import Callable, Mapping
from itertools import count

import pytest

from cronfleet.domain.instant import MINUTE, SECOND
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.retry import Retry
from cronfleet.domain.run import Run, RunKey, RunStatus
from cronfleet.ports.job_store import InsertRun, NoAnswer
from tests.support.actors import no_actor_left, overtake
from tests.support.builders import every, message
from tests.support.faults import Crash, FaultAt
from tests.support.workshop import BACKOFF, PAST_LEASE, TWO, Once, Workshop, fails_first, moments

PATIENT = Retry(max_attempts=8, backoff=BACKOFF)


def ordinary() -> Workshop:
    return Workshop(retry=PATIENT)


def failing_first() -> Workshop:
    return Workshop(fails_first(1), retry=PATIENT)


def gated() -> Workshop:
    return Workshop(overlap=Overlap.SKIP, retry=PATIENT)


def gated_behind_a_finished_run() -> Workshop:
    world = Workshop(overlap=Overlap.SKIP, retry=PATIENT)
    before = message(TWO - MINUTE, timeout_seconds=60)
    world.deliver(before)
    world.store.take_gate("acme", "nightly", before.key.run_id, TWO, None)
    return world


def edited() -> Workshop:
    world = Workshop(retry=PATIENT)
    world.edit()
    return world


def manual() -> Workshop:
    world = Workshop(retry=PATIENT)
    key = RunKey("acme", "nightly", 1, TWO, "manual-7")
    world.store.commit([InsertRun(Run(key, RunStatus.QUEUED, TWO, "standard", version=1))])
    world.message = message(TWO, key=key, timeout_seconds=60)
    return world


SCENES: dict[str, Callable[[], Workshop]] = {
    scene.__name__: scene for scene in (ordinary, failing_first, gated, gated_behind_a_finished_run, edited, manual)
}


class FaultsAt:
    """A hook that raises `faults[step]` at that moment and lets everything else pass."""

    def __init__(self, faults: Mapping[int, Callable[[], BaseException]]) -> None:
        self._faults = faults
        self._seen = count()

    def __call__(self, _when: str, _name: str) -> None:
        fault = self._faults.get(next(self._seen))
        if fault is not None:
            raise fault()


def finished_well(world: Workshop) -> None:
    row = world.settle()
    world.check()
    assert row.status is RunStatus.SUCCEEDED
    assert world.targets.effects[row.key] == 1
    assert row.attempts[-1].fence == row.fence


def test_the_scenes_pass_through_every_call_that_a_worker_makes() -> None:
    seen = {moment.removesuffix(" done") for scene in SCENES.values() for moment in moments(scene)}
    assert seen == {
        "insert_run",
        "get_run",
        "get_notices",
        "get_timer",
        "get_definition",
        "replace_run",
        "commit",
        "take_gate",
        "release_gate",
        "get_breaker",
        "put_breaker",
        "call",
    }


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_a_worker_that_dies_anywhere_is_followed_by_one_that_dies_anywhere(scene: Callable[[], Workshop]) -> None:
    steps = len(moments(scene)) + 1
    for first in range(steps):
        for second in range(steps + 6):
            world = scene()
            world.deliver(hook=FaultAt(first))
            world.clock.advance(PAST_LEASE)
            world.deliver(hook=FaultAt(second))
            finished_well(world)


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_a_lost_reply_or_a_lost_request_anywhere_loses_and_doubles_nothing(scene: Callable[[], Workshop]) -> None:
    """One `NoAnswer` is asked again by the same worker, so the run does not even need another attempt."""
    for step, moment in enumerate(moments(scene)):
        if moment.startswith("call"):
            continue  # A target answers with a result, never with silence.
        world = scene()
        attempts = 2 if scene is failing_first else 1
        error = world.deliver(hook=FaultAt(step, NoAnswer))
        assert error is None, moment
        finished_well(world)
        assert world.stored.attempt == attempts, moment


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_two_lost_replies_lose_and_double_nothing(scene: Callable[[], Workshop]) -> None:
    names = moments(scene)
    call = names.index("call")
    for first in range(len(names)):
        for second in range(first + 1, len(names) + 2):
            if {first, second} & {call, call + 1, call + 2, call + 3}:
                continue
            world = scene()
            world.deliver(hook=FaultsAt({first: NoAnswer, second: NoAnswer}))
            finished_well(world)


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_a_store_that_falls_silent_anywhere_for_longer_than_a_worker_asks(scene: Callable[[], Workshop]) -> None:
    names = moments(scene)
    for step, moment in enumerate(names):
        if moment.startswith("call"):
            continue
        world = scene()
        error = world.deliver(hook=FaultsAt(dict.fromkeys(range(step, step + 500), NoAnswer)))
        assert isinstance(error, NoAnswer) or moment.startswith("release_gate")
        finished_well(world)


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_a_lost_reply_followed_by_a_crash_loses_and_doubles_nothing(scene: Callable[[], Workshop]) -> None:
    names = moments(scene)
    for lost, moment in enumerate(names):
        if moment.startswith("call"):
            continue
        for dies in range(lost + 1, len(names) + 2):
            world = scene()
            world.deliver(hook=FaultsAt({lost: NoAnswer, dies: Crash}))
            finished_well(world)


# --- two workers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ordinary", "failing_first", "gated", "edited"])
def test_a_worker_that_stands_still_past_its_lease_and_one_that_takes_over_in_every_order(name: str) -> None:
    """The first stops anywhere, the second stops anywhere, the first goes on to its end, then the second does."""
    scene = SCENES[name]
    steps = len(moments(scene)) + 1
    for first_steps in range(1, steps):
        for second_steps in range(1, steps + 2):
            world = scene()
            first = world.deliver_as_actor("first").run(first_steps)
            world.clock.advance(PAST_LEASE)
            second = world.deliver_as_actor("second")
            overtake(first, second, second_steps)
            finished_well(world)


@pytest.mark.parametrize("name", ["ordinary", "gated"])
def test_two_copies_of_a_message_in_every_order_start_one_attempt(name: str) -> None:
    """No lease ends in between, so whoever starts second finds a live lease or a finished run."""
    scene = SCENES[name]
    steps = len(moments(scene)) + 1
    for first_steps in range(1, steps):
        for second_steps in range(1, 6):
            world = scene()
            first, second = world.deliver_as_actor("first"), world.deliver_as_actor("second")
            with no_actor_left(first, second):
                first.run(first_steps)
                second.run(second_steps)
                first.finish()
                second.finish()
            world.check()
            assert world.stored.status is RunStatus.SUCCEEDED
            assert world.stored.attempt == 1
            assert len(world.targets.made) == 1


def test_two_runs_of_a_schedule_that_must_not_overlap_never_do_in_any_order() -> None:
    later = message(TWO + SECOND, timeout_seconds=60)
    steps = len(moments(gated)) + 1
    for first_steps in range(1, steps):
        for second_steps in range(1, steps):
            world = gated()
            world.clock.advance(SECOND)
            first, second = world.deliver_as_actor("first"), world.deliver_as_actor("second", later)
            inside: list[RunKey] = []
            with no_actor_left(first, second):
                first.run(first_steps)
                second.run(second_steps)
                inside = [
                    row.key
                    for actor, row in ((first, world.row()), (second, world.row(later.key)))
                    if actor.at in ("call", "call done") and row is not None
                ]
                first.finish()
                second.finish()
            world.check()
            assert len(inside) < 2, (first_steps, second_steps)
            ends = {world.stored.status, world.store.state.runs[later.key].status}
            assert ends <= {RunStatus.SUCCEEDED, RunStatus.SKIPPED}
            assert RunStatus.SUCCEEDED in ends
            assert world.store.state.gates == {}


def test_a_retry_timer_and_a_stray_copy_of_its_message_make_one_attempt() -> None:
    for first_steps in range(1, 12):
        world = failing_first()
        world.deliver()
        world.clock.advance(11 * SECOND)
        (waiting,) = world.store.state.run_timers.values()
        retry = message(TWO, key=waiting.key, attempt=2, due_at=waiting.due_at, timeout_seconds=60)
        first = world.deliver_as_actor("first", retry).run(first_steps)
        with no_actor_left(first):
            world.wake_timers()
            first.finish()
        world.check()
        assert world.stored.status is RunStatus.SUCCEEDED
        assert [made.attempt for made in world.targets.made] == [1, 2]


# --- callers ---------------------------------------------------------------------------------------------------


def retime(world: Workshop) -> None:
    world.edit(trigger=every(3600))


def pause_and_resume(world: Workshop) -> None:
    world.pause()
    world.resume()


def changed_at(scene: Callable[[], Workshop], step: int, change: Callable[[Workshop], None]) -> tuple[Workshop, bool]:
    """A delivery with `change` made at a moment of it; whether an attempt's row was written before."""
    world = scene()
    begun: list[bool] = []

    def act() -> None:
        row = world.row()
        begun.append(row is not None and row.attempts != ())
        change(world)

    assert world.deliver(hook=Once(step, act)) is None
    world.check()
    return world, begun[0]


def calls_of_its_run(world: Workshop) -> int:
    return sum(made.key == world.message.key for made in world.targets.made)


@pytest.mark.parametrize("name", SCENES)
def test_a_run_is_not_called_when_a_pause_returned_before_its_start(name: str) -> None:
    for step in range(len(moments(SCENES[name]))):
        world, begun = changed_at(SCENES[name], step, Workshop.pause)
        if not begun and world.message.key.is_scheduled:
            assert calls_of_its_run(world) == 0, step
            assert world.stored.status is RunStatus.SKIPPED


@pytest.mark.parametrize("name", SCENES)
def test_a_run_is_not_called_when_a_cancel_returned_before_its_start_and_not_again_after_it(name: str) -> None:
    for step in range(len(moments(SCENES[name]))):
        world, begun = changed_at(SCENES[name], step, Workshop.cancel)
        calls = calls_of_its_run(world)
        assert begun or calls == 0, step
        world.clock.advance(PAST_LEASE)
        world.wake_timers()
        assert calls_of_its_run(world) == calls
        assert world.stored.status in (RunStatus.CANCELLED, RunStatus.SUCCEEDED)


@pytest.mark.parametrize("change", [Workshop.edit, retime, pause_and_resume])
@pytest.mark.parametrize("name", SCENES)
def test_a_fire_that_was_due_runs_whatever_is_changed_for_later(name: str, change: Callable[[Workshop], None]) -> None:
    for step in range(len(moments(SCENES[name]))):
        world, _ = changed_at(SCENES[name], step, change)
        finished_well(world)


@pytest.mark.parametrize("change", [Workshop.pause, Workshop.cancel])
def test_nothing_starts_after_a_pause_or_a_cancel_whoever_dies_where(change: Callable[[Workshop], None]) -> None:
    """The change returns; then one worker dies anywhere, and others follow: the target is not called."""
    for first in range(8):
        world = ordinary()
        change(world)
        world.deliver(hook=FaultAt(first))
        for _ in range(4):
            world.clock.advance(PAST_LEASE)
            world.deliver()
            world.wake_timers()
        assert not world.targets.made, first


@pytest.mark.parametrize("name", ["ordinary", "failing_first", "gated"])
def test_a_pause_between_any_two_steps_of_a_run_that_dies_there_holds_back_all_later_attempts(name: str) -> None:
    scene = SCENES[name]
    for step in range(len(moments(scene))):
        world = scene()

        def act(world: Workshop = world) -> None:
            world.pause()
            raise Crash

        world.deliver(hook=Once(step, act))
        calls = len(world.targets.made)
        for _ in range(3):
            world.clock.advance(PAST_LEASE)
            world.deliver()
            world.wake_timers()
        assert len(world.targets.made) == calls
        world.check()
        row = world.row()
        if row is not None and not row.is_terminal:
            world.resume()
            finished_well(world)
