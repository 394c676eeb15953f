"""Handing over: an attempt whose target goes on by itself is noted as such, with its errand, and then started.

The note comes first. Whoever dies after it leaves an errand that asks for the start again, under the same name; whoever
dies before it has started nothing, and the attempt is taken over as any other.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Final, cast

from cronfleet.domain.attempt import Result, handed_over, heeding, is_still_held
from cronfleet.domain.errors import Contended
from cronfleet.domain.execution import Execution
from cronfleet.domain.follow import FIRST_LOOK
from cronfleet.domain.instant import SECOND, Instant
from cronfleet.domain.run import Run
from cronfleet.ports.clock import Clock
from cronfleet.ports.executions import Executions, Unseen
from cronfleet.ports.job_store import JobStore, NoAnswer, Refused, ReplaceRun, Write
from cronfleet.ports.own_writes import proves_commit
from cronfleet.ports.target import Call
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.asking import ask
from cronfleet.services.attempt_report import AttemptReport
from cronfleet.services.execution_errands import looked_at
from cronfleet.services.finishing import Finishing, Ready
from cronfleet.services.slots import Slots

MAX_HAND_OVER_ROUNDS: Final = 10
"""How often a hand-over is written anew because the row, still ours, or its errand was changed meanwhile."""

START_MARGIN: Final = 30 * SECOND
"""With less time than this left a worker leaves the start to the errand: one that stood still must not start what was
cancelled meanwhile."""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What a worker needs for targets that go on by themselves; `shards` is the installation's number of them."""

    executions: Executions
    shards: int


class HandingOver:
    """From an attempt that is admitted to one that goes on elsewhere."""

    def __init__(
        self,
        *,
        store: JobStore,
        elsewhere: Elsewhere,
        finishing: Finishing,
        slots: Slots,
        clock: Clock,
        telemetry: Telemetry,
    ) -> None:
        self._store = store
        self._executions = elsewhere.executions
        self._finishing = finishing
        self._slots = slots
        self._clock = clock
        self._telemetry = telemetry
        self._report = AttemptReport(telemetry)
        self._shards = elsewhere.shards

    def hand_over(self, ready: Ready, call: Call, now: Instant) -> tuple[Ready, Result] | None:
        """Note that the attempt goes on elsewhere, and start that.

        The attempt as it is then and what its start came to, where that was refused; `None` when it goes on, or is
        another's by now. Raises `NoAnswer` and `Contended`: nothing was started.
        """
        lasts_until = now + ready.definition.spec.policies.timeout_seconds * SECOND
        execution = Execution(now, lasts_until, self._executions.handle(call))
        if ready.slot is not None:
            execution = replace(execution, slot=ready.slot.lease, holder=ready.slot.holder)
        run = self._write(handed_over(ready.run, execution), now)
        if run is None:
            return None
        self._telemetry.count("executions_handed_over")
        if not self._may_start(run, ready, call):
            return None  # Its errand stops it, or starts it.
        result = self._start(run, call)
        return None if result is None else (replace(ready, run=run), result)

    def _may_start(self, run: Run, ready: Ready, call: Call) -> bool:
        """Whether it may be started here and now, in a slot that lasts as long as it may."""
        if run.cancel is not None:
            return False
        try:
            self._slots.hold_for(run, ready.slot)
        except NoAnswer:
            return False
        return call.deadline_at - self._clock.now() >= START_MARGIN

    def _write(self, run: Run, now: Instant) -> Run | None:
        """Write the hand-over, on top of a request to cancel; `None` when the lease is lost."""
        for _ in range(MAX_HAND_OVER_ROUNDS):
            look_at = now if run.cancel is not None else now + FIRST_LOOK
            errand = ask(partial(looked_at, self._store, run.key, look_at, now, self._shards))
            writes: list[Write] = [ReplaceRun(run), errand]
            try:
                ask(partial(self._store.commit, writes))
            except Refused as refused:
                if refused.position != 0:
                    continue  # The errand was moved meanwhile.
                stored = cast("Run | None", refused.stored)
                if stored is not None and proves_commit(ReplaceRun(run), stored):
                    return run
                if stored is None or not is_still_held(run, stored) or stored.execution is not None:
                    self._report.came_late(run, stored)
                    return None
                run = heeding(run, stored, now)
                continue
            return run
        raise Contended(f"{run.key.run_id} changed {MAX_HAND_OVER_ROUNDS} times while it was being handed over")

    def _start(self, run: Run, call: Call) -> Result | None:
        """Start it; a result when that was refused. What is not known is left to the errand."""
        try:
            answer = self._executions.start(call)
        except Unseen as unseen:
            self._telemetry.event("execution_unseen", run_id=run.key.run_id, error=str(unseen))
            return None
        if isinstance(answer, Result):
            return answer
        note_handle(self._finishing, run, answer)
        return None


def note_handle(finishing: Finishing, run: Run, handle: str) -> Run | None:
    """Note under which name the service knows it, where that was not known; `None` when the lease is lost."""
    execution = run.execution
    if execution is None or execution.handle == handle:
        return run
    return finishing.replace(handed_over(run, replace(execution, handle=handle, is_started=True)))
