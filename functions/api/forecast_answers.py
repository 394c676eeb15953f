"""Forecast answers: how many fires are due when."""

from typing import Annotated, Any, Literal

from pydantic import Field

from cronfleet.domain.instant import MINUTE, to_text
from cronfleet.services.forecasts import By, Forecast

from .answers import Answered, Time


class ForecastPeakAnswer(Answered):
    """The fullest minute."""

    at: Time = Field(description="Its beginning; the first of several.")
    fires: int = Field(description="How many fires are due in it.")


class ForecastShardAnswer(Answered):
    """A shard's part."""

    shard: int = Field(description="Its number.")
    fires: int = Field(description="How many fires are due in it.")


class ForecastTenantAnswer(Answered):
    """A tenant's part."""

    tenant: str | None = Field(description="Its id; null for all those together that are not counted apart.")
    fires: int = Field(description="How many fires of it are due.")


class ForecastAnswer(Answered):
    """How many fires are due in a stretch of time, from what the triggers say."""

    from_: Annotated[Time, Field(alias="from", description="The beginning: a whole minute; by tenant of all, an hour.")]
    to: Time = Field(description="The end, which is not included.")
    by: Literal["minute", "shard", "tenant"] = Field(description="As asked for.")
    scope: Literal["tenant", "platform"] = Field(description="Whose fires are counted.")
    fires: int = Field(description="How many are due altogether.")
    peak: ForecastPeakAnswer | None = Field(description="The fullest minute; null where nothing is due.")
    mean: float = Field(description="Fires a minute, on average.")
    peak_to_mean: float | None = Field(description="The fullest minute against the average one.")
    minutes: list[int] | None = Field(description="By minute: of each, from `from` on.")
    shards: list[ForecastShardAnswer] | None = Field(description="By shard: those in which something is due.")
    tenants: list[ForecastTenantAnswer] | None = Field(description="By tenant: those with most first.")
    schedules: int = Field(description="How many schedules were counted.")
    uncomputable: int = Field(description="How many could not be: the scheduler parks them.")
    following: int = Field(description="How many run after others; their fires are not counted. Of all tenants: 0.")
    as_of: Time = Field(description="When what was counted began to be read.")
    read_at: Time = Field(description="When that was done.")
    is_complete: bool = Field(description="Whether this counts all; else add what `cursor` leads to.")
    cursor: str | None = Field(description="For the tenant's next schedules; null when all are counted.")


def forecast_form(found: Forecast, scope: str) -> dict[str, Any]:
    """The answer that tells what was `found`."""
    counts, minutes = found.read.counts, found.minutes
    total, most = sum(minutes), max(minutes)
    mean = total / len(minutes)
    peak = {"at": to_text(found.since + minutes.index(most) * MINUTE), "fires": most}
    return {
        "from": to_text(found.since),
        "to": to_text(found.until),
        "by": found.by.value,
        "scope": scope,
        "fires": total,
        "peak": peak if total else None,
        "mean": round(mean, 3),
        "peak_to_mean": round(most / mean, 2) if total else None,
        "minutes": list(minutes) if found.by is By.MINUTE else None,
        "shards": _shards(found) if found.by is By.SHARD else None,
        "tenants": _tenants(found) if found.by is By.TENANT else None,
        "schedules": counts.schedules,
        "uncomputable": counts.uncomputable,
        "following": counts.following,
        "as_of": to_text(found.read.started_at),
        "read_at": to_text(found.read.read_at),
        "is_complete": found.cursor is None,
        "cursor": found.cursor,
    }


def _shards(found: Forecast) -> list[dict[str, Any]]:
    parts = sorted((int(shard), fires) for shard, fires in found.parts.items() if fires)
    return [{"shard": shard, "fires": fires} for shard, fires in parts]


def _tenants(found: Forecast) -> list[dict[str, Any]]:
    parts = sorted(found.parts.items(), key=lambda one: (not one[0], -one[1], one[0]))
    return [{"tenant": tenant or None, "fires": fires} for tenant, fires in parts if fires]
