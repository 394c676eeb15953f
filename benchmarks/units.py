"""What one firing costs in write and read units, from claim to finished run and closed books.

    python -m benchmarks.units

Prints one line per herd. The real dispatcher, worker and sweeper run on the emulator, whose ConsumedCapacity counts
base tables and indexes; `tests/integration/test_units.py` asserts the same figures.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cronfleet.adapters.dynamodb.job_store import DynamoJobStore
from cronfleet.adapters.memory.queues import MemoryRunQueue
from cronfleet.adapters.system.clock import SystemClock, SystemIds
from cronfleet.domain.attempt import Result
from cronfleet.domain.books import SETTLE_AFTER
from cronfleet.domain.instant import SECOND
from cronfleet.domain.lease import slot_of
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.run import Outcome
from cronfleet.domain.schedule import Policies
from cronfleet.ports.job_store import CreateTimer, InsertDefinition
from cronfleet.ports.queues import Tick
from cronfleet.ports.target import Call
from cronfleet.services.dispatcher import Dispatcher
from cronfleet.services.sweeper import Sweeper
from cronfleet.services.worker import Worker
from tests.support.builders import cron, definition, timer
from tests.support.capacity import Capacity, counted
from tests.support.emulator import client, emulator
from tests.support.settable_clock import NOON, SettableClock
from tests.support.tables import create_tables, delete_tables

HERDS: Final = (1, 10, 50, 100, 300)
SHARD: Final = 0
LONG_AFTER: Final = NOON + 3_600 * SECOND


@dataclass(frozen=True)
class Cost:
    """Units of one herd: by the dispatcher and the workers together, and by the sweeper that closes its books."""

    firings: int
    chain: Capacity
    sweeper: Capacity

    @property
    def writes(self) -> float:
        """Write units per firing, claim to finished run."""
        return self.chain.writes / self.firings

    @property
    def reads(self) -> float:
        """Read units per firing, closing the books included."""
        return (self.chain.reads + self.sweeper.reads) / self.firings


class Succeeds:
    """Every attempt succeeds at once."""

    def call(self, _call: Call) -> Result:
        return Result(Outcome.SUCCEEDED)


class Silent:
    """Telemetry that nobody reads."""

    def count(self, metric: str, value: int = 1, **dimensions: str) -> None: ...

    def measure(self, metric: str, seconds: float, **dimensions: str) -> None: ...

    def event(self, name: str, **fields: object) -> None: ...

    def alarm(self, name: str, **fields: object) -> None: ...


def cost_of(dynamodb: Any, prefix: str, firings: int, overlap: Overlap = Overlap.ALLOW) -> Cost:
    """What `firings` schedules that are due at once cost, on empty tables under `prefix`."""
    clock = SettableClock(NOON)
    # The store compares its own clock with the engine's; the services live in a time of ours.
    store = DynamoJobStore(prefix, dynamodb, SystemClock())
    _register(store, firings, overlap)
    queue = MemoryRunQueue(clock)
    parts: dict[str, Any] = {"store": store, "run_queue": queue, "clock": clock, "telemetry": Silent()}
    dispatcher = Dispatcher(ids=SystemIds(), **parts)
    worker = Worker(ids=SystemIds(), targets=Succeeds(), **parts)
    with counted(dynamodb) as chain:
        dispatcher.tick(Tick(SHARD, slot_of(NOON)), LONG_AFTER)
        for received in queue.tier("standard").receive(firings):
            worker.handle(received.body)
            queue.tier("standard").delete(received.receipt)
    clock.advance(2 * SETTLE_AFTER / SECOND)
    with counted(dynamodb) as sweeper:
        Sweeper(dispatcher=dispatcher, shards=1, **parts).sweep(LONG_AFTER)
    return Cost(firings, chain, sweeper)


def _register(store: DynamoJobStore, firings: int, overlap: Overlap) -> None:
    trigger = cron("0 12 * * *", "UTC")
    for number in range(firings):
        name = f"nightly-billing-of-customer-{number:06}"
        waiting = timer(trigger, NOON, schedule_id=name, overlap=overlap)
        described = definition(trigger, name, policies=Policies(overlap=overlap))
        store.commit([CreateTimer(waiting), InsertDefinition(described)])


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as folder, emulator(Path(folder)) as endpoint:
        dynamodb = client("dynamodb", endpoint)
        for firings in HERDS:
            prefix = f"units-{firings}"
            create_tables(dynamodb, prefix)
            cost = cost_of(dynamodb, prefix, firings)
            print(
                f"{firings:5} at once: {cost.writes:.2f} write units per firing "
                f"(+ {cost.sweeper.writes / firings:.2f} to close the books), {cost.reads:.2f} read units"
            )
            delete_tables(dynamodb, prefix)


if __name__ == "__main__":
    main()
