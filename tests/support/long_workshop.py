"""A workshop of long runs: a job that works for as long as a test says, and a worker that may be called off."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from cronfleet.adapters.memory.queues import MemoryRunSource
from cronfleet.domain.attempt import Result
from cronfleet.domain.instant import HOUR, SECOND
from cronfleet.domain.retry import Retry
from cronfleet.domain.run import LONG_QUEUE, Outcome
from cronfleet.domain.schedule import Policies
from cronfleet.ports.queues import DelayedMessage
from cronfleet.ports.target import Call, FenceLost, Interrupted, Pulse
from cronfleet.services.long_worker import LongShift, LongWorker
from cronfleet.services.worker import Worker
from tests.support.builders import cron, definition, message, timer
from tests.support.settable_clock import SettableClock
from tests.support.workshop import BACKOFF, TWO, Ledger
from tests.support.world import World

TWO_HOURS = 2 * HOUR // SECOND


@dataclass
class Protected:
    """What was asked of the task's protection, in order."""

    asked: list[str] = field(default_factory=list)
    looks: int = 0

    def begin(self) -> None:
        self.asked.append("begin")

    def look(self) -> None:
        self.looks += 1

    def end(self) -> None:
        self.asked.append("end")


class Job:
    """The target: works second by second, as its process does, which is looked at meanwhile; then ends as told."""

    def __init__(self, world: "LongWorkshop", seconds: int) -> None:
        self._world = world
        self.seconds = seconds
        self.each_second: Callable[[], None] = lambda: None
        self.result = Result(Outcome.SUCCEEDED)
        self.calls: list[Call] = []
        self.leases: list[int] = []
        """How long the lease still lasted, second by second, in milliseconds."""

    def call(self, call: Call, pulse: Pulse) -> Result:
        self.calls.append(call)
        try:
            for _ in range(self.seconds):
                self._world.clock.advance(SECOND)
                self.each_second()
                pulse.look()
                row = self._world.store.state.runs[call.key]
                self.leases.append((row.lease_until or 0) - self._world.clock.now())
        except Interrupted as error:
            return Result(Outcome.INTERRUPTED, str(error))
        except FenceLost as error:
            return Result(Outcome.FAILED, str(error))
        return self.result


class LongWorkshop(World):
    """A schedule whose attempts may take two hours; its fire is claimed, and its message in the long queue."""

    def __init__(self, seconds: int = 600, *, retry: Retry = Retry(max_attempts=2, backoff=BACKOFF)) -> None:  # noqa: B008 - a frozen value
        super().__init__(TWO)
        self.store.state.runs = Ledger(self.clock)
        self.job = Job(self, seconds)
        self.protected = Protected()
        trigger = cron("0 2 * * *")
        self.policies = Policies(retry=retry, timeout_seconds=TWO_HOURS)
        later = TWO + 24 * HOUR
        self.add(timer(trigger, later, shard=0, timeout_seconds=TWO_HOURS), definition(trigger, policies=self.policies))
        self.message = message(TWO, timeout_seconds=TWO_HOURS)
        self.source = MemoryRunSource(self.queue)

    @property
    def queue(self) -> Any:
        return self.run_queue.tier(LONG_QUEUE)

    def send(self) -> None:
        assert not self.run_queue.send([DelayedMessage(self.message, 0)])

    def long_worker(self, clock: SettableClock | None = None, store: Any = None) -> tuple[LongWorker, LongShift]:
        clock = clock or self.clock
        shift = LongShift(source=self.source, protection=self.protected, clock=clock, telemetry=self.notes)
        worker = Worker(
            store=store or self.store,
            run_queue=self.run_queue,
            targets=self.job,
            clock=clock,
            ids=self.ids,
            telemetry=self.notes,
            shift=shift,
        )
        return LongWorker(worker=worker, shift=shift, source=self.source, telemetry=self.notes), shift

    @property
    def stored(self) -> Any:
        row = self.store.get_run(self.message.key)
        assert row is not None
        return row

    def again(self) -> None:
        """The message of the attempt that waits, as the dispatcher sends it."""
        row = self.stored
        self.message = replace(self.message, attempt=row.attempt + 1, due_at=row.retry_at, claimed_at=self.clock.now())
        self.clock.wait_until(row.retry_at)
        self.send()
