"""Forecast readings: what the sweeper counted when it read the due index, shard by shard, and how far it has come.

A walk takes one shard after the other; what it counts of one is that shard's reading, and all of them together are the
whole, which answers for the installation without anybody reading ten million schedules for it.
"""

from dataclasses import dataclass, replace
from typing import Final

from cronfleet.domain.forecast import HORIZON, Counts, add, new_counts
from cronfleet.domain.instant import DAY, HOUR, Instant

WALK_EVERY: Final = HOUR
"""How often all shards are read."""
MARGIN: Final = 6 * HOUR
"""So much longer than anybody may ask a reading reaches: it still answers while the next one is late."""
KEPT: Final = 2 * DAY
"""How long the store keeps a reading, or a walk, that nothing replaces."""

MOST_TENANTS: Final = 200
"""Tenants of a shard whose fires are counted apart, those with most; the others are one."""
MOST_TENANTS_OF_ALL: Final = 500
OTHERS: Final = ""
"""The tenants that are not counted apart, together."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What was counted of a shard (`None`: of all), read from `started_at` to `read_at`."""

    shard: int | None
    started_at: Instant
    read_at: Instant
    counts: Counts


@dataclass(frozen=True, slots=True)
class Walk:
    """Reading all shards. `shard` is the one that is being read, from `cursor`, since `shard_at`; `counts` is what was
    counted of it so far. It is over once `finished_at` is set. `rev` rises with every write.
    """

    started_at: Instant
    shards: int
    shard: int = 0
    shard_at: Instant = 0
    cursor: str | None = None
    counts: Counts | None = None
    finished_at: Instant | None = None
    rev: int = 1

    @property
    def since(self) -> Instant:
        """Where its counts begin: on the hour, the same in every shard, so that they can be added."""
        return self.started_at // HOUR * HOUR

    def new_counts(self) -> Counts:
        """Nothing counted yet."""
        return Counts(self.since, self.since + HORIZON + MARGIN)

    def on_to_next(self) -> "Walk":
        """The walk when its shard is read."""
        return replace(self, shard=self.shard + 1, shard_at=0, cursor=None, counts=None)


def next_walk(before: Walk | None, now: Instant, shards: int) -> Walk | None:
    """The walk to go on with; `None`: all shards have been read lately enough."""
    if before is None:
        return Walk(now, shards, rev=0)
    if before.finished_at is None and now - before.started_at < MARGIN:
        return before
    if before.finished_at is not None and now - before.started_at < WALK_EVERY:
        return None
    return Walk(now, shards, rev=before.rev)


def trimmed(counts: Counts, most: int) -> Counts:
    """`counts` with at most so many tenants apart, those with most fires; the others together."""
    named = sorted((name for name in counts.tenants if name != OTHERS), key=lambda name: -sum(counts.tenants[name]))
    if len(named) <= most:
        return counts
    tenants = {name: counts.tenants[name] for name in named[:most]}
    others = new_counts(len(counts.tenants[named[0]]))
    for name in (*named[most:], *([OTHERS] if OTHERS in counts.tenants else [])):
        add(others, counts.tenants[name])
    return replace(counts, tenants={**tenants, OTHERS: others})
