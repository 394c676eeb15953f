"""Which triggers a population has, and how many schedules follow each.

Cron lines are those of `benchmarks/cron_mix.py`, which says where they were found, with its zones; what fires more
often than hourly is thinned until ten million of them would fire 100,000 times a minute (14.4 times a day each).

People's lines come together: of ten million, more than a million are due in the second in which an hour begins. So
there are two populations. The **measured** one keeps the lines' proportions, and has so many of them that a given
number is due in the second of the herd; intervals and one-shots, each at a second of its own, make up the rest of the
firings that are asked for, and whoever is not due in the minutes that are watched makes up the rest of the schedules.
The **natural** one has the lines alone, as many of each as its proportion says.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.cron_mix import FIRES_A_DAY, ZONES, thinned
from cronfleet.domain.instant import MINUTE, SECOND, Instant, to_datetime
from cronfleet.domain.trigger import CronTrigger
from simulator.oracle import Oracle

HERD_AT: Final[Instant] = int(datetime(2026, 11, 30, 23, tzinfo=UTC).timestamp()) * SECOND
"""The full hour that the minutes lie around: midnight in Berlin, six in the evening in New York."""

EVERY_SECONDS: Final = (60, 120, 300, 600, 900, 3600)
INTERVAL_SHARES: Final = (0.30, 0.10, 0.25, 0.10, 0.05, 0.05)
"""What each interval has of the firings that no cron line makes; one-shots have the rest. An assumption."""
ONE_SHOT_SHARE: Final = 1 - sum(INTERVAL_SHARES)


@dataclass(frozen=True, slots=True)
class Lines:
    """Cron lines in their zones: how each counts, and when it is due in the minutes that are watched."""

    triggers: Sequence[CronTrigger]
    weights: NDArray[np.float64]
    minutes: Sequence[Sequence[int]]
    """Of each, whole minutes after the beginning; by the simulator's oracle, which shares no code with the product."""

    @property
    def counts(self) -> NDArray[np.int64]:
        """How often each is due."""
        return np.array([len(found) for found in self.minutes])

    def due_in(self, minute: int) -> NDArray[np.bool_]:
        """Which of them are due in this minute."""
        return np.array([minute in found for found in self.minutes])


@cache
def lines_of(begins_at: Instant, minutes: int) -> Lines:
    """Every line of the mix in every zone of it, looked at for so many minutes."""
    begin = to_datetime(begins_at - MINUTE)
    end = to_datetime(begins_at + (minutes - 1) * MINUTE)
    triggers, weights, due = [], [], []
    for line, (zone, share) in product(thinned(FIRES_A_DAY), ZONES.items()):
        found = Oracle(_spelt_out(line.expression), zone).fires(begin, end)
        triggers.append(CronTrigger(line.expression, zone))
        weights.append(line.weight * share)
        due.append([int((one.timestamp() * SECOND - begins_at) // MINUTE) for one in found])
    return Lines(triggers, np.array(weights) / sum(weights), due)


def _spelt_out(expression: str) -> str:
    """The oracle knows no macros."""
    macros = {"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *"}
    return macros.get(expression, expression)


def apportioned(total: int, weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """`total` divided by `weights` into whole numbers, by the largest remainders."""
    if total == 0 or not weights.sum():
        return np.zeros(len(weights), dtype=np.int64)
    exact = total * weights / weights.sum()
    counts: NDArray[np.int64] = np.floor(exact).astype(np.int64)
    for place in np.argsort(counts - exact, kind="stable")[: total - int(counts.sum())]:
        counts[place] += 1
    return counts


@dataclass(frozen=True, slots=True)
class Shares:
    """How many schedules follow each cron line, each interval, and fire once."""

    cron: NDArray[np.int64]
    intervals: NDArray[np.int64]
    one_shots: int

    @property
    def total(self) -> int:
        """Schedules in all."""
        return int(self.cron.sum() + self.intervals.sum()) + self.one_shots


def natural(lines: Lines, schedules: int) -> Shares:
    """Cron lines alone, as they were found."""
    return Shares(apportioned(schedules, lines.weights), np.zeros(len(EVERY_SECONDS), dtype=np.int64), 0)


def measured(lines: Lines, schedules: int, firings: int, herd: int, minutes: int) -> Shares:
    """`herd` lines due in the second of the herd, and `firings` besides in all the `minutes`. Raises `ValueError`."""
    counts, in_herd = lines.counts, lines.due_in(minutes // 2)
    awake = apportioned(herd, np.where(in_herd, lines.weights, 0.0))
    # Lines that are due in other minutes keep their proportion to those of the herd.
    others = np.where((counts > 0) & ~in_herd, lines.weights, 0.0)
    scale = herd / lines.weights[in_herd].sum() if herd else 0.0
    awake += np.rint(others * scale).astype(np.int64)
    spread = firings + herd - int((awake * counts).sum())
    if spread < 0:
        raise ValueError(
            f"a herd of {herd:,} brings {-spread:,} firings more than the {firings:,} that were asked for: write more "
            f"--firings, or a smaller --herd"
        )
    every, seconds = np.array(EVERY_SECONDS), 60 * minutes
    intervals = np.rint(spread * np.array(INTERVAL_SHARES) * every / seconds).astype(np.int64)
    one_shots = round(spread * ONE_SHOT_SHARE)
    asleep = schedules - int(awake.sum() + intervals.sum()) - one_shots
    if asleep < 0:
        raise ValueError(
            f"{firings:,} firings need {-asleep:,} schedules more than {schedules:,}: write more --schedules"
        )
    rest = apportioned(asleep, np.where(counts == 0, lines.weights, 0.0))
    return Shares(awake + rest, intervals, one_shots)
