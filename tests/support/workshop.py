"""A world with workers in it: a target whose effect can be counted, and a ledger that watches every write."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from cronfleet.adapters.memory.receipts import MemoryReceipts
from cronfleet.domain.attempt import Result
from cronfleet.domain.change import cancelled, edited, paused, resumed
from cronfleet.domain.claim import RunClaim
from cronfleet.domain.dead_letter import is_letter
from cronfleet.domain.errors import Contended
from cronfleet.domain.instant import SECOND, Instant
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.retry import Backoff, BackoffKind, Retry
from cronfleet.domain.run import MOVES, TERMINAL, Outcome, Run, RunKey, RunMessage, RunStatus
from cronfleet.domain.schedule import Pause, Policies
from cronfleet.ports.job_store import InsertDefinition, InsertRun, InsertRunTimer, NoAnswer, UpdateTimer
from cronfleet.ports.target import Call, CancelAsked, FenceLost, Pulse
from cronfleet.services.starting import NotSent
from cronfleet.services.worker import Worker
from tests.support.actors import Actor
from tests.support.builders import at, cron, definition, message, timer
from tests.support.faults import Crash, Faulty, FaultyQueue, Hook
from tests.support.settable_clock import SettableClock
from tests.support.world import World

TWO = at("2026-12-01 02:00")
TIMEOUT_SECONDS = 60
PAST_LEASE = 80 * SECOND
BACKOFF = Backoff(BackoffKind.FIXED, base_seconds=10)

Script = Callable[[Call], Result]


def succeeds(_call: Call) -> Result:
    return Result(Outcome.SUCCEEDED)


def fails_first(attempts: int) -> Script:
    """Fails so many attempts, then succeeds."""

    def script(call: Call) -> Result:
        failed = Result(Outcome.FAILED, f"attempt {call.attempt} was to fail")
        return failed if call.attempt <= attempts else Result(Outcome.SUCCEEDED)

    return script


class Ledger(dict[RunKey, Run]):
    """The runs table, which fails the test at the write that breaks a rule."""

    def __init__(self, clock: SettableClock) -> None:
        super().__init__()
        self._clock = clock

    def __setitem__(self, key: RunKey, run: Run) -> None:
        before = self.get(key)
        if before is not None and run.settled is not None:
            assert run == replace(before, settled=run.settled, rev=before.rev + 1)
            assert is_letter(before), f"settled, and no dead letter: {before}"
            super().__setitem__(key, run)
            return
        assert run.status in MOVES[before.status if before else None], f"{before} → {run}"
        if before is not None:
            assert before.status not in TERMINAL, f"a finished run was changed: {before} → {run}"
            assert run.rev == before.rev + 1, "a write over another's"
            assert run.fence >= before.fence, "a fence fell"
            if run.attempt > before.attempt:
                assert run.fence > before.fence, "an attempt without a fence of its own"
            if before.status is RunStatus.RUNNING and run.fence > before.fence:
                assert before.lease_until is not None
                assert before.lease_until <= self._clock.now(), "a live lease was taken"
        super().__setitem__(key, run)


@dataclass(frozen=True)
class Made:
    """One call of the target that began."""

    key: RunKey
    attempt: int
    fence: int
    began_at: Instant
    deadline_at: Instant
    lease_until: Instant
    payload: Any


class Effects:
    """The target: does one effect per run under a receipt, then ends as its script says."""

    def __init__(self, world: "Workshop", script: Script) -> None:
        self._world = world
        self._receipts = MemoryReceipts(world.store)
        self.script = script
        self.made: list[Made] = []
        self.effects: Counter[RunKey] = Counter()

    def call(self, call: Call, pulse: Pulse) -> Result:
        self.pulse = pulse
        now = self._world.clock.now()
        if call.deadline_at <= now:
            return Result(Outcome.TIMED_OUT, "too late")
        row = self._world.store.get_run(call.key)
        assert row is not None
        assert row.fence == call.fence, "called under a fence that is not the run's"
        assert row.lease_until is not None
        assert call.deadline_at < row.lease_until, "the attempt may outlive its lease"
        self.made.append(Made(call.key, call.attempt, call.fence, now, call.deadline_at, row.lease_until, call.payload))
        try:
            if self._receipts.record(call.key, call.fence, "effect", None, now).first:
                self.effects[call.key] += 1
        except FenceLost as error:
            return Result(Outcome.FAILED, str(error))
        except CancelAsked as error:
            return Result(Outcome.CANCELLED, str(error))
        return self.script(call)


class Workshop(World):
    """One schedule, its claimed fire, and the workers that get its message."""

    def __init__(
        self,
        script: Script = succeeds,
        *,
        overlap: Overlap = Overlap.ALLOW,
        retry: Retry = Retry(max_attempts=3, backoff=BACKOFF),  # noqa: B008 - a frozen value
        nominal_at: Instant = TWO,
    ) -> None:
        super().__init__(nominal_at)
        self.store.state.runs = Ledger(self.clock)
        self.targets = Effects(self, script)
        self.policies = Policies(overlap=overlap, retry=retry, timeout_seconds=TIMEOUT_SECONDS)
        trigger = cron("0 2 * * *")
        later = nominal_at + 24 * 3600 * SECOND
        described = definition(trigger, policies=self.policies, payload={"for": "all"})
        self.add(timer(trigger, later, overlap=overlap, shard=0, timeout_seconds=TIMEOUT_SECONDS), described)
        self.message = message(nominal_at, timeout_seconds=TIMEOUT_SECONDS)

    # --- workers ---------------------------------------------------------------------------------------------

    def worker(self, hook: Hook | None = None, actor: Actor | None = None) -> Worker:
        store: Any = self.store
        queue: Any = self.run_queue
        targets: Any = self.targets
        if hook is not None:
            store, queue, targets = Watched(store, hook), FaultyQueue(queue, hook), Faulty(targets, hook)
        if actor is not None:
            store, queue, targets = actor.port(store), actor.port(queue), actor.port(targets)
        return Worker(
            store=store, run_queue=queue, targets=targets, clock=self.clock, ids=self.ids, telemetry=self.notes
        )

    def deliver(self, message: RunMessage | None = None, hook: Hook | None = None) -> BaseException | None:
        """One delivery; what ended it early, if anything did."""
        try:
            self.worker(hook).handle(message or self.message)
        except (Crash, NoAnswer, NotSent, Contended) as error:
            return error
        return None

    def deliver_as_actor(self, name: str, message: RunMessage | None = None) -> Actor:
        wanted = message or self.message
        return Actor(name, lambda actor: self.worker(actor=actor).handle(wanted))

    def settle(self, rounds: int = 12) -> Run:
        """Undisturbed redeliveries (as the sweeper's) and retry timers until the run is terminal."""
        for _ in range(rounds):
            row = self.row()
            if row is not None and row.is_terminal:
                return row
            self.clock.advance(PAST_LEASE)
            self.deliver()
            self.wake_timers()
        raise AssertionError(f"not settled: {self.row()}")

    def wake_timers(self) -> int:
        """Claim every run's timer that is due and deliver its message, as dispatcher and queue would."""
        due = [
            (key, one)
            for key, one in self.store.state.run_timers.items()
            if one.claim_batch is None and one.due_at <= self.clock.now()
        ]
        for key, one in due:
            self.store.state.run_timers[key] = replace(one, claim_batch="0.9.9")
            for woken in RunClaim(one).messages("0.9.9", self.clock.now()):
                self.deliver(woken)
        return len(due)

    # --- callers ---------------------------------------------------------------------------------------------

    def pause(self) -> None:
        held = self.timer()
        after = paused(held, Pause("ada", self.clock.now()), now=self.clock.now(), change_id=self.ids.unique())
        self.store.commit([UpdateTimer(after, held)])

    def resume(self) -> None:
        held = self.timer()
        after, rows = resumed(held, now=self.clock.now(), change_id=self.ids.unique(), catch_up=None)
        self.store.commit([UpdateTimer(after, held), *(InsertRun(row) for row in rows)])

    def cancel(self) -> None:
        held = self.timer()
        after, rows = cancelled(held, now=self.clock.now(), change_id=self.ids.unique())
        self.store.commit([UpdateTimer(after, held), *(InsertRun(row) for row in rows)])

    def edit(self, **changes: Any) -> None:
        """A new version; with `trigger` a new epoch too."""
        held = self.timer()
        before = self.store.get_definition(held.tenant, held.schedule_id, held.version)
        assert before is not None
        spec = replace(before.spec, **(changes or {"payload": {"for": "some"}}))
        after, described, rows, timers = edited(
            held, before, spec, now=self.clock.now(), change_id=self.ids.unique(), author="ada", reason=""
        )
        writes = [InsertRun(row) for row in rows] + [InsertRunTimer(one) for one in timers]
        self.store.commit([UpdateTimer(after, held), InsertDefinition(described), *writes])

    # --- what was seen ---------------------------------------------------------------------------------------

    def row(self, key: RunKey | None = None) -> Run | None:
        return self.store.get_run(key or self.message.key)

    @property
    def stored(self) -> Run:
        row = self.row()
        assert row is not None
        return row

    def check(self) -> None:
        """What holds in every order of steps: no two live leases, one effect, and a fence per call that rises."""
        for one, other in zip(self.targets.made, self.targets.made[1:], strict=False):
            if one.key == other.key:
                assert other.fence > one.fence, "two calls under one fence"
        assert all(count == 1 for count in self.targets.effects.values()), self.targets.effects


class Watched(Faulty):
    """A store whose every call is a moment, but for the one that asks this process alone."""

    def __getattr__(self, name: str) -> Any:
        return self._port.skew_ms if name == "skew_ms" else super().__getattr__(name)


class Once:
    """A hook that does `action` at the `step`-th moment; counts and names the moments."""

    def __init__(self, step: int | None, action: Callable[[], None]) -> None:
        self._step = step
        self._action = action
        self.moments: list[str] = []

    def __call__(self, when: str, name: str) -> None:
        self.moments.append(name if when == "before" else f"{name} done")
        if len(self.moments) - 1 == self._step:
            self._action()


def moments(scene: Callable[[], Workshop]) -> list[str]:
    """The moments of an undisturbed delivery: before and after each call through a port."""
    hook = Once(None, lambda: None)
    scene().deliver(hook=hook)
    return hook.moments


def calls_of(world: Workshop, wanted: RunMessage | None = None) -> list[str]:
    """The names of the port calls that one delivery makes."""
    hook = Once(None, lambda: None)
    world.deliver(wanted, hook)
    return [moment for moment in hook.moments if not moment.endswith(" done")]
