"""Tenants and tiers: who a schedule belongs to, and which queue its runs travel through."""

import re
from dataclasses import dataclass
from typing import Final

TIERS: Final = ("standard", "priority")
"""Each tier has its own run queue, dead-letter queue and workers."""

DEFAULT_TIER: Final = "standard"

# `~` and `#` are never allowed in an id: run ids and keys are joined with them.
ID_PATTERN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Tenant:
    """A customer of the installation: `tenant_id` comes from the credential, never from a request."""

    tenant_id: str
    tier: str = DEFAULT_TIER
