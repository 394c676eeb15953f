"""An installation is drained in the middle of everything: nothing is announced after that returned, nothing is lost."""

from typing import Any

import pytest

from cronfleet.adapters.memory.shards import MemoryShards
from cronfleet.domain.hold import Switch
from cronfleet.services.noticeboard import Noticeboard
from simulator.simulation import simulate

HOURS = 0.4
SCHEDULES = 16


@pytest.mark.parametrize("seed", [3])
def test_every_promise_holds_in_a_storm_in_which_the_installation_is_drained(seed: int) -> None:
    report = simulate(seed, HOURS, SCHEDULES, drains=True)
    assert report.violation is None
    assert report.requests["hold accepted"]


def test_a_dispatcher_that_knows_of_no_hold_is_found(monkeypatch: Any) -> None:
    monkeypatch.setattr(Noticeboard, "switch", lambda _: Switch())
    monkeypatch.setattr(MemoryShards, "shut", lambda *_: None)
    violation = simulate(3, HOURS, SCHEDULES, drains=True).violation
    assert violation is not None
    assert violation.promise == "a hold was not obeyed"
