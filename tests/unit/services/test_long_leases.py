"""The lease of a long run where the store does not answer, or a clock is set: its job never outlives it."""

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from cronfleet.adapters.dynamodb.job_store import CONFIG
from cronfleet.adapters.memory.queues import MemoryQueue, MemoryRunSource
from cronfleet.domain.attempt import Result
from cronfleet.domain.attempt_log import LogLine
from cronfleet.domain.instant import HOUR, MINUTE, SECOND, Instant
from cronfleet.domain.long_run import SHORT_LEASE_SECONDS, STOP_SECONDS
from cronfleet.domain.retry import Retry
from cronfleet.domain.run import Outcome, RunMessage, RunStatus
from cronfleet.ports.job_store import NoAnswer
from cronfleet.ports.protection import Unprotected
from cronfleet.ports.target import Call, Interrupted, Pulse
from cronfleet.services.long_worker import LongShift, LongWorker
from cronfleet.services.worker import Worker
from tests.support.workshop import BACKOFF
from tests.unit.services.test_worker_slots import LimitedWorkshop

LIMIT: Final = 3 * HOUR // SECOND
REQUEST: Final = 27 * SECOND
"""What one request takes at most to a store that does not answer, with the adapter's own tries and pauses."""

Job = Callable[["LongWorkshop", Pulse], Result]


class LongWorkshop(LimitedWorkshop):
    """One long run of a tenant that may have two at once, and a worker that takes it from its queue."""

    def __init__(self, job: Job) -> None:
        super().__init__()
        self.policies = replace(self.policies, timeout_seconds=LIMIT, retry=Retry(2, BACKOFF))
        for key, described in self.store.state.definitions.items():
            self.store.state.definitions[key] = replace(described, spec=replace(described.spec, policies=self.policies))
        self.store.state.slots.clear()
        self.message = self.slotted(replace(self.message, timeout_seconds=LIMIT, slot=None))
        self.targets = Calling(self, job)
        self.queue: MemoryQueue[RunMessage] = MemoryQueue(self.clock, SHORT_LEASE_SECONDS)
        self.queue.put(self.message, 0)
        source = MemoryRunSource(self.queue)
        self.shift = LongShift(source=source, protection=Unprotected(), clock=self.clock, telemetry=self.notes)
        worker = Worker(
            store=self.store,
            run_queue=self.run_queue,
            targets=self.targets,
            clock=self.clock,
            ids=self.ids,
            telemetry=self.notes,
            shift=self.shift,
        )
        self.long = LongWorker(worker=worker, shift=self.shift, source=source, telemetry=self.notes)

    def looks(self, pulse: Pulse, until: Instant) -> None:
        while self.clock.now() < until:
            self.clock.advance(SECOND)
            pulse.look()

    def silence(self, monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
        """From now on these calls take their time, and have no answer."""

        def unanswered(*_: Any, **__: Any) -> Any:
            self.clock.advance(REQUEST)
            raise NoAnswer

        for name in names:
            monkeypatch.setattr(self.store, name, unanswered)


class Calling:
    """The target: what the job comes to, and when it had ended."""

    def __init__(self, world: LongWorkshop, job: Job) -> None:
        self._world = world
        self._job = job
        self.over_at: Instant = 0

    def call(self, _call: Call, pulse: Pulse) -> Result:
        try:
            return self._job(self._world, pulse)
        except Interrupted as interrupted:
            return Result(Outcome.INTERRUPTED, str(interrupted))
        finally:
            self.over_at = self._world.clock.now()


def succeeds_after(seconds: int) -> Job:
    def job(world: LongWorkshop, pulse: Pulse) -> Result:
        world.looks(pulse, world.clock.now() + seconds * SECOND)
        return Result(Outcome.SUCCEEDED)

    return job


def test_a_job_of_hours_keeps_its_lease_and_its_slot_and_its_message_is_gone_once_it_has_begun() -> None:
    def job(world: LongWorkshop, pulse: Pulse) -> Result:
        assert len(world.queue) == 0
        end = world.clock.now() + 2 * HOUR
        while world.clock.now() < end:
            world.looks(pulse, world.clock.now() + MINUTE)
            now, until = world.clock.now(), world.stored.lease_until or 0
            assert now < until <= now + SHORT_LEASE_SECONDS * SECOND
            (slot,) = [one for one in world.slots if not one.is_free(now)]
            assert until < slot.until <= now + 2 * SHORT_LEASE_SECONDS * SECOND
        return Result(Outcome.SUCCEEDED)

    world = LongWorkshop(job)
    assert world.long.work(), world.stored
    assert (world.stored.status, world.held) == (RunStatus.SUCCEEDED, 0), world.stored


@pytest.mark.parametrize(
    "names",
    [("take_slot",), ("replace_run", "get_run"), ("take_slot", "replace_run", "get_run", "put_log", "get_slots")],
    ids=str,
)
@pytest.mark.parametrize("after", range(30, 48, 3))
def test_a_job_has_stopped_before_its_lease_ends_whatever_is_not_answered(
    names: tuple[str, ...], after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease: list[Instant] = []

    def job(world: LongWorkshop, pulse: Pulse) -> Result:
        world.looks(pulse, world.clock.now() + after * SECOND)
        lease.append(world.stored.lease_until or 0)
        world.silence(monkeypatch, *names)
        pulse.log([LogLine(1, "INFO", "at work")], is_whole=True)
        world.looks(pulse, world.clock.now() + HOUR)
        return Result(Outcome.SUCCEEDED)

    world = LongWorkshop(job)
    with contextlib.suppress(NoAnswer):
        world.long.work()
    assert world.targets.over_at < lease[0], "another may have had the run already"


def test_a_request_is_given_up_in_less_time_than_a_job_has_to_stop() -> None:
    made: Any = CONFIG
    tries = made.retries["total_max_attempts"]
    pauses = sum(2**number for number in range(tries - 1))
    assert tries * (made.connect_timeout + made.read_timeout) + pauses <= REQUEST // SECOND < STOP_SECONDS


@pytest.mark.parametrize("back", [MINUTE, 10 * MINUTE])
def test_a_job_whose_workers_clock_was_set_back_is_handed_on_as_nobody_knows_when_its_lease_ends(back: int) -> None:
    def job(world: LongWorkshop, pulse: Pulse) -> Result:
        world.looks(pulse, world.clock.now() + 30 * SECOND)
        world.clock.advance(-back)
        world.looks(pulse, world.clock.now() + SECOND)
        return Result(Outcome.SUCCEEDED)

    world = LongWorkshop(job)
    world.long.work()
    assert world.stored.attempts[0].outcome is Outcome.INTERRUPTED
    assert "set back" in str(world.stored.attempts[0].error)


def test_a_clock_that_is_moved_by_a_moment_interrupts_nobody() -> None:
    def job(world: LongWorkshop, pulse: Pulse) -> Result:
        for _ in range(100):
            world.looks(pulse, world.clock.now() + 41 * SECOND)
            world.clock.advance(-SECOND)
            pulse.look()
        return Result(Outcome.SUCCEEDED)

    world = LongWorkshop(job)
    world.long.work()
    assert world.stored.status is RunStatus.SUCCEEDED
