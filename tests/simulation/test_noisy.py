"""A noisy neighbour in the simulator, small: the quiet keep their time, and whoever takes that from them is found out.

The full size is `python -m simulator.noisy`; docs/fairness.md has its figures.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import pytest

from cronfleet.domain import allotment, dispatch_plan
from cronfleet.domain.rate import Rate
from cronfleet.services.look_ahead import LookAhead
from simulator.noisy import Outcome, broken, play

FIRES, QUIET, SHARDS = 4_000, 12, 2


@cache
def without() -> Outcome:
    return play(0, 0, QUIET, SHARDS)


def found() -> list[str]:
    return broken(without(), play(0, FIRES, QUIET, SHARDS), FIRES)


def test_four_thousand_fires_of_one_tenant_at_one_second_do_not_move_the_others() -> None:
    assert found() == []


def in_order(queues: Mapping[str, Sequence[Any]], cost: Callable[[Any], int], quantum: Callable[[str], int]) -> Any:
    """No rounds: whoever comes first has all of its own first."""
    return [item for queue in queues.values() for item in queue]


def cut(read: Callable[[LookAhead], Any]) -> Callable[[LookAhead], Any]:
    """A limit, and behind it nothing: what others have due further on is not seen."""

    def of_a_page(look_ahead: LookAhead) -> Any:
        items = read(look_ahead)[:100]
        look_ahead.is_over = True
        return items

    return of_a_page


@pytest.mark.parametrize(
    ("where", "name", "fault", "what"),
    [
        (dispatch_plan, "rounds", in_order, "p99 lag moved"),
        (LookAhead, "read", cut(LookAhead.read), "p99 lag moved"),
    ],
    ids=["no rounds", "a filter behind a limit"],
)
def test_a_dispatcher_that_is_not_fair_is_found_out(
    monkeypatch: pytest.MonkeyPatch, where: Any, name: str, fault: Any, what: str
) -> None:
    good = without()
    monkeypatch.setattr(where, name, fault)
    assert what in "; ".join(broken(good, play(0, FIRES, QUIET, SHARDS), FIRES))


SLOW = Rate(per_second=20, burst=200)


def test_each_fire_is_deferred_once_and_whoever_defers_it_again_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    beside = play(0, 600, QUIET, SHARDS, SLOW)
    assert broken(without(), beside, 600) == []
    assert len(beside.deferred) > 300
    monkeypatch.setattr(allotment.Draft, "is_paid", property(lambda _: False))
    assert "was deferred" in "; ".join(broken(without(), play(0, 600, QUIET, SHARDS, SLOW), 600))
