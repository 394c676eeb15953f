"""Tenant answers: what callers get of tenants, as the OpenAPI document shows it."""

from pydantic import Field

from cronfleet.domain.tenant import TenantStatus

from .answers import Answered, Time


class QuotasAnswer(Answered):
    """The limits in force."""

    schedules: int = Field(description="Schedules that are there, whatever their status.")
    concurrent_runs: int | None = Field(description="Runs at the same time; null: no limit.")
    fires_per_second: int = Field(description="Fires that become runs, over time.")
    burst: int = Field(description="Fires that become runs at once, after a quiet stretch.")
    payload_bytes: int = Field(description="The payload of a schedule or run, as compact JSON in UTF-8.")
    retention_days: int = Field(description="How far back history can be read.")
    backfill_fires: int = Field(description="Fires of one backfill.")
    requests_per_second: int = Field(description="Requests to this API, per key.")


class TenantAnswer(Answered):
    """A tenant."""

    id: str = Field(description="Its id.", examples=["acme"])
    name: str = Field(description="What people call it.")
    tier: str = Field(description="Which queues and workers its runs go through.", examples=["standard"])
    status: TenantStatus = Field(description="Where it is in its life.")
    reason: str | None = Field(description="Why it is suspended or being deleted.")
    quotas: QuotasAnswer = Field(description="The limits in force: its tier's, with the overrides.")
    overrides: dict[str, int] = Field(description="Those in which it differs from its tier.")
    lifecycle_events: bool = Field(description="Whether it is told of its runs on the bus of events.")
    created_at: Time | None = Field(description="When its record was made; null for one that is older than records.")
    updated_at: Time | None = Field(description="When the record was changed last.")


class TenantsAnswer(Answered):
    """A page of tenants."""

    tenants: list[TenantAnswer] = Field(description="By id; may be fewer than `limit` before the last page.")
    cursor: str | None = Field(description="For the next page; null on the last.")


class QuotaUseAnswer(Answered):
    """A quota and its use."""

    use: int | None = Field(description="Null where nothing is counted; docs/quotas.md says why.")
    limit: int | None = Field(description="Null: no limit.")


class QuotaUsesAnswer(Answered):
    """Each quota with its use."""

    schedules: QuotaUseAnswer = Field(description="Schedules that are there, whatever their status: exact.")
    concurrent_runs: QuotaUseAnswer = Field(description="Slots that are held; 0 while there is no limit.")
    fires_per_second: QuotaUseAnswer = Field(description="Not counted: what is over it is put off.")
    burst: QuotaUseAnswer = Field(description="Not counted, likewise.")
    payload_bytes: QuotaUseAnswer = Field(description="Of each payload by itself.")
    retention_days: QuotaUseAnswer = Field(description="Not a quantity that grows.")
    backfill_fires: QuotaUseAnswer = Field(description="Of each backfill by itself.")
    requests_per_second: QuotaUseAnswer = Field(description="Of each key by itself.")


class UsageAnswer(Answered):
    """What a tenant uses of its quotas."""

    tenant: str = Field(description="Its id.")
    tier: str = Field(description="Its tier.")
    quotas: QuotaUsesAnswer = Field(description="Each by its name.")
