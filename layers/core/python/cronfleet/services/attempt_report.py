"""What a worker tells of its messages and attempts: one line each, their spans, and the counts of the dashboards."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Final

from cronfleet.domain.attempt import Result
from cronfleet.domain.attempt_line import MAX_PAYLOAD_SHOWN, Lines, error_kind
from cronfleet.domain.instant import SECOND
from cronfleet.domain.late import Cause
from cronfleet.domain.reason import Reason
from cronfleet.domain.run import Attempt, Lane, Outcome, Run, RunMessage, RunStatus
from cronfleet.domain.run_spans import Delivery, attempt_context, shard_of
from cronfleet.domain.target import Target
from cronfleet.domain.trace import TraceContext
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.attempt_tracing import AttemptTracing

NOT_RUN: Final = frozenset({RunStatus.SKIPPED, RunStatus.FROZEN, RunStatus.REFUSED})
"""How a run ends that was claimed, and for a reason calls nobody."""


class AttemptReport:
    """Says it to the telemetry, and to whoever keeps spans."""

    def __init__(self, telemetry: Telemetry, tracing: AttemptTracing | None = None, lines: Lines | None = None) -> None:
        self.telemetry = telemetry
        self._tracing = tracing
        self._lines = lines or Lines()
        self._payload: Any = None

    @contextmanager
    def about(self, message: RunMessage, delivery: Delivery | None) -> Iterator[None]:
        """While `message` is handled: each line says of which run and attempt, of whom, and in which span.

        Spans that are to be kept are delivered when all else is done.
        """
        self._payload = None
        key, context = message.key, attempt_context(message.context, message)
        fields = {
            "run_id": key.run_id,
            "tenant": key.tenant,
            "schedule_id": key.schedule_id,
            "tier": message.tier,
            "shard": shard_of(message.batch),
            "attempt": message.attempt,
            "trace_id": context.trace_id,
            "span_id": context.span_id,
        }
        handling = nullcontext() if self._tracing is None else self._tracing.handling(message, delivery)
        with handling, self.telemetry.about(**fields):
            yield

    def calls(self, run: Run, target: Target, payload: Any) -> TraceContext | None:
        """A target is about to be called with `payload`: the span that it is called in."""
        self._payload = payload
        return None if self._tracing is None else self._tracing.calls(run, target)

    def called(self, result: Result) -> None:
        """It has answered."""
        if self._tracing is not None:
            self._tracing.called(result)

    def handed_over(self, run: Run) -> None:
        """The attempt goes on elsewhere."""
        if self._tracing is not None:
            self._tracing.handed_over(run)

    def dropped(self, message: RunMessage, reason: Reason) -> None:
        """A message was deleted that had nothing to start."""
        self.telemetry.count("messages_dropped", reason=reason.code.value)
        self.telemetry.event(
            "message_dropped",
            run_id=message.key.run_id,
            attempt=message.attempt,
            reason=reason.code.value,
            text=reason.text,
        )

    def started(self, run: Run, *, is_long: bool = False, has_waited: bool = False) -> None:
        """An attempt has its lease; `is_long`: a long worker makes it; `has_waited`: it was held back before.

        Lag is measured when a worker first takes the run: what then waits, for a breaker or a slot, is late for its
        tenant's own reason, which the ledger says, and calls nobody.
        """
        if run.attempt == 1 and run.lag_ms is not None and not has_waited:
            metric = "long_lag" if is_long else _lag_metric(run)
            shard = shard_of(run.batch)
            if shard is None:
                self.telemetry.measure(metric, run.lag_ms / SECOND, tier=run.tier)
            else:
                self.telemetry.measure(metric, run.lag_ms / SECOND, tier=run.tier, shard=str(shard))
        if run.attempt > 1 and run.attempts[-2].outcome is Outcome.LOST:
            self.telemetry.count("takeovers")

    def ended(self, run: Run) -> None:
        """An attempt has ended: counted, and one line, unless it is one of many successes."""
        last = run.attempts[-1] if run.attempts else None
        outcome = last.outcome if last is not None and last.outcome is not None else Outcome.NOT_STARTED
        self.telemetry.count("attempts", tier=run.tier, outcome=outcome.value)
        if run.is_terminal:
            self.telemetry.count("runs_ended", tier=run.tier, status=run.status.value)
        elif run.status is RunStatus.WAITING:
            self.telemetry.count("retries", tier=run.tier)
        if run.status in NOT_RUN and run.reason is not None:
            self.telemetry.count("fires_skipped", reason=run.reason.code.value)
        if self._lines.tells(run):
            self.telemetry.event("attempt_finished", **self._line(run, last, outcome))
        if self._tracing is not None:
            self._tracing.ended(run)

    def _line(self, run: Run, last: Attempt | None, outcome: Outcome) -> dict[str, object]:
        error, reason = None if last is None else last.error, run.reason
        line: dict[str, object] = {
            "run_id": run.key.run_id,
            "tenant": run.key.tenant,
            "schedule_id": run.key.schedule_id,
            "tier": run.tier,
            "shard": shard_of(run.batch),
            "attempt": run.attempt,
            "trace_id": run.trace.trace_id,
            "outcome": outcome.value,
            "status": run.status.value,
            "lag_seconds": None if run.lag_ms is None else run.lag_ms / SECOND,
            "duration_seconds": _duration(last),
            "weight": self._lines.weight(run),
            "error": error_kind(error) or None,
            "reason": None if reason is None else reason.code.value,
        }
        if self._lines.with_details:
            line |= {
                "error": error,
                "reason_text": None if reason is None else reason.text,
                "payload": json.dumps(self._payload, default=str)[:MAX_PAYLOAD_SHOWN],
            }
        return line

    def came_late(self, run: Run, stored: Run | None) -> None:
        """An attempt ended whose lease was lost, or whose row is gone: its tenant was deleted."""
        if stored is None:
            self.telemetry.event("row_gone", run_id=run.key.run_id, fence=run.fence)
            return
        self.telemetry.count("late_finishes")
        self.telemetry.event(
            "late_finish", run_id=run.key.run_id, fence=run.fence, stored_fence=stored.fence, status=stored.status.value
        )


def _duration(attempt: Attempt | None) -> float | None:
    if attempt is None or attempt.finished_at is None:
        return None
    return (attempt.finished_at - attempt.started_at) / SECOND


def _lag_metric(run: Run) -> str:
    """Where the lag of `run` is counted. Apart from that of live work is what yields to it, and what is caught up,
    which waits for the tick after its turn: neither may hide that live work is late. Long runs, to which a minute is
    nothing, are counted apart as well.
    """
    if run.key.lane is Lane.BACKFILL:
        return "backfill_lag"
    return "catch_up_lag" if run.late is not None and run.late.cause is not Cause.RATE else "lag"
