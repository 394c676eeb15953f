"""Runs that must not run side by side: one waits, one is cancelled, or a group goes through one gate."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from cronfleet.domain.attempt import Result
from cronfleet.domain.cancel_request import CancelRequest
from cronfleet.domain.gate import MAX_LINE, Gate, GateName, Waiting
from cronfleet.domain.instant import HOUR, MINUTE, SECOND
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.reason import Code
from cronfleet.domain.run import Outcome, RunKey, RunMessage, RunStatus
from cronfleet.ports.target import Call
from cronfleet.services.cancelling import ask_to_cancel
from cronfleet.services.displacing import Displacing
from cronfleet.services.endings import Endings
from tests.support.actors import Actor
from tests.support.builders import TENANT, cron, definition, message, timer
from tests.support.workshop import TIMEOUT_SECONDS, TWO, Workshop

TURN = 10 * SECOND
FIRST, SECOND_RUN, THIRD = (message(TWO + turn * TURN, timeout_seconds=TIMEOUT_SECONDS) for turn in range(3))


class Queue(Workshop):
    """A schedule whose runs go through a gate, with the first of them under way."""

    def __init__(self, overlap: Overlap, key: str = "") -> None:
        super().__init__(lambda call: self.results.get(call.key, Result(Outcome.SUCCEEDED)), overlap=overlap)
        self.results: dict[RunKey, Result] = {}
        self.policies = replace(self.policies, concurrency_key=key)
        held = self.timer()
        self.edit(policies=self.policies)
        assert self.timer().overlap is overlap
        assert self.timer().concurrency_key == key
        self.key = key
        self.epoch = held.epoch
        self.first = self.deliver_as_actor("first", FIRST)
        while self.first.at != "call":
            self.first.step()

    @property
    def gate(self) -> Gate:
        return self.store.get_gate(GateName(TENANT, key=self.key) if self.key else GateName(TENANT, "nightly"))

    def comes(self, wanted: RunMessage) -> RunStatus:
        """What becomes of a run that comes now."""
        self.clock.set(max(self.clock.now(), wanted.due_at))
        self.deliver(wanted)
        return self.status(wanted)

    def status(self, wanted: RunMessage) -> RunStatus:
        row = self.row(wanted.key)
        assert row is not None
        return row.status

    def finish_first(self, result: Result = Result(Outcome.SUCCEEDED)) -> None:  # noqa: B008 - a frozen value
        self.results[FIRST.key] = result
        self.clock.advance(10 * SECOND)
        self.first.run()

    def line(self) -> list[str]:
        return [one.run_id for one in self.gate.line]


def test_one_run_waits_and_starts_when_the_one_before_it_is_over_without_having_asked_meanwhile() -> None:
    world = Queue(Overlap.BUFFER_ONE)
    assert world.comes(SECOND_RUN) is RunStatus.WAITING
    row = world.row(SECOND_RUN.key)
    assert row is not None
    assert row.reason is not None
    assert (row.reason.code, row.attempt) == (Code.OVERLAP, 0)
    assert world.wake_timers() == 0, "it does not ask"
    world.finish_first()
    world.clock.advance(SECOND)
    assert world.wake_timers() == 1
    assert world.status(SECOND_RUN) is RunStatus.SUCCEEDED
    assert world.gate.ended_at == world.clock.now()
    assert world.line() == []
    assert [one.key for one in world.targets.made] == [FIRST.key, SECOND_RUN.key]


def test_what_comes_while_one_waits_is_skipped_and_says_for_whom() -> None:
    world = Queue(Overlap.BUFFER_ONE)
    world.comes(SECOND_RUN)
    assert world.comes(THIRD) is RunStatus.SKIPPED
    row = world.row(THIRD.key)
    assert row is not None
    assert row.reason is not None
    assert row.reason.detail == {"run_id": SECOND_RUN.key.run_id}


def test_one_that_was_cancelled_while_it_waited_makes_room_for_the_next() -> None:
    world = Queue(Overlap.BUFFER_ONE)
    world.comes(SECOND_RUN)
    endings = Endings(world.store)
    ask_to_cancel(world.store, endings, SECOND_RUN.key, CancelRequest(world.clock.now(), "ada"))
    assert world.line() == []
    assert world.comes(THIRD) is RunStatus.WAITING


def test_who_waits_is_not_overtaken_by_one_that_comes_when_the_gate_is_free() -> None:
    world = Queue(Overlap.BUFFER_ONE)
    world.comes(SECOND_RUN)
    world.finish_first()
    assert world.comes(THIRD) is RunStatus.SKIPPED, "the second has the next turn"
    world.wake_timers()
    assert world.status(SECOND_RUN) is RunStatus.SUCCEEDED


def test_a_retry_keeps_the_gate_and_the_last_failure_wakes_who_waits() -> None:
    world = Queue(Overlap.BUFFER_ONE)
    world.comes(SECOND_RUN)
    world.finish_first(Result(Outcome.FAILED, "no"))
    assert world.status(FIRST) is RunStatus.WAITING
    assert world.gate.holder == FIRST.key.run_id
    for _ in range(20):
        world.clock.advance(MINUTE)
        world.wake_timers()
        if world.status(FIRST) is RunStatus.DEAD:
            break
    world.clock.advance(SECOND)
    world.wake_timers()
    assert world.status(SECOND_RUN) is RunStatus.SUCCEEDED


def test_a_retry_of_the_holder_does_not_stand_behind_those_that_wait_for_it() -> None:
    world = Queue(Overlap.ALLOW, key="warehouse")
    world.comes(SECOND_RUN)
    world.comes(THIRD)
    world.finish_first(Result(Outcome.FAILED, "no"))
    assert world.line() == [SECOND_RUN.key.run_id, THIRD.key.run_id]
    world.results.clear()
    for _ in range(3):
        world.clock.advance(MINUTE)
        world.wake_timers()
    assert [world.status(one) for one in (FIRST, SECOND_RUN, THIRD)] == [RunStatus.SUCCEEDED] * 3


def test_a_worker_that_died_before_it_let_go_leaves_nobody_waiting_for_ever() -> None:
    world = Queue(Overlap.BUFFER_ONE)
    world.comes(SECOND_RUN)
    row = world.row(FIRST.key)
    assert row is not None
    world.store.replace_run(row.ended(RunStatus.CANCELLED, world.clock.now()))  # As if by one that knew no lines.
    world.clock.advance(15 * MINUTE)
    world.wake_timers()
    assert world.status(SECOND_RUN) is RunStatus.SUCCEEDED


def test_a_paused_schedule_leaves_the_line() -> None:
    world = Queue(Overlap.BUFFER_ONE)
    world.comes(SECOND_RUN)
    world.pause()
    world.finish_first()
    world.clock.advance(SECOND)
    world.wake_timers()
    assert world.status(SECOND_RUN) is RunStatus.SKIPPED
    assert world.line() == []


# --- cancel other ----------------------------------------------------------------------------------------------


def test_the_running_one_is_asked_to_stop_and_the_new_one_waits_until_it_has_let_go() -> None:
    world = Queue(Overlap.CANCEL_OTHER)
    assert world.comes(SECOND_RUN) is RunStatus.WAITING
    first = world.row(FIRST.key)
    assert first is not None
    assert first.cancel is not None
    assert first.cancel.by == f"run {SECOND_RUN.key.run_id}"
    assert first.status is RunStatus.RUNNING, "its handler goes on until it learns of it"
    world.finish_first(Result(Outcome.CANCELLED, "stopped"))
    assert world.status(FIRST) is RunStatus.CANCELLED
    world.clock.advance(SECOND)
    world.wake_timers()
    assert world.status(SECOND_RUN) is RunStatus.SUCCEEDED


def test_a_newer_one_takes_the_place_of_one_that_still_waits() -> None:
    world = Queue(Overlap.CANCEL_OTHER)
    world.comes(SECOND_RUN)
    assert world.comes(THIRD) is RunStatus.WAITING
    assert world.status(SECOND_RUN) is RunStatus.CANCELLED
    assert world.line() == [THIRD.key.run_id]


def test_a_worker_whose_clock_was_set_meanwhile_dates_no_end_by_it() -> None:
    world = Queue(Overlap.CANCEL_OTHER)
    world.comes(SECOND_RUN)
    newer = world.row(SECOND_RUN.key)
    assert newer is not None
    world.store.state.skew_ms = HOUR
    displacing = Displacing(store=world.store, endings=Endings(world.store), clock=world.clock, telemetry=world.notes)
    displacing.cancel(SECOND_RUN.key.run_id, newer)
    assert world.status(SECOND_RUN) is RunStatus.WAITING


def test_a_retry_that_waits_is_cancelled_at_once_and_its_attempts_never_count_for_the_new_run() -> None:
    world = Queue(Overlap.CANCEL_OTHER)
    world.finish_first(Result(Outcome.FAILED, "no"))
    assert world.status(FIRST) is RunStatus.WAITING
    world.comes(SECOND_RUN)
    assert world.status(FIRST) is RunStatus.CANCELLED
    world.clock.advance(2 * SECOND)
    world.wake_timers()
    row = world.row(SECOND_RUN.key)
    assert row is not None
    assert (row.status, row.attempt) == (RunStatus.SUCCEEDED, 1)


# --- a key for several schedules -------------------------------------------------------------------------------


def neighbour(world: Queue, name: str, overlap: Overlap = Overlap.ALLOW, key: str = "warehouse") -> RunMessage:
    """The message of another schedule with the same key."""
    trigger = cron("0 2 * * *")
    policies = replace(world.policies, overlap=overlap, concurrency_key=key)
    described = definition(trigger, name, policies=policies)
    later = TWO + 24 * HOUR
    held = timer(
        trigger, later, schedule_id=name, overlap=overlap, concurrency_key=key, shard=0, timeout_seconds=TIMEOUT_SECONDS
    )
    world.add(held, described)
    return message(TWO + TURN, schedule_id=name, timeout_seconds=TIMEOUT_SECONDS)


def test_of_all_schedules_with_a_key_one_run_goes_on_at_a_time_and_none_is_lost() -> None:
    world = Queue(Overlap.ALLOW, "warehouse")
    others = [neighbour(world, f"other-{number}") for number in range(3)]
    assert [world.comes(one) for one in others] == [RunStatus.WAITING] * 3
    assert world.line() == [one.key.run_id for one in others]
    world.finish_first()
    for number in range(3):
        world.clock.advance(SECOND)
        assert world.wake_timers() == 1, "one at a time"
        assert world.status(others[number]) is RunStatus.SUCCEEDED
    assert world.line() == []


def test_each_policy_does_with_a_key_what_it_does_without_one() -> None:
    world = Queue(Overlap.ALLOW, "warehouse")
    assert world.comes(neighbour(world, "skips", Overlap.SKIP)) is RunStatus.SKIPPED
    buffered = neighbour(world, "buffers", Overlap.BUFFER_ONE)
    assert world.comes(buffered) is RunStatus.WAITING
    again = replace(buffered, key=replace(buffered.key, nominal_at=TWO + 2 * TURN), due_at=TWO + 2 * TURN)
    assert world.comes(again) is RunStatus.SKIPPED
    assert world.comes(neighbour(world, "another", Overlap.BUFFER_ONE)) is RunStatus.WAITING, "one of each waits"
    assert world.comes(neighbour(world, "cancels", Overlap.CANCEL_OTHER)) is RunStatus.WAITING
    assert world.status(buffered) is RunStatus.CANCELLED
    first = world.row(FIRST.key)
    assert first is not None
    assert first.cancel is not None


def test_another_tenants_key_and_another_key_are_other_gates() -> None:
    world = Queue(Overlap.ALLOW, "warehouse")
    assert world.comes(neighbour(world, "elsewhere", key="bank")) is RunStatus.SUCCEEDED


def test_a_full_line_puts_the_others_off_and_loses_none() -> None:
    world = Queue(Overlap.ALLOW, "warehouse")
    before = world.gate
    line = []
    for number in range(MAX_LINE):
        other = neighbour(world, f"w-{number}")
        world.comes(other)
        line.append(Waiting(other.key.run_id, 1))
    assert world.gate.line == tuple(line)
    assert world.gate.holder == before.holder
    late = neighbour(world, "late")
    assert world.comes(late) is RunStatus.WAITING
    assert late.key.run_id not in world.line()


def test_two_that_come_at_once_do_not_both_get_in_in_any_order() -> None:
    """Two free runs at a free gate, stopped between every two of their steps."""
    steps = _steps_of_one()
    for first in range(steps):
        world = Workshop(overlap=Overlap.BUFFER_ONE)
        world.clock.advance(2 * MINUTE)
        running: list[RunKey] = []
        world.targets.script = _checks(running)
        actors = [world.deliver_as_actor(name, one) for name, one in (("a", FIRST), ("b", SECOND_RUN))]
        _step(actors[0], first)
        _step(actors[1], steps)
        _step(actors[0], steps)
        for _ in range(6):
            world.clock.advance(MINUTE)
            world.wake_timers()
        ended = [world.row(one.key) for one in (FIRST, SECOND_RUN)]
        assert [one.status for one in ended if one is not None] == [RunStatus.SUCCEEDED] * 2


def _steps_of_one() -> int:
    return len(Workshop(overlap=Overlap.BUFFER_ONE).deliver_as_actor("alone").run().steps)


def _step(actor: Actor, times: int) -> None:
    for _ in range(times):
        if actor.at is not None:
            actor.step()


def _checks(running: list[RunKey]) -> Callable[[Call], Result]:
    def call(_: Call) -> Result:
        assert not running
        return Result(Outcome.SUCCEEDED)

    return call


@pytest.mark.parametrize("overlap", [Overlap.BUFFER_ONE, Overlap.CANCEL_OTHER])
def test_a_manual_run_goes_through_the_same_gate(overlap: Overlap) -> None:
    world = Queue(overlap)
    manual = replace(SECOND_RUN, key=replace(SECOND_RUN.key, cause="manual-abc"))
    world.clock.set(manual.due_at)
    world.deliver(manual)
    assert world.status(manual) is RunStatus.WAITING
