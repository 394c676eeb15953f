"""Answers: what callers get, as the OpenAPI document shows it. Built from `domain/form.py`, checked here."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from cronfleet.domain.reason import Code
from cronfleet.domain.run import Outcome, RunStatus
from cronfleet.domain.schedule import Status

Time = Annotated[str, Field(description="RFC 3339, UTC.", examples=["2026-12-01T02:00:00Z"])]


class Answered(BaseModel):
    """The base of all answers."""

    model_config = ConfigDict(extra="forbid", defer_build=True)


class ReasonAnswer(Answered):
    """Why something did not simply run."""

    code: Code
    text: str
    detail: dict[str, str | int]


class PausedAnswer(Answered):
    """Who paused a schedule, and until when."""

    by: Annotated[str, Field(description="The id of the API key.")]
    reason: str
    at: Time
    until: Time | None


class ScheduleAnswer(Answered):
    """A schedule, with every default spelled out, and where it stands."""

    id: str
    description: str
    owner: str
    trigger: dict[str, str]
    target: dict[str, str]
    payload: Any
    policies: dict[str, Any]
    labels: dict[str, str]
    start_at: Time | None
    end_at: Time | None
    status: Status
    version: int
    next_fire_at: Annotated[Time | None, Field(description="The calendar's next time, while it is active.")]
    next_due_at: Annotated[Time | None, Field(description="The same after jitter or deferral.")]
    paused: PausedAnswer | None
    parked: ReasonAnswer | None
    deferred: ReasonAnswer | None
    created_at: Time
    updated_at: Time


class SchedulesAnswer(Answered):
    """A page of schedules, by id."""

    schedules: list[ScheduleAnswer]
    cursor: Annotated[str | None, Field(description="For the next page; null on the last.")]


class AttemptAnswer(Answered):
    """One try of a run."""

    number: int
    fence: int
    started_at: Time
    finished_at: Time | None
    outcome: Outcome | None
    error: str | None


class RunAnswer(Answered):
    """A row of the ledger: a run, a skip, or a range in which nothing fired."""

    run_id: str
    schedule_id: str
    cause: Annotated[str, Field(description="`schedule`, or `manual-` and an id.")]
    nominal_at: Time
    until_nominal_at: Annotated[Time | None, Field(description="Of a range: its last nominal time.")]
    due_at: Time
    claimed_at: Time | None
    started_at: Time | None
    finished_at: Time | None
    lag_seconds: Annotated[float | None, Field(description="started_at minus due_at.")]
    status: RunStatus
    version: int
    retry_at: Time | None
    resent_at: Annotated[
        Time | None, Field(description="When the message that started it was sent again, the first being lost or late.")
    ]
    reason: ReasonAnswer | None
    attempts: list[AttemptAnswer]


class RunsAnswer(Answered):
    """A page of a schedule's history, newest first."""

    runs: list[RunAnswer]
    cursor: Annotated[str | None, Field(description="For the next page; null on the last.")]


class ExplanationAnswer(Answered):
    """What became of one time of a schedule, or of a stretch of its fires, and why."""

    at: Annotated[str, Field(description="The time asked for; of a stretch, its first fire.")]
    until_nominal_at: Annotated[Time | None, Field(description="Of a stretch: its last fire.")]
    count: Annotated[
        int | None, Field(description="How many fires it stands for; null: more than are counted one by one.")
    ]
    code: Annotated[Code, Field(description="The reason's type; docs/reasons.md is the table.")]
    text: Annotated[str, Field(description="A sentence for people.")]
    detail: Annotated[
        dict[str, str | float | list[str] | None],
        Field(description="For machines, by code; times are RFC 3339 under names that end in `_at`."),
    ]
    is_named: Annotated[bool, Field(description="Whether the schedule named this time.")]
    is_decided: Annotated[bool, Field(description="Whether this is the last word on it.")]
    run: Annotated[RunAnswer | None, Field(description="The row of the ledger that says so.")]
    others: Annotated[
        list[RunAnswer], Field(description="Rows of the same time that a change of the schedule has overtaken.")
    ]


class ExplainAnswer(ExplanationAnswer):
    """Why a schedule ran at a time, or did not."""

    schedule_id: str


class LedgerAnswer(Answered):
    """What became of every fire of a stretch of time, oldest first; each fire is in exactly one entry."""

    entries: list[ExplanationAnswer]
    cursor: Annotated[str | None, Field(description="For the next page; null on the last.")]


class FireAnswer(Answered):
    """A fire: the calendar's time, and the schedule's own after jitter."""

    nominal_at: Time
    due_at: Time


class FiresAnswer(Answered):
    """Fires of a schedule, oldest first."""

    fires: list[FireAnswer]


class PreviewAnswer(Answered):
    """Nominal times of a trigger, oldest first."""

    fires: list[Time]


class HealthAnswer(Answered):
    """What the API says about itself."""

    status: Literal["ok", "degraded"]
    version: str
    tzdata: Annotated[str, Field(description="The IANA release that times are worked out with.")]
    store: Literal["ok", "silent"]
    time: Time


class FieldAnswer(Answered):
    """One field of a request and what is wrong with it."""

    field: str
    reason: str


class ProblemAnswer(Answered):
    """A refusal, as RFC 9457 has it."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    errors: list[FieldAnswer] = Field(default_factory=list)
