"""Tenants, as the services need them stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from cronfleet.domain.tenant import Tenant
from cronfleet.ports.page import Page


@dataclass(frozen=True, slots=True)
class PutTenant:
    """Put a tenant's record, on the condition that its `rev` is still that of `before` (`None`: there is none)."""

    tenant: Tenant
    before: Tenant | None


class TenantStore(Protocol):
    """Tenants' records. A tenant whose key is older than records has none: it is `Tenant(id)` with its key's tier."""

    def get_tenant(self, tenant_id: str, *, consistent: bool = True) -> Tenant | None:
        """The record, by default read strongly. Raises `Damaged`."""
        ...

    def get_tenants(self, tenant_ids: Sequence[str]) -> Mapping[str, Tenant]:
        """Records by batch reads, eventually consistent; absent and damaged ones are left out."""
        ...

    def list_tenants(self, *, cursor: str | None, limit: int) -> Page[Tenant]:
        """Tenants that have a record, by id, deleted ones too. A hint, as every index is."""
        ...
