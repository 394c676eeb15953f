"""`TenantStore` in memory."""

from collections.abc import Mapping, Sequence

from cronfleet.adapters.memory.state import State
from cronfleet.domain.tenant import ID_PATTERN, Tenant
from cronfleet.ports import cursors
from cronfleet.ports.page import Page


class MemoryTenants:
    """Tenants' records."""

    def __init__(self, state: State) -> None:
        self.state = state

    def get_tenant(self, tenant_id: str, *, consistent: bool = True) -> Tenant | None:  # noqa: ARG002 - always as it is now
        return self.state.tenants.get(tenant_id)

    def get_tenants(self, tenant_ids: Sequence[str]) -> Mapping[str, Tenant]:
        return {one: self.state.tenants[one] for one in tenant_ids if one in self.state.tenants}

    def list_tenants(self, *, cursor: str | None, limit: int) -> Page[Tenant]:
        after = "" if cursor is None else cursors.decode(cursor, 1)[0]
        if cursor is not None and not ID_PATTERN.fullmatch(after):
            raise cursors.foreign()
        found = sorted(one for one in self.state.tenants if one > after)
        tenants = [self.state.tenants[one] for one in found[:limit]]
        return Page(tenants, cursors.encode([tenants[-1].tenant_id]) if len(found) > limit else None)


def same_rev(stored: Tenant | None, before: Tenant | None) -> bool:
    """The condition of a write to a tenant's record: it is as it was read."""
    return (None if stored is None else stored.rev) == (None if before is None else before.rev)
