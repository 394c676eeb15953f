"""Tenants and idempotency records, as items of the table `tenants`."""

from cronfleet.adapters.dynamodb import keys, recording, tenant_records
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.domain.instant import EARLIEST, SECOND
from cronfleet.domain.tenant import Tenant, TenantStatus
from cronfleet.ports.job_store import IdempotencyRecord


def tenant_item(tenant: Tenant) -> Item:
    """A tenant as an item."""
    return recording.written(
        tenant_records.TenantRecord,
        keys.tenant(tenant.tenant_id),
        keys.TENANT,
        tier=tenant.tier,
        directory=keys.DIRECTORY,
        tenant_id=tenant.tenant_id,
        status=tenant.status.value,
        quotas=dict(tenant.quotas) or None,
        name=tenant.name or None,
        created_at=tenant.created_at,
        updated_at=tenant.updated_at,
        reason=tenant.reason or None,
        lifecycle_events=tenant.lifecycle_events or None,
        rev=tenant.rev or None,
        change_id=tenant.change_id or None,
    )


def tenant_of(item: Item) -> Tenant:
    """The tenant in `item`; raises `Damaged`."""
    record = recording.read(tenant_records.TenantRecord, item)
    try:
        return Tenant(
            tenant_id=record.pk.removeprefix(keys.tenant("")),
            tier=record.tier,
            status=TenantStatus(record.status or TenantStatus.ACTIVE),
            quotas=tuple(sorted((str(name), int(limit)) for name, limit in (record.quotas or {}).items())),
            name=record.name or "",
            created_at=record.created_at or EARLIEST,
            updated_at=record.updated_at or EARLIEST,
            reason=record.reason or "",
            lifecycle_events=bool(record.lifecycle_events),
            rev=record.rev or 0,
            change_id=record.change_id or "",
        )
    except (AttributeError, TypeError, ValueError) as error:
        raise recording.damaged(item, error) from error


def idempotency_item(record: IdempotencyRecord) -> Item:
    """A remembered answer as an item."""
    return recording.written(
        tenant_records.IdempotencyRecord,
        keys.idempotency(record.tenant),
        record.key,
        request_digest=record.request_digest,
        answer=record.answer,
        expires_at_ms=record.expires_at,
        expires_at=-(-record.expires_at // SECOND),
    )


def idempotency_of(item: Item) -> IdempotencyRecord:
    """The remembered answer in `item`; raises `Damaged`."""
    record = recording.read(tenant_records.IdempotencyRecord, item)
    tenant = record.pk.removeprefix(keys.idempotency(""))
    return IdempotencyRecord(tenant, record.sk, record.request_digest, record.answer, record.expires_at_ms)
