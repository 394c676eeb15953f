"""Watched jobs in stormy worlds: what breaks is told once and ends once; and the checker can fail."""

from typing import Any

import pytest

from cronfleet.services import watching
from cronfleet.services.incidents import Incidents
from cronfleet.services.noticing import Noticing
from simulator.watching import play


@pytest.mark.parametrize("seed", range(2))
def test_what_breaks_in_a_storm_is_told_once_and_ends_once(seed: int) -> None:
    world, violation = play(seed)
    assert violation is None
    assert len(world.told) == 9


def never_healed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Incidents, "heal", lambda *_, **__: None)


def told_before_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "GRACE", -600_000)


def never_delivered(monkeypatch: pytest.MonkeyPatch) -> None:
    def forget(*_: Any) -> None:
        return None

    monkeypatch.setattr(Noticing, "carry_on", forget)


@pytest.mark.parametrize("plant", [never_healed, told_before_its_time, never_delivered])
def test_a_planted_fault_is_found(plant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    assert play(0)[1] is not None
