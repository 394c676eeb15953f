"""A warm environment of the dispatcher's function: the real service, and its calls on their way to AWS and back."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

from benchmarks.scale.population import TIERS, number_of
from cronfleet.domain.claim import ClaimOutcome
from cronfleet.domain.instant import SECOND
from cronfleet.ports.claiming import CLAIMS_AT_ONCE
from cronfleet.ports.queues import SENDS_AT_ONCE, DelayedMessage, Tick
from cronfleet.services.dispatcher import Dispatcher
from simulator.loop import Process
from simulator.strands import Strands

if TYPE_CHECKING:
    from benchmarks.scale.cloud import Cloud

Answer = TypeVar("Answer")

KINDS: Final = {
    "due": "query",
    "peek": "query",
    "get_notices": "query",
    "get_lease": "read",
    "get_tenants": "read",
    "get_due": "read",
    "get_batch": "read",
    "get_timer": "read",
    "get_freeze_lists": "read",
}
"""What each call of the store is to `LATENCIES`; any other is a write."""

TENANTS_AT_ONCE: Final = 100
CLAIMS_SHARE: Final = 0.6
"""Of the dispatcher's CPU for a firing: up to its claim; the rest goes into its message."""
TICK_MS: Final = 5
"""Of the dispatcher's CPU for a tick, whatever it finds."""
TICK_SECONDS: Final = 50
"""What a tick has until its deadline."""
BACK_OFF_MS: Final = (50, 100)
"""How long the adapter waits before it asks again for what was throttled, before it calls it unanswered."""
READ_BYTES: Final = 4_096
ENTRY_BYTES: Final = 350
"""Of an entry of the due index."""


class Silent:
    """Telemetry of which the alarms are kept."""

    def __init__(self) -> None:
        self.alarms: list[str] = []
        self.counts: dict[str, int] = {}

    def count(self, metric: str, value: int = 1, **_: str) -> None:
        self.counts[metric] = self.counts.get(metric, 0) + value

    def tally(self, values: dict[str, int], **_: str) -> None:
        for name, value in values.items():
            self.count(name, value)

    def measure(self, *_: object, **__: object) -> None:
        pass

    def event(self, *_: object, **__: object) -> None:
        pass

    def about(self, **_: object) -> AbstractContextManager[None]:
        return _nothing()

    def alarm(self, name: str, **_: object) -> None:
        self.alarms.append(name)


@contextmanager
def _nothing() -> Iterator[None]:
    yield


class Environment:
    """Serves one tick at a time, and keeps what its dispatcher has read of tenants. It is a clock and a queue."""

    def __init__(self, cloud: "Cloud") -> None:
        self._cloud = cloud
        self._process: Process | None = None
        self._resumed_at = 0
        self._strands: Strands | None = None
        self._computed_at = 0.0
        """Until when its one processor is busy, however many calls are under way."""
        self.claim_cpu_ms = cloud.settings.cpu_ms_a_firing * CLAIMS_SHARE
        self.dispatcher = Dispatcher(
            store=_Store(self, cloud.store),
            run_queue=self,
            errand_queue=self,  # type: ignore[arg-type]  # nothing here has errands
            clock=self,
            ids=cloud.ids,
            telemetry=cloud.telemetry,  # type: ignore[arg-type]  # its keywords have no names
            side_by_side=self,
            shards=cloud.settings.shards,
        )

    def serve(self, process: Process, tick: Tick) -> None:
        """One invocation."""
        self._process = process
        self._strands = Strands(process, self._cloud.weather)
        self._resumed_at = time.process_time_ns()
        self._pause(0, TICK_MS)
        self.dispatcher.tick(tick, self.now() + TICK_SECONDS * SECOND)
        self._stop_watch()

    def now(self) -> int:
        return self._cloud.loop.now

    def run(self, calls: Sequence[Callable[[], Answer]]) -> list[Answer]:
        """See `SideBySide.run`."""
        assert self._strands is not None
        answers = self._strands.run(calls)
        self._resumed_at = time.process_time_ns()
        return answers

    def _stop_watch(self) -> None:
        """Count what the service has computed since it went on."""
        now = time.process_time_ns()
        self._cloud.cpu_ns += now - self._resumed_at
        self._resumed_at = now

    def _pause(self, milliseconds: int, cpu_ms: float = 0.0, *, sends: bool = False) -> None:
        assert self._process is not None
        self._stop_watch()
        if cpu_ms:
            now = self._cloud.loop.now
            self._computed_at = max(self._computed_at, now) + cpu_ms
            milliseconds += round(self._computed_at) - now
        self._process.sleep(milliseconds, sends=sends)
        self._resumed_at = time.process_time_ns()

    def call(
        self, name: str, effect: Callable[[], Answer], cpu_ms: float = 0.0, wait_ms: int = 0, requests: int = 1
    ) -> Answer:
        """`effect`, there and back, after `wait_ms` and what the service and its client compute for it."""
        cloud, kind = self._cloud, KINDS.get(name, name if name in ("claims", "send") else "write")
        cloud.meter.requests[name] += requests
        took = sum(cloud.latencies.of(kind) for _ in range(requests))
        self._pause(wait_ms + took // 2, cpu_ms, sends=True)
        # What happens at AWS is not the dispatcher's time.
        answer = effect()
        self._resumed_at = time.process_time_ns()
        self._pause(took - took // 2)
        return answer

    def send(self, messages: Sequence[DelayedMessage]) -> Sequence[DelayedMessage]:
        """The run queue: each tier's messages in requests of ten."""
        for tier in TIERS:
            own = [one for one in messages if one.message.tier == tier]
            for start in range(0, len(own), SENDS_AT_ONCE):
                entries = own[start : start + SENDS_AT_ONCE]
                cpu = len(entries) * self._cloud.settings.cpu_ms_a_firing * (1 - CLAIMS_SHARE)
                self.call("send", lambda entries=entries: self._put(entries), cpu)  # type: ignore[misc]  # bound now
        return []

    def _put(self, entries: Sequence[DelayedMessage]) -> None:
        cloud, sent = self._cloud, self._cloud.sent
        now = cloud.loop.now - cloud.population.begins_at
        for entry in entries:
            message = entry.message
            sent.number.append(number_of(message.key.schedule_id))
            sent.nominal.append(cloud.second(message.key.nominal_at))
            sent.due.append(cloud.second(message.due_at))
            sent.sent_ms.append(now)
            sent.arrives_ms.append(now + entry.delay_seconds * SECOND + cloud.latencies.of("deliver"))
            sent.tier.append(TIERS.index(message.tier))


class _Store:
    """A store whose calls take time, and are counted."""

    def __init__(self, environment: Environment, store: Any) -> None:
        self._environment = environment
        self._store = store
        self.here = store.here

    def skew_ms(self) -> int:
        return 0

    def due(self, shard: int, *args: Any) -> Any:
        def effect() -> Any:
            page = self._store.due(shard, *args)
            units = max(0.5, -(-len(page.items) * ENTRY_BYTES // READ_BYTES) / 2)
            self._store.meter.use("index reads", shard, units, self._environment.now())
            return page

        return self._environment.call("due", effect)

    def get_tenants(self, tenant_ids: Sequence[str]) -> Any:
        requests = -(-len(tenant_ids) // TENANTS_AT_ONCE)
        return self._environment.call("get_tenants", lambda: self._store.get_tenants(tenant_ids), requests=requests)

    def claim(self, batch_id: Any, claims: Sequence[Any]) -> list[ClaimOutcome]:
        """In requests of 25; what is throttled is asked for again after a while, a few times."""
        outcomes: list[ClaimOutcome] = []
        for start in range(0, len(claims), CLAIMS_AT_ONCE):
            outcomes += self._claim(batch_id, claims[start : start + CLAIMS_AT_ONCE])
        return outcomes

    def _claim(self, batch_id: Any, claims: Sequence[Any]) -> list[ClaimOutcome]:
        environment = self._environment
        outcomes = [ClaimOutcome.UNANSWERED] * len(claims)
        places = list(range(len(claims)))
        for wait in (0, *BACK_OFF_MS):
            asked = [claims[place] for place in places]
            answers = environment.call(
                "claims",
                lambda asked=asked: self._store.claim(batch_id, asked),  # type: ignore[misc]  # bound now
                environment.claim_cpu_ms * len(asked),
                wait,
            )
            for place, outcome in zip(places, answers, strict=True):
                outcomes[place] = outcome
            places = [place for place, outcome in enumerate(outcomes) if outcome is ClaimOutcome.UNANSWERED]
            if not places:
                break
        return outcomes

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        return lambda *args, **kwargs: self._environment.call(name, lambda: method(*args, **kwargs))
