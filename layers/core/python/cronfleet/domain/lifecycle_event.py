"""Lifecycle events: what a tenant that asked for it is told of its runs and schedules, in a form with a version.

The shape is documented in `docs/events.md`. An event holds ids, times and states; never a payload, a target, or the
text of an error, which may quote either.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cronfleet.domain.audit import AuditEntry
from cronfleet.domain.form import Form
from cronfleet.domain.instant import Instant, to_text
from cronfleet.domain.run import Outcome, Run, RunStatus
from cronfleet.domain.schedule import Change

VERSION: Final = 1
"""Rises when something in `detail` is taken away or changes its meaning, not when something is added."""


class EventKind(StrEnum):
    """What an event tells: its detail type."""

    STARTED = "cronfleet.run.started"
    """An attempt is about to call the target."""
    SUCCEEDED = "cronfleet.run.succeeded"
    FAILED = "cronfleet.run.failed"
    """An attempt failed, and another follows."""
    DEAD = "cronfleet.run.dead"
    """Nothing follows, unless somebody asks for it: out of attempts, or refused by the scheduler."""
    SKIPPED = "cronfleet.run.skipped"
    """A fire, or a range of them, was not run, for a reason."""
    CANCELLED = "cronfleet.run.cancelled"
    SCHEDULE_CHANGED = "cronfleet.schedule.changed"


_ENDS: Final = {
    RunStatus.SUCCEEDED: EventKind.SUCCEEDED,
    RunStatus.DEAD: EventKind.DEAD,
    RunStatus.REFUSED: EventKind.DEAD,
    RunStatus.CANCELLED: EventKind.CANCELLED,
    RunStatus.SKIPPED: EventKind.SKIPPED,
    RunStatus.MISSED: EventKind.SKIPPED,
    RunStatus.PAUSED: EventKind.SKIPPED,
    RunStatus.HELD: EventKind.SKIPPED,
    RunStatus.FROZEN: EventKind.SKIPPED,
}
"""What is not in it has not ended, or was never to run: a fire that a held schedule only noted."""

_FAILED: Final = frozenset({Outcome.FAILED, Outcome.TIMED_OUT, Outcome.LOST})

CHANGES: Final = frozenset(set(Change) - {Change.RUN})
"""Audited actions that change a schedule; a run that is asked for tells of itself."""


@dataclass(frozen=True, slots=True)
class LifecycleEvent:
    """One event of a tenant; `detail` is what is sent."""

    kind: EventKind
    tenant: str
    at: Instant
    detail: Form


def run_started(run: Run) -> LifecycleEvent:
    """The attempt of `run` is about to call its target."""
    began = run.attempts[-1].started_at if run.attempts else run.started_at
    return _of_run(EventKind.STARTED, run, began or run.due_at)


def run_event(run: Run) -> LifecycleEvent | None:
    """What the row `run`, just written, tells; `None`: nothing."""
    if run.settled is not None:
        return None  # A dead letter that is dealt with: its end was told when it came.
    kind = _ENDS.get(run.status)
    if kind is None and run.status is RunStatus.WAITING and run.attempts and run.attempts[-1].outcome in _FAILED:
        kind = EventKind.FAILED
    if kind is None:
        return None
    closed = run.attempts[-1].finished_at if run.attempts else None
    return _of_run(kind, run, run.finished_at or closed or run.last_nominal_at)


def schedule_event(entry: AuditEntry) -> LifecycleEvent | None:
    """What an audit entry, just written, tells of a schedule; `None`: nothing."""
    if not entry.schedule_id or entry.action not in CHANGES:
        return None
    after = entry.after or {}
    detail: Form = {
        "version": VERSION,
        "event_id": f"{entry.schedule_id}#{entry.entry_id}",
        "at": to_text(entry.at),
        "tenant": entry.tenant,
        "schedule": entry.schedule_id,
        "change": str(entry.action),
        "status": after.get("status"),
        "by": entry.actor,
        "reason": entry.reason or None,
    }
    return LifecycleEvent(EventKind.SCHEDULE_CHANGED, entry.tenant, entry.at, detail)


def labelled(event: LifecycleEvent, labels: Mapping[str, str]) -> LifecycleEvent:
    """`event` with the labels of its schedule, where whoever tells it has them at hand."""
    detail = {**event.detail, "labels": dict(labels)}
    return LifecycleEvent(event.kind, event.tenant, event.at, detail)


def _of_run(kind: EventKind, run: Run, at: Instant) -> LifecycleEvent:
    key = run.key
    last = run.attempts[-1] if run.attempts else None
    outcome = None if last is None or kind is EventKind.STARTED else last.outcome
    detail: Form = {
        "version": VERSION,
        "event_id": f"{key.run_id}#{run.attempt}#{kind.rpartition('.')[2]}",
        "at": to_text(at),
        "tenant": key.tenant,
        "schedule": key.schedule_id,
        "run_id": key.run_id,
        "nominal_at": to_text(key.nominal_at),
        "until_nominal_at": None if run.until_nominal_at is None else to_text(run.until_nominal_at),
        "due_at": to_text(run.due_at),
        "attempt": run.attempt,
        "status": run.status.value,
        "outcome": None if outcome is None else outcome.value,
        "reason": None if run.reason is None else run.reason.code.value,
        "retry_at": None if run.retry_at is None else to_text(run.retry_at),
        "lag_ms": run.lag_ms,
    }
    return LifecycleEvent(kind, key.tenant, at, detail)
