"""Objectives as they come in: what is expected of each fire of a schedule."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from cronfleet.domain.objective import MAX_NAMED_CHANNELS

Duration = Annotated[str | None, Field(max_length=16, examples=["5m"])]


class ObjectivesBody(BaseModel):
    """At least one of the five; durations are a whole number and s, m, h or d, up to 31d."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        defer_build=True,
        json_schema_extra={
            "examples": [
                {
                    "starts_within": "5m",
                    "succeeds_by": "06:00",
                    "runs_no_longer_than": "learned",
                    "channels": ["night"],
                },
                {"ping_within": "10m"},
            ]
        },
    )

    starts_within: Duration = Field(None, description="From when a fire is due until its run starts.")
    succeeds_within: Duration = Field(None, description="From when a fire is due until its run has succeeded.")
    succeeds_by: str | None = Field(
        None,
        max_length=5,
        examples=["06:00"],
        description="The next such time of day after a fire, in the zone of its cron (UTC for others).",
    )
    runs_no_longer_than: Duration = Field(
        None, description="One attempt; `learned`: half as long again as the slowest of the last 50 successes."
    )
    ping_within: Duration = Field(
        None, description="From when a fire is due until the job elsewhere pings its heartbeat URL with success."
    )
    channels: list[str] = Field(
        default_factory=list,
        max_length=MAX_NAMED_CHANNELS,
        description="Who is told, by name. None, or none of them there: the default channels.",
        examples=[["night"]],
    )
