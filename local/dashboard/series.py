"""What has been measured lately, kept in memory in slices of ten seconds: the page and the alarms are made of it.

As CloudWatch keeps it: each name with each set of dimensions is a series of its own, and values are summed up only
when somebody asks. Times are seconds of the epoch.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from infra.metrics import Metric, Search, Statistic

SLICE_SECONDS: Final = 10
KEPT_SECONDS: Final = 3 * 3_600
MOST_VALUES: Final = 1_000
"""Of one slice, for its percentiles; past it they are of those that came first."""
MOST_SERIES: Final = 5_000

Key = tuple[str, str, tuple[tuple[str, str], ...]]
"""Namespace, name, and the dimensions in order of their names."""


@dataclass(slots=True)
class Slice:
    """The values of one series in ten seconds."""

    count: int = 0
    total: float = 0.0
    least: float = float("inf")
    most: float = float("-inf")
    values: list[float] = field(default_factory=list)

    def add(self, value: float) -> None:
        """One more value."""
        self.count += 1
        self.total += value
        self.least = min(self.least, value)
        self.most = max(self.most, value)
        if len(self.values) < MOST_VALUES:
            self.values.append(value)


class Series:
    """All series, safe to fill from one thread and to read from others."""

    def __init__(self) -> None:
        self._slices: dict[Key, dict[int, Slice]] = {}
        self._lock = threading.Lock()

    def add(self, namespace: str, name: str, dimensions: Mapping[str, str], values: Iterable[float], at: float) -> None:
        """Take values of a moment. What is older than is kept, or a series too many, is dropped."""
        key = (namespace, name, tuple(sorted(dimensions.items())))
        number = int(at) // SLICE_SECONDS
        with self._lock:
            if key not in self._slices and len(self._slices) >= MOST_SERIES:
                return
            slices = self._slices.setdefault(key, {})
            if number not in slices:
                slices[number] = Slice()
                self._forget(slices, number)
            for value in values:
                slices[number].add(value)

    @staticmethod
    def _forget(slices: dict[int, Slice], newest: int) -> None:
        oldest = newest - KEPT_SECONDS // SLICE_SECONDS
        for number in [one for one in slices if one < oldest]:
            del slices[number]

    def value(self, metric: Metric, since: float, until: float) -> float | None:
        """What `metric` comes to from `since` up to and without `until`; None where it has no value then."""
        with self._lock:
            slices = self._slices.get(_key(metric), {})
            first, last = int(since) // SLICE_SECONDS, int(until) // SLICE_SECONDS
            found = [slices[number] for number in range(first, last) if number in slices]
            return _summed(found, metric.statistic) if found else None

    def found(self, search: Search) -> Iterator[tuple[str, list[Metric]]]:
        """What a search finds: for each value of the dimension it goes by, the series that have it."""
        wanted = set(search.dimensions)
        with self._lock:
            keys = [key for key in self._slices if key[:2] == (search.namespace, search.name)]
        by: dict[str, list[Metric]] = {}
        for namespace, name, dimensions in keys:
            named = dict(dimensions)
            if set(named) == wanted and all(named[key] == value for key, value in search.fixed):
                one = Metric(namespace, name, dimensions, search.statistic, search.period_seconds)
                by.setdefault(named[search.by], []).append(one)
        yield from sorted(by.items())


def _key(metric: Metric) -> Key:
    return metric.namespace, metric.name, tuple(sorted(metric.dimensions))


def _summed(slices: list[Slice], statistic: Statistic) -> float | None:
    count, total = sum(one.count for one in slices), sum(one.total for one in slices)
    if statistic.startswith("p"):
        return percentile(sorted(value for one in slices for value in one.values), float(statistic[1:]))
    plain = {
        "SampleCount": float(count),
        "Sum": total,
        "Average": total / count if count else None,
        "Minimum": min(one.least for one in slices),
        "Maximum": max(one.most for one in slices),
    }
    return plain[statistic]


def percentile(ordered: list[float], percent: float) -> float | None:
    """Between the two nearest ranks in proportion; None of nothing."""
    if not ordered:
        return None
    rank = percent / 100 * (len(ordered) - 1)
    below = int(rank)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (rank - below) * (ordered[above] - ordered[below])
