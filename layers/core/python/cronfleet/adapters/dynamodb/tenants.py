"""`TenantStore` on DynamoDB."""

from collections.abc import Mapping, Sequence

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.database import Database, text
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.items.tenants import tenant_of
from cronfleet.domain.tenant import ID_PATTERN, Tenant
from cronfleet.ports import cursors
from cronfleet.ports.job_store import Damaged
from cronfleet.ports.page import Page


class DynamoTenants:
    """Tenants' records."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get_tenant(self, tenant_id: str, *, consistent: bool = True) -> Tenant | None:
        item = self._database.get(schema.TENANTS, keys.tenant(tenant_id), keys.TENANT, consistent=consistent)
        return None if item is None else tenant_of(item)

    def get_tenants(self, tenant_ids: Sequence[str]) -> Mapping[str, Tenant]:
        places = [(keys.tenant(one), keys.TENANT) for one in tenant_ids]
        found: dict[str, Tenant] = {}
        for item in self._database.batch_get(schema.TENANTS, places):
            try:
                tenant = tenant_of(item)
            except Damaged:
                # Whoever decides for many goes on with this one's defaults; read alone, it says what is wrong.
                continue
            found[tenant.tenant_id] = tenant
        return found

    def list_tenants(self, *, cursor: str | None, limit: int) -> Page[Tenant]:
        items, last = self._database.query(
            schema.TENANTS,
            "#directory = :directory",
            {":directory": text(keys.DIRECTORY)},
            limit=limit,
            index=schema.DIRECTORY,
            start=None if cursor is None else _after(cursor),
        )
        ids = [item["tenant_id"]["S"] for item in items]
        found = self.get_tenants(ids)
        more = None if last is None else cursors.encode([last["tenant_id"]["S"]])
        return Page([found[one] for one in ids if one in found], more)


def _after(cursor: str) -> Item:
    (tenant_id,) = cursors.decode(cursor, 1)
    if not ID_PATTERN.fullmatch(tenant_id):
        raise cursors.foreign()
    return {
        "directory": text(keys.DIRECTORY),
        "tenant_id": text(tenant_id),
        "pk": text(keys.tenant(tenant_id)),
        "sk": text(keys.TENANT),
    }
