"""A small world in memory: one store, queues, a clock that is moved by hand, and the services on top."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from cronfleet.adapters.memory.job_store import MemoryJobStore
from cronfleet.adapters.memory.queues import MemoryErrandQueue, MemoryRunQueue
from cronfleet.adapters.memory.side_by_side import OneByOne
from cronfleet.domain.instant import MINUTE, SECOND, Instant
from cronfleet.domain.lease import slot_of
from cronfleet.domain.run import RunKey, RunMessage
from cronfleet.domain.schedule import Definition, Timer
from cronfleet.domain.tenant import Tenant
from cronfleet.domain.trigger import fires
from cronfleet.ports.job_store import CreateTimer, InsertDefinition
from cronfleet.ports.queues import Tick
from cronfleet.ports.side_by_side import SideBySide
from cronfleet.ports.tenants import PutTenant
from cronfleet.services.dispatcher import Dispatcher
from cronfleet.services.retiming import Retimings
from cronfleet.services.sweeper import Sweeper
from tests.support.actors import Actor
from tests.support.builders import definition
from tests.support.settable_clock import CountingIds, SettableClock

SHARD = 0


@dataclass
class Notes:
    """Telemetry that keeps what it is told."""

    counts: Counter[str] = field(default_factory=Counter)
    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    alarms: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    abouts: list[dict[str, Any]] = field(default_factory=list)
    measures: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def count(self, metric: str, value: int = 1, **_: str) -> None:
        self.counts[metric] += value

    def tally(self, values: Mapping[str, int], **_: str) -> None:
        for metric, value in values.items():
            self.count(metric, value)

    def measure(self, metric: str, seconds: float, **_: str) -> None:
        self.measures[metric].append(seconds)

    def about(self, **fields: object) -> AbstractContextManager[None]:
        self.abouts.append(dict(fields))
        return nullcontext()

    def event(self, name: str, **fields: object) -> None:
        self.events.append((name, dict(fields)))

    def alarm(self, name: str, **fields: object) -> None:
        self.alarms.append((name, dict(fields)))


class World:
    """One shard, everything in it, and shorthands to run its services whole or as actors."""

    def __init__(self, now: Instant) -> None:
        self.clock = SettableClock(now)
        self.ids = CountingIds()
        self.notes = Notes()
        self.store = MemoryJobStore(self.clock)
        self.run_queue = MemoryRunQueue(self.clock)
        self.errand_queue = MemoryErrandQueue(self.clock)
        self.side_by_side: SideBySide = OneByOne()

    def add(self, timer: Timer, described: Definition | None = None) -> Timer:
        """Store a schedule."""
        described = described or definition(timer.trigger, timer.schedule_id)
        self.store.commit([CreateTimer(timer), InsertDefinition(described)])
        return timer

    def timer(self, schedule_id: str = "nightly", tenant: str = "acme") -> Timer:
        found = self.store.get_timer(tenant, schedule_id)
        assert found is not None
        return found

    def dispatcher(self, actor: Actor | None = None, **options: Any) -> Dispatcher:
        return Dispatcher(
            store=actor.port(self.store) if actor else self.store,
            run_queue=actor.port(self.run_queue) if actor else self.run_queue,
            errand_queue=actor.port(self.errand_queue) if actor else self.errand_queue,
            side_by_side=self.side_by_side,
            clock=self.clock,
            ids=self.ids,
            telemetry=self.notes,
            **{"shards": 1, **options},
        )

    def allow(self, per_second: int, burst: int = 1, tenant: str = "acme") -> None:
        """Give a tenant a rate of its own."""
        before = self.store.get_tenant(tenant, consistent=True)
        quotas = (("burst", burst), ("fires_per_second", per_second))
        after = Tenant(tenant, quotas=quotas, rev=1 if before is None else before.rev + 1, change_id=self.ids.unique())
        self.store.commit([PutTenant(after, before)])

    def tick(self, **options: Any) -> Any:
        """Serve the current slot to its end."""
        return self.dispatcher(**options).tick(Tick(SHARD, slot_of(self.clock.now())), self.clock.now() + MINUTE)

    def tick_as_actor(self, name: str) -> Actor:
        """A dispatcher that stands before its first step."""
        slot_at = slot_of(self.clock.now())

        def body(actor: Actor) -> Any:
            return self.dispatcher(actor).tick(Tick(SHARD, slot_at), slot_at + MINUTE)

        return Actor(name, body)

    def sweeper(self, shards: int = 1, retimings: Retimings | None = None) -> Sweeper:
        return Sweeper(
            store=self.store,
            run_queue=self.run_queue,
            dispatcher=self.dispatcher(),
            side_by_side=self.side_by_side,
            clock=self.clock,
            telemetry=self.notes,
            shards=shards,
            retimings=retimings,
        )

    def sweep(self) -> Any:
        return self.sweeper().sweep(self.clock.now() + MINUTE)

    @property
    def sent(self) -> list[RunMessage]:
        """Every message that the run queues hold."""
        return [body for queue in self.run_queue.tiers.values() for body in queue.bodies()]

    @property
    def sent_keys(self) -> set[RunKey]:
        return {message.key for message in self.sent}

    def accounted(self, timer: Timer) -> list[Instant]:
        """Every nominal of the epoch of `timer` that was sent as a run or has a skip in the ledger, once each."""
        key = (timer.tenant, timer.schedule_id, timer.epoch)
        runs = [k for k in self.sent_keys if (k.tenant, k.schedule_id, k.epoch) == key and k.is_scheduled]
        nominals = [k.nominal_at for k in runs]
        for run in self.store.state.runs.values():
            if (run.key.tenant, run.key.schedule_id, run.key.epoch) != key or not run.key.is_scheduled:
                continue
            if run.until_nominal_at is not None:
                nominals += fires(timer.trigger, run.key.nominal_at - 1, run.until_nominal_at)
            elif run.key not in self.sent_keys:
                nominals.append(run.key.nominal_at)
        return sorted(nominals)


def seconds(number: float) -> int:
    """Milliseconds in so many seconds."""
    return int(number * SECOND)
