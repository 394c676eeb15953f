"""Alert answers: channels, incidents, notices."""

from typing import Any, Literal

from pydantic import Field

from .answers import Answered, Time


class ChannelAnswer(Answered):
    """A channel; secrets are names only."""

    name: str = Field(description="Its name.")
    kind: str = Field(description="`sns`, `webhook`, `email` or `slack`.")
    topic_arn: str | None = Field(None, description="Of `sns`.")
    url: str | None = Field(None, description="Of `webhook`, and of `slack` where it is no secret.")
    secret: str | None = Field(None, description="Of `webhook`: a name.")
    url_secret: str | None = Field(None, description="Of `slack`: a name.")
    to: list[str] | None = Field(None, description="Of `email`.")
    template: str = Field(description="Empty: our own text.")
    quiet_hours: dict[str, Any] | None = Field(description="When it is told nothing.")
    default: bool = Field(description="Whether it is told where no channel is named.")
    description: str = Field(description="What it is for.")
    created_at: Time = Field(description="When it was made.")
    updated_at: Time = Field(description="When it was last changed.")


class ChannelsAnswer(Answered):
    """All channels, by name."""

    channels: list[ChannelAnswer] = Field(description="There are twenty at most.")


class NoticeAnswer(Answered):
    """One message to one channel."""

    id: str = Field(description="Its id, which the receiver sees too.")
    edge: str = Field(description="`opened`, `healed`, `withdrawn`, `test` or `summary`.")
    channel: str = Field(description="Whom it tells.")
    incident_id: str | None = Field(description="Of which incident; null for a test or a summary.")
    status: str = Field(description="`owed`, `held`, `sent`, `given_up` or `dropped`.")
    attempts: int = Field(description="Deliveries so far.")
    error: str = Field(description="What went wrong with the latest, if it did.")
    next_at: Time | None = Field(description="When it is tried again.")
    created_at: Time = Field(description="Since when it is owed.")
    ended_at: Time | None = Field(description="When it was sent, held, given up or dropped.")
    summary: str | None = Field(description="The notice that tells it, if it was held in quiet hours.")


class AcknowledgedAnswer(Answered):
    """Who has seen it."""

    by: str = Field(description="Who.")
    at: Time = Field(description="When.")
    note: str = Field(description="What they said.")


class IncidentAnswer(Answered):
    """Something that is, or was, broken."""

    id: str = Field(description="Its id; they sort by when it broke.")
    kind: str = Field(description="What is broken; docs/alerts.md has the list.", examples=["starts_within"])
    subject: str = Field(description="`schedule:<id>`, `shard:<number>` or the like.")
    schedule_id: str | None = Field(description="The schedule that it is about, if it is about one.")
    status: str = Field(description="`open`, `healed` or `withdrawn`.")
    text: str = Field(description="What is broken, in a sentence.")
    detail: dict[str, Any] = Field(description="For machines; instants in milliseconds.")
    schedules: list[str] = Field(description="The schedules concerned, 200 at most.")
    schedule_count: int = Field(description="How many are concerned.")
    broken_since: Time = Field(description="Since when.")
    opened_at: Time = Field(description="When that was noticed.")
    ended_at: Time | None = Field(description="When it was whole again.")
    ended_text: str = Field(description="By what.")
    channels: list[str] = Field(description="Who is told.")
    acknowledged: AcknowledgedAnswer | None = Field(description="Who has seen it.")


class IncidentsAnswer(Answered):
    """A page of incidents, newest first."""

    incidents: list[IncidentAnswer] = Field(description="May be fewer than `limit` before the last page.")
    cursor: str | None = Field(description="For the next page; null on the last.")


class ToldIncidentAnswer(IncidentAnswer):
    """An incident, and what became of its messages."""

    notices: list[NoticeAnswer] = Field(description="One for each edge and channel.")


class ObjectiveAnswer(Answered):
    """One thing that is expected of a schedule."""

    kind: str = Field(description="What is expected, as the schedule names it.", examples=["starts_within"])
    expected: str = Field(description="As it was written.", examples=["5m"])
    state: Literal["kept", "broken", "not_watched", "not_judged_yet"] = Field(
        description="`not_watched`: while the schedule is paused, held or frozen; a held one is watched for pings."
    )
    incident: IncidentAnswer | None = Field(description="The open incident, where it is broken.")


class LearnedAnswer(Answered):
    """How long runs took."""

    successes: int = Field(description="How many this was learned from; the newest 50.")
    median_ms: int = Field(description="Half of them took no longer.")
    p95_ms: int = Field(description="19 of 20 took no longer.")
    limit_seconds: int = Field(description="What `learned` takes for too long.")


class ObjectivesAnswer(Answered):
    """What is expected of a schedule, and how it stands."""

    schedule_id: str = Field(description="The schedule that was asked for.")
    objectives: list[ObjectiveAnswer] = Field(description="Empty: nothing is expected of it.")
    channels: list[str] = Field(description="Who is told, by name; none: the default channels.")
    judged_until: Time | None = Field(description="Every deadline up to then was judged; null: none yet.")
    learned: LearnedAnswer | None = Field(description="Null: fewer than five successes, or nothing is expected.")
