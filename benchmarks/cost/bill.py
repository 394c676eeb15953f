"""What a workload costs a month: lines of quantity and price, on demand, provisioned, and on EventBridge Scheduler."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from benchmarks.cost import counted
from benchmarks.cost.counted import Asked
from benchmarks.cost.workload import HOURS_A_MONTH, MINUTES_A_MONTH, Workload
from infra import prices
from infra.prices import MILLION

GB: Final = 1_000_000_000

REQUEST_MS: Final = 5
"""A request to the store or a queue, from inside the region: what a function waits for it."""
TICK_MS: Final = 10
"""What an invocation of a dispatcher takes besides its requests."""
WORKER_MS: Final = 20
"""What a worker takes for a run besides its requests and the job: a child process (`benchmarks.worker_overhead`)."""
WORKER_REQUESTS: Final = 4
"""Start, timer, definition, finish."""
CONTROL_GB: Final = 1.0
"""Memory of the dispatcher and the sweeper, and what a worker has unless it is told otherwise."""

LOG_BYTES_A_RUN: Final = 2_000
"""Lines of a successful run: its summary, and its metrics in the embedded format."""
METRICS: Final = 180
"""Of the installation's own, each name with each value of its dimensions, rounded up; and one more for each shard."""
ALARMED_METRICS: Final = 90
"""An alarm is paid for by the metrics that it reckons with; rounded up (a test counts those of `infra/alarms.py`)."""

SHARDS_A_POLLER: Final = 10
FEWEST_POLLERS: Final = 2

LONG_POLL_SECONDS: Final = 20
POLLERS_AT_REST: Final = 5
"""Of each queue's trigger, while nothing comes; Lambda goes down to between two and five."""
TRIGGERS: Final = 9
"""Queues that functions read: runs of two tiers and of backfills, errands, and five dead-letter queues."""

UTILISATION: Final = 0.7
"""Of what is provisioned, as auto scaling aims at: the rest is for the unevenness within a minute."""

SENDS_A_FIRING: Final = 1.0
RECEIVES_A_FIRING: Final = 0.2
"""EventBridge Scheduler sends each message by itself; a worker may receive and delete ten at a time."""
HISTORY_WRITES: Final = 2.0
"""A row at the start and one more write at the end: what a history of one's own costs there at least."""

EVENTBRIDGE_FREE: Final = 14 * MILLION
LAMBDA_FREE_REQUESTS: Final = MILLION
LAMBDA_FREE_GB_SECONDS: Final = 400_000
SQS_FREE: Final = MILLION
STORAGE_FREE_GB: Final = 25
LOGS_FREE_GB: Final = 5
METRICS_FREE: Final = 10
ALARMS_FREE: Final = 10
DASHBOARDS_FREE: Final = 3


@dataclass(frozen=True, slots=True)
class Line:
    """`quantity` of a `unit` at `price` dollars for each; `free` of them are free in every account and month."""

    name: str
    quantity: float
    unit: str
    price: float
    free: float = 0

    @property
    def dollars(self) -> float:
        """By list price."""
        return self.quantity * self.price

    @property
    def after_free_tier(self) -> float:
        """What is left to pay in an account that does nothing else."""
        return max(0.0, self.quantity - self.free) * self.price


@dataclass(frozen=True, slots=True)
class Bill:
    """All lines of one way to do the work."""

    lines: tuple[Line, ...]

    @property
    def dollars(self) -> float:
        """A month, by list price."""
        return sum(line.dollars for line in self.lines)

    @property
    def after_free_tier(self) -> float:
        """A month, in an account that does nothing else."""
        return sum(line.after_free_tier for line in self.lines)

    def per_million(self, firings: float) -> float | None:
        """Dollars for a million firings, all that stands still included; `None` without firings."""
        return self.dollars / firings * MILLION if firings else None

    def form(self, firings: float) -> dict[str, Any]:
        """As JSON."""
        return {
            "lines": [
                {
                    "name": line.name,
                    "quantity": round(line.quantity, 3),
                    "unit": line.unit,
                    "price": line.price,
                    "dollars": round(line.dollars, 2),
                    "after_free_tier": round(line.after_free_tier, 2),
                }
                for line in self.lines
            ],
            "dollars_a_month": round(self.dollars, 2),
            "after_free_tier": round(self.after_free_tier, 2),
            "dollars_per_million_firings": _rounded(self.per_million(firings)),
        }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


@dataclass(frozen=True)
class Costs:
    """The bills of a workload."""

    workload: Workload

    @cached_property
    def firing(self) -> Asked:
        """What all firings of a month ask for."""
        return counted.of_firings(self.workload.in_a_tick, self.workload.firings)

    @cached_property
    def idle(self) -> Asked:
        """What ticks and sweeps ask for in a month, whether or not anything is due."""
        return counted.idle_minute() * (self.workload.shards * MINUTES_A_MONTH)

    @cached_property
    def changes(self) -> Asked:
        """What the requests to the API ask for in a month, each of them a change."""
        return counted.of_a_change() * (self.workload.changes_a_day * HOURS_A_MONTH / 24)

    @cached_property
    def asked(self) -> Asked:
        """All of it."""
        return self.firing + self.idle + self.changes

    @property
    def on_demand(self) -> Bill:
        """DynamoDB on demand."""
        return Bill((*self._units_on_demand(), *self._others()))

    @property
    def provisioned(self) -> Bill:
        """DynamoDB provisioned for the hours in which fires are due, and for the rest in the others."""
        return Bill((*self._units_provisioned(), *self._others()))

    @property
    def eventbridge(self) -> Bill:
        """EventBridge Scheduler, a queue and the same workers, without any history."""
        return Bill(tuple(self._eventbridge()))

    @property
    def eventbridge_with_history(self) -> Bill:
        """The same, with two writes for each run to a table of one's own, which is kept as long."""
        units = Line("history: write units", self.workload.firings * HISTORY_WRITES / MILLION, "million", *_WRITES)
        kept = self._kept_runs * counted.stored().per_firing / GB
        storage = Line("history: storage", kept, "GB", prices.STORAGE_GB_MONTH)
        return Bill((*self._eventbridge(), units, storage))

    # --- DynamoDB ------------------------------------------------------------------------------------------------

    def _units_on_demand(self) -> Iterable[Line]:
        for name, part in (("firings", self.firing), ("ticks and sweeps", self.idle), ("changes", self.changes)):
            yield Line(f"{name}: write units", part.writes / MILLION, "million", *_WRITES)
            yield Line(f"{name}: read units", part.reads / MILLION, "million", prices.READ_UNITS)

    def _units_provisioned(self) -> Iterable[Line]:
        for name, price, busy, rest in (
            ("write units", prices.WRITE_UNIT_HOUR, *self._per_second("writes")),
            ("read units", prices.READ_UNIT_HOUR, *self._per_second("reads")),
        ):
            hours = self.workload.hours
            yield Line(f"{name}, while fires are due", busy / UTILISATION * hours, "unit-hours", price)
            quiet = HOURS_A_MONTH - hours
            yield Line(f"{name}, in the other hours", rest / UTILISATION * quiet, "unit-hours", price)

    def _per_second(self, what: str) -> tuple[float, float]:
        rest = (getattr(self.idle, what) + getattr(self.changes, what)) / (HOURS_A_MONTH * 3_600)
        firing = getattr(self.firing, what)
        return rest + (firing / (self.workload.hours * 3_600) if firing else 0), rest

    @property
    def _kept_runs(self) -> float:
        return self.workload.firings / (HOURS_A_MONTH / 24) * self.workload.retention_days

    @property
    def kept_gb(self) -> float:
        """What the tables hold."""
        each = counted.stored()
        schedules = self.workload.schedules * (each.per_schedule + self.workload.payload_bytes)
        return (schedules + self._kept_runs * each.per_firing) / GB

    # --- the rest ------------------------------------------------------------------------------------------------

    def _others(self) -> Iterable[Line]:
        yield Line("storage", self.kept_gb, "GB", prices.STORAGE_GB_MONTH, STORAGE_FREE_GB)
        yield Line("point-in-time recovery", self.kept_gb, "GB", prices.BACKUP_GB_MONTH)
        yield from self._queues()
        yield from self._functions()
        changes = self.workload.changes_a_day * HOURS_A_MONTH / 24
        yield Line("HTTP API", changes / MILLION, "million", prices.GATEWAY_REQUESTS)
        yield from self._watching()

    def _queues(self) -> Iterable[Line]:
        price, free = prices.SQS_REQUESTS, SQS_FREE / MILLION
        yield Line("run queues", self.firing.sqs / MILLION, "million", price + prices.FAIR_SURCHARGE, free)
        empty = TRIGGERS * POLLERS_AT_REST * MINUTES_A_MONTH * 60 / LONG_POLL_SECONDS
        yield Line("tick queue", self.idle.sqs / MILLION, "million", price)
        yield Line("empty receives", empty / MILLION, "million", price)
        pollers = max(FEWEST_POLLERS, -(-self.workload.shards // SHARDS_A_POLLER))
        yield Line("pollers of the tick queue", pollers * HOURS_A_MONTH, "poller-hours", prices.POLLER_HOUR)

    def _functions(self) -> Iterable[Line]:
        yield from _lambda("jobs", *self._jobs())
        waited = self.firing.invocations * (WORKER_MS + WORKER_REQUESTS * REQUEST_MS)
        yield _gb_seconds("workers, besides the jobs", waited / 1_000 * self.workload.worker_mb / 1_024)
        dispatching = (self.firing.dispatcher_requests + self.idle.store_requests) * REQUEST_MS
        dispatching += self.idle.invocations * TICK_MS
        yield from _lambda("ticks and dispatch", self.idle.invocations, dispatching / 1_000 * CONTROL_GB)
        changes = self.changes.invocations
        yield from _lambda("API", changes, changes * self._change_ms() / 1_000 * CONTROL_GB)

    def _jobs(self) -> tuple[float, float]:
        seconds = self.workload.firings * self.workload.handler_ms / 1_000
        return self.workload.firings, seconds * self.workload.worker_mb / 1_024

    @staticmethod
    def _change_ms() -> float:
        return TICK_MS + counted.of_a_change().store_requests * REQUEST_MS

    def _watching(self) -> Iterable[Line]:
        logged = self.workload.firings * LOG_BYTES_A_RUN / GB
        yield Line("logs", logged, "GB", prices.LOGS_GB, LOGS_FREE_GB)
        yield Line("logs kept a month", logged * prices.LOGS_COMPRESSED_TO, "GB", prices.LOGS_GB_MONTH)
        yield Line("metrics", METRICS + self.workload.shards, "metrics", prices.METRIC_MONTH, METRICS_FREE)
        yield Line("alarms", ALARMED_METRICS, "metrics", prices.ALARM_METRIC_MONTH, ALARMS_FREE)
        yield Line("dashboard", 1, "dashboard", prices.DASHBOARD_MONTH, DASHBOARDS_FREE)

    def _eventbridge(self) -> Iterable[Line]:
        firings, free = self.workload.firings / MILLION, EVENTBRIDGE_FREE / MILLION
        yield Line("EventBridge Scheduler", firings, "million", prices.EVENTBRIDGE_SCHEDULER, free)
        requests = firings * (SENDS_A_FIRING + RECEIVES_A_FIRING)
        yield Line("queue", requests, "million", prices.SQS_REQUESTS, SQS_FREE / MILLION)
        yield from _lambda("jobs", *self._jobs())


_WRITES: Final = (prices.WRITE_UNITS,)


def _lambda(name: str, invocations: float, gb_seconds: float) -> Iterable[Line]:
    is_first = name == "jobs"
    free = LAMBDA_FREE_REQUESTS / MILLION if is_first else 0
    yield Line(f"{name}: invocations", invocations / MILLION, "million", prices.INVOCATIONS, free)
    yield _gb_seconds(f"{name}: time", gb_seconds, LAMBDA_FREE_GB_SECONDS if is_first else 0)


def _gb_seconds(name: str, gb_seconds: float, free: float = 0) -> Line:
    return Line(name, gb_seconds, "GB-seconds", prices.GB_SECOND, free)
