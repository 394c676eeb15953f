"""Transfer answers: a tenant's document, and what became of one that was applied."""

from typing import Any, Literal

from pydantic import Field

from cronfleet.domain.schedule import Status

from .answers import Answered, Time


class UnreadableAnswer(Answered):
    """A schedule that could not be exported."""

    id: str = Field(description="Its id.")
    reason: str = Field(description="Why.")


class ExportAnswer(Answered):
    """A tenant's schedules and calendars, to be applied elsewhere with POST /v1/imports/cronfleet."""

    format: str = Field(description="The form of this document.", examples=["cronfleet-tenant/1"])
    tenant: str = Field(description="Whose it is.", examples=["acme"])
    exported_at: Time = Field(description="When it was made.")
    calendars: list[dict[str, Any]] = Field(
        description="`name`, and `versions`, oldest first: the newest, and those that schedules are pinned to."
    )
    schedules: list[dict[str, Any]] = Field(
        description="As their owners wrote them, every default spelled out, with `status`, `paused` and `hold`."
    )
    unreadable: list[UnreadableAnswer] = Field(description="What is damaged, and therefore missing.")
    cursor: str | None = Field(description="For the next document; null: this is the last.")


class AppliedCalendarAnswer(Answered):
    """What became of a calendar, or would."""

    name: str = Field(description="Its name.")
    outcome: Literal["created", "unchanged", "differs", "replaced", "pending"] = Field(
        description="`differs`: it is there, says something else, and was left as it is."
    )
    version: int | None = Field(description="Its newest version here; null while it is pending.")


class AppliedScheduleAnswer(Answered):
    """What became of a schedule, or would."""

    id: str = Field(description="Its id.")
    outcome: Literal["created", "unchanged", "differs", "replaced", "pending"] = Field(
        description="`differs`: it is there, says something else, and was left as it is; `pending`: time was up."
    )
    status: Status = Field(description="How it stands; of a new one, how it begins.")
    differs: list[str] = Field(description="The fields in which the one that was there said something else.")


class NotAppliedAnswer(Answered):
    """An entry that became nothing."""

    entry: str = Field(description="Where it stands in the document.", examples=["schedules.3"])
    id: str = Field(description="Its id or name.")
    reason: str = Field(description="Why, and what to write instead.")


class AppliedAnswer(Answered):
    """What became of a document, or would."""

    tenant: str = Field(description="Where the document comes from.")
    dry_run: bool = Field(description="Whether nothing was changed.")
    complete: bool = Field(description="False: time was up; apply the same again, and it goes on.")
    counts: dict[str, int] = Field(description="Of schedules, by outcome, and of what was refused.")
    calendars: list[AppliedCalendarAnswer] = Field(description="By name.")
    schedules: list[AppliedScheduleAnswer] = Field(description="As they stand in the document.")
    refused: list[NotAppliedAnswer] = Field(description="What became nothing; the rest was applied all the same.")
