"""The world: the production services on memory adapters, AWS around them, callers in front, faults everywhere."""

import random
from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from typing import Any, Final

from cronfleet.adapters.memory.job_store import MemoryJobStore
from cronfleet.adapters.memory.receipts import MemoryReceipts
from cronfleet.domain.errand import ErrandKind, ErrandMessage
from cronfleet.domain.errors import (
    ClockSkewed,
    Conflict,
    CronfleetError,
    Exists,
    Invalid,
    NotFound,
    QuotaExceeded,
    Stale,
)
from cronfleet.domain.hold import ANYWHERE, Here
from cronfleet.domain.rate import Rate
from cronfleet.domain.retiming import Cause
from cronfleet.domain.run import Lane, RunKey, RunMessage
from cronfleet.domain.tenant import Tenant
from cronfleet.domain.trace import TraceContext, span_id_of, trace_id_of
from cronfleet.domain.undelivered import Delivery
from cronfleet.ports.errands import Doer
from cronfleet.ports.queues import DelayedMessage, Tick
from cronfleet.services.access import Caller
from cronfleet.services.calendar_step import CalendarStep
from cronfleet.services.calendars import Calendars
from cronfleet.services.carrying_out import WHOLE, Portions
from cronfleet.services.clerk import Clerk
from cronfleet.services.deletions import Deletions
from cronfleet.services.dispatcher import Dispatcher
from cronfleet.services.mending import MendStep
from cronfleet.services.retiming import Retimings
from cronfleet.services.runs import Runs
from cronfleet.services.schedules import Schedules
from cronfleet.services.sealing import Sealer
from cronfleet.services.sweeper import Sweeper
from cronfleet.services.ticker import Laid, Ticker
from cronfleet.services.undelivered import Undelivered
from cronfleet.services.worker import Worker
from cronfleet.services.zone_step import ZoneStep
from simulator import population
from simulator.cloud import Functions, LaggingIndex, Queue
from simulator.faults import MINUTE, Faults
from simulator.history import History, Notes, Request
from simulator.jobs import Jobs
from simulator.loop import Loop, Process
from simulator.strands import Strands
from simulator.watched import WatchedLeases, WatchedRuns
from simulator.wire import Weather, Wire, WiredQueue, WiredStore, name_of

START: Final = 1_796_040_000_000
"""2026-11-30T12:00:00Z: when every world begins."""

SHARDS: Final = 2
PORTIONS: Final = (WHOLE, Portions(12, 5, 3), Portions(4, 1, 2), Portions(3, 2, 1), Portions(2, 1, 1))
"""A world has twenty schedules where a shard has ten thousand: in small portions they are many batches too."""
BATCHED: Final = 0.75
"""In so many worlds claims go in requests of many; the rest stands on an engine that cannot do that."""
DEAD_VISIBILITY: Final = 6 * MINUTE
WORN_OUT: Final = (0.0, 0.2, 0.6)
"""How often a message that comes back goes to the dead-letter queue, where workers die or the store is silent."""

CLERKS: Final = 4
"""Errands that are carried on at once."""
YIELDING_WORKERS: Final = 50
"""Of the lane of operations, as on AWS."""
REFUSALS: Final = (Invalid, Conflict, NotFound, Stale, Exists, ClockSkewed, QuotaExceeded)


class _TrueTime:
    """The store's clock."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop

    def now(self) -> int:
        return self._loop.now


class Ids:
    """Unique, ordered, and the same for the same seed."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def unique(self) -> str:
        return f"{next(self._numbers):026d}"


class World:
    """One seed's world, from its beginning to whenever it is stopped."""

    def __init__(
        self,
        seed: int,
        faults: Faults,
        rate: Rate,
        shards: int = SHARDS,
        limits: Mapping[str, int] | None = None,
        loop: Loop | None = None,
        here: Here = ANYWHERE,
    ) -> None:
        """With `loop` it shares another world's time; `here` is which installation it is."""
        self.seed = seed
        self.shards = shards
        self.loop = loop or Loop(START)
        self.history = History()
        self.weather = Weather(random.Random(f"{seed}/weather"), faults, self.history)
        self.portions = random.Random(f"{seed}/portions").choice(PORTIONS)
        self.weather.clockmaker = random.Random(f"{seed}/clockmaker")
        self.weather.batches_claims = random.Random(f"{seed}/claims").random() < BATCHED
        self.rng = random.Random(f"{seed}/world")
        self.functions = Functions(self.loop, self.weather)
        self.store = MemoryJobStore(_TrueTime(self.loop), LaggingIndex(self.loop, self.weather), here)
        self.rows = WatchedRuns(self.loop, self.history)
        self.store.state.runs = self.rows
        self.store.state.leases = WatchedLeases(self.loop, self.history)
        self.receipts = MemoryReceipts(self.store)
        self.failing = self.rng.choice([0.0, 0.05, 0.3])
        self.limits = limits or {}
        """Of runs at once, by tenant."""
        self.rate = rate
        self._allow(rate)
        self.changes_zone_data = False
        self.jobs_beat = False
        """Whether some jobs say that they are alive, and so can be asked to end."""
        self.ids = Ids()
        self._notes = Notes(self.history)
        self._requests = count(1)
        self._jobs: type[Jobs] = Jobs
        self._wear = random.Random(f"{seed}/wear")
        self.worn_out = self._wear.choice(WORN_OUT) if faults.crash or faults.store_outage != (0, 0) else 0.0
        self.doers: dict[ErrandKind, Callable[[Process], Doer]] = {}
        """The doer of each kind of errand, as one invocation of the clerk has it."""
        self._open_queues()
        self._each_minute()

    def _open_queues(self) -> None:
        """The queues, with the visibility timeouts in seconds that they have on AWS, and the functions behind them."""
        self.ticks = self._queue("dispatcher", self._dispatch, visibility_seconds=360, concurrency=2 * self.shards)
        self._laid: list[Laid] = []
        self.runs = self._queue(
            "worker",
            self._work,
            visibility_seconds=5_400,
            concurrency=self.rng.choice([20, 50, 200]),
            group=lambda message: message.key.tenant,
        )
        self.runs.is_worn_out, self.runs.bury = self._is_worn_out, self._bury
        self.errands = self._queue(
            "clerk",
            self._carry_on,
            visibility_seconds=360,
            concurrency=CLERKS,
            group=lambda message: message.tenant,
        )
        self.yielding = self._queue(
            "worker",
            self._work,
            visibility_seconds=5_400,
            concurrency=YIELDING_WORKERS,
            group=lambda message: message.key.tenant,
        )

    def _allow(self, rate: Rate) -> None:
        """Every tenant's rate of fires, and its limit of runs at once, if it has one."""
        quotas = (("burst", rate.burst), ("fires_per_second", rate.per_second))
        for tenant in population.TENANTS:
            limit = self.limits.get(tenant)
            said = quotas if limit is None else tuple(sorted((*quotas, ("concurrent_runs", limit))))
            self.store.state.tenants[tenant] = Tenant(tenant, quotas=said, rev=1)

    def live_through(self, storm: int, calm: int) -> None:
        """From the beginning through so many milliseconds of faults, then so many without."""
        self.loop.run_until(START + storm)
        self.weather.calm()
        self.loop.run_until(START + storm + calm)

    def queue_of(self, lane: Lane) -> Queue[RunMessage]:
        """The run queue of a lane."""
        return self.runs if lane is Lane.LIVE else self.yielding

    def carry(self, message: RunMessage, delay_seconds: int) -> None:
        """Put a message into its run queue."""
        self.queue_of(message.key.lane).put(message, delay_seconds)

    def _queue(self, kind: str, handle: Callable[[Process, Any], Any], **options: Any) -> Queue[Any]:
        return Queue(self.functions, self.loop, self.weather, kind=kind, handle=handle, **options)

    @property
    def notes(self) -> Notes:
        """The telemetry that every invocation tells."""
        return self._notes

    # --- the product's functions, each on the ports that this invocation sees --------------------------------

    def wired(self, process: Process) -> Any:
        """The store, as this invocation sees it."""
        return WiredStore(self.store, Wire(self.weather, process), process)

    def _run_queue(self, process: Process, *, of_sweeper: bool = False) -> Any:
        def put(entry: DelayedMessage) -> None:
            if of_sweeper:
                self.history.sent_again[entry.message.key.run_id] = self.loop.now
            self.history.sent.setdefault(name_of(entry.message), self.loop.now)
            self.carry(entry.message, entry.delay_seconds)

        return WiredQueue(put, Wire(self.weather, process), self.weather)

    def _dispatcher(self, process: Process) -> Dispatcher:
        return Dispatcher(
            store=self.wired(process),
            run_queue=self._run_queue(process),
            errand_queue=WiredQueue(
                partial(self.errands.put, delay_seconds=0), Wire(self.weather, process), self.weather
            ),
            side_by_side=Strands(process, self.weather),
            clock=process,
            ids=self.ids,
            telemetry=self._notes,
            shards=self.shards,
            portions=self.portions,
        )

    def _dispatch(self, process: Process, tick: Tick) -> None:
        self._dispatcher(process).tick(tick, process.now() + 45_000)

    def _work(self, process: Process, message: RunMessage) -> None:
        wire = Wire(self.weather, process)
        self.history.heard(self.loop.now, message.key.run_id, message.context.trace_id)
        jobs = self._jobs(
            process, wire, self.receipts, self.rows, self.weather.rng, self.history, self.failing, self.jobs_beat
        )
        Worker(
            store=self.wired(process),
            run_queue=self._run_queue(process),
            targets=jobs,
            clock=process,
            ids=self.ids,
            telemetry=self._notes,
        ).handle(message)

    # --- dead letters ----------------------------------------------------------------------------------------

    def _is_worn_out(self) -> bool:
        """Whether a message that came back has been received too often: five times take longer than a world lasts."""
        if self._wear.random() >= self.worn_out:
            return False
        self.history.faults["worn_out"] += 1
        return True

    def _bury(self, message: RunMessage, receives: int) -> None:
        """Hand a dead message to the consumer of its queue, again and again until it has finished with it."""
        delivery = Delivery("runs-dead", f"dead-{message.key.run_id}", receives, self.loop.now)

        def again(process: Process) -> None:
            if process.error is not None:
                self.loop.after(DEAD_VISIBILITY, lambda: self._bury(message, receives + 1))
            else:
                self.history.buried.append((self.loop.now, message.key.run_id))

        self.functions.invoke(
            "dead_letters",
            lambda process: Undelivered(store=self.wired(process), clock=process, telemetry=self._notes).run(
                message, delivery
            ),
            again,
        )

    def _carry_on(self, process: Process, message: ErrandMessage) -> None:
        doers = {kind: doer(process) for kind, doer in self.doers.items()}
        clerk = Clerk(store=self.wired(process), clock=process, telemetry=self._notes, errands=doers)
        clerk.handle(message, process.now() + 45_000)

    def _sweep(self, process: Process) -> None:
        Sweeper(
            store=self.wired(process),
            run_queue=self._run_queue(process, of_sweeper=True),
            dispatcher=self._dispatcher(process),
            side_by_side=Strands(process, self.weather),
            clock=process,
            telemetry=self._notes,
            shards=self.shards,
            retimings=self._retimings(process),
            sealer=Sealer(store=self.wired(process), clock=process, telemetry=self._notes),
            deletions=Deletions(store=self.wired(process), clock=process, ids=self.ids, telemetry=self._notes),
        ).sweep(process.now() + 100_000)

    def _retimings(self, process: Process) -> Retimings:
        store = self.wired(process)
        steps: dict[Cause, Any] = {
            Cause.CALENDAR: CalendarStep(store),
            Cause.FAILOVER: MendStep(store, process, self._notes),
        }
        if self.changes_zone_data:
            steps[Cause.ZONE_DATA] = ZoneStep(store)
        return Retimings(store=store, clock=process, ids=self.ids, telemetry=self._notes, steps=steps)

    def _lay_ticks(self, process: Process) -> None:
        queue = WiredQueue(lambda entry: self.ticks.put(*entry), Wire(self.weather, process), self.weather)
        # A process that has come back is warm for the next minute; of one that was killed nothing is left.
        laid = self._laid.pop() if self._laid else Laid()
        Ticker(
            tick_queue=queue,
            store=self.wired(process),
            clock=process,
            telemetry=self._notes,
            shards=self.shards,
            laid=laid,
        ).tick()
        self._laid.append(laid)

    # --- EventBridge Scheduler ---------------------------------------------------------------------------------

    def _each_minute(self) -> None:
        """Anywhere in its minute, sometimes twice, sometimes not at all."""
        for kind, body in (("ticker", self._lay_ticks), ("sweeper", self._sweep)):
            if self.weather.strikes("missed_minutes"):
                continue
            for _ in range(2 if self.weather.strikes("double_invocation") else 1):
                delay = self.weather.rng.randint(0, 50_000)
                self.loop.after(delay, partial(self.functions.invoke, kind, body))
        self.loop.after(MINUTE, self._each_minute)

    # --- callers -----------------------------------------------------------------------------------------------

    def ask(self, tenant: str, schedule_id: str, action: str, change: population.Change) -> None:
        """A caller's request, as an invocation of the API; what it heard is noted."""
        request = Request(f"request-{next(self._requests)}", tenant, schedule_id, action, self.loop.now)
        if isinstance(change, population.Resume) and change.missed is not None:
            missed = change.missed
            request.missed = (missed.wanted, missed.window_seconds, missed.per_minute)
        self.history.requests.append(request)
        trace = TraceContext(trace_id_of(request.request_id), span_id_of(request.request_id), sampled=True)
        self.history.requests_traces.add(trace.trace_id)
        caller = Caller(Tenant(tenant), "key", request.request_id, trace=trace)

        def body(process: Process) -> Any:
            store = self.wired(process)
            schedules = Schedules(store=store, clock=process, ids=self.ids, shards=self.shards)
            return change(schedules, Runs(store=store, clock=process, ids=self.ids), caller, schedule_id)

        self.functions.invoke("api", body, lambda process: self.answered(request, process))

    def ask_of_run(self, key: RunKey) -> None:
        """A caller's request to cancel a run."""
        request = Request(f"request-{next(self._requests)}", key.tenant, key.schedule_id, "cancel_run", self.loop.now)
        request.run_id = key.run_id
        self.history.requests.append(request)
        caller = Caller(Tenant(key.tenant), "key", request.request_id)

        def body(process: Process) -> Any:
            return Runs(store=self.wired(process), clock=process, ids=self.ids).cancel(caller, key.run_id)

        self.functions.invoke("api", body, lambda process: self.answered(request, process))

    def ask_calendar(self, tenant: str, change: Callable[[Calendars, Caller], Any]) -> None:
        """A caller's change of a calendar; the audit log files it under no schedule."""
        request = Request(f"request-{next(self._requests)}", tenant, "", "put_calendar", self.loop.now)
        self.history.requests.append(request)
        caller = Caller(Tenant(tenant), "key", request.request_id)

        def body(process: Process) -> Any:
            return change(Calendars(store=self.wired(process), clock=process, ids=self.ids), caller)

        self.functions.invoke("api", body, lambda process: self.answered(request, process))

    def answered(self, request: Request, process: Process) -> None:
        """Note what a caller heard."""
        request.answered_at = self.loop.now
        error = process.error
        if error is None:
            request.answer = "accepted"
        elif isinstance(error, REFUSALS):
            request.answer = "refused"
        else:
            request.answer = "unknown"
            if isinstance(error, Exception) and not isinstance(error, CronfleetError):
                request.answer = f"unknown: {error!r}"
        self.history.note(self.loop.now, request.request_id, request.answer)
