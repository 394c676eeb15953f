"""Audit entries, as items of the table `audit`."""

from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.records import AuditRecord, damaged, read
from cronfleet.domain.audit import AuditEntry, schedule_subject


def audit_item(entry: AuditEntry) -> Item:
    """An entry as an item."""
    record = AuditRecord(
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
    )
    return record.serialize()


def audit_of(item: Item) -> AuditEntry:
    """The entry in `item`; raises `Damaged`."""
    record = read(AuditRecord, item)
    try:
        return AuditEntry(
            record.pk,
            record.sk,
            record.at,
            record.actor,
            record.action,
            record.subject or _first_subject(record.schedule_id),
            record.request_id,
            record.before,
            record.after,
            record.reason,
            record.credential or "",
            record.home_tenant or "",
        )
    except ValueError as error:
        raise damaged(item, error) from error


def _first_subject(filed_under: str) -> str:
    """What the first items were filed under: a schedule's id, or a subject as it is written now."""
    return filed_under if ":" in filed_under else schedule_subject(filed_under)
