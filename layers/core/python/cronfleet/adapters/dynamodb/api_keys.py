"""`ApiKeyStore` on DynamoDB."""

from typing import Final

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.database import Database, Expression, number, text
from cronfleet.adapters.dynamodb.errors import ConditionFailed, Item
from cronfleet.adapters.dynamodb.items.api_keys import api_key_item, api_key_of, listed_item
from cronfleet.adapters.dynamodb.items.tenants import tenant_item
from cronfleet.domain.api_key import ApiKey
from cronfleet.domain.instant import Instant
from cronfleet.ports import cursors
from cronfleet.ports.page import Page

_USED: Final = Expression("attribute_exists(#pk)", "SET #last_used_at = :at, #listed = :listed")


class DynamoApiKeys:
    """API keys: found by their ids, listed by their tenants."""

    _database: Database

    def find_api_key(self, key_id: str) -> ApiKey | None:
        item = self._database.get(schema.TENANTS, keys.api_key(key_id), keys.API_KEY)
        return None if item is None else api_key_of(item)

    def list_api_keys(self, tenant: str, *, cursor: str | None, limit: int) -> Page[ApiKey]:
        items, last = self._database.query(
            schema.TENANTS,
            "#pk = :tenant AND begins_with(#sk, :key)",
            {":tenant": text(keys.tenant(tenant)), ":key": text(keys.LISTED_KEY)},
            limit=limit,
            start=None if cursor is None else _after(tenant, cursor),
            consistent=True,
        )
        ids = [item["key_id"]["S"] for item in items]
        places = [(keys.api_key(one), keys.API_KEY) for one in ids]
        stored = map(api_key_of, self._database.batch_get(schema.TENANTS, places, consistent=True))
        found = {key.key_id: key for key in stored}
        more = None if last is None else cursors.encode([ids[-1]])
        return Page([found[one] for one in ids if one in found], more)

    def note_use(self, key: ApiKey, at: Instant) -> None:
        if not key.is_listed:
            self._database.put(schema.TENANTS, listed_item(key))
        values = {":at": number(at), ":listed": number(1)}
        try:
            self._database.update(schema.TENANTS, keys.api_key(key.key_id), keys.API_KEY, _USED, values)
        except ConditionFailed:
            return  # The key has gone meanwhile, and its use with it.

    def put_api_key(self, key: ApiKey) -> None:
        """Store a key and its tenant, whatever is there."""
        self._database.put(schema.TENANTS, tenant_item(key.tenant))
        self._database.put(schema.TENANTS, api_key_item(key))
        self._database.put(schema.TENANTS, listed_item(key))


def _after(tenant: str, cursor: str) -> Item:
    (key_id,) = cursors.decode(cursor, 1)
    return {"pk": text(keys.tenant(tenant)), "sk": text(keys.listed_key(key_id))}
