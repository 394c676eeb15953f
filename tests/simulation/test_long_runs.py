"""Long runs in stormy worlds: never two at work on one run, everything ends; and the checkers can fail."""

from typing import Any

import pytest

from cronfleet.domain import books
from cronfleet.services import pulse, sweeper
from cronfleet.services.kept_slot import KeptSlot
from simulator import long_runs
from simulator.faults import MINUTE
from simulator.long_runs import play


def test_a_long_run_is_never_at_work_twice_and_ends_whoever_stops_dies_or_stands_still() -> None:
    world, violation = play(1)
    assert violation is None
    outcomes = {attempt.outcome for row in world.rows.values() for attempt in row.attempts}
    assert {"interrupted", "lost", "succeeded"} <= outcomes
    assert world.history.faults.total() > 1_000
    assert world.forgotten > 0


def never_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that could not renew its lease goes on all the same."""
    monkeypatch.setattr(pulse, "stops_at", lambda row: row.lease_until + 60 * MINUTE)
    monkeypatch.setattr(long_runs, "STANDSTILLS", (60, 60))


def forgets_its_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slot ends with the first lease; the run goes on."""
    monkeypatch.setattr(KeptSlot, "cover", lambda _self, _run: True)


def takes_the_dead_for_living(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sweeper finds no dead lease: a run that is running is running."""
    real = books.standing

    def blind(message: Any, row: Any, now: int) -> Any:
        found = real(message, row, now)
        return books.Standing.GOING if found is books.Standing.DEAD_LEASE else found

    monkeypatch.setattr(sweeper, "standing", blind)


@pytest.mark.parametrize(("plant", "seed"), [(never_stops, 3), (forgets_its_slot, 0), (takes_the_dead_for_living, 0)])
def test_a_planted_fault_is_found(plant: Any, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    assert play(seed)[1] is not None
