"""Executions in a world of their own: started once, followed to their end, stopped in time, whoever dies on the way.

    python -m simulator.executing [seeds]

A cloud starts executions under their names, goes on without us, and now and then does not answer. Half of its handles
can be told beforehand, as those of Step Functions; the others are drawn at the start, as those of ECS. Callers cancel
some runs. The checkers look at the cloud, and compare it with what the ledger says.
"""

import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from cronfleet.domain.attempt import Result
from cronfleet.domain.change import created
from cronfleet.domain.errand import LONGEST_BACKOFF, ErrandKind
from cronfleet.domain.execution import STOP_WAIT, execution_name
from cronfleet.domain.follow import LONGEST_LOOK, Phase, Seen
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.rate import Rate
from cronfleet.domain.retry import Backoff, BackoffKind, Retry
from cronfleet.domain.run import Outcome, Run, RunKey, RunMessage, RunStatus
from cronfleet.domain.schedule import Policies, Spec
from cronfleet.domain.target import StepFunctionsTarget
from cronfleet.domain.tenant import Tenant
from cronfleet.domain.trigger import IntervalTrigger
from cronfleet.ports.executions import Unseen
from cronfleet.ports.job_store import CreateTimer, InsertDefinition, NoAnswer
from cronfleet.ports.target import Call
from cronfleet.services.following import Following
from cronfleet.services.handing_over import Elsewhere
from cronfleet.services.worker import Worker
from simulator import population
from simulator.checkers.statuses import TERMINAL
from simulator.checkers.violation import Violation
from simulator.faults import MINUTE, SECOND, drawn
from simulator.jobs import Jobs
from simulator.loop import Process
from simulator.wire import Wire
from simulator.world import START, World

SCHEDULES: Final = 10
STORM: Final = 40 * MINUTE
CALM: Final = 2 * LONGEST_BACKOFF + 45 * MINUTE
"""Then everything that was due in the storm has ended: an errand that failed has waited its longest by then."""

LIMITS: Final = (120, 600, 1_800)
"""Seconds that executions may take …"""
LASTING: Final = (2, 30, 200, 900, 3_000)
"""… and that they do take."""
PERIODS: Final = (120, 300, 600)
FAILING: Final = 0.15
CANCELS: Final = 12
SILENT: Final = 0.1
"""How many requests the cloud leaves unanswered in the storm, half of them after it has done what was asked."""
SEEN_LATE: Final = LONGEST_LOOK + MINUTE
"""How late a stop may come in the calm: the longest wait between two looks, and what a tick takes."""

ROLE: Final = "arn:aws:iam::123456789012:role/cronfleet-target-sim"
MACHINE: Final = StepFunctionsTarget("arn:aws:states:us-east-1:123456789012:stateMachine:sim", ROLE)


@dataclass
class Going:
    """One execution, in true time; `stopped_at` is when it was told to stop."""

    key: RunKey
    attempt: int
    began_at: int
    ends_at: int
    deadline_at: int
    outcome: Outcome
    stopped_at: int | None = None


@dataclass
class Cloud:
    """What goes on elsewhere, by name; `together` are runs that had two executions at once."""

    executions: dict[str, Going] = field(default_factory=dict)
    together: list[str] = field(default_factory=list)
    looks: int = 0
    silences: int = 0


class Reached:
    """The port `Executions`, as one invocation has it."""

    def __init__(self, world: "ExecutingWorld", process: Process) -> None:
        self._world = world
        self._cloud = world.cloud
        self._wire = Wire(world.weather, process)

    def handle(self, call: Call) -> str:
        """See `Executions.handle`."""
        return _name(call) if _is_foreseen(call) else ""

    def start(self, call: Call) -> str | Result:
        """See `Executions.start`."""
        name: str = self._ask("start", partial(self._start, call))
        return name

    def look(self, call: Call, handle: str) -> Seen:
        """See `Executions.look`."""
        self._cloud.looks += 1
        seen: Seen = self._ask("look", partial(self._look, call, handle))
        return seen

    def stop(self, call: Call, handle: str, why: str) -> None:  # noqa: ARG002 - as the port has it
        """See `Executions.stop`."""
        self._ask("stop", partial(self._stop, handle))

    def _ask(self, name: str, effect: Callable[[], Any]) -> Any:
        world = self._world
        if world.is_stormy and world.draws.random() < SILENT:
            self._cloud.silences += 1
            if world.draws.random() < 0.5:
                effect()
            raise Unseen(f"the cloud did not answer to {name}")
        try:
            return self._wire.call(name, effect)
        except NoAnswer as silence:
            raise Unseen(str(silence)) from silence

    def _start(self, call: Call) -> str:
        name, now = _name(call), self._world.loop.now
        if name not in self._cloud.executions:
            if any(one.key == call.key and now < one.ends_at for one in self._cloud.executions.values()):
                self._cloud.together.append(call.key.run_id)
            draws = self._world.draws
            lasts = draws.choice(LASTING) * SECOND
            outcome = Outcome.FAILED if draws.random() < FAILING else Outcome.SUCCEEDED
            row = self._world.rows[call.key]
            deadline_at = now if row.execution is None else row.execution.deadline_at
            self._cloud.executions[name] = Going(call.key, call.attempt, now, now + lasts, deadline_at, outcome)
        return name

    def _look(self, call: Call, handle: str) -> Seen:
        one, now = self._cloud.executions.get(handle or _name(call)), self._world.loop.now
        if one is None:
            return Seen(Phase.UNKNOWN)
        found = "" if handle else _name(call)
        if now < one.ends_at:
            return Seen(Phase.GOING, handle=found)
        result = Result(one.outcome, None if one.outcome is Outcome.SUCCEEDED else "no")
        return Seen(Phase.OVER, result, one.ends_at, handle=found)

    def _stop(self, handle: str) -> None:
        one, now = self._cloud.executions[handle], self._world.loop.now
        if now < one.ends_at:
            one.ends_at, one.outcome, one.stopped_at = now, Outcome.FAILED, now


def _name(call: Call) -> str:
    return execution_name(call.key.run_id, call.attempt)


def _is_foreseen(call: Call) -> bool:
    return int(call.key.schedule_id[-1]) % 2 == 0


class ExecutingWorld(World):
    """A world whose schedules start executions, until the storm is over."""

    def __init__(self, seed: int) -> None:
        self.draws = random.Random(f"{seed}/executing")
        faults = drawn(random.Random(f"{seed}/plan"), START, START + STORM)
        limits = {population.TENANTS[0]: 2} if self.draws.random() < 0.5 else None
        super().__init__(seed, faults, Rate(100, 100), limits=limits)
        self.cloud = Cloud()
        self.doers[ErrandKind.EXECUTION] = self._following
        for number in range(SCHEDULES):
            self._add(f"job-{number}")
        for _ in range(CANCELS):
            self.loop.at(START + self.draws.randint(2 * MINUTE, STORM), self._cancel_one)

    @property
    def is_stormy(self) -> bool:
        """Whether there are faults still."""
        return self.loop.now < START + STORM

    def _add(self, name: str) -> None:
        draws = self.draws
        every = draws.choice(PERIODS)
        policies = Policies(
            retry=Retry(draws.choice([1, 3]), Backoff(BackoffKind.FIXED, 20)),
            timeout_seconds=draws.choice(LIMITS),
            overlap=draws.choice([Overlap.ALLOW, Overlap.SKIP, Overlap.CANCEL_OTHER]),
            target_breaker=False,
        )
        trigger = IntervalTrigger(every, START + draws.randrange(0, every) * SECOND)
        timer, definition = created(
            Spec(trigger, MACHINE, policies=policies, end_at=START + STORM),
            tenant=Tenant(draws.choice(population.TENANTS)),
            schedule_id=name,
            shards=self.shards,
            now=START,
            change_id=name,
            author="ada",
            tombstone=None,
        )
        self.store.commit([CreateTimer(timer), InsertDefinition(definition)])

    def _cancel_one(self) -> None:
        going = sorted(key.run_id for key, row in self.rows.items() if row.status is RunStatus.RUNNING)
        if going:
            self.ask_of_run(RunKey.parse(self.draws.choice(going)))

    def _following(self, process: Process) -> Following:
        return Following(
            store=self.wired(process),
            executions=Reached(self, process),
            clock=process,
            ids=self.ids,
            telemetry=self.notes,
        )

    def _work(self, process: Process, message: RunMessage) -> None:
        jobs = Jobs(process, Wire(self.weather, process), self.receipts, self.rows, self.weather.rng, self.history, 0.0)
        Worker(
            store=self.wired(process),
            run_queue=self._run_queue(process),
            targets=jobs,
            clock=process,
            ids=self.ids,
            telemetry=self.notes,
            elsewhere=Elsewhere(Reached(self, process), self.shards),
        ).handle(message)


def check_executions(world: ExecutingWorld) -> Iterator[Violation]:
    """What must be true of the cloud and the ledger once all is over."""
    now = world.loop.now
    for run_id in world.cloud.together:
        yield Violation(now, "a run had two executions at once", run_id)
    for key, row in sorted(world.rows.items()):
        if row.status.value not in TERMINAL and not _has_still_time(world, row):
            yield Violation(now, "a run did not end", f"{key.run_id} is {row.status}")
    for errand in world.store.state.errands.values():
        if world.rows[RunKey.parse(errand.errand_id)].status.value in TERMINAL:
            yield Violation(now, "an errand was left of a run that is over", repr(errand))
    for name, one in sorted(world.cloud.executions.items()):
        yield from _check_one(world, name, one)


def _has_still_time(world: ExecutingWorld, row: Run) -> bool:
    """Whether it came late, since its tenant may have only so many at once, and is within its time or waits for it."""
    is_going = row.status is RunStatus.RUNNING and (row.lease_until or 0) > world.loop.now
    return row.key.tenant in world.limits and (is_going or row.status is RunStatus.WAITING)


def _check_one(world: ExecutingWorld, name: str, one: Going) -> Iterator[Violation]:
    row, now = world.rows[one.key], world.loop.now
    attempt = next((each for each in row.attempts if each.number == one.attempt), None)
    if attempt is None or attempt.execution is None:
        yield Violation(now, "an execution was started that no attempt was handed over to", name)
        return
    calm_at = START + STORM
    if min(one.ends_at, now) > max(one.deadline_at, calm_at) + SEEN_LATE and not _was_given_up(row, one):
        yield Violation(now, "an execution went on past its time limit", f"{name}: until {one.ends_at}")
    if _ended_well(row, one) and attempt.outcome is not Outcome.SUCCEEDED:
        yield Violation(now, "an execution that succeeded is not said to have", f"{name}: {attempt.outcome}")
    if attempt.outcome is Outcome.SUCCEEDED and one.outcome is not Outcome.SUCCEEDED:
        yield Violation(now, "an attempt is said to have succeeded whose execution did not", name)


def _ended_well(row: Run, one: Going) -> bool:
    """Whether it succeeded within its time, and nobody had asked for its end."""
    in_time = one.outcome is Outcome.SUCCEEDED and one.ends_at < one.deadline_at
    return in_time and row.cancel is None


def _was_given_up(row: Run, one: Going) -> bool:
    """Whether it could not be told to stop while it was tried, since the cloud did not answer."""
    attempt = next(each for each in row.attempts if each.number == one.attempt)
    return attempt.finished_at is not None and attempt.finished_at <= START + STORM + STOP_WAIT


def play(seed: int) -> tuple[ExecutingWorld, Violation | None]:
    """One world through its storm and its calm, and what it has broken."""
    world = ExecutingWorld(seed)
    world.live_through(STORM, CALM)
    return world, next(check_executions(world), None)


def main(seeds: int) -> int:
    """One line a seed; 1 if any broke its promise."""
    broken = 0
    for seed in range(seeds):
        world, violation = play(seed)
        broken += violation is not None
        cloud, faults = world.cloud, sum(world.history.faults.values())
        print(f"seed {seed}: {len(cloud.executions)} executions of {len(world.rows)} rows,", end=" ")
        print(f"{cloud.looks} looks, {cloud.silences} silences, {faults} faults: {violation or 'holds'}")
    return min(broken, 1)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10))
