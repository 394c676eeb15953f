"""Audit entries, as items of the table `audit`."""

from cronfleet.adapters.dynamodb import keys
from cronfleet.adapters.dynamodb.audit_records import AuditRecord
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.recording import damaged, read, written
from cronfleet.domain.audit import AuditEntry, Broken, Link, schedule_subject
from cronfleet.ports.job_store import Damaged


def audit_item(entry: AuditEntry) -> Item:
    """An entry as an item."""
    link = entry.link
    return written(
        AuditRecord,
        entry.tenant,
        entry.entry_id,
        at=entry.at,
        actor=entry.actor,
        action=entry.action,
        schedule_id=entry.schedule_id or entry.subject,
        subject=entry.subject,
        request_id=entry.request_id,
        before=entry.before,
        after=entry.after,
        reason=entry.reason,
        credential=entry.credential or None,
        home_tenant=entry.home_tenant or None,
        chain=None if link is None else keys.chain(entry.tenant, entry.subject),
        seq=None if link is None else link.seq,
        previous=None if link is None else link.previous or None,
        previous_id=None if link is None else link.previous_id or None,
        digest=None if link is None else link.digest,
    )


def audit_of(item: Item) -> AuditEntry:
    """The entry in `item`; raises `Damaged`."""
    record = read(AuditRecord, item)
    subject = record.subject or _first_subject(record.schedule_id)
    try:
        return AuditEntry(
            record.pk,
            record.sk,
            record.at,
            record.actor,
            record.action,
            subject,
            record.request_id,
            record.before,
            record.after,
            record.reason,
            record.credential or "",
            record.home_tenant or "",
            _link_of(record, keys.chain(record.pk, subject)),
        )
    except ValueError as error:
        raise damaged(item, error) from error


def _link_of(record: AuditRecord, chain: str) -> Link | None:
    if record.chain is None and record.seq is None and record.digest is None:
        return None
    if record.chain != chain or record.seq is None or record.digest is None:
        raise ValueError(f"its place is {record.seq} in the chain {record.chain}, its subject {chain}")
    return Link(record.seq, record.previous or "", record.previous_id or "", record.digest)


def audit_or_broken(item: Item) -> AuditEntry | Broken:
    """The entry in `item`, or why it cannot be read."""
    try:
        return audit_of(item)
    except Damaged as error:
        return Broken(error.sort, str(error))


def _first_subject(filed_under: str) -> str:
    """What the first items were filed under: a schedule's id, or a subject as it is written now."""
    return filed_under if ":" in filed_under else schedule_subject(filed_under)
