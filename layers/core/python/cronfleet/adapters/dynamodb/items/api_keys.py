"""API keys and their tenants' lists of them, as items of the table `tenants`."""

from typing import assert_never

from cronfleet.adapters.dynamodb import keys
from cronfleet.adapters.dynamodb.database import ABSENT, ALWAYS, Expression, text
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.recording import damaged, read, written
from cronfleet.adapters.dynamodb.tenant_records import ApiKeyRecord, ListedKeyRecord
from cronfleet.domain.api_key import KEPT_AFTER_END, ApiKey
from cronfleet.domain.instant import EARLIEST, SECOND
from cronfleet.domain.role import Role
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.api_keys import ListApiKey, PutApiKey

_SAME_CHANGE = Expression("#change_id = :change_id")
# Keys of the first release have no change.
_UNCHANGED = Expression("attribute_exists(#pk) AND attribute_not_exists(#change_id)")


def parts_of_key(write: PutApiKey | ListApiKey) -> tuple[Item, Expression, Item | None]:
    """The item, condition and values of a write."""
    match write:
        case PutApiKey(key, before):
            if before is None:
                return api_key_item(key), ABSENT, None
            if not before.change_id:
                return api_key_item(key), _UNCHANGED, None
            return api_key_item(key), _SAME_CHANGE, {":change_id": text(before.change_id)}
        case ListApiKey(key):
            return listed_item(key), ALWAYS, None
    assert_never(write)


def api_key_item(key: ApiKey) -> Item:
    """A key as an item."""
    return written(
        ApiKeyRecord,
        keys.api_key(key.key_id),
        keys.API_KEY,
        hash=key.digest,
        tenant=key.tenant.tenant_id,
        tier=key.tenant.tier,
        role=key.role.value,
        name=key.name or None,
        created_at=key.created_at,
        created_by=key.created_by or None,
        ends_at_ms=key.expires_at,
        revoked_at=key.revoked_at,
        last_used_at=key.last_used_at,
        replaced_by=key.replaced_by or None,
        change_id=key.change_id or None,
        listed=1 if key.is_listed else None,
        expires_at=_forgotten_at(key),
    )


def listed_item(key: ApiKey) -> Item:
    """A key in its tenant's list, as an item."""
    place = keys.tenant(key.tenant.tenant_id), keys.listed_key(key.key_id)
    return written(ListedKeyRecord, *place, key_id=key.key_id, expires_at=_forgotten_at(key))


def _forgotten_at(key: ApiKey) -> int | None:
    return None if key.ends_at is None else (key.ends_at + KEPT_AFTER_END) // SECOND


def api_key_of(item: Item) -> ApiKey:
    """The key in `item`; raises `Damaged`."""
    record = read(ApiKeyRecord, item)
    try:
        return ApiKey(
            key_id=record.pk.removeprefix(keys.api_key("")),
            digest=record.hash,
            tenant=Tenant(record.tenant, record.tier),
            role=Role(record.role or Role.TENANT_ADMIN),
            name=record.name or "",
            created_at=record.created_at or EARLIEST,
            created_by=record.created_by or "",
            expires_at=record.ends_at_ms,
            revoked_at=record.revoked_at,
            last_used_at=record.last_used_at,
            replaced_by=record.replaced_by or "",
            change_id=record.change_id or "",
            is_listed=bool(record.listed),
        )
    except ValueError as error:
        raise damaged(item, error) from error
