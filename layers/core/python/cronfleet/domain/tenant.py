"""Tenants and tiers: who a schedule belongs to, and which queue its runs travel through."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from cronfleet.domain.instant import EARLIEST, Instant

TIERS: Final = ("standard", "priority")
"""Each tier has its own run queue, dead-letter queue and workers."""

DEFAULT_TIER: Final = "standard"

# `~` and `#` are never allowed in an id: run ids and keys are joined with them.
ID_PATTERN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

Overrides: TypeAlias = tuple[tuple[str, int], ...]
"""Quotas in which a tenant differs from its tier, as sorted pairs of name and limit."""


class TenantStatus(StrEnum):
    """Where a tenant is in its life."""

    ACTIVE = "active"
    SUSPENDED = "suspended"
    """Nothing of it starts, and its keys may only read."""
    DELETING = "deleting"
    DELETED = "deleted"
    """A tombstone: the id is never given away again."""

    @property
    def is_gone(self) -> bool:
        """Whether nothing of it is to be had any more."""
        return self in (TenantStatus.DELETING, TenantStatus.DELETED)


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant of the installation: `tenant_id` comes from the credential, never from a request.

    `quotas` holds only what differs from the tier's defaults (`domain/quota.py`: `quotas_of`). `rev` rises with every
    write to the record; 0 is a tenant without one: it has its tier's defaults, as keys older than records have.
    """

    tenant_id: str
    tier: str = DEFAULT_TIER
    status: TenantStatus = TenantStatus.ACTIVE
    quotas: Overrides = ()
    name: str = ""
    created_at: Instant = EARLIEST
    updated_at: Instant = EARLIEST
    reason: str = ""
    """Why it is suspended or being deleted."""
    lifecycle_events: bool = False
    """Whether it is told of its runs and schedules on the bus of events."""
    rev: int = 0
    change_id: str = ""

    @property
    def etag(self) -> str:
        """What If-Match is compared with."""
        return f'"{self.rev}-{self.change_id}"'
