"""Following: looks at what goes on elsewhere for a run, and writes its end. The clerk has an errand for each.

A look costs one request of its service, and nothing is written as long as it goes on. Whoever dies between two steps
leaves the errand, which comes again: a start is asked for under the attempt's own name, an end is written under its
fence, and to stop what has stopped changes nothing.
"""

from dataclasses import dataclass, replace
from typing import Final, assert_never

from cronfleet.domain.attempt import End, Result, handed_over
from cronfleet.domain.attempt_log import LogLine
from cronfleet.domain.execution import Execution
from cronfleet.domain.follow import GiveUp, Look, Phase, Seen, Start, Stop, decide_step, next_look
from cronfleet.domain.instant import Instant
from cronfleet.domain.progress import MAX_TEXT_CHARACTERS, Progress
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.run import Outcome, Run, RunKey, RunStatus
from cronfleet.domain.schedule import Definition, Timer
from cronfleet.ports.clock import Clock, Ids
from cronfleet.ports.events import Events
from cronfleet.ports.executions import Executions, Unseen
from cronfleet.ports.job_store import JobStore
from cronfleet.ports.target import Call
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.asking import ask
from cronfleet.services.attempt_report import AttemptReport
from cronfleet.services.endings import Endings
from cronfleet.services.finishing import Finishing, Ready
from cronfleet.services.gates import Gates
from cronfleet.services.handing_over import note_handle
from cronfleet.services.noticeboard import Noticeboard
from cronfleet.services.pulse import RunPulse
from cronfleet.services.slots import Slots, held_elsewhere
from cronfleet.services.target_breakers import TargetBreakers
from cronfleet.services.telling import Telling
from cronfleet.services.true_clock import true_now

MAX_SAID_CHARACTERS: Final = 4_000
"""Of what an execution said at its end, as it is kept with the attempt's log."""


@dataclass(frozen=True, slots=True)
class _Followed:
    """One execution of a run, and what its schedule says of it."""

    run: Run
    execution: Execution
    definition: Definition
    call: Call


class Following:
    """The doer of errands of the kind `execution`. Holds nothing between them."""

    def __init__(
        self,
        *,
        store: JobStore,
        executions: Executions,
        clock: Clock,
        ids: Ids,
        telemetry: Telemetry,
        events: Events | None = None,
        report: AttemptReport | None = None,
    ) -> None:
        """`events` is where tenants that asked for it hear of their runs; `None`: nowhere.

        `report` says what is told of attempts; `None`: each has a line, and none a span.
        """
        self._store = store
        self._executions = executions
        self._clock = clock
        self._telemetry = telemetry
        board = Noticeboard(store, clock, telemetry, consistent=True)
        telling = None if events is None else Telling(events, telemetry, board)
        self._slots = slots = Slots(store, telemetry)
        self._breakers = TargetBreakers(store=store, board=board, clock=clock, ids=ids, telemetry=telemetry)
        self._finishing = Finishing(
            store=store,
            endings=Endings(store, telling),
            gates=Gates(store, telemetry),
            slots=slots,
            clock=clock,
            telemetry=telemetry,
            telling=telling,
            report=report,
        )

    def carry_on(self, tenant: str, errand_id: str, until: Instant) -> Instant | None:  # noqa: ARG002 - one look is short
        """See `Doer.carry_on`: one look, and what follows from it."""
        followed = self._read(RunKey.parse(errand_id))
        if followed is None:
            return None
        seen = self._look(followed)
        # A clock that was set meanwhile would stop what has hours left.
        now = self._now(followed.run.key)
        step = decide_step(followed.run, followed.execution, seen, now)
        match step:
            case Result():
                self._finish(followed, step, seen)
                return None
            case GiveUp(result):
                self._telemetry.alarm("execution_given_up", run_id=followed.run.key.run_id, error=result.error)
                self._finish(followed, result, seen)
                return None
            case Start():
                return self._start(followed, now)
            case Stop():
                return self._stop(followed, step, _handle(followed, seen), now)
            case Look():
                self._show(followed, seen)
                return step.at
        assert_never(step)

    def _now(self, key: RunKey) -> Instant:
        return true_now(self._store, self._clock, self._telemetry, lambda: self._store.get_run(key))

    def _read(self, key: RunKey) -> _Followed | None:
        """The execution of the run; `None` when there is nothing to follow any more."""
        run = ask(lambda: self._store.get_run(key))
        if run is None:
            return None
        execution = run.execution
        if execution is None:
            # Whoever wrote its end may have died before the slot was let go of.
            self._slots.let_go(run, self._clock.now())
            return None
        definition = ask(lambda: self._store.get_definition(key.tenant, key.schedule_id, run.version))
        if definition is None:
            self._refuse(run)
            return None
        return _Followed(run, execution, definition, call_of(run, execution, definition))

    def _refuse(self, run: Run) -> None:
        """End a run whose version is gone: nobody knows any more what is to be looked at."""
        text = f"version {run.version} of the schedule cannot be read: what goes on elsewhere cannot be followed"
        reason = Reason(Code.NO_DEFINITION, text, {"version": run.version})
        self._telemetry.alarm("definition_gone", run_id=run.key.run_id, version=run.version)
        self._finishing.end(run, self._timer(run.key), End(RunStatus.REFUSED, reason), None)
        self._let_go(run)

    def _let_go(self, run: Run) -> None:
        """What the run held for what is over now. Raises `NoAnswer`: then the errand comes again for that."""
        stored = ask(lambda: self._store.get_run(run.key)) if held_elsewhere(run.execution) is not None else None
        if stored is not None:
            self._slots.let_go(stored, self._clock.now())

    def _timer(self, key: RunKey) -> Timer | None:
        return ask(lambda: self._store.get_timer(key.tenant, key.schedule_id))

    def _look(self, followed: _Followed) -> Seen | None:
        """Where it stands; `None` when it cannot be seen."""
        try:
            return self._executions.look(followed.call, followed.execution.handle)
        except Unseen as unseen:
            self._unseen(followed, unseen)
            return None

    def _unseen(self, followed: _Followed, unseen: Unseen) -> None:
        """What cannot be seen is shown to whoever looks at the run; written once for each new text."""
        run, text = followed.run, f"cannot be seen: {unseen}"[:MAX_TEXT_CHARACTERS]
        self._telemetry.count("executions_unseen")
        self._telemetry.event("execution_unseen", run_id=run.key.run_id, error=str(unseen))
        if run.progress is None or run.progress.text != text:
            self._note(run, Progress(self._clock.now(), None, text))

    def _show(self, followed: _Followed, seen: Seen | None) -> None:
        """It can be seen again, or was found: its row says so."""
        run = followed.run
        if seen is None or seen.phase is not Phase.GOING:
            return
        if run.progress is not None:
            self._note(run, None)
        elif seen.handle:
            note_handle(self._finishing, run, seen.handle)

    def _note(self, run: Run, progress: Progress | None) -> None:
        self._finishing.replace(run.moved(RunStatus.RUNNING, progress=progress))

    def _start(self, followed: _Followed, now: Instant) -> Instant | None:
        """Ask for the start again. A refusal ends the attempt: nothing of its name was ever started."""
        self._slots.hold_for(followed.run, held_elsewhere(followed.execution))
        try:
            answer = self._executions.start(followed.call)
        except Unseen as unseen:
            self._unseen(followed, unseen)
            return next_look(followed.execution, now)
        if isinstance(answer, Result):
            self._finish(followed, answer, None)
            return None
        self._telemetry.count("executions_started_late")
        note_handle(self._finishing, followed.run, answer)
        return next_look(followed.execution, now)

    def _stop(self, followed: _Followed, step: Stop, handle: str, now: Instant) -> Instant:
        execution = followed.execution
        if execution.stopping_at is None:
            self._finishing.replace(handed_over(followed.run, replace(execution, stopping_at=now)))
        try:
            if handle:  # Without one nothing was seen that could be told to stop.
                self._executions.stop(followed.call, handle, step.why)
        except Unseen as unseen:
            self._unseen(followed, unseen)
        return step.at

    def _finish(self, followed: _Followed, result: Result, seen: Seen | None) -> None:
        """Write what the attempt came to, unless somebody else has, or its tenant is being removed, and it as well."""
        run, timer = followed.run, self._timer(followed.run.key)
        if timer is None:
            return
        self._breakers.hears(run, followed.definition, result, self._clock.now())
        pulse = RunPulse(store=self._store, clock=self._clock, telemetry=self._telemetry, run=run)
        if seen is not None and seen.said:
            level = "INFO" if result.outcome is Outcome.SUCCEEDED else "ERROR"
            now = self._clock.now()
            pulse.log([LogLine(now, level, line) for line in seen.said], is_whole=True)
        ready = Ready(replace(run, progress=None), timer, followed.definition)
        is_written = self._finishing.finish(ready, result)
        pulse.close(is_written=is_written)
        self._let_go(run)


def _handle(followed: _Followed, seen: Seen | None) -> str:
    return followed.execution.handle or ("" if seen is None else seen.handle)


def call_of(run: Run, execution: Execution, definition: Definition) -> Call:
    """The call of an attempt that was handed over: the same at each look."""
    spec = definition.spec
    payload = run.payload if run.has_payload else spec.payload
    return Call(run.key, run.attempt, run.fence, run.due_at, execution.deadline_at, spec.target, payload)
