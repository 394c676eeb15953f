"""Long runs in a world of their own: workers that are told to stop, are killed, stand still, and a queue that forgets.

    python -m simulator.long_runs [seeds]

Places take one message after the other, for hours. In the storm some get SIGTERM and, after their grace, SIGKILL; some
are killed at once; some stand still for minutes, and go on as if nothing had been; messages come back although they
were deleted. Callers cancel some runs. The checkers look at the moments at which jobs were really at work.
"""

import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, Final

from cronfleet.domain.attempt import Result
from cronfleet.domain.change import created
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.rate import Rate
from cronfleet.domain.reason import Code
from cronfleet.domain.retry import Backoff, BackoffKind, Retry
from cronfleet.domain.run import Outcome, Run, RunKey, RunMessage, RunStatus
from cronfleet.domain.schedule import Policies, Spec
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.tenant import Tenant
from cronfleet.domain.trigger import IntervalTrigger
from cronfleet.ports.job_store import CreateTimer, InsertDefinition, NoAnswer
from cronfleet.ports.protection import Unprotected
from cronfleet.ports.queues import NoQueue, Taken
from cronfleet.ports.target import Call, CancelAsked, FenceLost, Interrupted, Pulse
from cronfleet.services.long_worker import LongShift, LongWorker
from cronfleet.services.worker import Worker
from simulator import population
from simulator.checkers.statuses import TERMINAL
from simulator.checkers.violation import Violation
from simulator.faults import MINUTE, SECOND, drawn
from simulator.loop import Process
from simulator.wire import Wire
from simulator.world import START, World

SCHEDULES: Final = 10
PLACES: Final = 14
STORM: Final = 45 * MINUTE
CALM: Final = 240 * MINUTE
SETTLED: Final = 20 * MINUTE
"""After the storm: by then leases, pauses and open batches of it are over."""

LIMITS: Final = (900, 1_800, 3_600)
"""Seconds that attempts may take …"""
LASTING: Final = (5, 60, 300, 900)
"""… and that jobs do take, mostly less."""
PERIODS: Final = (120, 300, 600)
STEP: Final = 10 * SECOND
"""How often a place looks after its job; really four times a second."""
FAILING: Final = 0.1
CANCELS: Final = 8

STOPS: Final = (6, 20)
KILLS: Final = (3, 10)
STANDSTILLS: Final = (3, 10)
"""How many of each there are in a storm, at least and at most."""
GRACE_SECONDS: Final = 120
STANDS_STILL: Final = (20 * SECOND, 10 * MINUTE)

VISIBILITY: Final = 120 * SECOND
POLL: Final = 30 * SECOND
FORGETS: Final = 0.05
"""Of messages that were taken: seen again at once, hidden or deleted."""

FOUND_WITHIN: Final = 130 * SECOND
"""After the end of its lease the run of a dead worker is sent again: at the next sweep, anywhere in its minute."""


@dataclass
class Stint:
    """A moment at which the job of an attempt was at work: from, until, and for whom."""

    run_id: str
    fence: int
    tenant: str
    began_at: int
    ended_at: int


@dataclass
class LongQueue:
    """`runs-long`: messages by receipt, with when each may be taken."""

    messages: dict[int, tuple[int, RunMessage]] = field(default_factory=dict)
    receipts: int = 0

    def put(self, message: RunMessage, visible_at: int) -> None:
        """Take it in."""
        self.receipts += 1
        self.messages[self.receipts] = (visible_at, message)


class Source:
    """The port `RunSource`, as one place has it."""

    def __init__(self, world: "LongWorld", process: Process) -> None:
        self._world = world
        self._process = process
        self._wire = Wire(world.weather, process)

    def receive(self) -> Taken | None:
        """See `RunSource.receive`."""
        taken: Taken | None = self._ask("receive", self._take)
        if taken is None:
            self._process.sleep(POLL)
        return taken

    def delete(self, receipt: str) -> None:
        """See `RunSource.delete`."""
        self._ask("delete", lambda: self._world.queue.messages.pop(int(receipt), None))

    def give_back(self, receipt: str) -> None:
        """See `RunSource.give_back`."""
        self._ask("give_back", lambda: self._world.show(int(receipt), self._world.loop.now))

    def _take(self) -> Taken | None:
        world, now = self._world, self._world.loop.now
        ready = [(at, receipt) for receipt, (at, _) in world.queue.messages.items() if at <= now]
        if not ready:
            return None
        _, receipt = min(ready)
        _, message = world.queue.messages[receipt]
        world.show(receipt, now + VISIBILITY)
        if world.is_stormy and world.draws.random() < FORGETS:
            world.forgotten += 1
            world.queue.put(message, now + world.draws.choice([0, 30, 600]) * SECOND)
        return Taken(str(receipt), message)

    def _ask(self, name: str, effect: Callable[[], Any]) -> Any:
        try:
            return self._wire.call(name, effect)
        except NoAnswer as silence:
            raise NoQueue(str(silence)) from silence


class LongJobs:
    """The port `Targets` of one place: works step by step, and is looked after in between."""

    def __init__(self, world: "LongWorld", process: Process) -> None:
        self._world = world
        self._process = process
        self._wire = Wire(world.weather, process)

    def call(self, call: Call, pulse: Pulse) -> Result:
        """One attempt: its effect first, then its work, then its end."""
        try:
            first = self._wire.call("receipt", partial(self._record, call))
            self._world.history.note(call.key.run_id, call.fence, first)
            return self._work(call, pulse)
        except NoAnswer as silence:
            return Result(Outcome.FAILED, str(silence))
        except Interrupted as interrupted:
            return Result(Outcome.INTERRUPTED, str(interrupted))
        except FenceLost as lost:
            return Result(Outcome.FAILED, str(lost))
        except CancelAsked as asked:
            return Result(Outcome.CANCELLED, str(asked))

    def _record(self, call: Call) -> bool:
        receipts, now = self._world.receipts, self._process.now()
        first = receipts.record(call.key, call.fence, "effect", call.fence, now).first
        if first:
            self._world.history.effects[call.key.run_id] += 1
        return first

    def _work(self, call: Call, pulse: Pulse) -> Result:
        world, draws, left = self._world, self._world.draws, self._world.draws.choice(LASTING) * SECOND
        while left > 0:
            if self._process.now() >= call.deadline_at:
                return Result(Outcome.TIMED_OUT, "stopped at its time limit")
            self._at_work(call, min(STEP, left))
            left -= STEP
            world.stand_still(self._process)
            pulse.look()
            if pulse.cancel is not None:
                return Result(Outcome.CANCELLED, "it gave up")
            if pulse.is_stopping and draws.random() < 0.05:
                return Result(Outcome.INTERRUPTED, "it stopped where it was")
        return Result(Outcome.FAILED, "no") if draws.random() < FAILING else Result(Outcome.SUCCEEDED)

    def _at_work(self, call: Call, milliseconds: int) -> None:
        now = self._world.loop.now
        stint = Stint(call.key.run_id, call.fence, call.key.tenant, now, now)
        self._world.stints.append(stint)
        try:
            self._process.sleep(milliseconds)
        finally:
            stint.ended_at = self._world.loop.now


class LongWorld(World):
    """A world whose schedules have long runs, until the storm is over; workers go on until it ends."""

    def __init__(self, seed: int) -> None:
        self.draws = random.Random(f"{seed}/long")
        faults = drawn(random.Random(f"{seed}/plan"), START, START + STORM)
        limits = {population.TENANTS[0]: 2} if self.draws.random() < 0.5 else None
        super().__init__(seed, faults, Rate(100, 100), limits=limits)
        self.queue = LongQueue()
        self.stints: list[Stint] = []
        self.forgotten = 0
        self.stopped: list[tuple[int, bool]] = []
        """When places were told to stop, and whether they had ended when they were killed."""
        self._places: dict[int, tuple[Process, LongShift]] = {}
        self._standing: dict[str, int] = {}
        for number in range(SCHEDULES):
            self._add(f"job-{number}")
        for number in range(PLACES):
            self._fill(number)
        self._plan_storm()

    @property
    def is_stormy(self) -> bool:
        """Whether there are faults still."""
        return self.loop.now < START + STORM

    def _plan_storm(self) -> None:
        draws = self.draws
        for often, what in ((STOPS, self._stop), (KILLS, self._kill), (STANDSTILLS, self._halt)):
            for _ in range(draws.randint(*often)):
                self.loop.at(START + draws.randint(MINUTE, STORM), what)
        # A deployment in the calm: every place is told to stop, one after the other.
        for number in range(PLACES):
            self.loop.at(START + STORM + SETTLED + number * MINUTE, partial(self._stop, number))
        for _ in range(CANCELS):
            self.loop.at(START + draws.randint(2 * MINUTE, STORM + SETTLED), self._cancel_one)

    def _add(self, name: str) -> None:
        draws = self.draws
        every = draws.choice(PERIODS)
        policies = Policies(
            retry=Retry(draws.choice([1, 3]), Backoff(BackoffKind.FIXED, 20)),
            timeout_seconds=draws.choice(LIMITS),
            overlap=draws.choice([Overlap.ALLOW, Overlap.SKIP, Overlap.BUFFER_ONE]),
            target_breaker=False,
        )
        trigger = IntervalTrigger(every, START + draws.randrange(0, every) * SECOND)
        timer, definition = created(
            Spec(trigger, HandlerTarget("long"), policies=policies, end_at=START + STORM),
            tenant=Tenant(draws.choice(population.TENANTS)),
            schedule_id=name,
            shards=self.shards,
            now=START,
            change_id=name,
            author="ada",
            tombstone=None,
        )
        self.store.commit([CreateTimer(timer), InsertDefinition(definition)])

    # --- places ------------------------------------------------------------------------------------------------

    def _fill(self, number: int) -> None:
        """Somebody works in this place, until it is told to stop, or dies; then another."""

        def body(process: Process) -> None:
            source = Source(self, process)
            shift = LongShift(source=source, protection=Unprotected(), clock=process, telemetry=self.notes)
            worker = Worker(
                store=self.wired(process),
                run_queue=self._run_queue(process),
                targets=LongJobs(self, process),
                clock=process,
                ids=self.ids,
                telemetry=self.notes,
                shift=shift,
            )
            long_worker = LongWorker(worker=worker, shift=shift, source=source, telemetry=self.notes)
            self._places[number] = (process, shift)
            while not long_worker.is_stopping:
                try:
                    long_worker.work()
                except Exception:
                    process.sleep(SECOND)

        self.functions.invoke("long_worker", body, lambda _: self.loop.after(2 * SECOND, partial(self._fill, number)))

    def _stop(self, number: int | None = None) -> None:
        """SIGTERM, and SIGKILL when the grace is over."""
        process, shift = self._places[self.draws.randrange(PLACES) if number is None else number]
        told_at = self.loop.now
        shift.stop_within(GRACE_SECONDS)

        def kill() -> None:
            self.stopped.append((told_at, process.is_over))
            process.kill()

        self.loop.after(GRACE_SECONDS * SECOND, kill)

    def _kill(self) -> None:
        self._places[self.draws.randrange(PLACES)][0].kill()

    def _halt(self) -> None:
        process, _ = self._places[self.draws.randrange(PLACES)]
        self._standing[process.name] = self.draws.randint(*STANDS_STILL)

    def stand_still(self, process: Process) -> None:
        """Called by a job: its whole machine stands still for a while, if that is to be."""
        pause = self._standing.pop(process.name, 0)
        if pause:
            self.history.faults["standstill"] += 1
            process.sleep(pause)

    # --- the queue ---------------------------------------------------------------------------------------------

    def carry(self, message: RunMessage, delay_seconds: int) -> None:
        """To the long queue, which may lose, copy or delay it."""
        if not message.is_long:
            super().carry(message, delay_seconds)
            return
        if self.weather.strikes("lost_message"):
            return
        for _ in range(2 if self.weather.strikes("duplicate_message") else 1):
            late = self.draws.randint(0, 400)
            self.queue.put(message, self.loop.now + delay_seconds * SECOND + late)

    def show(self, receipt: int, visible_at: int) -> None:
        """The message may be taken from then on, if it is there."""
        if receipt in self.queue.messages:
            self.queue.messages[receipt] = (visible_at, self.queue.messages[receipt][1])

    def _cancel_one(self) -> None:
        going = sorted(key.run_id for key, row in self.rows.items() if row.status is RunStatus.RUNNING)
        if going:
            self.ask_of_run(RunKey.parse(self.draws.choice(going)))


# --- what must be true ---------------------------------------------------------------------------------------------


def check_long_runs(world: LongWorld) -> Iterator[Violation]:
    """What must be true once all is over."""
    yield from _check_alone(world)
    yield from _check_slots(world)
    yield from _check_rows(world)
    yield from _check_revived(world)
    for told_at, had_ended in world.stopped:
        if told_at > START + STORM + SETTLED - MINUTE and not had_ended:
            yield Violation(told_at, "a place had not stopped when its grace was over", "")


def _check_alone(world: LongWorld) -> Iterator[Violation]:
    """No run was worked on by two at once, and its fences rise."""
    by_run: dict[str, list[Stint]] = defaultdict(list)
    for stint in world.stints:
        by_run[stint.run_id].append(stint)
    for run_id, stints in by_run.items():
        for one, other in pairwise(sorted(stints, key=lambda stint: stint.began_at)):
            if other.began_at < one.ended_at and other.fence != one.fence:
                yield Violation(other.began_at, "two attempts of a run were at work at once", run_id)
            if other.fence < one.fence:
                yield Violation(other.began_at, "an attempt was at work after a later one", run_id)
        if world.history.effects[run_id] > 1:
            yield Violation(0, "an effect under a receipt happened twice", run_id)


def _check_slots(world: LongWorld) -> Iterator[Violation]:
    """No tenant had more runs at work at once than it may."""
    for tenant, limit in world.limits.items():
        moments = [(stint.began_at, 1) for stint in world.stints if stint.tenant == tenant]
        moments += [(stint.ended_at, -1) for stint in world.stints if stint.tenant == tenant]
        going = 0
        for at, change in sorted(moments):
            going += change
            if going > limit:
                yield Violation(at, "a tenant had more runs at once than it may", f"{tenant}: {going}")
                return


def _check_rows(world: LongWorld) -> Iterator[Violation]:
    """Every run has ended, and none is dead that has attempts left."""
    now = world.loop.now
    for key, row in sorted(world.rows.items()):
        if row.status.value not in TERMINAL and not _has_still_time(world, row):
            yield Violation(now, "a run did not end", f"{key.run_id} is {row.status}")
        definition = world.store.get_definition(key.tenant, key.schedule_id, max(1, row.version))
        most = definition.spec.policies.retry.max_attempts if definition is not None else 0
        is_out = row.status is RunStatus.DEAD and row.reason is not None and row.reason.code is Code.ATTEMPTS
        if is_out and row.tries < most:
            yield Violation(now, "a run is dead that had attempts left", f"{key.run_id}: {row.attempts}")


def _has_still_time(world: LongWorld, row: Run) -> bool:
    """Whether it came late, since its tenant may have only so many at once, and goes on or waits for that."""
    is_going = row.status is RunStatus.RUNNING and (row.lease_until or 0) > world.loop.now
    return row.key.tenant in world.limits and (is_going or row.status is RunStatus.WAITING)


def _check_revived(world: LongWorld) -> Iterator[Violation]:
    """In the calm the run of a dead worker is sent again when its lease has ended, within a sweep."""
    calm = START + STORM + SETTLED
    for key, row in world.rows.items():
        for attempt in row.attempts:
            if attempt.outcome is not Outcome.LOST:
                continue
            lease_until = world.rows.lease_until(key.run_id, attempt.fence)
            again = world.history.sent_again.get(key.run_id, 0)
            if lease_until > calm and again > lease_until + FOUND_WITHIN:
                yield Violation(again, "a dead long worker was found late", f"{key.run_id}: {again - lease_until} ms")


def play(seed: int) -> tuple[LongWorld, Violation | None]:
    """One world through its storm and its calm, and what it has broken."""
    world = LongWorld(seed)
    world.live_through(STORM, CALM)
    return world, next(check_long_runs(world), None)


def main(seeds: int) -> int:
    """One line a seed; 1 if any broke its promise."""
    broken = 0
    for seed in range(seeds):
        world, violation = play(seed)
        broken += violation is not None
        outcomes = [one.outcome for row in world.rows.values() for one in row.attempts]
        told = {name: outcomes.count(name) for name in (Outcome.INTERRUPTED, Outcome.LOST, Outcome.SUCCEEDED)}
        faults = sum(world.history.faults.values())
        shown = ", ".join(f"{count} {name.value}" for name, count in told.items())
        print(f"seed {seed}: {len(world.rows)} rows, {shown}, {faults} faults: {violation or 'holds'}")
    return min(broken, 1)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10))
