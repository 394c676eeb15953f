"""Lags in figures and in characters: how late runs started, of whom, and when."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.scale.population import TIERS, Population, minute_text
from benchmarks.scale.sent import Sent

BARS: Final = "▁▂▃▄▅▆▇█"
EDGES: Final = (0, 250, 500, 1_000, 2_000, 3_000, 5_000, 10_000, 20_000, 40_000, 60_000)
"""Of the histogram, in ms; what is later stands in a last line."""
WIDEST: Final = 40
"""Of its bars, in characters."""


@dataclass(frozen=True, slots=True)
class Lags:
    """Of the messages that started a run: ms from due to started, with what they are told apart by."""

    ms: NDArray[np.int64]
    due: NDArray[np.int64]
    """In whole seconds after the beginning."""
    tier: NDArray[np.uint8]
    shard: NDArray[np.uint16]
    claimed_ms: NDArray[np.int64]
    """From due to sent; below 0 for what was sent ahead of its time."""

    def of(self, chosen: NDArray[np.bool_]) -> "Lags":
        """Some of them."""
        return Lags(self.ms[chosen], self.due[chosen], self.tier[chosen], self.shard[chosen], self.claimed_ms[chosen])

    def percentile(self, percent: float) -> float:
        """In seconds; 0 where there are none."""
        return float(np.percentile(self.ms, percent)) / 1_000 if len(self.ms) else 0.0


def lags_of(population: Population, sent: Sent, started_ms: NDArray[np.int64], first: NDArray[np.bool_]) -> Lags:
    """The lags of the first starts."""
    due = np.asarray(sent.due).astype(np.int64)
    every = Lags(
        started_ms - due * 1_000,
        due,
        np.asarray(sent.tier),
        population.shard[np.asarray(sent.number)],
        np.asarray(sent.sent_ms) - due * 1_000,
    )
    return every.of(first)


def sparkline(values: Sequence[float]) -> str:
    """One character a value, from nothing to the largest."""
    most = max(values, default=0.0) or 1.0
    return "".join(BARS[min(len(BARS) - 1, int(value / most * len(BARS)))] for value in values)


def table(lags: Lags, herd_second: int) -> Iterator[str]:
    """p50, p99 and the most: of all, of the herd, of what came in its minute and of the rest, and of each tier."""
    in_herd, beside = lags.due == herd_second, lags.due // 60 == herd_second // 60
    yield f"{'':<27}{'runs':>12}{'p50':>9}{'p99':>9}{'most':>9}{'sent by':>10}"
    rows = [("all", lags), ("due in the herd's second", lags.of(in_herd))]
    rows += [("else in the herd's minute", lags.of(beside & ~in_herd)), ("due in other minutes", lags.of(~beside))]
    rows += [(f"tier {name}", lags.of(lags.tier == place)) for place, name in enumerate(TIERS)]
    for name, own in rows:
        figures = "".join(f"{own.percentile(percent):>7.2f} s" for percent in (50, 99, 100))
        latest = float(own.claimed_ms.max(initial=0)) / 1_000
        yield f"  {name:<25}{len(own.ms):>12,}{figures}{latest:>+8.2f} s"


def histogram(lags: Lags) -> Iterator[str]:
    """How many runs started how late."""
    counts, _ = np.histogram(lags.ms, bins=[*EDGES, np.iinfo(np.int64).max])
    total = max(1, len(lags.ms))
    for place, count in enumerate(counts.tolist()):
        low = EDGES[place] / 1_000
        words = f"{low:g} to {EDGES[place + 1] / 1_000:g} s" if place + 1 < len(EDGES) else f"over {low:g} s"
        if count or place < 5:
            bar = "█" * round(WIDEST * count / total) or ("▏" if count else "")
            yield f"  {words:>13} {count:>12,} {count / total:>7.2%} {bar}"


def by_minute(lags: Lags, population: Population) -> Iterator[str]:
    """Minute by minute: how much was due, and how late that was."""
    yield f"  {'due in':<9}{'runs':>10}{'in its second 0':>17}{'p50':>9}{'p99':>9}{'most':>9}"
    for minute in range(population.minutes):
        own = lags.of(lags.due // 60 == minute)
        at_once = int((own.due % 60 == 0).sum())
        figures = "".join(f"{own.percentile(percent):>7.2f} s" for percent in (50, 99, 100))
        yield f"  {minute_text(population, minute):<9}{len(own.ms):>10,}{at_once:>17,}{figures}"


def by_shard(lags: Lags, shards: int) -> Iterator[str]:
    """A character for each shard, and the worst in figures."""
    p99 = [lags.of(lags.shard == shard).percentile(99) for shard in range(shards)]
    counts = np.bincount(lags.shard, minlength=shards)
    worst = int(np.argmax(p99))
    yield f"  p99 by shard   {sparkline(p99)}  {min(p99):.2f} to {max(p99):.2f} s, the worst is {worst}"
    yield f"  runs by shard  {sparkline(counts.tolist())}  {counts.min():,} to {counts.max():,}"
