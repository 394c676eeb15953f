"""AWS as far as the product sees it: functions that are invoked, queues that are polled, a call each minute."""

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, TypeVar

from cronfleet.adapters.memory.due_index import DueIndex, ItemKey
from cronfleet.domain.claim import DueItem
from simulator.faults import MINUTE, SECOND
from simulator.loop import Loop, Process
from simulator.wire import Weather

Body = TypeVar("Body")

LIMITS: Final = {
    "ticker": 30_000,
    "dispatcher": 60_000,
    "sweeper": 120_000,
    "worker": 900_000,
    "api": 29_000,
    "dead_letters": 60_000,
    "clerk": 60_000,
    # No function: it goes on until somebody stops it.
    "long_worker": 24 * 60 * MINUTE,
}
"""Milliseconds that an invocation of each function may last before it is stopped."""

SCHEDULER: Final = frozenset({"ticker", "dispatcher", "sweeper"})
"""The functions that decide when something runs."""

MAX_RECEIVES: Final = 5
"""Deliveries of a message before it goes to the dead-letter queue."""

MAX_LATENESS: Final = 20 * SECOND


class Functions:
    """Starts invocations, each with a clock of its own, and stops those that pass their limit."""

    def __init__(self, loop: Loop, weather: Weather) -> None:
        self._loop = loop
        self._weather = weather
        self._number = 0
        self.deployment: Callable[[Callable[[], Any]], Any] = lambda run: run()
        """What surrounds every invocation: the zone data of the deployment that it belongs to."""
        self.running: dict[str, Process] = {}

    def invoke(
        self, kind: str, body: Callable[[Process], Any], then: Callable[[Process], None] = lambda _: None
    ) -> None:
        """Run `body` as one invocation of the function `kind`; while the scheduler is out, nothing of it runs."""
        if kind in SCHEDULER and self._is_out():
            return
        self._number += 1
        process = Process(self._loop, f"{kind}-{self._number}", self._clock_error(), self._drift())
        self._weather.history.invocations[kind] += 1
        self.running[process.name] = process

        def over(ended: Process) -> None:
            self.running.pop(ended.name, None)
            self._weather.history.note(self._loop.now, ended.name, repr(ended.error))
            then(ended)

        self._loop.after(LIMITS[kind], process.kill)
        process.start(lambda: self.deployment(lambda: body(process)), over)

    def _is_out(self) -> bool:
        return any(self._weather.is_out(outage, self._loop.now) for outage in ("scheduler_outage", "second_outage"))

    def _clock_error(self) -> int:
        weather = self._weather
        if weather.strikes("clock_wrong"):
            return weather.rng.choice([-8 * 60 * MINUTE, -30_000, -5_000, 5_000, 30_000, 60 * MINUTE])
        most = weather.faults.clock_skew
        return weather.rng.randint(-most, most) if most else 0

    def _drift(self) -> float:
        return self._weather.rng.uniform(-5e-5, 5e-5) if self._weather.faults.clock_skew else 0.0


@dataclass(slots=True, eq=False)
class _Message(Generic[Body]):
    body: Body
    receives: int = 0


class Queue(Generic[Body]):
    """A standard queue with its event-source mapping: at least once, in any order, one message per invocation.

    With `group` it is a fair queue: while messages wait, the group with the fewest in flight is served first, as SQS
    does by MessageGroupId.
    """

    def __init__(
        self,
        functions: Functions,
        loop: Loop,
        weather: Weather,
        *,
        kind: str,
        handle: Callable[[Process, Body], Any],
        visibility_seconds: int,
        concurrency: int,
        group: Callable[[Body], str] = lambda _: "",
    ) -> None:
        self._functions = functions
        self._loop = loop
        self._weather = weather
        self._kind = kind
        self._handle = handle
        self._visibility = visibility_seconds * SECOND
        self._free = concurrency
        self._group = group
        self.is_worn_out: Callable[[], bool] = lambda: False
        """Whether a message that comes back goes to the dead-letter queue before it has been received too often."""
        self.bury: Callable[[Body, int], None] = lambda _body, _receives: None
        """Told of a dead message and how often it was received: the consumer of the dead-letter queue."""
        self._in_flight: Counter[str] = Counter()
        self._waiting: dict[str, deque[_Message[Body]]] = {}
        self.dead: list[tuple[int, Body]] = []
        """The dead-letter queue: when each came to it, and what."""

    def put(self, body: Body, delay_seconds: int) -> None:
        """Take a message; the world may lose, copy or delay it."""
        weather = self._weather
        if weather.strikes("lost_message"):
            return
        for _ in range(2 if weather.strikes("duplicate_message") else 1):
            late = (
                weather.rng.randint(0, MAX_LATENESS) if weather.strikes("late_message") else weather.rng.randint(0, 400)
            )
            message = _Message(body)
            self._loop.after(delay_seconds * SECOND + late, partial(self._arrive, message))

    def _arrive(self, message: _Message[Body]) -> None:
        outage = self._outage()
        if outage is not None:
            end = getattr(self._weather.faults, outage)[1]
            self._loop.at(end + self._weather.rng.randint(0, 2_000), lambda: self._arrive(message))
        elif self._free == 0:
            self._waiting.setdefault(self._group(message.body), deque()).append(message)
        else:
            self._deliver(message)

    def _outage(self) -> str | None:
        """What keeps this queue from being polled now."""
        scheduler = ("scheduler_outage", "second_outage") if self._kind in SCHEDULER else ()
        return next((out for out in ("polling_outage", *scheduler) if self._weather.is_out(out, self._loop.now)), None)

    def _deliver(self, message: _Message[Body]) -> None:
        self._free -= 1
        self._in_flight[self._group(message.body)] += 1
        message.receives += 1
        self._functions.invoke(
            self._kind,
            lambda process: self._handle(process, message.body),
            lambda process: self._over(message, process),
        )

    def _over(self, message: _Message[Body], process: Process) -> None:
        self._free += 1
        self._in_flight[self._group(message.body)] -= 1
        if process.error is not None:
            self._give_back(message)
        following = self._next()
        if following is not None:
            self._loop.after(0, lambda: self._arrive(following))

    def _next(self) -> _Message[Body] | None:
        """The oldest of those that wait in the group with the fewest in flight."""
        if not self._waiting:
            return None
        group = min(self._waiting, key=lambda name: self._in_flight[name])
        message = self._waiting[group].popleft()
        if not self._waiting[group]:
            del self._waiting[group]
        return message

    def _give_back(self, message: _Message[Body]) -> None:
        if message.receives >= MAX_RECEIVES or self.is_worn_out():
            self.dead.append((self._loop.now, message.body))
            self._weather.history.dead_letters[self._kind] += 1
            self.bury(message.body, MAX_RECEIVES)
        else:
            self._loop.after(self._visibility, lambda: self._arrive(message))


class LaggingIndex(DueIndex):
    """The due index, behind its base items by up to some seconds; changes of one item arrive in their order."""

    def __init__(self, loop: Loop, weather: Weather) -> None:
        super().__init__()
        self._loop = loop
        self._weather = weather
        self._arrivals: dict[ItemKey, int] = {}

    def put(self, key: ItemKey, shard: int, due_at: int, item: DueItem) -> None:
        """Let the entry arrive later."""
        self._later(key, lambda: DueIndex.put(self, key, shard, due_at, item))

    def remove(self, key: ItemKey) -> None:
        """Let the entry vanish later."""
        self._later(key, lambda: DueIndex.remove(self, key))

    def _later(self, key: ItemKey, change: Callable[[], None]) -> None:
        most = self._weather.faults.index_lag
        lag = self._weather.rng.randint(0, most) if most else 0
        arrives = max(self._arrivals.get(key, 0), self._loop.now + lag)
        self._arrivals[key] = arrives
        if arrives == self._loop.now:
            change()
        else:
            self._loop.at(arrives, change)
