"""What an installation is set to, and what is taken for granted about it, as far as the lag depends on it."""

from dataclasses import dataclass, field, replace
from typing import Any, Final

CALLS_OF_A_POLLER: Final = 10
"""Invocations that a provisioned poller keeps going at once:
https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html"""

MOST_READY: Final = 2_000
"""Runs at once behind as many pollers as a mapping may hold ready (200). More come as they are needed."""

LAMBDA_MB_OF_A_CORE: Final = 1_769
DISPATCHER_MB: Final = 1_024
"""`infra/constructs/dispatcher.py`."""


@dataclass(frozen=True, slots=True)
class Workers:
    """Of one tier: at most so many runs at once. With pollers held ready, `ready_at_once` of them (ten for each poller)
    are there from the beginning; 0: there are none, and a mapping begins small and grows.
    """

    most: int
    ready_at_once: int = 0

    @property
    def pollers(self) -> int:
        """Held ready."""
        return -(-self.ready_at_once // CALLS_OF_A_POLLER)


def held_ready(most: int) -> Workers:
    """So many runs at once, all of them behind pollers that are held ready."""
    return Workers(most, most)


@dataclass(frozen=True, slots=True)
class Settings:
    """Defaults are the product's; quotas are those that docs/capacity.md says to raise."""

    shards: int = 64
    index_quota: int = 64_000
    """Write units a second of the index due: 40,000 before it is raised."""
    table_partitions: int = 64
    """Of the table schedules: as many as a warm throughput of 64,000 makes."""
    ticks_at_once: int = 70
    """Ten for each poller that is held ready for the queue of ticks, of which there is one for ten shards."""
    dispatcher_cpu: float = 0.2
    """CPU seconds that the dispatcher and its client need for 1,000 firings on a whole core."""
    workers: tuple[Workers, Workers] = field(default_factory=lambda: (Workers(500), Workers(300)))
    """Of the tiers standard and priority."""
    job_ms: int = 100
    killed: float = 0.0
    """Of the ticks, how many die in the middle."""
    part: int = 1
    """Of an installation, one part of so many: what is shared by all shards is so much less for it."""

    @property
    def cpu_ms_a_firing(self) -> float:
        """On the part of a core that the function has."""
        return self.dispatcher_cpu * LAMBDA_MB_OF_A_CORE / DISPATCHER_MB


def settings_for(shards: int, part: int = 1, **others: Any) -> Settings:
    """Those of an installation with so many shards, whose quotas were raised for them; `part` of it is played.

    `others` are fields of `Settings`, said for the whole installation.
    """
    whole = replace(Settings(), shards=shards, index_quota=1_000 * shards, table_partitions=shards)
    whole = replace(whole, ticks_at_once=10 * max(2, -(-shards // 10)), **others)
    return replace(
        whole,
        shards=max(1, shards // part),
        index_quota=whole.index_quota // part,
        table_partitions=max(1, whole.table_partitions // part),
        ticks_at_once=-(-whole.ticks_at_once // part),
        workers=(parted(whole.workers[0], part), parted(whole.workers[1], part)),
        part=part,
    )


def parted(workers: Workers, part: int) -> Workers:
    """What one part of so many has of `workers`."""
    ready = 0 if not workers.ready_at_once else max(1, workers.ready_at_once // part)
    return Workers(max(1, workers.most // part), ready)
