"""Audit entries, as items of the table `audit`."""

from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.records import AuditRecord, read
from cronfleet.domain.audit import AuditEntry


def audit_item(entry: AuditEntry) -> Item:
    """An entry as an item."""
    record = AuditRecord(
        entry.tenant,
        entry.entry_id,
        at=entry.at,
        actor=entry.actor,
        action=entry.action,
        schedule_id=entry.schedule_id,
        request_id=entry.request_id,
        before=entry.before,
        after=entry.after,
        reason=entry.reason,
    )
    return record.serialize()


def audit_of(item: Item) -> AuditEntry:
    """The entry in `item`; raises `Damaged`."""
    record = read(AuditRecord, item)
    return AuditEntry(
        record.pk,
        record.sk,
        record.at,
        record.actor,
        record.action,
        record.schedule_id,
        record.request_id,
        record.before,
        record.after,
        record.reason,
    )
