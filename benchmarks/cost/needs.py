"""What an installation needs to be given for a workload, and which quotas of the account are too small for it."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any, Final

from benchmarks.cost.bill import (
    FEWEST_POLLERS,
    REQUEST_MS,
    SHARDS_A_POLLER,
    WORKER_MS,
    WORKER_REQUESTS,
    Costs,
)
from benchmarks.cost.workload import SHARD_CEILING, shards_for

CLAIM_WRITES: Final = 1
MOVE_WRITES: Final = 2
"""Of a firing: on the table of schedules, and on its due index."""
RUN_WRITES: Final = 2
"""Start and finish, on the table of runs."""

TABLE_QUOTA: Final = 40_000
"""Write units a second of a table or an index on demand, unless raised."""
NEW_TABLE: Final = 4_000
"""Write units a second that a new table takes on demand; warm throughput makes it more."""
CONCURRENCY_QUOTA: Final = 1_000
MAPPING_QUOTA: Final = 1_250
"""Concurrent invocations of an SQS trigger without provisioned pollers."""
INVOCATIONS_A_POLLER: Final = 10
HEADROOM: Final = 1.5
"""Runs do not come evenly; and one that is late holds its place for longer."""


@dataclass(frozen=True, slots=True)
class Quota:
    """A limit of an account, and what the workload needs of it."""

    name: str
    needed: int
    default: int

    @property
    def is_enough(self) -> bool:
        """Whether the default is."""
        return self.needed <= self.default


@dataclass(frozen=True, slots=True)
class Needs:
    """Settings and quotas.

    `herd_seconds` is how long a minute's firings take to be claimed that are all due in one second, with the shards
    that the workload has. `worker_pollers` is 0 where a trigger does without provisioned ones.
    """

    shards_at_least: int
    herd_seconds: float
    worker_concurrency: int
    tick_pollers: int
    worker_pollers: int
    quotas: tuple[Quota, ...]

    def form(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self) | {"quotas": [asdict(one) | {"is_enough": one.is_enough} for one in self.quotas]}


def needs(costs: Costs) -> Needs:
    """What the workload of `costs` needs, with a minute's firings taken for a herd of one second."""
    workload = costs.workload
    run_ms = workload.handler_ms + WORKER_MS + WORKER_REQUESTS * REQUEST_MS
    concurrency = max(1, ceil(workload.per_second * run_ms / 1_000 * HEADROOM))
    beyond = concurrency > MAPPING_QUOTA
    return Needs(
        shards_at_least=shards_for(workload.firings_per_minute),
        herd_seconds=round(workload.firings_per_minute / (workload.shards * SHARD_CEILING), 2),
        worker_concurrency=concurrency,
        tick_pollers=max(FEWEST_POLLERS, ceil(workload.shards / SHARDS_A_POLLER)),
        worker_pollers=ceil(concurrency / INVOCATIONS_A_POLLER) if beyond else 0,
        quotas=tuple(_quotas(costs, concurrency)),
    )


def _quotas(costs: Costs, concurrency: int) -> Iterable[Quota]:
    workload = costs.workload
    herd = min(workload.firings_per_minute, workload.shards * SHARD_CEILING)
    started = workload.per_second * HEADROOM
    yield Quota("write units a second of the table schedules", ceil(herd * CLAIM_WRITES), TABLE_QUOTA)
    yield Quota("write units a second of the index due", ceil(herd * MOVE_WRITES), TABLE_QUOTA)
    yield Quota("write units a second of the table runs", ceil(started * RUN_WRITES), TABLE_QUOTA)
    yield Quota("warm write units of the table schedules", ceil(herd * CLAIM_WRITES), NEW_TABLE)
    yield Quota("warm write units of the index due", ceil(herd * MOVE_WRITES), NEW_TABLE)
    yield Quota("concurrent executions of Lambda", concurrency + workload.shards + 100, CONCURRENCY_QUOTA)
    yield Quota("concurrent invocations of a worker's trigger", concurrency, MAPPING_QUOTA)
