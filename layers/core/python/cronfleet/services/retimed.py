"""What is made of a schedule that is looked at again, and how it is written: one transaction with its audit entry."""

from collections.abc import Sequence
from dataclasses import dataclass

from cronfleet.domain.audit import SCHEDULER_ACTOR, AuditEntry, schedule_subject
from cronfleet.domain.form import Form
from cronfleet.domain.schedule import Change, Timer
from cronfleet.ports.job_store import InsertAudit, InsertRun, JobStore, Refused, UpdateTimer, Write
from cronfleet.services.asking import ask
from cronfleet.services.tenant_rules import TenantRules


@dataclass(frozen=True, slots=True)
class Retimed:
    """The timer after, what the audit says, and what else is written with it."""

    timer: Timer
    before: Form
    after: Form
    reason: str
    more: Sequence[Write] = ()


def write(store: JobStore, before: Timer, made: Retimed, entry_id: str) -> Refused | None:
    """`None` once it is done; else what somebody else's faster write left there. Raises `NoAnswer`."""
    entry = AuditEntry(
        before.tenant,
        entry_id,
        made.timer.updated_at,
        SCHEDULER_ACTOR,
        _action(before, made.timer).value,
        schedule_subject(before.schedule_id),
        request_id=made.timer.change_id,
        before=made.before,
        after=made.after,
        reason=made.reason,
    )
    rules = TenantRules(store)  # a retiming seldom leaves rows behind: nothing is remembered for it
    more = [
        InsertRun(rules.kept(one.run, made.timer.updated_at)) if isinstance(one, InsertRun) else one
        for one in made.more
    ]
    try:
        ask(lambda: store.commit([UpdateTimer(made.timer, before), InsertAudit(entry), *more]))
    except Refused as refused:
        return refused
    return None


def _action(before: Timer, after: Timer) -> Change:
    """`RETIME` begins an epoch, for whoever reads the epochs of a schedule off the audit log; an edit begins none."""
    return Change.EDIT if before.epoch == after.epoch else Change.RETIME
