"""What a worker tells of its messages and attempts: one line each, and the counts of the dashboards."""

from typing import Final

from cronfleet.domain.instant import SECOND
from cronfleet.domain.late import Cause
from cronfleet.domain.reason import Reason
from cronfleet.domain.run import Lane, Outcome, Run, RunMessage, RunStatus
from cronfleet.ports.telemetry import Telemetry

NOT_RUN: Final = frozenset({RunStatus.SKIPPED, RunStatus.FROZEN, RunStatus.REFUSED})
"""How a run ends that was claimed, and for a reason calls nobody."""


class AttemptReport:
    """Says it to the telemetry."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry

    def dropped(self, message: RunMessage, reason: Reason) -> None:
        """A message was deleted that had nothing to start."""
        self._telemetry.count("messages_dropped", reason=reason.code.value)
        self._telemetry.event(
            "message_dropped",
            run_id=message.key.run_id,
            attempt=message.attempt,
            reason=reason.code.value,
            text=reason.text,
        )

    def started(self, run: Run, *, is_long: bool = False) -> None:
        """An attempt has its lease; `is_long`: a long worker makes it."""
        if run.attempt == 1 and run.lag_ms is not None:
            metric = "long_lag" if is_long else _lag_metric(run)
            self._telemetry.measure(metric, run.lag_ms / SECOND, tier=run.tier, shard=run.batch.partition(".")[0])
        if run.attempt > 1 and run.attempts[-2].outcome is Outcome.LOST:
            self._telemetry.count("takeovers")

    def ended(self, run: Run) -> None:
        """One line per attempt that ended."""
        last = run.attempts[-1] if run.attempts else None
        outcome = last.outcome if last is not None and last.outcome is not None else Outcome.NOT_STARTED
        self._telemetry.count("attempts", tier=run.tier, outcome=outcome.value)
        if run.is_terminal:
            self._telemetry.count("runs_ended", tier=run.tier, status=run.status.value)
        elif run.status is RunStatus.WAITING:
            self._telemetry.count("retries", tier=run.tier)
        if run.status in NOT_RUN and run.reason is not None:
            self._telemetry.count("fires_skipped", reason=run.reason.code.value)
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

    def came_late(self, run: Run, stored: Run | None) -> None:
        """An attempt ended whose lease was lost, or whose row is gone: its tenant was deleted."""
        if stored is None:
            self._telemetry.event("row_gone", run_id=run.key.run_id, fence=run.fence)
            return
        self._telemetry.count("late_finishes")
        self._telemetry.event(
            "late_finish", run_id=run.key.run_id, fence=run.fence, stored_fence=stored.fence, status=stored.status.value
        )


def _lag_metric(run: Run) -> str:
    """Where the lag of `run` is counted. Apart from that of live work is what yields to it, and what is caught up,
    which waits for the tick after its turn: neither may hide that live work is late. Long runs, to which a minute is
    nothing, are counted apart as well.
    """
    if run.key.lane is Lane.BACKFILL:
        return "backfill_lag"
    return "catch_up_lag" if run.late is not None and run.late.cause is not Cause.RATE else "lag"
