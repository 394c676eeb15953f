"""Breaker answers: which targets and schedules are left alone."""

from typing import Literal

from pydantic import Field

from .answers import Answered

Kind = Literal["webhook", "lambda", "handler", "sqs", "sns", "event_bus", "state_machine", "ecs_task", "schedule"]


class BreakerAnswer(Answered):
    """A target whose calls failed lately, or a schedule that its breaker has paused, and what follows from that."""

    id: str = Field(description="Its kind, and a digest of the target.")
    kind: Kind = Field(description="What it guards.")
    target: str = Field(
        description="A webhook's address without its query, a function, a handler, an ARN, or a schedule's id."
    )
    state: Literal["closed", "open", "probing", "recovering"] = Field(
        description="All calls go; none; one to see whether it is well; more and more."
    )
    failures: int = Field(description="Failed attempts in a row; of a schedule, dead runs that pause it.")
    error: str | None = Field(description="Of the latest.")
    failed_at: str | None = Field(description="When that was.")
    opened_at: str | None = Field(description="Since when it has been left alone.")
    try_at: str | None = Field(description="When it is tried next.")
    cooldown_seconds: int | None = Field(description="How long it is left alone each time.")
    probe: str | None = Field(description="The run, and the number of its attempt, that tries it now.")
    permits: int | None = Field(description="How many more attempts may go in this step of the slow start.")


class BreakersAnswer(Answered):
    """A page of breakers."""

    breakers: list[BreakerAnswer] = Field(
        description="Targets by id, those without failures left out; then paused schedules by theirs."
    )
    cursor: str | None = Field(description="For the next page; null after the last.")
