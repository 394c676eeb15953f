"""A shard whose ticks are lost for minutes: told once, of exactly those harmed, and over once; the checker can fail."""

from typing import Any

import pytest

from cronfleet.services import shard_watch
from cronfleet.services.incidents import Incidents
from cronfleet.services.shard_watch import ShardWatch
from simulator.stopping import play


@pytest.mark.parametrize("seed", [0, 1, 13])
def test_a_stopped_shard_is_told_once_names_exactly_those_harmed_and_heals_once(seed: int) -> None:
    _, violation = play(seed)
    assert violation is None


def everybody_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    found = ShardWatch._due

    def all_of_it(self: ShardWatch, shard: int, now: int) -> Any:
        return [*found(self, shard, now), *found(self, shard, now + 3_600_000)]

    monkeypatch.setattr(ShardWatch, "_due", all_of_it)


def never_healed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Incidents, "heal", lambda *_, **__: None)


def told_of_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_watch, "LATE_AFTER", 3_600_000)


def a_sweeper_is_taken_for_the_dispatcher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ShardWatch, "_seen_stopped", lambda *_: 0)


@pytest.mark.parametrize(
    "plant", [everybody_is_named, never_healed, told_of_nobody, a_sweeper_is_taken_for_the_dispatcher]
)
def test_a_planted_fault_is_found(plant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    # Two sweeps must come close to each other for the last one, which they do in some worlds.
    assert any(play(seed)[1] is not None for seed in range(18))
