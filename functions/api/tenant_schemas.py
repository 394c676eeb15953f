"""Tenant schemas: what callers may send of a tenant, field by field."""

from typing import Annotated, Any, Literal

from pydantic import Field

from cronfleet.domain.quota import BOUNDS
from cronfleet.domain.tenant import TIERS

from .schemas import ID, TEXT, Reason, Strict, shown

Tier = Literal[tuple(TIERS)]
"""Which queues and workers the tenant's runs go through."""


def _limit(name: str, description: str) -> Any:
    least, most = BOUNDS[name]
    return Annotated[int | None, Field(ge=least, le=most, description=description)]


class QuotasBody(Strict):
    """Limits in which a tenant differs from its tier. What is left out stays as it is; `null` goes back to the tier's
    default.
    """

    model_config = shown({"schedules": 500, "concurrent_runs": 5, "fires_per_second": 20})

    schedules: _limit("schedules", "Schedules that are there, whatever their status.") = None
    concurrent_runs: _limit("concurrent_runs", "Runs at the same time. Left out: as many as come.") = None
    fires_per_second: _limit("fires_per_second", "Fires that become runs, over time.") = None
    burst: _limit("burst", "Fires that become runs at once, after a quiet stretch.") = None
    payload_bytes: _limit("payload_bytes", "The payload of a schedule or run, as compact JSON in UTF-8.") = None
    retention_days: _limit("retention_days", "How far back history can be read.") = None
    backfill_fires: _limit("backfill_fires", "Fires of one backfill.") = None
    requests_per_second: _limit("requests_per_second", "Requests to this API, per key.") = None


class TenantPatchBody(Strict):
    """What is to change of a tenant: a JSON merge patch (RFC 7396)."""

    model_config = shown({"tier": "priority"}, {"quotas": {"schedules": 500, "burst": None}})

    name: str | None = Field(None, max_length=200, pattern=TEXT, description="What people call it.")
    tier: Tier | None = Field(None, description="Which queues and workers its runs go through.")
    quotas: QuotasBody | None = Field(None, description="Limits in which it differs from its tier.")
    lifecycle_events: bool | None = Field(None, description="Whether it is told of its runs on the bus of events.")


class EventsBody(Strict):
    """Whether a tenant is told of its runs and schedules."""

    model_config = shown({"enabled": True, "reason": "our data platform listens"})

    enabled: bool = Field(description="Told on the bus of events, or not.")
    reason: Reason = ""


class TenantBody(TenantPatchBody):
    """A tenant to be made."""

    model_config = shown({"id": "acme", "name": "Acme Ltd", "tier": "standard", "quotas": {"schedules": 500}})

    id: str = Field(pattern=ID, description="Its id, for good: it is never used again.")
