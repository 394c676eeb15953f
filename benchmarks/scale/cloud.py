"""The part of AWS that decides when something is sent: ticks, their queue, the dispatcher's environments, the store."""

import random
from collections import deque
from collections.abc import Callable, Sequence
from itertools import count
from typing import Final

from benchmarks.scale.capacity import Latencies, Meter
from benchmarks.scale.due_index import CompactIndex
from benchmarks.scale.environment import Environment, Silent
from benchmarks.scale.population import Population
from benchmarks.scale.sent import Sent
from benchmarks.scale.settings import Settings
from benchmarks.scale.store import CompactStore
from cronfleet.domain.instant import MINUTE, SECOND, Instant
from cronfleet.ports.job_store import NoAnswer
from cronfleet.ports.queues import Tick
from cronfleet.services.ticker import Laid, Ticker
from simulator.faults import NONE
from simulator.history import History
from simulator.loop import Killed, Loop, Process
from simulator.wire import Weather

WARM_UP: Final = 3 * MINUTE
"""Before the first fire is due: by then ticks come every five seconds."""

TICK_LIMIT: Final = 60 * SECOND
"""How long an invocation of the dispatcher may last."""

COLD_MS: Final = 900
"""How long an environment takes to start."""

SOONEST_DEATH_MS: Final = 10
DEATHS_SPREAD: Final = 300
"""A tick that dies does so between the one and so many times as much: most last some tens of ms, some for seconds."""

STEP: Final = 5 * SECOND


class _Numbered:
    """Ids, and the store's clock."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._numbers = count(1)

    def unique(self) -> str:
        return f"{next(self._numbers):026d}"

    def now(self) -> Instant:
        return self._loop.now


class _TickQueue:
    """A queue of ticks before the dispatcher's function."""

    def __init__(self, cloud: "Cloud") -> None:
        self._cloud = cloud

    def send(self, ticks: Sequence[tuple[Tick, int]]) -> Sequence[tuple[Tick, int]]:
        cloud = self._cloud
        for tick, delay in ticks:
            cloud.loop.after(delay * SECOND + cloud.latencies.of("deliver"), lambda tick=tick: cloud.arrive(tick))  # type: ignore[misc]  # bound now
        return []


class Cloud:
    """One installation over one population, from `WARM_UP` before its beginning on."""

    def __init__(self, population: Population, settings: Settings, seed: int) -> None:
        self.population = population
        self.settings = settings
        self.loop = Loop(population.begins_at - WARM_UP)
        self.latencies = Latencies(seed)
        self.meter = Meter(settings.index_quota, settings.table_partitions)
        self.sent = Sent()
        self.telemetry = Silent()
        self.ids = _Numbered(self.loop)
        self.index = CompactIndex(population, settings.shards)
        self.store = CompactStore(self.ids, population, self.index, self.meter, self._later)
        self.cpu_ns = 0
        """Processor time of the dispatchers' own code, in the simulator."""
        self.ticks_failed = 0
        self.ticks_late_ms = 0
        """How long the latest tick waited for an invocation."""
        self._rng = random.Random(f"{seed}/cloud")
        self.weather = Weather(self._rng, NONE, History())
        """There is none, but for what becomes of requests under way when their tick dies."""
        self._laid = Laid()
        """What the ticker, whose process lives on, remembers of ticks."""
        self._slow: dict[int, int] = {}
        """When the latest late change of an entry arrives: what comes after it arrives later still."""
        self._waiting: deque[tuple[Tick, int]] = deque()
        self._free = settings.ticks_at_once
        self._warm: list[Environment] = []
        self._each_minute()

    def second(self, instant: Instant) -> int:
        """Whole seconds after the population's beginning."""
        return (instant - self.population.begins_at) // SECOND

    def run(self, told: Callable[[int], None], longest: int) -> None:
        """Until everything was claimed, at most `longest` after the last minute; `told` hears how far it is."""
        begin, end = self.population.begins_at, self.population.begins_at + self.population.minutes * MINUTE
        while self.loop.now < end or (self.index.waiting() and self.loop.now < end + longest):
            self.loop.run_until(self.loop.now + STEP)
            told((self.loop.now - begin) // SECOND)
        # A slot more: who served the last one closes its batch.
        self.loop.run_until(self.loop.now + 4 * STEP)

    def _later(self, number: int, change: Callable[[], None]) -> None:
        lag = self.latencies.of("index")
        arrives = self.loop.now + lag
        known = self._slow.get(number)
        if known is not None:
            arrives = max(arrives, known)
        if lag > SECOND // 2:
            self._slow[number] = arrives
        self.loop.at(arrives, change)

    # --- EventBridge Scheduler -----------------------------------------------------------------------------------

    def _each_minute(self) -> None:
        self.loop.after(self._rng.randint(0, 50_000), self._lay_ticks)
        self.loop.after(MINUTE, self._each_minute)

    def _lay_ticks(self) -> None:
        process = Process(self.loop, "ticker")

        def body() -> None:
            Ticker(
                tick_queue=_TickQueue(self),
                store=self.store,
                clock=process,
                telemetry=self.telemetry,  # type: ignore[arg-type]  # its keywords have no names
                shards=self.settings.shards,
                laid=self._laid,
            ).tick()

        process.start(body, _raise)

    # --- the dispatcher's function -------------------------------------------------------------------------------

    def arrive(self, tick: Tick) -> None:
        """A tick is delivered, as soon as there is an invocation for it."""
        self._waiting.append((tick, self.loop.now))
        self._invoke()

    def _invoke(self) -> None:
        while self._waiting and self._free:
            self._free -= 1
            tick, came_at = self._waiting.popleft()
            self.ticks_late_ms = max(self.ticks_late_ms, self.loop.now - came_at)
            if self._warm:
                self._begin(self._warm.pop(), tick)
            else:
                self.loop.after(COLD_MS, lambda tick=tick: self._begin(Environment(self), tick))  # type: ignore[misc]  # bound now

    def _begin(self, environment: Environment, tick: Tick) -> None:
        process = Process(self.loop, f"dispatcher-{tick.shard}")

        def over(ended: Process) -> None:
            self._free += 1
            self.ticks_failed += ended.error is not None
            if not isinstance(ended.error, Killed):
                self._warm.append(environment)
            if ended.error is not None and not isinstance(ended.error, Killed | NoAnswer):
                raise ended.error
            self.loop.after(0, self._invoke)

        self.loop.after(TICK_LIMIT, process.kill)
        if self.settings.killed and self._rng.random() < self.settings.killed:
            self.loop.after(int(SOONEST_DEATH_MS * DEATHS_SPREAD ** self._rng.random()), process.kill)
        process.start(lambda: environment.serve(process, tick), over)


def _raise(ended: Process) -> None:
    if ended.error is not None:
        raise ended.error
