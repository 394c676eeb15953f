"""Calendar answers: what callers get of calendars, as the OpenAPI document shows it."""

from typing import Annotated

from pydantic import Field

from .answers import Answered, Time

Day = Annotated[str, Field(description="A date.", examples=["2026-12-25"], json_schema_extra={"format": "date"})]


class CalendarMadeAnswer(Answered):
    """A version of a calendar: by whom, when and why."""

    name: str = Field(description="Its name, one of its own within the tenant.", examples=["uk"])
    version: int = Field(description="Rises with each change; a version never changes.")
    covers_until: Day = Field(description="The last date that it claims to know.")
    author: str = Field(description="The id of the API key.")
    created_at: Time = Field(description="When it was made.")
    reason: str = Field(description="As it was given.")


class CalendarVersionsAnswer(Answered):
    """A page of a calendar's versions."""

    versions: list[CalendarMadeAnswer] = Field(description="Newest first.")
    cursor: str | None = Field(description="For the next page; null on the last.")


class CalendarListedAnswer(Answered):
    """A calendar in a list."""

    name: str = Field(description="Its name.", examples=["uk"])
    version: int = Field(description="Its newest version.")
    description: str = Field(description="What it is for.")
    covers_until: Day = Field(description="The last date that it claims to know.")
    updated_at: Time = Field(description="When that version was made.")


class CalendarsAnswer(Answered):
    """A page of calendars, by name."""

    calendars: list[CalendarListedAnswer] = Field(
        description="By name; may be fewer than `limit` before the last page."
    )
    cursor: str | None = Field(description="For the next page; null on the last.")


class CalendarAnswer(CalendarMadeAnswer):
    """A version of a calendar, whole."""

    description: str = Field(description="What it is for.")
    weekend: list[str] = Field(description="No business days.")
    holidays: list[dict[str, str]] = Field(description="`date`, or `from` and `to`; and `label`, where it has one.")
    workdays: list[dict[str, str]] = Field(description="As holidays.")
    freezes: list[dict[str, str]] = Field(description="As holidays.")
    warnings: list[dict[str, str]] = Field(description="`code` and `text`: whether it is about to run out.")


class ChangedScheduleAnswer(Answered):
    """What a calendar's version changes for one schedule."""

    schedule_id: str = Field(description="The schedule.")
    mode: str | None = Field(description="How it uses the calendar.")
    removed: list[Day] = Field(description="Dates on which it fires no more.")
    added: list[Day] = Field(description="Dates on which it fires instead, or besides.")
    truncated: bool = Field(description="Whether there are more dates than are shown.")
    error: str | None = Field(description="Why it cannot be told; null where it can.")


class CalendarChangesAnswer(Answered):
    """Which schedules fire on other dates, of those that follow the calendar."""

    from_: Day = Field(alias="from", description="The first date looked at.")
    until: Day = Field(description="The last date looked at.")
    schedules: list[ChangedScheduleAnswer] = Field(description="Those for which something changes.")
    looked_at: int = Field(description="Schedules that use the calendar, as far as they were looked at.")
    truncated: bool = Field(description="Whether more use it than were looked at; a new version comes to all.")


class CalendarChangeAnswer(CalendarAnswer):
    """A version of a calendar, and what it changes."""

    changes: CalendarChangesAnswer = Field(description="For the schedules that follow it.")
