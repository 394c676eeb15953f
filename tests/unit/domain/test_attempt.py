"""Admission, where it is subtle: fires of epochs that ended long ago."""

from dataclasses import replace

from cronfleet.domain.attempt import Admit, End, Start, decide_admission, decide_start
from cronfleet.domain.instant import SECOND
from cronfleet.domain.reason import Code
from cronfleet.domain.run import RunStatus
from tests.support.builders import at, every, message, timer

TWO = at("2026-12-01 02:00")


def started(due_at: int, now: int):
    decision = decide_start(None, message(due_at), "worker", now)
    assert isinstance(decision, Start)
    return decision.run


def test_a_fire_that_a_change_overtook_stays_overtaken_whatever_changes_come_after_it_was_due() -> None:
    """Edited before it was due, delayed by the queue, and edited again meanwhile: only the first edit counts."""
    due_at = TWO + 8 * SECOND
    edited_twice = timer(every(60), TWO, epoch=3, epoch_starts=(0, TWO + 2 * SECOND, TWO + 9 * SECOND))
    admission = decide_admission(started(due_at, TWO + 10 * SECOND), edited_twice, TWO + 10 * SECOND)
    assert isinstance(admission, End)
    assert (admission.status, admission.reason.code) == (RunStatus.SKIPPED, Code.SUPERSEDED)


def test_a_fire_that_was_due_before_the_first_change_runs_whatever_changes_come_after() -> None:
    edited_twice = timer(every(60), TWO, epoch=3, epoch_starts=(0, TWO + 2 * SECOND, TWO + 9 * SECOND))
    admission = decide_admission(started(TWO + SECOND, TWO + 10 * SECOND), edited_twice, TWO + 10 * SECOND)
    assert isinstance(admission, Admit)


def test_nothing_of_an_earlier_life_of_a_schedule_starts_in_the_next() -> None:
    anew = timer(every(60), TWO, epoch=3, epoch_starts=(TWO,), born_epoch=3)
    for cause in ("schedule", "manual-abc"):
        run = started(TWO, TWO)
        run = replace(run, key=replace(run.key, cause=cause))
        admission = decide_admission(run, anew, TWO)
        assert isinstance(admission, End)
        assert admission.status is RunStatus.CANCELLED
