"""The checker of dead letters can fail: it complains of what somebody still needs, and of nothing else."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from cronfleet.adapters.memory.job_store import MemoryJobStore
from cronfleet.domain.instant import HOUR, SECOND
from cronfleet.domain.lease import SLOT
from cronfleet.domain.run import RunStatus
from cronfleet.ports.queues import Tick
from simulator.checkers.dead_letters import check_dead_letters
from tests.support.settable_clock import SettableClock
from tests.support.workshop import TWO, Workshop

DIED_AT = TWO + 8 * HOUR
END_AT = TWO + 12 * HOUR


def world(status: RunStatus | None, sent_again_at: int = 0) -> SimpleNamespace:
    """A world in whose dead-letter queue a run's message stands; the run's row has this status, if there is one."""
    workshop = Workshop()
    workshop.deliver()
    key = workshop.message.key
    return SimpleNamespace(
        runs=SimpleNamespace(dead=[(DIED_AT, workshop.message)]),
        ticks=SimpleNamespace(dead=[]),
        rows={} if status is None else {key: replace(workshop.stored, status=status)},
        store=MemoryJobStore(SettableClock(END_AT)),
        history=SimpleNamespace(
            sent_again={key.run_id: sent_again_at}, buried=[(DIED_AT + SECOND, key.run_id)], given_up=[]
        ),
    )


def complaints(about: SimpleNamespace) -> list[str]:
    return [violation.promise for violation in check_dead_letters(about, END_AT)]


@pytest.mark.parametrize("status", [None, RunStatus.RUNNING, RunStatus.WAITING, RunStatus.QUEUED])
def test_a_dead_message_whose_run_has_not_ended_is_a_fault_unless_it_was_sent_again_since(
    status: RunStatus | None,
) -> None:
    assert complaints(world(status)) == ["a dead letter was forgotten"]
    assert complaints(world(status, sent_again_at=DIED_AT - SECOND)) == ["a dead letter was forgotten"]
    assert complaints(world(status, sent_again_at=DIED_AT + SECOND)) == []


@pytest.mark.parametrize("status", [RunStatus.SUCCEEDED, RunStatus.DEAD, RunStatus.CANCELLED])
def test_a_dead_message_whose_run_has_ended_may_stand_there(status: RunStatus) -> None:
    assert complaints(world(status)) == []


def test_a_dead_tick_is_a_fault_until_its_shard_has_served_a_slot_as_late() -> None:
    found = world(RunStatus.SUCCEEDED)
    found.ticks.dead = [(DIED_AT, Tick(0, DIED_AT))]
    assert complaints(found) == ["a dead tick was not made up for"]
    found.store.take_lease(0, DIED_AT - SLOT, "early", DIED_AT, DIED_AT - SLOT)
    assert complaints(found) == ["a dead tick was not made up for"]
    found.store.take_lease(0, DIED_AT, "in time", DIED_AT + SLOT, DIED_AT)
    assert complaints(found) == []


def test_a_dead_message_that_stays_in_its_queue_is_a_fault() -> None:
    about = world(RunStatus.SUCCEEDED)
    about.history.buried = [(DIED_AT - SECOND, about.runs.dead[0][1].key.run_id)]
    assert complaints(about) == ["a dead letter stays in its queue"]
    assert list(check_dead_letters(about, DIED_AT + SECOND)) == [], "it has only just come"


def test_a_run_given_up_while_a_worker_had_it_is_a_fault() -> None:
    about = world(RunStatus.DEAD)
    about.history.given_up = [(DIED_AT, "its lease was live")]
    assert complaints(about) == ["a run was given up as undelivered while a worker had it"]
