"""Finishing: what came of an attempt, written by whoever still holds its lease.

A worker that lost its lease has lost the right to say anything about the run: its writes find the row changed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from cronfleet.domain.attempt import End, Result, Wait, decide_finish, held_back, not_admitted
from cronfleet.domain.claim import RunTimer, TimerKind
from cronfleet.domain.instant import Instant, ceil_second
from cronfleet.domain.run import Run, RunKey, RunMessage, RunStatus
from cronfleet.domain.schedule import Definition, Timer
from cronfleet.domain.signature import target_kind
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import InsertRunTimer, JobStore, NoAnswer, Refused, ReplaceRun
from cronfleet.ports.own_writes import proves_commit
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.asking import Answer, ask
from cronfleet.services.attempt_report import AttemptReport
from cronfleet.services.gates import Gates
from cronfleet.services.slots import HeldSlot, Slots
from cronfleet.services.true_clock import true_now

MAX_FINISH_ROUNDS: Final = 10
"""Rounds of asking in which an attempt's end is written: it is dear, so longer than other calls."""


@dataclass(frozen=True, slots=True)
class Ready:
    """An attempt that is admitted: its row, and what the schedule says of it."""

    run: Run
    timer: Timer
    definition: Definition
    slot: HeldSlot | None = None
    """Where its tenant has a limit of runs at once."""


class Finishing:
    """Writes the ends of attempts, and lets go of what was held for them."""

    def __init__(self, *, store: JobStore, gates: Gates, slots: Slots, clock: Clock, telemetry: Telemetry) -> None:
        self._store = store
        self._gates = gates
        self._slots = slots
        self._clock = clock
        self._telemetry = telemetry
        self._report = AttemptReport(telemetry)

    def _now(self, key: RunKey) -> Instant:
        return true_now(self._store, self._clock, self._telemetry, lambda: self._store.get_run(key))

    # --- before the target was called ----------------------------------------------------------------------

    def end(self, run: Run, timer: Timer | None, end: End, slot: HeldSlot | None) -> None:
        """Write that the run is over without this attempt."""
        ended = not_admitted(run, end, self._now(run.key))
        if self.replace(ended):
            self._report.ended(ended)
            if ended.attempt > 1:  # A first attempt that was not made has never held the gate.
                self._gates.release(ended, timer)
            self._slots.release(run.key.tenant, slot, self._clock.now())

    def hold_back(self, run: Run, timer: Timer, wait: Wait, message: RunMessage, slot: HeldSlot | None) -> None:
        """Write that this attempt waits, and its number comes again."""
        waiting = held_back(run, wait)
        if self._put_off(waiting, timer, message.timeout_seconds):
            self._telemetry.count("attempts_held_back", reason=wait.reason.code.value)
            self._telemetry.event("attempt_held_back", run_id=run.key.run_id, reason=wait.reason.text)
            self._slots.release(run.key.tenant, slot, self._clock.now())

    # --- after it was ---------------------------------------------------------------------------------------

    def finish(self, ready: Ready, result: Result) -> None:
        """Write what the attempt came to, with the timer of the next one where there is to be one."""
        spec = ready.definition.spec
        now, kind = self._now(ready.run.key), target_kind(spec.target)
        run = decide_finish(ready.run, result, spec.policies.retry, now, kind)
        until = ready.run.lease_until or 0
        if run.status is RunStatus.WAITING:
            written = self._put_off(run, ready.timer, spec.policies.timeout_seconds, until)
        else:
            written = self.replace(run, until)
        if written:
            self._report.ended(run)
            self._gates.release(run, ready.timer)
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

    def replace(self, run: Run, until: Instant = 0) -> bool:
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
