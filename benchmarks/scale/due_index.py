"""The due index over a population: of each shard, by seconds, the numbers of what waits. Timers are made when read."""

from bisect import bisect_left, insort
from typing import Final

import numpy as np

from benchmarks.scale.population import NEVER, Population
from cronfleet.domain.schedule import Timer
from cronfleet.ports.page import Page

_PAGED: Final = 40
"""Bits of a cursor that hold the number; the second stands above them."""


class CompactIndex:
    """What is due in the minutes that are watched; what is due later is in the arrays alone, until it is never read."""

    def __init__(self, population: Population, shards: int) -> None:
        self._population = population
        self._buckets: list[dict[int, dict[int, int]]] = [{} for _ in range(shards)]
        """By shard and second, number and nominal."""
        self._seconds: list[list[int]] = [[] for _ in range(shards)]
        self.reserved: dict[int, int] = {}
        """The places for which deferred fires wait, by number."""
        self._end = 60 * population.minutes
        self._fill()

    def _fill(self) -> None:
        population = self._population
        awake = np.flatnonzero(population.due < NEVER)
        shards, dues, nominals = population.shard[awake], population.due[awake], population.nominal[awake]
        for number, shard, due, nominal in zip(
            awake.tolist(), shards.tolist(), dues.tolist(), nominals.tolist(), strict=True
        ):
            self._buckets[shard].setdefault(due, {})[number] = nominal
        self._seconds = [sorted(bucket) for bucket in self._buckets]

    def move(self, number: int, shard: int, before: int, due: int, nominal: int) -> None:
        """Take an entry out of its second, and put it where it is due next; `NEVER`, or past the end: nowhere."""
        buckets = self._buckets[shard]
        held = buckets.get(before)
        if held is not None and held.pop(number, None) is not None and not held:
            del buckets[before]
            seconds = self._seconds[shard]
            del seconds[bisect_left(seconds, before)]
        if due < self._end or number in self.reserved:
            if due not in buckets:
                buckets[due] = {}
                insort(self._seconds[shard], due)
            buckets[due][number] = nominal

    def keys(self, shard: int, until: int, cursor: str | None, limit: int) -> Page[tuple[int, int, int]]:
        """Seconds, numbers and nominals of what is due up to and including second `until`, after `cursor`."""
        after = -1 if cursor is None else int(cursor)
        second, number = (-(1 << 30), -1) if after < 0 else (after >> _PAGED, after & ((1 << _PAGED) - 1))
        found: list[tuple[int, int, int]] = []
        seconds, buckets = self._seconds[shard], self._buckets[shard]
        for at in seconds[bisect_left(seconds, second) :]:
            if at > until or len(found) >= limit:
                break
            entries = sorted(buckets[at].items())
            start = bisect_left(entries, (number, 1 << 30)) if at == second else 0
            found += [(at, one, nominal) for one, nominal in entries[start : start + limit - len(found)]]
        more = str(found[-1][0] << _PAGED | found[-1][1]) if len(found) == limit else None
        return Page(found, more)

    def page(self, shard: int, until: int, cursor: str | None, limit: int) -> Page[Timer]:
        """The same as timers."""
        found = self.keys(shard, until, cursor, limit)
        timer, reserved = self._population.timer, self.reserved
        return Page([timer(one, nominal, at, reserved.get(one)) for at, one, nominal in found.items], found.cursor)

    def waiting(self) -> int:
        """How much has not been claimed."""
        return sum(len(held) for buckets in self._buckets for held in buckets.values())
