"""Errands in stormy worlds: each is carried on until it is done, whoever dies; and the checker can fail."""

from typing import Any

import pytest

from cronfleet.adapters.memory.errands import MemoryErrands, errand_key, remove_errand
from cronfleet.domain.errand import Errand
from cronfleet.domain.instant import DAY
from cronfleet.services import errands as taking
from cronfleet.services.clerk import Clerk
from simulator.errands import play

SEEDS = range(26, 62)


@pytest.mark.parametrize("seed", range(3))
def test_every_errand_is_carried_on_until_it_is_done_and_then_is_gone(seed: int) -> None:
    world, violation = play(seed)
    assert violation is None
    assert world.book.wanted.total() > 100
    assert world.book.failures > 0
    assert world.history.faults.total() > 0


def taken_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lease that does not end: what was taken and not carried on never comes again."""
    monkeypatch.setattr(taking, "ERRAND_LEASE", 10 * DAY)


def retired_whatever_was_said_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    def retire(self: Any, errand: Errand) -> bool:
        remove_errand(self.state, errand_key(*errand.key))
        return True

    monkeypatch.setattr(MemoryErrands, "retire_errand", retire)


def given_up_when_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Clerk, "_fail", lambda self, errand, _: self._settle(errand, None))


@pytest.mark.parametrize("fault", [taken_for_good, retired_whatever_was_said_meanwhile, given_up_when_it_fails])
def test_a_fault_in_the_way_of_errands_is_caught(fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fault(monkeypatch)
    assert any(play(seed)[1] is not None for seed in SEEDS)
