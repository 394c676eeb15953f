"""What has started is stopped only by its worker, which finds the request whatever it is about to write."""

import pytest

from cronfleet.domain.attempt import Result
from cronfleet.domain.cancel_request import CancelRequest
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.run import Outcome, RunStatus
from cronfleet.services.cancelling import ask_to_cancel
from cronfleet.services.endings import Endings
from tests.support.faults import Crash
from tests.support.workshop import PAST_LEASE, Once, Workshop, fails_first, moments, succeeds


def ask(world, by="ada"):
    request = CancelRequest(world.clock.now(), by, "wrong day")
    return ask_to_cancel(world.store, Endings(world.store), world.message.key, request)


def asked_while_it_runs(result, **policies):
    """A world whose job ends with `result` after its cancellation was asked for."""
    world = Workshop(**policies)

    def script(_call):
        assert ask(world).status is RunStatus.RUNNING
        return result

    world.targets.script = script
    return world


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.TIMED_OUT, Outcome.CANCELLED])
def test_a_running_run_whose_cancellation_is_asked_for_ends_as_cancelled_and_is_not_tried_again(outcome):
    world = asked_while_it_runs(Result(outcome, "stopped"))
    world.deliver()
    row = world.stored
    assert (row.status, row.retry_at, row.attempts[-1].outcome) == (RunStatus.CANCELLED, None, outcome)
    assert (row.lease_until, row.finished_at) == (None, world.clock.now())
    assert row.reason.text == "cancelled by ada: wrong day"
    assert world.store.state.run_timers == {}
    world.settle()
    assert len(world.targets.made) == 1


def test_a_success_stays_a_success_although_the_cancellation_was_asked_for():
    world = asked_while_it_runs(Result(Outcome.SUCCEEDED))
    world.deliver()
    assert (world.stored.status, world.stored.reason) == (RunStatus.SUCCEEDED, None)
    assert world.stored.cancel.by == "ada"


def test_a_cancelled_run_lets_go_of_the_gate():
    world = asked_while_it_runs(Result(Outcome.FAILED, "stopped"), overlap=Overlap.SKIP)
    world.deliver()
    assert world.store.state.gates == {}


def test_a_run_whose_worker_died_after_the_request_is_not_taken_over():
    world = Workshop()

    def dies(_call):
        ask(world)
        raise Crash

    world.targets.script = dies
    world.deliver()
    assert world.stored.status is RunStatus.RUNNING
    world.clock.advance(PAST_LEASE)
    world.deliver()
    row = world.stored
    assert (row.status, row.attempts[-1].outcome, row.attempt) == (RunStatus.CANCELLED, Outcome.LOST, 1)
    assert len(world.targets.made) == 1


def test_the_first_request_stands_and_one_after_the_end_changes_nothing():
    world = Workshop()

    def script(_call):
        ask(world, "ada")
        assert ask(world, "bob").cancel.by == "ada"
        return Result(Outcome.FAILED, "stopped")

    world.targets.script = script
    world.deliver()
    row = world.stored
    assert ask(world, "bob") == row


def test_a_run_that_waits_for_its_next_attempt_is_over_at_once():
    world = Workshop(fails_first(1))
    world.deliver()
    assert ask(world).status is RunStatus.CANCELLED
    world.clock.advance(PAST_LEASE)
    world.wake_timers()
    assert len(world.targets.made) == 1


def test_a_run_without_a_row_cannot_be_asked():
    assert ask(Workshop()) is None


@pytest.mark.parametrize("script", [succeeds, fails_first(1), fails_first(9)], ids=["succeeds", "fails once", "fails"])
def test_whenever_the_request_comes_no_attempt_begins_after_it_and_the_run_ends(script):
    """Asked for between any two steps of the worker: nothing is overlooked, nothing is called after it."""
    steps = len(moments(lambda: Workshop(script)))
    for step in range(steps):
        world = Workshop(script)
        began: list[int] = []

        def cancel(world=world, began=began):
            row = ask(world)
            if row is not None:
                began.append(len(world.targets.made))

        world.deliver(hook=Once(step, cancel))
        row = world.settle()
        world.check()
        if not began:
            continue  # There was no row yet: the API writes one then, which no worker starts.
        assert row.status in (RunStatus.CANCELLED, RunStatus.SUCCEEDED), (step, row)
        assert len(world.targets.made) <= began[0] + (began[0] == 0), (step, row)
