"""Deletions, as items of the table `tenants`: an open one stands with all open ones, its end beside the tombstone."""

from typing import Any

from pynamodb.attributes import UnicodeAttribute
from pynamodb.models import Model

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.recording import damaged, read, written
from cronfleet.adapters.dynamodb.records import JsonAttribute, WholeAttribute
from cronfleet.domain.deletion import Deletion, Kind, Owned, Request, Stage


class DeletionRecord(Model):
    """A tenant's deletion: open, or its end, which stays."""

    class Meta:
        table_name = schema.TENANTS.name

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    tenant = UnicodeAttribute()
    request = JsonAttribute()
    started_at = WholeAttribute()
    stage = UnicodeAttribute()
    stage_since = WholeAttribute()
    cursor = UnicodeAttribute(null=True)
    pending = JsonAttribute(null=True)
    removed = JsonAttribute()
    digest = UnicodeAttribute(null=True)
    finished_at = WholeAttribute(null=True)
    rev = WholeAttribute()


def open_place(tenant: str) -> tuple[str, str]:
    """The key of a tenant's deletion while it is open."""
    return keys.OPEN_DELETIONS, tenant


def ended_place(tenant: str) -> tuple[str, str]:
    """The key of a tenant's deletion once it is over."""
    return keys.tenant(tenant), keys.DELETION


def deletion_item(job: Deletion) -> Item:
    """A deletion as an item."""
    return written(
        DeletionRecord,
        *(open_place(job.tenant) if job.is_open else ended_place(job.tenant)),
        tenant=job.tenant,
        request=[getattr(job.request, name) for name in _REQUEST],
        started_at=job.started_at,
        stage=job.stage.value,
        stage_since=job.stage_since,
        cursor=job.cursor,
        pending=[[owned.kind.value, *owned.place] for owned in job.pending] or None,
        removed=dict(job.removed),
        digest=job.digest or None,
        finished_at=job.finished_at,
        rev=job.rev,
    )


_REQUEST = ("actor", "credential", "home_tenant", "request_id", "reason")


def deletion_of(item: Item) -> Deletion:
    """The deletion in `item`; raises `Damaged`."""
    record = read(DeletionRecord, item)
    try:
        return Deletion(
            record.tenant,
            Request(*map(str, record.request)),
            record.started_at,
            Stage(record.stage),
            record.stage_since,
            record.cursor,
            tuple(_owned(one) for one in record.pending or ()),
            {str(kind): int(number) for kind, number in record.removed.items()},
            record.digest or "",
            record.finished_at,
            record.rev,
        )
    except (ValueError, TypeError, AttributeError) as error:
        raise damaged(item, error) from error


def _owned(stored: Any) -> Owned:
    kind, *place = stored
    return Owned(Kind(kind), tuple(map(str, place)))
