"""Token claims: as whom a checked token lets its bearer in."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from cronfleet.domain.instant import SECOND, Instant
from cronfleet.domain.role import Role
from cronfleet.domain.tenant import ID_PATTERN

MAX_SUBJECT: Final = 128
"""Characters of a subject, which stands in the audit log as the actor."""


@dataclass(frozen=True, slots=True)
class ClaimNames:
    """Under which names the provider says tenant and role."""

    tenant: str = "cronfleet_tenant"
    role: str = "cronfleet_role"


@dataclass(frozen=True, slots=True)
class Bearer:
    """Who bears a token: in which tenant, as what, until when."""

    tenant_id: str
    role: Role
    subject: str
    ends_at: Instant


def bearer_of(claims: Mapping[str, Any], names: ClaimNames) -> Bearer | None:
    """Who bears a token that says `claims`; `None` unless it names a subject, one tenant, a role and an end."""
    tenant_id, subject, end = claims.get(names.tenant), claims.get("sub"), claims.get("exp")
    role = _highest(claims.get(names.role))
    if not isinstance(tenant_id, str) or not ID_PATTERN.fullmatch(tenant_id) or role is None:
        return None
    if not isinstance(subject, str) or not 0 < len(subject) <= MAX_SUBJECT or not subject.isprintable():
        return None
    if isinstance(end, bool) or not isinstance(end, int | float):
        return None
    return Bearer(tenant_id, role, subject, int(end * SECOND))


def _highest(said: Any) -> Role | None:
    """A role, or the highest in a list of them among others: providers put groups of all kinds into one claim."""
    known = {role.value: role for role in Role}
    written = said if isinstance(said, list) else [said]
    found = [known[one] for one in written if isinstance(one, str) and one in known]
    return max(found, key=lambda role: role.rank, default=None)
