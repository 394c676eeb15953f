"""A herd: many schedules due at one second in one shard, and how long its one tick takes, by how its calls go.

    python -m simulator.herd                   1,600 schedules, three ways
    python -m simulator.herd --schedules 500

The production dispatcher in virtual time, without faults, between calls that take as long as AWS says (`TOOK`): its own
computing takes none. A tick that takes longer than its slot leaves the rest to the next, as on AWS.
"""

import argparse
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from cronfleet.adapters.memory.job_store import MemoryJobStore
from cronfleet.adapters.memory.side_by_side import OneByOne
from cronfleet.adapters.memory.timers import put_timer
from cronfleet.domain.change import created
from cronfleet.domain.lease import SLOT
from cronfleet.domain.rate import Rate
from cronfleet.domain.schedule import Spec
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.tenant import Tenant
from cronfleet.domain.trigger import OneShotTrigger
from cronfleet.ports.queues import DelayedMessage, Tick
from cronfleet.ports.side_by_side import SideBySide
from cronfleet.services.dispatcher import Dispatcher
from simulator.faults import MINUTE, NONE
from simulator.history import History, Notes
from simulator.loop import Loop, Process
from simulator.strands import Strands
from simulator.wire import Weather
from simulator.world import START, Ids

SCHEDULES: Final = 1_600
TENANTS: Final = 32
DUE_AT: Final = START

TOOK: Final = {"due": 12, "claims": 14, "send": 12}
"""Milliseconds of a page of the index, of 25 claims in a request, of a request to a queue; all else takes `WRITE`.
As published: DynamoDB answers within single-digit milliseconds, SQS within some ten.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Introduction.html"""
WRITE: Final = 5


class _Store:
    """The store, each of whose calls takes its time; claims go in one request, or one by one."""

    def __init__(self, store: MemoryJobStore, process: Process, *, batched: bool) -> None:
        self._store, self._process, self._batched = store, process, batched

    def skew_ms(self) -> int:
        return 0

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        if not callable(method):
            return method

        def call(*args: Any, **kwargs: Any) -> Any:
            self._process.sleep(TOOK.get(name, WRITE))
            return method(*args, **kwargs)

        return call

    def claim(self, batch_id: Any, claims: Sequence[Any]) -> Sequence[Any]:
        self._process.sleep(TOOK["claims"] if self._batched else WRITE * len(claims))
        return self._store.claim(batch_id, claims)


@dataclass
class _Queue:
    """The run queues."""

    process: Process
    sent: list[tuple[int, DelayedMessage]] = field(default_factory=list)

    def send(self, messages: Sequence[DelayedMessage]) -> Sequence[DelayedMessage]:
        """Ten in a request."""
        for start in range(0, len(messages), 10):
            self.process.sleep(TOOK["send"])
            self.sent += ((self.process.loop.now, one) for one in messages[start : start + 10])
        return ()


@dataclass(frozen=True)
class Herd:
    """What came of a herd: how many fires, in milliseconds from the first tick's beginning to the last send."""

    fires: int
    took: int
    ticks: int


def play(schedules: int, *, batched: bool, side_by_side: bool) -> Herd:
    """One herd, to its end."""
    loop, history = Loop(DUE_AT), History()
    weather = Weather(random.Random(0), NONE, history)
    store = MemoryJobStore(_LoopClock(loop))
    _populate(store, schedules)
    sent: list[int] = []
    ticks = Counter[str]()

    def serve(slot: int) -> None:
        process = Process(loop, f"dispatcher-{slot}")
        queue: Any = _Queue(process)  # of messages: there are no errands
        wired: Any = _Store(store, process, batched=batched)  # all of the port goes through it
        way: SideBySide = Strands(process, weather) if side_by_side else OneByOne()
        dispatcher = Dispatcher(
            store=wired,
            run_queue=queue,
            errand_queue=queue,
            side_by_side=way,
            clock=process,
            ids=_IDS,
            telemetry=Notes(history),
            shards=1,
        )

        def over(ended: Process) -> None:
            assert ended.error is None, ended.error
            sent.extend(at for at, _ in queue.sent)
            ticks["served"] += bool(queue.sent)

        process.start(lambda: dispatcher.tick(Tick(0, DUE_AT + slot * SLOT), loop.now + MINUTE), over)

    for slot in range(60):
        loop.at(DUE_AT + slot * SLOT, _bound(serve, slot))
    loop.run_until(DUE_AT + 60 * SLOT)
    return Herd(len(sent), max(sent) - DUE_AT, ticks["served"])


_IDS: Final = Ids()


class _LoopClock:
    def __init__(self, loop: Loop) -> None:
        self._loop = loop

    def now(self) -> int:
        return self._loop.now


def _bound(serve: Callable[[int], None], slot: int) -> Callable[[], None]:
    return lambda: serve(slot)


def _populate(store: MemoryJobStore, schedules: int) -> None:
    quotas = (("burst", 10_000), ("fires_per_second", 10_000))
    rate = Rate(10_000, 10_000)
    assert rate.share(1) > schedules // TENANTS, "what is measured is no tenant's rate"
    for number in range(TENANTS):
        store.state.tenants[f"tenant-{number}"] = Tenant(f"tenant-{number}", quotas=quotas, rev=1)
    for number in range(schedules):
        timer, definition = created(
            Spec(OneShotTrigger(DUE_AT, "", None), HandlerTarget("sim.job")),
            tenant=Tenant(f"tenant-{number % TENANTS}"),
            schedule_id=f"job-{number:05}",
            shards=1,
            now=DUE_AT - MINUTE,
            change_id="created",
            author="simulator",
            tombstone=None,
        )
        put_timer(store.state, timer)
        store.state.definitions[(timer.tenant, timer.schedule_id), 1] = definition


WAYS: Final = (
    ("each claim a request, one call after the other", {"batched": False, "side_by_side": False}),
    ("claims in batches, one call after the other", {"batched": True, "side_by_side": False}),
    ("claims in batches, side by side", {"batched": True, "side_by_side": True}),
)


def lines(schedules: int) -> Iterator[str]:
    """A line for each way."""
    for name, way in WAYS:
        herd = play(schedules, **way)
        yield f"{name:48} {herd.took:6} ms, {herd.ticks} ticks, {herd.fires} fires"


def main() -> None:
    """Print how long it takes."""
    parser = argparse.ArgumentParser(prog="python -m simulator.herd", description=__doc__)
    parser.add_argument("--schedules", type=int, default=SCHEDULES, help=f"due in one second (default {SCHEDULES})")
    for line in lines(parser.parse_args().schedules):
        print(line)


if __name__ == "__main__":
    main()
