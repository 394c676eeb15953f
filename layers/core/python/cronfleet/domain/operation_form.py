"""Operations, and what became of each of their candidates, as callers get them."""

from collections.abc import Mapping
from typing import Any, Final

from cronfleet.domain.form import Form, reason_form
from cronfleet.domain.instant import to_text
from cronfleet.domain.operation import FORGOTTEN, PASSED_OVER, Operation
from cronfleet.domain.run import Run, RunKey, RunStatus

ENDS: Final = (
    RunStatus.SUCCEEDED,
    RunStatus.DEAD,
    RunStatus.CANCELLED,
    RunStatus.SKIPPED,
    RunStatus.FROZEN,
    RunStatus.REFUSED,
)
"""The ends that a run of an operation can come to."""
PENDING: Final = "pending"

_TIMES: Final = ("from", "to")


def operation_form(operation: Operation) -> Form:
    """How an operation stands."""
    return {
        "id": operation.operation_id,
        "kind": operation.kind.value,
        "status": operation.status.value,
        "is_over": operation.is_over,
        "asked": asked_form(operation.asked),
        "reason": operation.reason,
        "created_by": operation.created_by,
        "created_at": to_text(operation.created_at),
        "changed_at": to_text(operation.changed_at or operation.created_at),
        "ended_at": None if operation.ended_at is None else to_text(operation.ended_at),
        "max_concurrent": operation.max_concurrent,
        "rate_per_minute": operation.rate_per_minute,
        "total": operation.total,
        "counts": _counts(operation),
        "stopped": reason_form(operation.stopped),
    }


def _counts(operation: Operation) -> Form:
    pending = None if operation.total is None else max(0, operation.total - operation.begun)
    if operation.is_drawn:
        pending = 0
    ends = (*(status.value for status in ENDS), PASSED_OVER, FORGOTTEN)
    return {PENDING: pending, "under_way": len(operation.open), **{end: operation.counts.get(end, 0) for end in ends}}


def asked_form(asked: Mapping[str, Any]) -> Form:
    """What was asked for: times as text, and the schedules that it came to."""
    shown = {name: value for name, value in asked.items() if name not in ("subjects", "payload")}
    shown |= {name: to_text(shown[name]) for name in _TIMES if shown.get(name) is not None}
    shown["schedules"] = [schedule_id for schedule_id, *_ in asked.get("subjects", ())]
    if "payload" in asked:
        shown["payload"] = asked["payload"][0]
    return shown


def result_form(key: RunKey, ancestor: Run | None, row: Run | None, *, has_passed: bool) -> Form:
    """What became of one candidate: the run `key`, its `row` where it has one."""
    state = row.status.value if row is not None else (PASSED_OVER if has_passed else PENDING)
    return {
        "schedule_id": key.schedule_id,
        "nominal_at": to_text(key.nominal_at),
        "state": state,
        "run_id": None if row is None else key.run_id,
        "ancestor": None if ancestor is None else ancestor.key.run_id,
        "finished_at": None if row is None or row.finished_at is None else to_text(row.finished_at),
        "reason": None if row is None else reason_form(row.reason),
    }
