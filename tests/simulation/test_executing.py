"""Executions in stormy worlds: started once, followed to their end, stopped in time; and the checkers can fail."""

from dataclasses import replace
from typing import Any

import pytest

from cronfleet.domain import follow
from cronfleet.domain.run import Run
from cronfleet.services import following
from simulator import executing
from simulator.executing import play

SEEDS = range(2, 12)


@pytest.mark.parametrize("seed", [2])
def test_every_execution_is_started_once_followed_and_stopped_in_time(seed: int) -> None:
    world, violation = play(seed)
    assert violation is None
    assert len(world.cloud.executions) > 40
    assert world.cloud.silences > 10
    assert world.history.faults.total() > 500


def taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message that comes late, or the sweeper, has what goes on elsewhere started by another attempt."""
    monkeypatch.setattr(Run, "execution", property(lambda _: None))
    monkeypatch.setattr(executing, "CALM", executing.MINUTE)


def named_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A start that is repeated starts another: its name is not the attempt's."""
    names = iter(range(10**6))
    monkeypatch.setattr(executing, "_name", lambda call: f"{call.key.run_id}-{next(names)}")


def given_up_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Given up because it is late, by a clerk that has not told it to stop."""
    real = follow.decide_step

    def hasty(run: Run, execution: Any, seen: Any, now: int) -> Any:
        long_ago = replace(execution, stopping_at=execution.deadline_at)
        return real(run, long_ago if now > execution.deadline_at else execution, seen, now)

    monkeypatch.setattr(following, "decide_step", hasty)


@pytest.mark.parametrize("plant", [taken_over, named_anew, given_up_unseen])
def test_a_planted_fault_is_found(plant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    assert any(play(seed)[1] is not None for seed in SEEDS)
