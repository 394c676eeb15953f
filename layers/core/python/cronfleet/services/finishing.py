"""Finishing: what came of an attempt, written by whoever still holds its lease.

A worker that lost its lease has lost the right to say anything about the run: its writes find the row changed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from cronfleet.domain.attempt import (
    End,
    Result,
    Wait,
    decide_finish,
    heeding,
    held_back,
    is_still_held,
    not_admitted,
)
from cronfleet.domain.claim import RunTimer, TimerKind
from cronfleet.domain.errors import Contended
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
from cronfleet.services.endings import MAX_ENDING_ROUNDS, Endings
from cronfleet.services.gates import Gates, Turn
from cronfleet.services.slots import HeldSlot, Slots
from cronfleet.services.telling import Telling
from cronfleet.services.true_clock import true_now

MAX_FINISH_ROUNDS: Final = 10
"""Rounds of asking in which an attempt's end is written: it is dear, so longer than other calls."""

MAX_HEED_ROUNDS: Final = 5
"""How often an end is decided anew because the row, still ours, was changed: by a request to cancel it, once."""


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

    def __init__(
        self,
        *,
        store: JobStore,
        endings: Endings,
        gates: Gates,
        slots: Slots,
        clock: Clock,
        telemetry: Telemetry,
        telling: Telling | None = None,
        report: AttemptReport | None = None,
    ) -> None:
        self._store = store
        self._endings = endings
        self._gates = gates
        self._slots = slots
        self._clock = clock
        self._telemetry = telemetry
        self._report = report or AttemptReport(telemetry)
        self._telling = telling

    def _now(self, key: RunKey) -> Instant:
        return true_now(self._store, self._clock, self._telemetry, lambda: self._store.get_run(key))

    # --- before the target was called ----------------------------------------------------------------------

    def end(self, run: Run, timer: Timer | None, end: End, slot: HeldSlot | None) -> None:
        """Write that the run is over without this attempt."""
        ended = self._write(run, not_admitted(run, end, self._now(run.key)), timer)
        if ended is not None:
            self._ended(ended, timer, slot)

    def _ended(self, run: Run, timer: Timer | None, slot: HeldSlot | None) -> None:
        """Let go of what was held for an attempt that was not made."""
        self._report.ended(run)
        if run.attempt > 1:  # A first attempt that was not made has never held the gate.
            self._gates.release(run, timer)
        self._slots.release(run.key.tenant, slot, self._clock.now())
        self._tell(run)

    def _tell(self, run: Run, definition: Definition | None = None) -> None:
        if self._telling is not None:
            self._telling.written(run, definition)

    def hold_back(
        self,
        run: Run,
        timer: Timer,
        wait: Wait,
        message: RunMessage,
        slot: HeldSlot | None,
        turn: Turn | None = None,
        *,
        is_inside: bool = False,
    ) -> None:
        """Write that this attempt waits, and its number comes again; with `turn` for its turn at the gate.

        One that `is_inside` its gate already, and has made no attempt, does not keep it meanwhile.
        """
        waiting = self._write(run, held_back(run, wait), timer, message.timeout_seconds, wakes_at=wait.until)
        if waiting is None:
            return
        if waiting.is_terminal:
            self._ended(waiting, timer, slot)
            return
        if turn is None:
            # It called nobody: the gate is as free as before it came.
            freed_at = run.attempts[-1].started_at if is_inside and not waiting.attempts else None
            self._gates.give_way(waiting, timer, self._clock.now(), freed_at)
        else:
            self._gates.queue(waiting, turn, run.attempt, self._clock.now())
        self._telemetry.count("attempts_held_back", reason=wait.reason.code.value)
        self._telemetry.event("attempt_held_back", run_id=run.key.run_id, reason=wait.reason.text)
        self._slots.release(run.key.tenant, slot, self._clock.now())

    # --- after it was ---------------------------------------------------------------------------------------

    def finish(self, ready: Ready, result: Result) -> bool:
        """Write what the attempt came to, with the timer of the next one where there is to be one.

        False when the lease was lost, or the row is gone.
        """
        spec, now = ready.definition.spec, self._now(ready.run.key)
        decided = decide_finish(ready.run, result, spec.policies.retry, now, target_kind(spec.target))
        run = self._write(ready.run, decided, ready.timer, spec.attempt_seconds, ready.run.lease_until or 0)
        if run is not None:
            self._report.ended(run)
            self._gates.release(run, ready.timer)
            self._slots.release(run.key.tenant, ready.slot, self._clock.now())
            self._tell(run, ready.definition)
        return run is not None

    # --- writing, as long as the row is ours ----------------------------------------------------------------

    def replace(self, run: Run) -> Run | None:
        """Replace the row of an attempt that goes on: as it is written; `None` when the lease is lost."""
        return self._write(run, run, None)

    def _write(
        self,
        before: Run,
        run: Run,
        timer: Timer | None,
        timeout_seconds: int = 0,
        until: Instant = 0,
        wakes_at: Instant | None = None,
    ) -> Run | None:
        """Write `run` in place of `before`, or what becomes of it when its cancellation was asked for meanwhile.

        `None`: the lease is lost. Ask as long as it lasts: until `until`. A run that waits is woken at `wakes_at`, or
        when it may come.
        """
        for _ in range(MAX_HEED_ROUNDS):
            if run.status is RunStatus.WAITING and timer is not None:
                is_written, stored = self._put_off(run, timer, timeout_seconds, until, wakes_at)
            else:
                is_written, stored = self._replace(before, run, timer, until)
            if is_written or (stored is not None and proves_commit(ReplaceRun(run), stored)):
                return run
            if stored is None or not is_still_held(run, stored):
                self._report.came_late(run, stored)
                return None
            before, run = stored, heeding(run, stored, self._now(run.key))
        raise Contended(f"{run.key.run_id} changed {MAX_HEED_ROUNDS} times while its end was being written")

    def _put_off(
        self, run: Run, timer: Timer, timeout_seconds: int, until: Instant, wakes_at: Instant | None
    ) -> tuple[bool, Run | None]:
        """Write a waiting row and its timer in one transaction: whether it is done, else what is there."""
        wake = RunTimer(
            run.key,
            TimerKind.RETRY,
            run.attempt + 1,
            ceil_second(wakes_at or run.retry_at or 0),
            timer.tier,
            timer.shard,
            run.version,
            timeout_seconds,
            trace=run.carried,
        )
        try:
            self._ask_until(lambda: self._store.commit([ReplaceRun(run), InsertRunTimer(wake)]), until)
        except Refused as refused:
            if refused.position != 0:
                raise
            return False, refused.stored
        return True, None

    def _replace(self, before: Run, run: Run, timer: Timer | None, until: Instant) -> tuple[bool, Run | None]:
        """Replace the row, with all that follows from its end: whether it is done, else what is there."""
        for _ in range(MAX_ENDING_ROUNDS):
            follows = ask(partial(self._endings.writes_for, before, run, timer)) if run.is_terminal else []
            try:
                if not follows:
                    stored = self._ask_until(partial(self._store.replace_run, run), until)
                    return stored is None, stored
                self._ask_until(partial(self._store.commit, [ReplaceRun(run), *follows]), until)
                self._endings.tell(follows)
            except Refused as refused:
                if refused.position == 0:
                    return False, refused.stored
                continue  # What follows has changed: it is decided again.
            return True, None
        raise Contended(f"what follows from the end of {run.key.run_id} changed {MAX_ENDING_ROUNDS} times")

    def _ask_until(self, call: Callable[[], Answer], until: Instant) -> Answer:
        """Ask round on round while the lease lasts: the work is done, and only its end is still to be written."""
        for _ in range(MAX_FINISH_ROUNDS - 1):
            try:
                return ask(call)
            except NoAnswer:
                if self._clock.now() >= until:
                    raise
        return ask(call)
