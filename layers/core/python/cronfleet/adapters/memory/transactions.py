"""Transactions in memory: every condition first, then every write."""

from bisect import insort
from collections.abc import Sequence
from typing import Any, assert_never

from cronfleet.adapters.memory.audit import append
from cronfleet.adapters.memory.calendars import bare_definition
from cronfleet.adapters.memory.gates import may_write_of_gates, put_of_gates, stored_of_gates
from cronfleet.adapters.memory.heartbeats import put_heartbeat, stored_heartbeat
from cronfleet.adapters.memory.state import State
from cronfleet.adapters.memory.tenant_writes import may_write_of_tenant, put_of_tenant, stored_of_tenant
from cronfleet.adapters.memory.timers import put_run_timer, put_timer, run_timer_key
from cronfleet.domain.backlog import first_of
from cronfleet.domain.calendar import CalendarHead
from cronfleet.domain.claim import RunTimer
from cronfleet.domain.instant import Instant
from cronfleet.domain.run import Run
from cronfleet.domain.schedule import Timer
from cronfleet.ports.breakers import PutBreaker
from cronfleet.ports.dead_letters import owner_of
from cronfleet.ports.gates import MoveRunTimer, PutGate
from cronfleet.ports.job_store import (
    CheckCalendar,
    CountSchedules,
    CreateTimer,
    IdempotencyRecord,
    InsertAudit,
    InsertCalendar,
    InsertDefinition,
    InsertDeletion,
    InsertIdempotency,
    InsertPing,
    InsertRetiming,
    InsertRun,
    InsertRunTimer,
    ListApiKey,
    PutAlert,
    PutApiKey,
    PutCalendarHead,
    PutDependants,
    PutDependencyMark,
    PutErrand,
    PutFreezeDirectory,
    PutFreezeList,
    PutHeartbeat,
    PutOperation,
    PutSheet,
    PutSwitch,
    PutTenant,
    PutZoneRelease,
    Refused,
    ReplaceRun,
    SettleUnreadable,
    UpdateTimer,
    Write,
)
from cronfleet.ports.own_writes import proves_commit


def commit(state: State, writes: Sequence[Write]) -> None:
    """Do all writes or none; see `ScheduleStore.commit`."""
    now = state.clock.now()
    found = [_stored(state, write) for write in writes]
    failed = [place for place, write in enumerate(writes) if not _may_write(write, found[place], now)]
    if any(proves_commit(writes[place], found[place]) for place in failed):
        return
    if failed:
        raise Refused(failed[0], found[failed[0]])
    append(state, [write.entry for write in writes if isinstance(write, InsertAudit)])
    for write in writes:
        _apply(state, write)


def put_run(state: State, run: Run) -> None:
    """Store a ledger row, and its place in the schedule's history."""
    if run.key not in state.runs:
        insort(state.history.setdefault((run.key.tenant, run.key.schedule_id), []), run.key)
    state.runs[run.key] = run
    owner = owner_of(run)
    if owner is not None:
        state.letters.setdefault(owner, set()).add(run.key)


def same_fire(stored: Timer | None, before: Timer) -> bool:
    """The condition of every write to a timer but a claim."""
    return stored is not None and _place(stored) == _place(before)


def _place(timer: Timer) -> tuple[int, Instant | None, Instant | None]:
    return timer.rev, timer.nominal_at, first_of(timer.backlog)


def _stored(state: State, write: Write) -> Any:
    match write:
        case CreateTimer() | UpdateTimer() | InsertDefinition() | InsertRun() | ReplaceRun() | InsertRunTimer():
            return _stored_schedule(state, write)
        case InsertAudit(entry):
            return state.audit.get((entry.tenant, entry.entry_id))
        case InsertIdempotency(record):
            return state.idempotency.get((record.tenant, record.key))
        case InsertRetiming() | PutZoneRelease():
            return _stored_retiming(state, write)
        case PutGate() | MoveRunTimer() | PutBreaker():
            return stored_of_gates(state, write)
        case PutCalendarHead() | CheckCalendar() | InsertCalendar():
            return _stored_calendar(state, write)
        case PutHeartbeat() | InsertPing():
            return stored_heartbeat(state, write)
        case (
            PutTenant()
            | CountSchedules()
            | PutApiKey()
            | ListApiKey()
            | PutFreezeDirectory()
            | PutFreezeList()
            | PutSheet()
            | PutSwitch()
            | InsertDeletion()
            | PutOperation()
            | PutDependants()
            | PutDependencyMark()
            | PutAlert()
            | PutErrand()
            | SettleUnreadable()
        ):
            return stored_of_tenant(state, write)
    assert_never(write)


def _stored_schedule(
    state: State, write: CreateTimer | UpdateTimer | InsertDefinition | InsertRun | ReplaceRun | InsertRunTimer
) -> Any:
    match write:
        case CreateTimer(timer) | UpdateTimer(timer):
            return state.timers.get((timer.tenant, timer.schedule_id))
        case InsertDefinition(definition):
            return state.definitions.get(((definition.tenant, definition.schedule_id), definition.version))
        case InsertRun(run) | ReplaceRun(run):
            return state.runs.get(run.key)
        case InsertRunTimer(timer):
            return state.run_timers.get(run_timer_key(timer.key, timer.attempt))
    assert_never(write)


def _stored_retiming(state: State, write: InsertRetiming | PutZoneRelease) -> Any:
    return state.open_retimings.get(write.job.job_id) if isinstance(write, InsertRetiming) else state.zone_release


def _stored_calendar(state: State, write: PutCalendarHead | CheckCalendar | InsertCalendar) -> Any:
    match write:
        case PutCalendarHead(head):
            return state.calendar_heads.get((head.tenant, head.name))
        case CheckCalendar(tenant, name):
            return state.calendar_heads.get((tenant, name))
        case InsertCalendar(calendar):
            return state.calendars.get((calendar.tenant, calendar.name, calendar.version))
    assert_never(write)


def _may_write(write: Write, stored: Any, now: Instant) -> bool:
    match write:
        case UpdateTimer(before=before):
            return same_fire(stored, before)
        case ReplaceRun(run):
            return stored is not None and stored.rev == run.rev - 1
        case InsertRunTimer(replaces=replaces):
            # A retired timer makes room: an attempt that was put off comes again under its number.
            return replaces or not isinstance(stored, RunTimer) or stored.claim_batch is not None
        case InsertIdempotency():
            return not isinstance(stored, IdempotencyRecord) or stored.expires_at <= now
        case PutCalendarHead(before=before) | PutHeartbeat(before=before):
            return bool(stored == before)
        case PutGate() | MoveRunTimer() | PutBreaker():
            return may_write_of_gates(write, stored)
        case PutZoneRelease(after):
            return (0 if stored is None else int(stored.rev)) == after.rev - 1
        case (
            PutTenant()
            | CountSchedules()
            | PutApiKey()
            | ListApiKey()
            | PutFreezeDirectory()
            | PutFreezeList()
            | PutSheet()
            | PutSwitch()
            | InsertDeletion()
            | PutOperation()
            | PutDependants()
            | PutDependencyMark()
            | PutAlert()
            | PutErrand()
            | SettleUnreadable()
        ):
            return may_write_of_tenant(write, stored)
        case CheckCalendar(version=version):
            return isinstance(stored, CalendarHead) and stored.version == version and not stored.is_deleted
    return stored is None


def _apply(state: State, write: Write) -> None:
    match write:
        case CreateTimer() | UpdateTimer() | InsertDefinition() | InsertRun() | ReplaceRun() | InsertRunTimer():
            _apply_schedule(state, write)
        case InsertAudit():
            return  # All entries of a transaction find their places together.
        case InsertIdempotency(record):
            state.idempotency[record.tenant, record.key] = record
        case InsertRetiming() | PutZoneRelease():
            _apply_retiming(state, write)
        case PutGate() | MoveRunTimer() | PutBreaker():
            put_of_gates(state, write)
        case PutCalendarHead() | CheckCalendar() | InsertCalendar():
            _apply_calendar(state, write)
        case PutHeartbeat() | InsertPing():
            put_heartbeat(state, write)
        case (
            PutTenant()
            | CountSchedules()
            | PutApiKey()
            | ListApiKey()
            | PutFreezeDirectory()
            | PutFreezeList()
            | PutSheet()
            | PutSwitch()
            | InsertDeletion()
            | PutOperation()
            | PutDependants()
            | PutDependencyMark()
            | PutAlert()
            | PutErrand()
            | SettleUnreadable()
        ):
            put_of_tenant(state, write)
        case _:
            assert_never(write)


def _apply_schedule(
    state: State, write: CreateTimer | UpdateTimer | InsertDefinition | InsertRun | ReplaceRun | InsertRunTimer
) -> None:
    match write:
        case CreateTimer(timer) | UpdateTimer(timer):
            put_timer(state, timer)
        case InsertDefinition(definition):
            key = (definition.tenant, definition.schedule_id)
            state.definitions[key, definition.version] = bare_definition(definition)
        case InsertRun(run) | ReplaceRun(run):
            put_run(state, run)
        case InsertRunTimer(timer):
            put_run_timer(state, timer)


def _apply_retiming(state: State, write: InsertRetiming | PutZoneRelease) -> None:
    if isinstance(write, InsertRetiming):
        state.open_retimings[write.job.job_id] = write.job
    else:
        state.zone_release = write.release


def _apply_calendar(state: State, write: PutCalendarHead | CheckCalendar | InsertCalendar) -> None:
    match write:
        case PutCalendarHead(head):
            state.calendar_heads[head.tenant, head.name] = head
        case InsertCalendar(calendar):
            state.calendars[calendar.tenant, calendar.name, calendar.version] = calendar
