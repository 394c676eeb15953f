"""One installation over a population, to its end; and what other workers would have made of what it sent."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.scale.cloud import Cloud
from benchmarks.scale.lags import Lags, lags_of
from benchmarks.scale.ledger import Ledger, closed
from benchmarks.scale.population import Population, expected
from benchmarks.scale.settings import Settings, Workers, held_ready
from benchmarks.scale.working import Started, worked
from cronfleet.domain.instant import MINUTE

Told: TypeAlias = Callable[[int, int, int], None]
"""Hears the second that is reached, and how many messages were sent of how many."""

LONGEST: Final = 30 * MINUTE
"""After the last minute, until what is still waiting is given up."""

ENOUGH: Final = (held_ready(20_000), held_ready(20_000))
"""Nobody ever waits for them: what is late then was sent late."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it."""

    cloud: Cloud
    settings: Settings
    seed: int
    started: Started
    ledger: Ledger
    lags: Lags
    herd_second: int

    @property
    def in_herd(self) -> NDArray[np.bool_]:
        """Which of the lags are of the second of the herd."""
        found: NDArray[np.bool_] = self.lags.due == self.herd_second
        return found

    @property
    def herd(self) -> Lags:
        """What was due in the second of the herd."""
        return self.lags.of(self.in_herd)

    @property
    def rest(self) -> Lags:
        """The even load: what was due in other minutes than that of the herd."""
        return self.lags.of(self.lags.due // 60 != self.herd_second // 60)

    def with_workers(self, workers: tuple[Workers, Workers]) -> "Outcome":
        """The same, had these workers been there; its books are those of the workers that were."""
        cloud, settings = self.cloud, replace(self.settings, workers=workers)
        started = worked(cloud.sent, settings, cloud.population.minutes, self.seed)
        lags = lags_of(cloud.population, cloud.sent, started.at_ms, self.ledger.first)
        return replace(self, settings=settings, started=started, lags=lags)


def played(population: Population, settings: Settings, seed: int, told: Told) -> Outcome:
    """One installation over `population`, until all that was due has run, and its books."""
    due = expected(population)
    cloud = Cloud(population, settings, seed)
    cloud.run(lambda second: told(second, len(cloud.sent), len(due)), LONGEST)
    started = worked(cloud.sent, settings, population.minutes, seed)
    ledger = closed(population, due, cloud.sent, started.at_ms, cloud.store.state.runs.values())
    lags = lags_of(population, cloud.sent, started.at_ms, ledger.first)
    return Outcome(cloud, settings, seed, started, ledger, lags, population.minutes // 2 * 60)
