"""Entering: whether a started attempt is still wanted, and what it needs before its target may be called."""

from dataclasses import replace
from typing import cast

from cronfleet.domain.attempt import (
    End,
    Start,
    Wait,
    attempts_left,
    decide_admission,
    for_other_workers,
    for_release,
    versioned,
)
from cronfleet.domain.instant import Instant
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.run import Run, RunKey, RunMessage, RunStatus
from cronfleet.domain.schedule import Definition, Timer
from cronfleet.domain.time_limit import is_long
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import JobStore
from cronfleet.services.asking import ask
from cronfleet.services.attempt_report import AttemptReport
from cronfleet.services.dependants import Opening
from cronfleet.services.finishing import Finishing, Ready
from cronfleet.services.freeze_watch import FreezeWatch
from cronfleet.services.gates import Gates
from cronfleet.services.noticeboard import Noticeboard
from cronfleet.services.slots import HeldSlot, Slots, held_by
from cronfleet.services.target_breakers import TargetBreakers
from cronfleet.services.true_clock import true_now


class Entering:
    """From an attempt under a lease to one whose target may be called."""

    def __init__(
        self,
        *,
        store: JobStore,
        finishing: Finishing,
        gates: Gates,
        breakers: TargetBreakers,
        board: Noticeboard,
        slots: Slots,
        clock: Clock,
        report: AttemptReport,
    ) -> None:
        self._store = store
        self._finishing = finishing
        self._gates = gates
        self._breakers = breakers
        self._slots = slots
        self._clock = clock
        self._telemetry = report.telemetry
        self._report = report
        self._freezes = FreezeWatch(store, clock, report.telemetry, consistent=True, board=board)
        self._opening = Opening(store)

    def _now(self, key: RunKey) -> Instant:
        return true_now(self._store, self._clock, self._telemetry, lambda: self._store.get_run(key))

    def prepare(self, start: Start, message: RunMessage) -> Ready | None:
        """The attempt with all it needs; `None` when it ended, or was put off, before its target was called."""
        run, held = start.run, held_by(message)
        # Read after the start is written: a pause that returned before this read is seen by it.
        stored = ask(lambda: self._store.get_timer(run.key.tenant, run.key.schedule_id))
        if stored is None and self._is_of_the_gone(run, message):
            return None
        freezes = () if stored is None else self._freezes.of(stored, self._tier_of(run))
        admission = self._hold(run, stored) or decide_admission(run, stored, self._now(run.key), freezes)
        if isinstance(admission, End):
            self._finishing.end(run, stored, admission, held)
            return None
        timer = cast("Timer", stored)  # A run without one was ended above.
        if isinstance(admission, Wait):
            self._finishing.hold_back(run, timer, admission, message, held)
            return None
        definition = self._definition(run, admission.version)
        if isinstance(definition, End):
            self._finishing.end(run, timer, definition, held)
            return None
        return self._enter(Ready(run, timer, definition), message, is_takeover=start.is_takeover)

    def _hold(self, run: Run, timer: Timer | None) -> Wait | None:
        """What a standby makes of a run that was started all the same, by a worker that stood still meanwhile."""
        hold = self._freezes.board.hold()
        if timer is None or hold is None or not hold.is_standby:
            return None
        return for_release(run, hold, self._now(run.key))

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
        self._report.dropped(message, Reason(Code.TENANT_DELETED, f"tenant {run.key.tenant} is {tenant.status}"))
        return True

    def _definition(self, run: Run, version: int) -> Definition | End:
        definition = ask(lambda: self._store.get_definition(run.key.tenant, run.key.schedule_id, version))
        if definition is None:
            self._telemetry.alarm("definition_gone", run_id=run.key.run_id, version=version)
            text = f"version {version} of the schedule cannot be read"
            return End(RunStatus.REFUSED, Reason(Code.NO_DEFINITION, text, {"version": version}))
        return attempts_left(run, definition.spec.policies.retry) or definition

    def _enter(self, ready: Ready, message: RunMessage, *, is_takeover: bool) -> Ready | None:
        """Note the version that is to run, see to its slot, and take the gate; `None` when one of them is another's."""
        seconds = ready.definition.spec.attempt_seconds
        if is_long(seconds) != message.is_long:
            fitting, wait = replace(message, timeout_seconds=seconds), for_other_workers(self._now(ready.run.key))
            self._finishing.hold_back(ready.run, ready.timer, wait, fitting, held_by(message))
            return None
        run = self._note_version(ready, message)
        if run is None:
            return None
        if run.cancel is not None:
            self._finishing.end(run, ready.timer, End(RunStatus.CANCELLED, run.cancel.as_reason), held_by(message))
            return None
        barred = self._breakers.bars(run, ready.definition, self._now(run.key))
        if barred is not None:
            self._put_aside(run, ready.timer, barred, message, held_by(message))
            return None
        slot = self._slots.secure(run, message, self._now(run.key), is_takeover=is_takeover)
        if isinstance(slot, Wait):
            self._finishing.hold_back(run, ready.timer, slot, message, held_by(message))
            return None
        entry = self._gates.enter(run, ready.timer, self._now(run.key))
        if isinstance(entry, End):
            self._finishing.end(run, ready.timer, entry, slot)
            return None
        if entry is not None:
            self._finishing.hold_back(run, ready.timer, entry.wait, message, slot, entry)
            return None
        barred = self._breakers.asks(run, ready.definition, self._now(run.key))
        if barred is not None:
            self._put_aside(run, ready.timer, barred, message, slot, is_inside=True)
            return None
        self._opening.open(run, ready.timer, self._clock.now())
        return replace(ready, run=run, slot=slot)

    def _put_aside(
        self,
        run: Run,
        timer: Timer,
        barred: Wait | End,
        message: RunMessage,
        slot: HeldSlot | None,
        *,
        is_inside: bool = False,
    ) -> None:
        if isinstance(barred, End):
            self._finishing.end(run, timer, barred, slot)
        else:
            self._finishing.hold_back(run, timer, barred, message, slot, is_inside=is_inside)

    def _note_version(self, ready: Ready, message: RunMessage) -> Run | None:
        """The row under the version that is to run and a lease that fits its limit; `None` when the lease is lost.

        Nothing to write for an ordinary fire: its message said both.
        """
        run, definition = ready.run, ready.definition
        seconds = definition.spec.attempt_seconds
        if run.version == definition.version and message.timeout_seconds == seconds:
            return run
        noted = versioned(run, definition.version, seconds, self._now(run.key))
        return self._finishing.replace(noted)
