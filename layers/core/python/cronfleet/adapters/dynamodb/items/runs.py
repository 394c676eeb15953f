"""Ledger rows, as items of the table `runs`."""

from dataclasses import replace
from typing import Any

from cronfleet.adapters.dynamodb import keys
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.items.backlogs import late_json, late_of
from cronfleet.adapters.dynamodb.items.reasons import reason_json, reason_of
from cronfleet.adapters.dynamodb.recording import damaged, read, written
from cronfleet.adapters.dynamodb.records import RunRecord
from cronfleet.domain.cancel_request import CancelRequest
from cronfleet.domain.execution import Execution
from cronfleet.domain.instant import DAY, SECOND, Instant
from cronfleet.domain.progress import Progress
from cronfleet.domain.run import ROW_LIFE_DAYS, Attempt, Outcome, Run, RunStatus
from cronfleet.domain.settlement import How, Settlement
from cronfleet.domain.signature import Signature
from cronfleet.domain.slot import SlotLease
from cronfleet.domain.trace import read_traceparent, written_traceparent
from cronfleet.ports.dead_letters import owner_of


def run_item(run: Run, now: Instant) -> Item:
    """A row written at `now` as an item."""
    return written(
        RunRecord,
        keys.schedule(run.key.tenant, run.key.schedule_id),
        keys.run(run.key),
        status=run.status.value,
        due_at=run.due_at,
        tier=run.tier,
        rev=run.rev,
        version=run.version,
        batch=run.batch or None,
        claimed_at=run.claimed_at,
        fence=run.fence,
        attempts=[_attempt_json(attempt) for attempt in run.attempts] or None,
        lease_until=run.lease_until,
        retry_at=run.retry_at,
        started_at=run.started_at,
        finished_at=run.finished_at,
        lag_ms=run.lag_ms,
        reason=reason_json(run.reason),
        until_nominal_at=run.until_nominal_at,
        resent_at=run.resent_at,
        late=late_json(run.late),
        # In a list, so that an override with null is told from no override.
        payload=[run.payload] if run.has_payload else None,
        kept_days=None if run.kept_days == ROW_LIFE_DAYS else run.kept_days,
        ancestor=run.ancestor or None,
        operation=run.operation or None,
        flows_on=1 if run.flows_on else None,
        joined=None if run.joined is None else {name: end.value for name, end in run.joined.items()},
        is_pinned=run.is_pinned or None,
        signature=signature_json(run.signature),
        settled=settlement_json(run.settled),
        failed_tenant=owner_of(run),
        cancel=None if run.cancel is None else [run.cancel.at, run.cancel.by, run.cancel.reason],
        progress=_progress_json(run.progress),
        origin=written_traceparent(run.origin),
        expires_at=_expiry(run, now),
    )


def _expiry(run: Run, now: Instant) -> int:
    """Whole seconds. A row outlives whatever may still come for it: its message, its lease, its next attempt."""
    return max(now, run.due_at, run.retry_at or 0, run.lease_until or 0) // SECOND + run.kept_days * DAY // SECOND


def run_of(item: Item) -> Run:
    """The row in `item`; raises `Damaged`."""
    record = read(RunRecord, item)
    try:
        return _run(record)
    except (ValueError, KeyError, TypeError) as error:
        raise damaged(item, error) from error


def _run(record: RunRecord) -> Run:
    payload: list[Any] | None = record.payload
    return Run(
        keys.parse_run(record.pk, record.sk),
        RunStatus(record.status),
        record.due_at,
        record.tier,
        record.rev,
        record.version,
        batch=record.batch or "",
        claimed_at=record.claimed_at,
        fence=record.fence,
        attempts=tuple(_attempt_of(stored) for stored in record.attempts or ()),
        lease_until=record.lease_until,
        retry_at=record.retry_at,
        started_at=record.started_at,
        finished_at=record.finished_at,
        lag_ms=record.lag_ms,
        reason=reason_of(record.reason),
        until_nominal_at=record.until_nominal_at,
        resent_at=record.resent_at,
        late=late_of(record.late),
        payload=None if payload is None else payload[0],
        has_payload=payload is not None,
        kept_days=record.kept_days or ROW_LIFE_DAYS,
        ancestor=record.ancestor or "",
        operation=record.operation or "",
        flows_on=record.flows_on is not None,
        joined=None if record.joined is None else {name: RunStatus(end) for name, end in record.joined.items()},
        is_pinned=bool(record.is_pinned),
        signature=signature_of_json(record.signature),
        settled=None if record.settled is None else settlement_of(record.settled),
        cancel=None if record.cancel is None else CancelRequest(*record.cancel),
        progress=None if record.progress is None else Progress(*record.progress),
        origin=read_traceparent(record.origin),
    )


def _progress_json(progress: Progress | None) -> list[Any] | None:
    if progress is None:
        return None
    if progress.text:
        return [progress.beat_at, progress.fraction, progress.text]
    return [progress.beat_at] if progress.fraction is None else [progress.beat_at, progress.fraction]


def _attempt_json(attempt: Attempt) -> list[Any]:
    stored = [attempt.number, attempt.fence, attempt.owner, attempt.started_at]
    if attempt.outcome is None and attempt.finished_at is None and attempt.execution is None:
        return stored
    ended = [*stored, attempt.finished_at, attempt.outcome and attempt.outcome.value]
    if attempt.execution is not None:
        return [*ended, attempt.error, _execution_json(attempt.execution)]
    return ended if attempt.error is None else [*ended, attempt.error]


def _attempt_of(stored: list[Any]) -> Attempt:
    number, fence, owner, started_at, *end = stored
    finished_at, outcome, error, execution = (*end, None, None, None, None)[:4]
    went_on = None if execution is None else _execution_of(execution)
    return Attempt(number, fence, owner, started_at, finished_at, outcome and Outcome(outcome), error, went_on)


def _execution_json(execution: Execution) -> list[Any]:
    stored = [execution.began_at, execution.deadline_at, execution.handle, execution.is_started, execution.stopping_at]
    slot = execution.slot
    return stored if slot is None else [*stored, slot.number, slot.fence, slot.until, execution.holder]


def _execution_of(stored: list[Any]) -> Execution:
    began_at, deadline_at, handle, is_started, stopping_at, *held = stored
    told = Execution(began_at, deadline_at, handle, is_started, stopping_at)
    if not held:
        return told
    number, fence, until, holder = held
    return replace(told, slot=SlotLease(number, fence, until), holder=holder)


def signature_json(signature: Signature | None) -> list[str] | None:
    """A signature as it is stored."""
    return None if signature is None else [signature.digest, signature.template]


def signature_of_json(stored: list[str] | None) -> Signature | None:
    """The reverse of `signature_json`."""
    return None if stored is None else Signature(*stored)


def settlement_json(settled: Settlement | None) -> list[Any] | None:
    """A settlement as a row stores it."""
    if settled is None:
        return None
    return [settled.how.value, settled.by, settled.at, settled.run_id, settled.reason, settled.operation]


def settlement_of(stored: list[Any]) -> Settlement:
    """What `settlement_json` made."""
    how, *rest = stored
    return Settlement(How(how), *rest)
