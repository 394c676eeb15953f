"""The worker: starts a run under a lease, asks whether it is still wanted, calls its target, writes what came of it.

Each step is one decision of `domain/attempt.py` and one conditional write. Whoever dies between two of them leaves a
row that a later message finishes: the sweeper sends one within a minute after the lease has ended.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, cast

from cronfleet.domain.attempt import (
    Drop,
    End,
    Refuse,
    Result,
    Start,
    Wait,
    attempts_left,
    deadline_at,
    decide_admission,
    decide_finish,
    decide_start,
    held_back,
    not_admitted,
    versioned,
)
from cronfleet.domain.claim import RunTimer, TimerKind
from cronfleet.domain.errors import ClockSkewed, Contended
from cronfleet.domain.instant import SECOND, Instant, ceil_second
from cronfleet.domain.late import Cause
from cronfleet.domain.overlap import Overlap, in_the_way
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.run import Outcome, Run, RunKey, RunMessage, RunStatus
from cronfleet.domain.schedule import Definition, Timer
from cronfleet.ports.clock import Clock, Ids
from cronfleet.ports.job_store import InsertRun, InsertRunTimer, JobStore, NoAnswer, Refused, ReplaceRun
from cronfleet.ports.own_writes import proves_commit
from cronfleet.ports.queues import DelayedMessage, RunQueue, delay_until
from cronfleet.ports.target import Call, Targets
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.asking import Answer, ask
from cronfleet.services.freeze_watch import FreezeWatch
from cronfleet.services.slots import HeldSlot, Slots, held_by
from cronfleet.services.true_clock import true_now

MAX_START_ROUNDS: Final = 5
"""How often a start is decided anew because the row changed between reading and writing it."""

MAX_GATE_ROUNDS: Final = 5
"""How often the gate is asked for, when the run that held it turned out to be finished."""

MAX_FINISH_ROUNDS: Final = 10
"""Rounds of asking in which an attempt's end is written: it is dear, so longer than other calls."""


OVER: Final = frozenset({Code.FINISHED, Code.OUT_OF_TURN})
"""Why messages are dropped whose attempt is over: a slot that was taken for it is let go of, if nobody has done so."""

PASS_ON_SECONDS: Final = 10
"""How long a message rests that came to a worker whose clock is wrong: it may be the only one."""


class NotSent(Exception):
    """The run queue did not take back a message that came before its time; its delivery must fail instead."""


@dataclass(frozen=True, slots=True)
class _Ready:
    """An attempt that is admitted: its row, and what the schedule says of it."""

    run: Run
    timer: Timer
    definition: Definition
    slot: HeldSlot | None = None
    """Where its tenant has a limit of runs at once."""


class Worker:
    """Executes run messages. Holds nothing between them."""

    def __init__(
        self,
        *,
        store: JobStore,
        run_queue: RunQueue,
        targets: Targets,
        clock: Clock,
        ids: Ids,
        telemetry: Telemetry,
    ) -> None:
        self._store = store
        self._run_queue = run_queue
        self._targets = targets
        self._clock = clock
        self._ids = ids
        self._telemetry = telemetry
        self._slots = Slots(store, telemetry)
        self._freezes = FreezeWatch(store, clock, telemetry, consistent=True)

    def handle(self, message: RunMessage) -> None:
        """Make one attempt of the run that `message` names, if it is due and still wanted.

        Returning deletes the message. Raises only when it must be delivered again: `ClockSkewed` when the clock was
        set after the start, `NotSent`, `NoAnswer` and `Contended` when the queue or the store stay silent.
        """
        try:
            self._handle(message)
        except (NotSent, NoAnswer, Contended):
            self._telemetry.count("messages_unanswered", tier=message.tier)
            raise

    def _handle(self, message: RunMessage) -> None:
        start = self._start_if_due(message)
        if start is None:
            return
        ready = self._prepare(start, message)
        if ready is not None:
            self._finish(ready, self._call(ready))

    def _now(self, key: RunKey) -> Instant:
        return true_now(self._store, self._clock, self._telemetry, lambda: self._store.get_run(key))

    # --- before anything is written ------------------------------------------------------------------------

    def _start_if_due(self, message: RunMessage) -> Start | None:
        """The start that was written; `None` when nothing is to start now, or not here."""
        try:
            now = self._now(message.key)
            if now >= message.due_at:
                return self._start(message)
            self._send_back(message, now)
        except ClockSkewed:
            self._pass_on(message)
        return None

    def _pass_on(self, message: RunMessage) -> None:
        """Leave a message to a worker whose clock is right.

        One that fails fast gets more than its share. What it did not delete would be hidden for as long as attempts
        may last, or be lost until the sweeper sends it again, a few a minute.
        """
        if self._run_queue.send([DelayedMessage(message, PASS_ON_SECONDS)]):
            raise NotSent(f"{message.key.run_id} came to a wrong clock, and the run queue did not take it back")
        self._telemetry.count("messages_passed_on", tier=message.tier)

    def _send_back(self, message: RunMessage, now: Instant) -> None:
        """Queue a message that came too early again, with the delay that is left."""
        delay = delay_until(message.due_at, now)
        if self._run_queue.send([DelayedMessage(message, delay)]):
            raise NotSent(f"{message.key.run_id} came {delay} s early, and the run queue did not take it back")
        self._drop(message, Reason(Code.EARLY, f"sent again with a delay of {delay} s"))

    # --- start: the lease ----------------------------------------------------------------------------------

    def _start(self, message: RunMessage) -> Start | None:
        """The start, written: a new attempt under a lease of ours; `None` when this message has nothing to start."""
        owner = self._ids.unique()
        # An ordinary fire has no row yet, so its start is a blind insert: one write and no read.
        fresh = message.attempt == 1 and message.key.is_scheduled
        row = None if fresh else ask(lambda: self._store.get_run(message.key))
        for _ in range(MAX_START_ROUNDS):
            # A clock that was set meanwhile would take a live lease for an ended one.
            decision = decide_start(row, message, owner, self._now(message.key))
            if isinstance(decision, Drop):
                self._drop(message, decision.reason)
                if decision.reason.code in OVER:
                    self._slots.release(message.key.tenant, held_by(message), self._clock.now())
                return None
            write = self._store.insert_run if row is None else self._store.replace_run
            row = ask(partial(write, decision.run))
            if row is None or proves_commit(InsertRun(decision.run), row):
                return self._started(decision)
        raise Contended(f"{message.key.run_id} changed {MAX_START_ROUNDS} times while it was being started")

    def _started(self, decision: Start | Refuse) -> Start | None:
        run = decision.run
        if isinstance(decision, Refuse):
            self._report(run)
            return None
        if run.attempt == 1 and run.lag_ms is not None:
            # Apart: a caught-up run waits for the tick after its turn, and must not hide that live work is late.
            metric = "catch_up_lag" if run.late is not None and run.late.cause is not Cause.RATE else "lag"
            self._telemetry.measure(metric, run.lag_ms / SECOND, tier=run.tier)
        if run.attempt > 1 and run.attempts[-2].outcome is Outcome.LOST:
            self._telemetry.count("takeovers")
        return decision

    # --- admission: does the schedule still want it? --------------------------------------------------------

    def _prepare(self, start: Start, message: RunMessage) -> _Ready | None:
        """The attempt with all it needs; `None` when it ended, or was put off, before its target was called."""
        run, held = start.run, held_by(message)
        # Read after the start is written: a pause that returned before this read is seen by it.
        stored = ask(lambda: self._store.get_timer(run.key.tenant, run.key.schedule_id))
        if stored is None and self._is_of_the_gone(run, message):
            return None
        freezes = () if stored is None else self._freezes.of(stored, self._tier_of(run))
        admission = decide_admission(run, stored, self._now(run.key), freezes)
        if isinstance(admission, End):
            self._end(run, stored, admission, held)
            return None
        timer = cast("Timer", stored)  # A run without one was ended above.
        if isinstance(admission, Wait):
            self._hold_back(run, timer, admission, message, held)
            return None
        definition = self._definition(run, admission.version)
        if isinstance(definition, End):
            self._end(run, timer, definition, held)
            return None
        return self._enter(_Ready(run, timer, definition), message, is_takeover=start.is_takeover)

    def _tier_of(self, run: Run) -> str:
        """The tier of the run's tenant: while a tier is frozen as its record says, since the message may be older."""
        if not self._freezes.directory().holds_a_tier(self._clock.now()):
            return run.tier
        tenant = ask(lambda: self._store.get_tenant(run.key.tenant))
        return run.tier if tenant is None or not tenant.rev else tenant.tier

    def _is_of_the_gone(self, run: Run, message: RunMessage) -> bool:
        """Whether the run's tenant is deleted: then its row, which may be the last of it, goes as well."""
        tenant = ask(lambda: self._store.get_tenant(run.key.tenant))
        if tenant is None or not tenant.status.is_gone:
            return False
        ask(lambda: self._store.forget_run(run))
        self._drop(message, Reason(Code.TENANT_DELETED, f"tenant {run.key.tenant} is {tenant.status}"))
        return True

    def _definition(self, run: Run, version: int) -> Definition | End:
        definition = ask(lambda: self._store.get_definition(run.key.tenant, run.key.schedule_id, version))
        if definition is None:
            self._telemetry.alarm("definition_gone", run_id=run.key.run_id, version=version)
            text = f"version {version} of the schedule cannot be read"
            return End(RunStatus.REFUSED, Reason(Code.NO_DEFINITION, text, {"version": version}))
        return attempts_left(run, definition.spec.policies.retry) or definition

    def _enter(self, ready: _Ready, message: RunMessage, *, is_takeover: bool) -> _Ready | None:
        """Note the version that is to run, see to its slot, and take the gate; `None` when one of them is another's."""
        run = self._note_version(ready, message)
        if run is None:
            return None
        slot = self._slots.secure(run, message, self._now(run.key), is_takeover=is_takeover)
        if isinstance(slot, Wait):
            self._hold_back(run, ready.timer, slot, message, held_by(message))
            return None
        holder = self._other_holder(run, ready.timer)
        if holder is not None:
            self._end(run, ready.timer, End(RunStatus.SKIPPED, in_the_way(holder)), slot)
            return None
        return replace(ready, run=run, slot=slot)

    def _note_version(self, ready: _Ready, message: RunMessage) -> Run | None:
        """The row under the version that is to run and a lease that fits its limit; `None` when the lease is lost.

        Nothing to write for an ordinary fire: its message said both.
        """
        run, definition = ready.run, ready.definition
        timeout = definition.spec.policies.timeout_seconds
        if run.version == definition.version and message.timeout_seconds == timeout:
            return run
        noted = versioned(run, definition.version, timeout, self._now(run.key))
        return noted if self._replace(noted) else None

    def _other_holder(self, run: Run, timer: Timer) -> str | None:
        """Who is in the way of a run that must not overlap; `None` when it holds the gate, or needs none."""
        if timer.overlap is not Overlap.SKIP:
            return None
        key, began_at = run.key, run.attempts[-1].started_at
        instead_of: str | None = None
        for _ in range(MAX_GATE_ROUNDS):
            take = partial(self._store.take_gate, key.tenant, key.schedule_id, key.run_id, began_at, instead_of)
            holder = ask(take)
            if holder is None or not self._was_over(holder, began_at):
                return holder
            instead_of = holder
        raise Contended(
            f"{key.run_id} found the gate of its schedule with another finished run {MAX_GATE_ROUNDS} times"
        )

    def _was_over(self, run_id: str, at: Instant) -> bool:
        """Whether the gate's holder had ended by then and its release was lost; its row was there before it took it.

        One that ended a moment later was still going, and the history would show the two side by side.
        """
        row = ask(lambda: self._store.get_run(RunKey.parse(run_id)))
        return row is None or (row.finished_at is not None and row.finished_at <= at)

    def _end(self, run: Run, timer: Timer | None, end: End, slot: HeldSlot | None) -> None:
        """Write that the run is over without this attempt."""
        ended = not_admitted(run, end, self._now(run.key))
        if self._replace(ended):
            self._report(ended)
            if ended.attempt > 1:  # A first attempt that was not made has never held the gate.
                self._release(ended, timer)
            self._slots.release(run.key.tenant, slot, self._clock.now())

    def _hold_back(self, run: Run, timer: Timer, wait: Wait, message: RunMessage, slot: HeldSlot | None) -> None:
        """Write that this attempt waits, and its number comes again."""
        waiting = held_back(run, wait)
        if self._put_off(waiting, timer, message.timeout_seconds):
            self._telemetry.count("attempts_held_back", reason=wait.reason.code.value)
            self._telemetry.event("attempt_held_back", run_id=run.key.run_id, reason=wait.reason.text)
            self._slots.release(run.key.tenant, slot, self._clock.now())

    # --- the target, and the end ----------------------------------------------------------------------------

    def _call(self, ready: _Ready) -> Result:
        run, spec, now = ready.run, ready.definition.spec, self._now(ready.run.key)
        deadline = deadline_at(run, spec.policies.timeout_seconds, now)
        if deadline <= now:
            # This process stood still after the start; another may have the run by now.
            return Result(Outcome.TIMED_OUT, "its lease was nearly over before the target could be called")
        payload = run.payload if run.has_payload else spec.payload
        return self._targets.call(Call(run.key, run.attempt, run.fence, run.due_at, deadline, spec.target, payload))

    def _finish(self, ready: _Ready, result: Result) -> None:
        """Write what the attempt came to, with the timer of the next one where there is to be one."""
        spec = ready.definition.spec
        run = decide_finish(ready.run, result, spec.policies.retry, self._now(ready.run.key))
        until = ready.run.lease_until or 0
        if run.status is RunStatus.WAITING:
            written = self._put_off(run, ready.timer, spec.policies.timeout_seconds, until)
        else:
            written = self._replace(run, until)
        if written:
            self._report(run)
            self._release(run, ready.timer)
            self._slots.release(run.key.tenant, ready.slot, self._clock.now())

    def _put_off(self, run: Run, timer: Timer, timeout_seconds: int, until: Instant = 0) -> bool:
        """Write a waiting row and the timer that wakes it in one transaction; False when the lease is lost."""
        wake = RunTimer(
            run.key,
            TimerKind.RETRY,
            run.attempt + 1,
            ceil_second(run.retry_at or 0),
            timer.tier,
            timer.shard,
            run.version,
            timeout_seconds,
        )
        try:
            self._ask_until(lambda: self._store.commit([ReplaceRun(run), InsertRunTimer(wake)]), until)
        except Refused as refused:
            if refused.position != 0:
                raise
            return self._is_written(refused.stored, run)
        return True

    def _replace(self, run: Run, until: Instant = 0) -> bool:
        """Replace our row; False when the lease is lost, and with it the right to say anything about the run."""
        try:
            stored = self._ask_until(lambda: self._store.replace_run(run), until)
        except Refused as refused:
            return self._is_written(refused.stored, run)
        return stored is None or self._is_written(stored, run)

    def _is_written(self, stored: Run | None, run: Run) -> bool:
        if stored is None:
            # The row went while it ran: its tenant was deleted, and nothing is noted of that any more.
            self._telemetry.event("row_gone", run_id=run.key.run_id, fence=run.fence)
            return False
        if proves_commit(ReplaceRun(run), stored):
            return True
        self._telemetry.count("late_finishes")
        self._telemetry.event(
            "late_finish", run_id=run.key.run_id, fence=run.fence, stored_fence=stored.fence, status=stored.status.value
        )
        return False

    def _ask_until(self, call: Callable[[], Answer], until: Instant) -> Answer:
        """Ask round on round while the lease lasts: the work is done, and only its end is still to be written."""
        for _ in range(MAX_FINISH_ROUNDS - 1):
            try:
                return ask(call)
            except NoAnswer:
                if self._clock.now() >= until:
                    raise
        return ask(call)

    def _release(self, run: Run, timer: Timer | None) -> None:
        """Free the gate of a run that may hold it and is over."""
        ended_at = run.finished_at
        if ended_at is None or timer is None or timer.overlap is not Overlap.SKIP:
            return
        try:
            ask(lambda: self._store.release_gate(run.key.tenant, run.key.schedule_id, run.key.run_id, ended_at))
        except NoAnswer:
            # Harmless: the next run finds that the gate's holder is finished, and takes its place.
            self._telemetry.count("gates_left")

    # --- what is told ---------------------------------------------------------------------------------------

    def _drop(self, message: RunMessage, reason: Reason) -> None:
        self._telemetry.count("messages_dropped", reason=reason.code.value)
        self._telemetry.event(
            "message_dropped",
            run_id=message.key.run_id,
            attempt=message.attempt,
            reason=reason.code.value,
            text=reason.text,
        )

    def _report(self, run: Run) -> None:
        """One line per attempt that ended."""
        last = run.attempts[-1] if run.attempts else None
        outcome = last.outcome if last is not None and last.outcome is not None else Outcome.NOT_STARTED
        self._telemetry.count("attempts", tier=run.tier, outcome=outcome.value)
        if run.is_terminal:
            self._telemetry.count("runs_ended", tier=run.tier, status=run.status.value)
        self._telemetry.event(
            "attempt_finished",
            run_id=run.key.run_id,
            tenant=run.key.tenant,
            schedule_id=run.key.schedule_id,
            attempt=run.attempt,
            outcome=outcome.value,
            status=run.status.value,
            lag_seconds=None if run.lag_ms is None else run.lag_ms / SECOND,
            error=last.error if last is not None else None,
            reason=run.reason.text if run.reason is not None else None,
        )
