"""A backfill beside live traffic in the simulator, small; whoever loses, doubles or hurries a date is found out.

The full size is `python -m simulator.backfill`; docs/simulator.md has its figures.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import pytest

from cronfleet.domain import operation
from cronfleet.domain.run import Lane
from cronfleet.services import backfills
from cronfleet.services.operation_doer import OperationDoer
from simulator import backfill
from simulator.backfill import BackfillWorld, Outcome, broken, play

DATES, SHARDS = 400, 2


@cache
def without() -> Outcome:
    return play(0, 0, SHARDS)


def test_a_backfill_runs_each_date_once_and_does_not_move_live_fires() -> None:
    assert broken(without(), play(0, DATES, SHARDS), DATES) == []


def test_it_is_exact_while_clerks_dispatchers_and_workers_die_again_and_again() -> None:
    beside = play(1, DATES, SHARDS, kill_every=7)
    assert broken(without(), beside, DATES, lag=False) == []
    assert beside.killed > 10


def in_two(commit: Callable[..., Any]) -> Callable[..., Any]:
    """The operation is moved on, and its runs are made after that."""

    def apart(self: OperationDoer, stored: Any, after: Any, writes: Sequence[Any]) -> Any:
        if not commit(self, stored, after, []):
            return False
        for number in range(0, len(writes), 2):
            self._store.commit(writes[number : number + 2])
        return True

    return apart


def test_a_page_that_is_not_one_transaction_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OperationDoer, "_commit", in_two(OperationDoer._commit))
    found = broken(without(), play(0, DATES, SHARDS, kill_every=2), DATES, lag=False)
    assert "dates ran" in "; ".join(found)


def test_an_id_that_is_no_digest_of_the_call_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = iter(range(100))
    monkeypatch.setattr(backfills, "backfill_id", lambda *_: operation.operation_id(f"call-{next(numbers)}"))
    assert "backfills" in "; ".join(broken(without(), play(0, 50, SHARDS), 50))


def test_dates_that_take_the_way_of_live_fires_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few workers, who are busy with dates: what is live waits behind them."""

    def on_the_live_queue(world: BackfillWorld, *_: Any) -> Any:
        return world.runs

    monkeypatch.setattr(BackfillWorld, "queue_of", on_the_live_queue)
    monkeypatch.setattr(backfill, "EACH", 4)
    calm = play(0, 0, SHARDS, workers=2)
    assert "p99 lag moved" in "; ".join(broken(calm, play(0, DATES, SHARDS, workers=2), DATES))


def test_runs_of_operations_have_a_queue_of_their_own_in_the_simulator() -> None:
    world = BackfillWorld(0, SHARDS, 1)
    assert world.queue_of(Lane.BACKFILL) is world.yielding
    assert world.queue_of(Lane.LIVE) is world.runs
