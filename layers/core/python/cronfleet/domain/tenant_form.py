"""A tenant in the form in which callers and the audit log see it."""

from cronfleet.domain.form import Form
from cronfleet.domain.instant import to_text
from cronfleet.domain.quota import limits, quotas_of
from cronfleet.domain.tenant import Tenant


def tenant_form(tenant: Tenant) -> Form:
    """The tenant: `quotas` are the limits in force, `overrides` those in which it differs from its tier."""
    return {
        "id": tenant.tenant_id,
        "name": tenant.name,
        "tier": tenant.tier,
        "status": tenant.status.value,
        "reason": tenant.reason or None,
        "quotas": limits(quotas_of(tenant)),
        "overrides": dict(tenant.quotas),
        "lifecycle_events": tenant.lifecycle_events,
        "created_at": to_text(tenant.created_at) if tenant.rev else None,
        "updated_at": to_text(tenant.updated_at) if tenant.rev else None,
    }
