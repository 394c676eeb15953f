"""The whole chain on metered queues and on any DynamoDB client: what a scenario needs to be played and counted."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, Final, TypeAlias

from benchmarks.metering.dynamodb import Bill, MeteredDynamoDB
from benchmarks.metering.sqs import MeteredSqs
from cronfleet.adapters.dynamodb.job_store import DynamoJobStore
from cronfleet.adapters.dynamodb.receipts import DynamoReceipts
from cronfleet.adapters.memory.side_by_side import OneByOne
from cronfleet.adapters.sqs.errand_queue import SqsErrandQueue
from cronfleet.adapters.sqs.messages import decode_run, decode_tick
from cronfleet.adapters.sqs.run_queue import SqsRunQueue
from cronfleet.adapters.sqs.tick_queue import SqsTickQueue
from cronfleet.domain.attempt import Result
from cronfleet.domain.claiming import Claiming
from cronfleet.domain.instant import MINUTE, Instant
from cronfleet.domain.lease import slot_of
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.retry import Backoff, BackoffKind, Retry
from cronfleet.domain.run import Outcome
from cronfleet.domain.schedule import Policies, Timer
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.clock import SteadyClock
from cronfleet.ports.job_store import CreateTimer, InsertDefinition
from cronfleet.ports.queues import Tick
from cronfleet.ports.target import Call, Pulse
from cronfleet.services.access import Caller
from cronfleet.services.dispatcher import Dispatcher
from cronfleet.services.runs import Runs
from cronfleet.services.sweeper import Sweeper
from cronfleet.services.ticker import Laid, Ticker
from cronfleet.services.worker import Worker
from cronfleet.settings import RUN_QUEUES
from tests.support.builders import cron, definition, timer
from tests.support.settable_clock import NOON, CountingIds, SettableClock

SHARD: Final = 0
TENANT_SIZE: Final = 50
"""Schedules of each tenant: a herd comes from many."""
TICKS: Final = "ticks"
PREFIX: Final = "metered"

POLICIES: Final = Policies(retry=Retry(max_attempts=3, backoff=Backoff(BackoffKind.FIXED, base_seconds=10)))


Counted: TypeAlias = Callable[[], AbstractContextManager[Bill]]


class Died(BaseException):
    """The worker was killed. No `Exception`: nothing may catch it."""


def succeeds(_call: Call) -> Result:
    """Every attempt succeeds at once."""
    return Result(Outcome.SUCCEEDED)


class Targets:
    """A target that does what the scenario says."""

    def __init__(self, script: Callable[[Call], Result]) -> None:
        self.script = script

    def call(self, call: Call, pulse: Pulse) -> Result:  # noqa: ARG002 - a script tells nothing while it runs
        return self.script(call)


class Silent:
    """Telemetry that nobody reads."""

    def count(self, metric: str, value: int = 1, **dimensions: str) -> None: ...

    def tally(self, values: Mapping[str, int], **dimensions: str) -> None: ...

    def measure(self, metric: str, seconds: float, **dimensions: str) -> None: ...

    def event(self, name: str, **fields: object) -> None: ...

    def about(self, **fields: object) -> AbstractContextManager[None]:  # noqa: ARG002 - nobody reads its lines
        return nullcontext()

    def alarm(self, name: str, **fields: object) -> None: ...


@dataclass
class Part:
    """What one part of the product asked for in a scenario."""

    bill: Bill = field(default_factory=Bill)
    invocations: int = 0
    sends: int = 0
    receives: int = 0
    deletes: int = 0

    @property
    def sqs(self) -> int:
        """Billed requests to queues."""
        return self.sends + self.receives + self.deletes


class Chain:
    """One installation with one shard. `parts` holds, by name of the part, what was counted since `start_counting`."""

    def __init__(
        self,
        dynamodb: Any,
        prefix: str,
        counted: Counted,
        clock: SettableClock,
        store_clock: SteadyClock | None = None,
        claiming: Claiming = Claiming.BATCHED,
    ) -> None:
        """`counted()` bills what `dynamodb` is asked inside its context.

        The services live by `clock`, which scenarios move; the store compares `store_clock` with the engine's.
        """
        self.clock = clock
        self.ids = CountingIds()
        self.sqs = MeteredSqs(self.clock)
        self._counted = counted
        self.store = DynamoJobStore(prefix, dynamodb, store_clock or self.clock, claiming=claiming)
        self.receipts = DynamoReceipts(prefix, dynamodb, store_clock or self.clock)
        self.targets = Targets(succeeds)
        self._laid = Laid()
        self.parts: dict[str, Part] = {}
        self.store.get_lease(SHARD)  # A warm process has heard the store's time.
        self.errand_queue = SqsErrandQueue(self.sqs, "errands")  # type: ignore[arg-type]  # the part of it that is used
        self._common: dict[str, Any] = {
            "store": self.store,
            "run_queue": SqsRunQueue(self.sqs, {name: name for name in RUN_QUEUES}),  # type: ignore[arg-type]  # the part of it that is used
            "clock": self.clock,
            "telemetry": Silent(),
        }
        self.worker = Worker(ids=self.ids, targets=self.targets, **self._common)
        self.runs = Runs(store=self.store, clock=self.clock, ids=self.ids)

    # --- setting the scene -----------------------------------------------------------------------------------

    def add(self, number: int, overlap: Overlap = Overlap.ALLOW, nominal_at: Instant = NOON, **changes: Any) -> Timer:
        """A daily schedule that is due; ids look as if customers had chosen them."""
        trigger = cron("0 12 * * *", "UTC")
        tenant = f"customer-{_digest(number // TENANT_SIZE, 3)}"
        name = f"nightly-billing-{_digest(number, 4)}"
        waiting = timer(trigger, nominal_at, tenant=tenant, schedule_id=name, overlap=overlap, **changes)
        described = definition(trigger, name, policies=replace(POLICIES, overlap=overlap))
        # A handler of its own: where many fail that call the same, it is left alone.
        spec = replace(described.spec, target=HandlerTarget(name))
        self.store.commit([CreateTimer(waiting), InsertDefinition(replace(described, tenant=tenant, spec=spec))])
        return waiting

    def caller(self, one: Timer) -> Caller:
        """The schedule's tenant, asking."""
        return Caller(Tenant(one.tenant, one.tier), "key", self.ids.unique())

    # --- counting --------------------------------------------------------------------------------------------

    @contextmanager
    def as_part(self, name: str) -> Iterator[None]:
        """What happens inside is put on the account of a part."""
        part = self.parts.setdefault(name, Part())
        before = replace(self.sqs.requests)
        with self._counted() as bill:
            yield
        now = self.sqs.requests
        part.bill.requests += bill.requests
        part.invocations += 1
        part.sends += now.sends - before.sends
        part.receives += now.receives - before.receives
        part.deletes += now.deletes - before.deletes

    def start_counting(self) -> None:
        """Forget what setting the scene cost."""
        self.parts = {}

    # --- playing ---------------------------------------------------------------------------------------------

    def dispatcher(self, **options: Any) -> Dispatcher:
        """A dispatcher on this chain."""
        return Dispatcher(
            ids=self.ids, errand_queue=self.errand_queue, side_by_side=OneByOne(), **self._common, **options
        )

    def tick(self, account: str = "dispatcher", **options: Any) -> None:
        """One tick of the slot that it is."""
        with self.as_part(account):
            self.dispatcher(**options).tick(Tick(SHARD, slot_of(self.clock.now())), self.clock.now() + 60 * MINUTE)

    def work(self) -> None:
        """Workers until the run queues show nothing more; a worker that dies leaves its message behind."""
        for queue in RUN_QUEUES:
            while self._work_one(queue):
                pass

    def _work_one(self, queue: str) -> bool:
        with self.as_part("worker"):
            received = self.sqs.receive(queue)
            if received is not None:
                try:
                    self.worker.handle(decode_run(received.body))
                    self.sqs.delete(queue, received)
                except Died:
                    pass  # Its message stays hidden until long after the sweeper has revived the run.
                return True
        self.parts["worker"].invocations -= 1  # An empty queue starts nobody.
        return False

    def sweep(self) -> None:
        """One sweep, with its own dispatcher for quiet shards."""
        with self.as_part("sweeper"):
            sweeper = Sweeper(dispatcher=self.dispatcher(), side_by_side=OneByOne(), shards=1, **self._common)
            sweeper.sweep(self.clock.now() + 60 * MINUTE)

    def idle_minute(self) -> None:
        """A minute of a shard in which nothing is due: ticker, every tick that was laid, sweeper."""
        tick_queue = SqsTickQueue(self.sqs, TICKS)  # type: ignore[arg-type]  # the part of it that is used
        with self.as_part("ticker"):
            Ticker(
                tick_queue=tick_queue,
                store=self.store,
                clock=self.clock,
                telemetry=Silent(),
                shards=1,
                laid=self._laid,
            ).tick()
        end = self.clock.now() + MINUTE
        while (visible := self.sqs.queue(TICKS).next_visible_at()) is not None and visible < end:
            self.clock.set(max(visible, self.clock.now()))
            with self.as_part("dispatcher"):
                received = self.sqs.receive(TICKS)
                assert received is not None, "the queue said that a tick is visible"
                self.dispatcher().tick(decode_tick(received.body), end)
                self.sqs.delete(TICKS, received)
        self.clock.set(end)
        self.sweep()


def metered_chain(claiming: Claiming = Claiming.BATCHED) -> Chain:
    """A chain whose every request is counted in memory, by the rules of `charges`."""
    clock = SettableClock(NOON)
    dynamodb = MeteredDynamoDB(PREFIX, clock)
    return Chain(dynamodb, PREFIX, dynamodb.counted, clock, claiming=claiming)


def _digest(number: int, size: int) -> str:
    return blake2b(str(number).encode(), digest_size=size).hexdigest()


def merged(*parts: Part) -> Part:
    """The sum of parts."""
    total = Part()
    for part in parts:
        total.bill.requests += part.bill.requests
        total.invocations += part.invocations
        total.sends += part.sends
        total.receives += part.receives
        total.deletes += part.deletes
    return total
