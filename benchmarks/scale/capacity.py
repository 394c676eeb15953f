"""What AWS lets through and how long it takes: partitions, quotas, latencies, delays. Figures as published.

- A partition takes 1,000 write units and 3,000 read units a second; it may burst, which nobody guarantees, and so
  nothing here does: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/burst-adaptive-capacity.html
- An index entry whose key moves costs two units, one that leaves costs one; an index that cannot keep up throttles
  the writes of its table: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/gsi-throttling.html
- A table or index takes 40,000 units a second until the quota is raised:
  https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
- DynamoDB answers within single-digit milliseconds, an index follows its table within a fraction of a second, a queue
  answers within some ten milliseconds. How these spread is assumed: log-normally, as `LATENCIES` says.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Final

import numpy as np

WRITE_UNITS: Final = 1_000
READ_UNITS: Final = 3_000
"""Of a partition in a second."""

QUOTA: Final = 40_000
"""Write units of the whole index in a second, before it is raised."""

NEW_INDEX: Final = 4_000
"""Of an index that has never had more, on demand, and was not warmed:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html"""

LATENCIES: Final[Mapping[str, tuple[float, float]]] = {
    # median in ms, and how far 84 of 100 are above it, as a factor
    "read": (4.0, 1.5),
    "query": (12.0, 1.5),
    "write": (5.0, 1.5),
    "claims": (14.0, 1.4),
    "send": (12.0, 1.6),
    "deliver": (20.0, 2.2),
    "index": (25.0, 1.8),
}
"""`query` is a page of 500 items, `claims` a BatchExecuteStatement of 25, `deliver` from the end of a message's delay
to the invocation, `index` from a write to its entry."""

SLOW_INDEX: Final = 0.002
SLOWEST_INDEX_MS: Final = 5_000
"""One entry in so many follows late: after up to so long."""

_DRAWN: Final = 1 << 14


class Latencies:
    """Drawn beforehand, many of each, and handed out in turn: whole milliseconds, one at least."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng([seed, 1])
        self._drawn = {
            name: np.maximum(1, np.rint(median * spread ** rng.standard_normal(_DRAWN))).astype(int).tolist()
            for name, (median, spread) in LATENCIES.items()
        }
        slow = np.flatnonzero(rng.random(_DRAWN) < SLOW_INDEX)
        for place, late in zip(slow.tolist(), rng.integers(100, SLOWEST_INDEX_MS, len(slow)).tolist(), strict=True):
            self._drawn["index"][place] = late
        self._next = dict.fromkeys(LATENCIES, 0)

    def of(self, name: str) -> int:
        """The next latency of this kind."""
        place = self._next[name] = (self._next[name] + 1) % _DRAWN
        return int(self._drawn[name][place])


class Bucket:
    """The units of a second: what is not used by its end is gone. Seconds begin `offset` ms before those of the clock,
    which no partition goes by.
    """

    __slots__ = ("_left", "_offset", "_second", "rate")

    def __init__(self, rate: float, offset: int) -> None:
        self.rate = rate
        self._offset = offset
        self._left = rate
        self._second = 0

    def has(self, units: float, now: int) -> bool:
        """Whether so many are left in the second of `now`."""
        second = (now + self._offset) // 1_000
        if second != self._second:
            self._second, self._left = second, self.rate
        return self._left >= units

    def take(self, units: float) -> None:
        """Use them up."""
        self._left -= units


WHOLE: Final = 0
"""What is counted of an index as a whole goes by seconds of its own: those of its partitions begin at other times."""


def offset_of(partition: int) -> int:
    """When its seconds begin, in ms before the clock's."""
    return 377 * partition % 1_000


class Meter:
    """What was used: requests by their kind, units of each partition by the second, what was throttled and where."""

    def __init__(self, index_quota: int, base_partitions: int) -> None:
        self.requests: Counter[str] = Counter()
        self.units: defaultdict[str, Counter[tuple[int, int]]] = defaultdict(Counter)
        """By partitions of what, by (partition, second)."""
        self.throttled: Counter[str] = Counter()
        self.base_partitions = base_partitions
        self._index = Bucket(index_quota, offset_of(WHOLE))
        self._buckets: dict[tuple[str, int], Bucket] = {}

    def use(self, what: str, partition: int, units: float, now: int) -> None:
        """Count units that are never refused here."""
        self.units[what][partition, (now + offset_of(partition)) // 1_000] += units  # type: ignore[assignment]  # units may be halves

    def takes(self, shard: int, base: int, moved: int, now: int) -> bool:
        """Whether a timer's write is taken: one unit of its partition of the table, `moved` of its shard's index."""
        own = self._bucket("index", shard, WRITE_UNITS)
        table = self._bucket("table", base, WRITE_UNITS)
        if not own.has(moved, now):
            self.throttled["index partition"] += 1
        elif not self._index.has(moved, now):
            self.throttled["index quota"] += 1
        elif not table.has(1, now):
            self.throttled["table partition"] += 1
        else:
            own.take(moved)
            self._index.take(moved)
            table.take(1)
            self.use("index", shard, moved, now)
            self.use("whole index", WHOLE, moved, now)
            self.use("table", base, 1, now)
            return True
        return False

    def _bucket(self, what: str, partition: int, rate: float) -> Bucket:
        found = self._buckets.get((what, partition))
        if found is None:
            found = self._buckets[what, partition] = Bucket(rate, offset_of(partition))
        return found

    def most(self, what: str) -> tuple[float, int, int]:
        """The most units that a partition of `what` gave in a second, which one, and when (in seconds)."""
        if not self.units[what]:
            return 0.0, 0, 0
        (partition, second), units = max(self.units[what].items(), key=lambda one: one[1])
        return float(units), partition, second
