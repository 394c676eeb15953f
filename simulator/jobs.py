"""Targets: jobs that take their time, fail, hang, and have an effect under a receipt."""

import random
from typing import Final

from cronfleet.adapters.memory.receipts import MemoryReceipts
from cronfleet.domain.attempt import Result
from cronfleet.domain.run import Outcome
from cronfleet.ports.job_store import NoAnswer
from cronfleet.ports.target import Call as TargetCall
from cronfleet.ports.target import CancelAsked, FenceLost, Pulse
from simulator.history import Call, History
from simulator.loop import Process
from simulator.watched import WatchedRuns
from simulator.wire import Wire

BEAT: Final = 3_000
"""Milliseconds between what a job tells of itself."""

STOP_GRACE: Final = 50
"""Milliseconds that stopping a job takes."""


class Jobs:
    """The port `Targets` for one invocation of the worker."""

    def __init__(
        self,
        process: Process,
        wire: Wire,
        receipts: MemoryReceipts,
        rows: WatchedRuns,
        rng: random.Random,
        history: History,
        failing: float,
        beats: bool = False,
    ) -> None:
        self._process = process
        self._wire = wire
        self._receipts = receipts
        self._rows = rows
        self._rng = rng
        self._history = history
        self._failing = failing
        self._beats = beats

    def call(self, call: TargetCall, pulse: Pulse) -> Result:
        """One attempt: its effect first, then its work, then its end."""
        noted = self._begin(call)
        try:
            result = self._run(call, pulse)
            noted.is_cut_short = False
            return result
        finally:
            noted.ended_at = self._process.loop.now

    def _begin(self, call: TargetCall) -> Call:
        run_id = call.key.run_id
        noted = Call(
            run_id,
            call.key.tenant,
            call.key.schedule_id,
            call.key.is_scheduled,
            call.attempt,
            call.fence,
            call.due_at,
            row_started_at=self._rows.started_at(run_id, call.fence),
            began_at=self._process.loop.now,
            lease_until=self._rows.lease_until(run_id, call.fence),
        )
        self._history.calls.append(noted)
        if call.trace is not None:
            self._history.heard(self._process.loop.now, run_id, call.trace.trace_id)
        return noted

    def _run(self, call: TargetCall, pulse: Pulse) -> Result:
        left = call.deadline_at - self._process.now()
        work = self._work()
        try:
            receipt = self._wire.call("receipt", lambda: self._record(call))
        except NoAnswer as silence:
            return Result(Outcome.FAILED, f"receipt: {silence}")
        except FenceLost as lost:
            return Result(Outcome.FAILED, str(lost))
        except CancelAsked as asked:
            return Result(Outcome.CANCELLED, str(asked))
        self._history.note(call.key.run_id, call.fence, receipt)
        if self._beats and _tells(call):
            return self._tell(call, pulse, work)
        if work >= left:
            self._process.sleep(max(0, left) + STOP_GRACE)
            return Result(Outcome.TIMED_OUT, "stopped at its time limit")
        self._wire.work(work)
        if self._rng.random() < self._failing:
            return Result(Outcome.FAILED, "the far end hung up")
        return Result(Outcome.SUCCEEDED)

    def _tell(self, call: TargetCall, pulse: Pulse, work: int) -> Result:
        """Work that says every few seconds how far it is, and gives up when it is asked to, or just not."""
        done = 0
        while done < work:
            if self._process.now() >= call.deadline_at:
                self._process.sleep(STOP_GRACE)
                return Result(Outcome.TIMED_OUT, "stopped at its time limit")
            step = min(BEAT, work - done)
            self._wire.work(step)
            done += step
            try:
                pulse.beat(done / work)
            except FenceLost as lost:
                return Result(Outcome.FAILED, str(lost))
            if pulse.cancel is not None and not _is_stubborn(call):
                return Result(Outcome.CANCELLED, "it gave up")
        return Result(Outcome.SUCCEEDED)

    def _record(self, call: TargetCall) -> bool:
        first = self._receipts.record(call.key, call.fence, "effect", call.fence, self._process.now()).first
        if first:
            self._history.effects[call.key.run_id] += 1
        return first

    def _work(self) -> int:
        if self._rng.random() < 0.01:
            return self._rng.randint(60_000, 200_000)
        return self._rng.randint(20, 3_000)


def _tells(call: TargetCall) -> bool:
    """Whether the job of this run says that it is alive: half of them do. By its id, so that nothing is drawn."""
    return call.key.nominal_at // 1_000 % 2 == 0


def _is_stubborn(call: TargetCall) -> bool:
    """Whether it goes on although it was asked to end; one in four does."""
    return call.key.nominal_at // 2_000 % 4 == 0
