"""Recognising one's own writes: what a refused transaction looks like when its first reply was lost."""

from typing import Any

from cronfleet.domain.audit import AuditEntry
from cronfleet.domain.run import Run
from cronfleet.domain.schedule import Timer
from cronfleet.ports.breakers import PutBreaker
from cronfleet.ports.job_store import (
    CreateTimer,
    InsertAudit,
    InsertDeletion,
    InsertPing,
    InsertRun,
    PutAlert,
    PutApiKey,
    PutCalendarHead,
    PutFreezeDirectory,
    PutFreezeList,
    PutHeartbeat,
    PutOperation,
    PutSheet,
    PutSwitch,
    PutTenant,
    PutZoneRelease,
    ReplaceRun,
    SettleUnreadable,
    UpdateTimer,
    Write,
)


def proves_commit(write: Write, stored: Any) -> bool:
    """Whether `stored`, found where the condition of `write` failed, can only be there because `write` was done.

    A transaction is done whole or not at all, so one such proof says that the whole transaction was committed
    before and only its reply was lost. What another writer could have stored as well proves nothing.
    """
    match write:
        case CreateTimer(timer):
            return isinstance(stored, Timer) and stored.change_id == timer.change_id != ""
        case UpdateTimer(timer, before):
            return isinstance(stored, Timer) and before.change_id != stored.change_id == timer.change_id
        case InsertAudit(entry):
            return isinstance(stored, AuditEntry) and stored.request_id == entry.request_id
        case PutCalendarHead(thing) | PutHeartbeat(thing) | PutTenant(thing) | PutApiKey(thing) | PutOperation(thing):
            return type(stored) is type(thing) and stored.change_id == thing.change_id
        case PutBreaker(thing) if thing.change_id:
            return stored is not None and stored.change_id == thing.change_id
        case PutFreezeDirectory(thing) | PutFreezeList(thing) | PutSheet(thing) | PutSwitch(thing):
            return stored is not None and stored.change_id == thing.change_id
        case PutAlert(thing) | SettleUnreadable(thing):
            return bool(stored == thing)
        case InsertRun(thing) | InsertPing(thing) | PutZoneRelease(thing) | InsertDeletion(thing):
            return bool(stored == thing)
        case ReplaceRun(run):
            return isinstance(stored, Run) and _holds_end_of(stored, run)
    return False


def _holds_end_of(stored: Run, written: Run) -> bool:
    if stored == written:
        return True
    # The run has gone on since; a closed attempt carries its owner, fence and end, which nobody else writes.
    closed = bool(written.attempts) and written.attempts[-1].finished_at is not None
    return closed and stored.rev > written.rev and stored.attempts[: len(written.attempts)] == written.attempts
