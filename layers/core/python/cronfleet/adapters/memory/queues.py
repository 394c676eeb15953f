"""Queues in memory: delays and visibility by a clock, at-least-once delivery, dead letters.

A test or a simulator plays the part of the poller: `receive`, then `delete`, or let the message come back.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import Final, Generic, TypeVar

from cronfleet.domain.errand import ErrandMessage
from cronfleet.domain.instant import SECOND, Instant
from cronfleet.domain.long_run import SHORT_LEASE_SECONDS
from cronfleet.domain.run import LONG_QUEUE, RunMessage
from cronfleet.ports.clock import Clock
from cronfleet.ports.queues import MAX_DELAY_SECONDS, DelayedMessage, Taken, Tick

Body = TypeVar("Body")

# As in `adapters/sqs/queues.py`, which another adapter may not import; a test compares them.
TICK_VISIBILITY_SECONDS: Final = 360
RUN_VISIBILITY_SECONDS: Final = 5_400
LONG_VISIBILITY_SECONDS: Final = SHORT_LEASE_SECONDS
ERRAND_VISIBILITY_SECONDS: Final = 360
MAX_RECEIVE_COUNT: Final = 5
LONG_MAX_RECEIVE_COUNT: Final = MAX_RECEIVE_COUNT * RUN_VISIBILITY_SECONDS // LONG_VISIBILITY_SECONDS


@dataclass(frozen=True, slots=True)
class Received(Generic[Body]):
    """A message in somebody's hands; `receipt` deletes it, `receive_count` counts this delivery too."""

    body: Body
    receipt: int
    receive_count: int


@dataclass(slots=True)
class _Held(Generic[Body]):
    body: Body
    visible_at: Instant = 0
    receive_count: int = 0


@dataclass(slots=True)
class MemoryQueue(Generic[Body]):
    """One queue. Messages come in the order in which they become visible.

    `accepts` may refuse a message (it is then answered as unsent); `copies` says how often one is delivered.
    """

    clock: Clock
    visibility_seconds: int
    max_receive_count: int = MAX_RECEIVE_COUNT
    accepts: Callable[[Body], bool] = lambda _: True
    copies: Callable[[Body], int] = lambda _: 1
    dead: list[Body] = field(default_factory=list)
    _held: dict[int, _Held[Body]] = field(default_factory=dict)
    # When each may be received, soonest first; an entry that no longer agrees with `_held` is passed over.
    _due: list[tuple[Instant, int]] = field(default_factory=list)
    _receipts: "count[int]" = field(default_factory=count)

    def put(self, body: Body, delay_seconds: int) -> bool:
        """Take `body`, to be received after `delay_seconds`; False when it was not accepted."""
        if not 0 <= delay_seconds <= MAX_DELAY_SECONDS:
            raise ValueError(f"a delay of {delay_seconds} s: a queue takes whole seconds from 0 to {MAX_DELAY_SECONDS}")
        if not self.accepts(body):
            return False
        for _ in range(self.copies(body)):
            receipt = next(self._receipts)
            self._held[receipt] = _Held(body)
            self._show(receipt, self.clock.now() + delay_seconds * SECOND)
        return True

    def _show(self, receipt: int, visible_at: Instant) -> None:
        self._held[receipt].visible_at = visible_at
        heappush(self._due, (visible_at, receipt))

    def receive(self, most: int = 10) -> list[Received[Body]]:
        """Up to `most` visible messages, hidden from now on until they are deleted or their time is up."""
        now = self.clock.now()
        taken: list[Received[Body]] = []
        while len(taken) < most and (visible_at := self.next_visible_at()) is not None and visible_at <= now:
            _, receipt = heappop(self._due)
            if self._bury(receipt):
                continue
            held = self._held[receipt]
            held.receive_count += 1
            self._show(receipt, now + self.visibility_seconds * SECOND)
            taken.append(Received(held.body, receipt, held.receive_count))
        return taken

    def _bury(self, receipt: int) -> bool:
        if self._held[receipt].receive_count < self.max_receive_count:
            return False
        self.dead.append(self._held.pop(receipt).body)
        return True

    def delete(self, receipt: int) -> None:
        """Done with it; a second delete changes nothing."""
        self._held.pop(receipt, None)

    def give_back(self, receipt: int) -> None:
        """Let it be received again at once."""
        if receipt in self._held:
            self._show(receipt, self.clock.now())

    def lose(self, wanted: Callable[[Body], bool]) -> int:
        """Drop what `wanted` names, as a queue should never do; the number dropped."""
        lost = [receipt for receipt, held in self._held.items() if wanted(held.body)]
        for receipt in lost:
            del self._held[receipt]
        return len(lost)

    def next_visible_at(self) -> Instant | None:
        """When the next message can be received; `None` when there is none."""
        while self._due:
            visible_at, receipt = self._due[0]
            held = self._held.get(receipt)
            if held is not None and held.visible_at == visible_at:
                return visible_at
            heappop(self._due)
        return None

    def bodies(self) -> list[Body]:
        """Everything that is neither deleted nor dead, oldest first."""
        return [held.body for held in self._held.values()]

    def __len__(self) -> int:
        return len(self._held)


class MemoryRunQueue:
    """The run queues in memory: `tiers` maps each tier, or lane, that was sent to, to its queue."""

    def __init__(self, clock: Clock, visibility_seconds: int = RUN_VISIBILITY_SECONDS) -> None:
        self._clock = clock
        self._visibility_seconds = visibility_seconds
        self.tiers: dict[str, MemoryQueue[RunMessage]] = {}

    def tier(self, name: str) -> MemoryQueue[RunMessage]:
        """The queue of a tier, or of the lane of backfills."""
        if name not in self.tiers:
            if name == LONG_QUEUE:
                self.tiers[name] = MemoryQueue(self._clock, LONG_VISIBILITY_SECONDS, LONG_MAX_RECEIVE_COUNT)
            else:
                self.tiers[name] = MemoryQueue(self._clock, self._visibility_seconds)
        return self.tiers[name]

    def send(self, messages: Sequence[DelayedMessage]) -> Sequence[DelayedMessage]:
        """See `RunQueue.send`."""
        return [one for one in messages if not self.tier(one.message.queue).put(one.message, one.delay_seconds)]


class MemoryRunSource:
    """One of the run queues in memory, as who takes from it sees it. It does not wait."""

    def __init__(self, queue: MemoryQueue[RunMessage]) -> None:
        self._queue = queue

    def receive(self) -> Taken | None:
        """See `RunSource.receive`."""
        received = self._queue.receive(1)
        return Taken(str(received[0].receipt), received[0].body) if received else None

    def delete(self, receipt: str) -> None:
        """See `RunSource.delete`."""
        self._queue.delete(int(receipt))

    def give_back(self, receipt: str) -> None:
        """See `RunSource.give_back`."""
        self._queue.give_back(int(receipt))


class MemoryErrandQueue:
    """The errand queue in memory."""

    def __init__(self, clock: Clock, visibility_seconds: int = ERRAND_VISIBILITY_SECONDS) -> None:
        self.queue: MemoryQueue[ErrandMessage] = MemoryQueue(clock, visibility_seconds)

    def send(self, messages: Sequence[ErrandMessage]) -> Sequence[ErrandMessage]:
        """See `ErrandQueue.send`."""
        return [message for message in messages if not self.queue.put(message, 0)]


class MemoryTickQueue:
    """The tick queue in memory."""

    def __init__(self, clock: Clock, visibility_seconds: int = TICK_VISIBILITY_SECONDS) -> None:
        self.queue: MemoryQueue[Tick] = MemoryQueue(clock, visibility_seconds)

    def send(self, ticks: Sequence[tuple[Tick, int]]) -> Sequence[tuple[Tick, int]]:
        """See `TickQueue.send`."""
        return [(tick, delay) for tick, delay in ticks if not self.queue.put(tick, delay)]
