"""Counting what requests cost, by the ConsumedCapacity that the engine answers with."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

BATCH_READ = "BatchGetItem"
READS = frozenset({"GetItem", BATCH_READ, "Query", "Scan"})


@dataclass
class Capacity:
    """Units consumed, in sum and by operation, base tables and indexes together."""

    reads: float = 0.0
    writes: float = 0.0
    requests: list[tuple[str, float]] = field(default_factory=list)

    def add(self, operation: str, units: float) -> None:
        self.requests.append((operation, units))
        if operation in READS:
            self.reads += units
        else:
            self.writes += units


@contextmanager
def counted(client: Any) -> Iterator[Capacity]:
    """What `client` consumes inside the context."""
    capacity = Capacity()

    def ask_for_it(params: dict[str, Any], model: Any, **_: Any) -> None:
        params["ReturnConsumedCapacity"] = "INDEXES"
        if model.name == BATCH_READ:
            # The emulator does not count these: half a unit for each item under 4 KB, found or not.
            wanted = params["RequestItems"].values()
            capacity.add(BATCH_READ, sum(len(one["Keys"]) for one in wanted) / 2)

    def note(parsed: dict[str, Any], model: Any, **_: Any) -> None:
        if model.name == BATCH_READ:
            return
        consumed = parsed.get("ConsumedCapacity", [])
        for one in consumed if isinstance(consumed, list) else [consumed]:
            capacity.add(model.name, one["CapacityUnits"])

    events = client.meta.events
    events.register("provide-client-params.dynamodb", ask_for_it)
    events.register("after-call.dynamodb", note)
    try:
        yield capacity
    finally:
        events.unregister("provide-client-params.dynamodb", ask_for_it)
        events.unregister("after-call.dynamodb", note)
