"""Transfer schemas: the document of a tenant, as it is exported and applied again."""

from typing import Any, Literal

from pydantic import Field

from .schemas import ID, Moment, ScheduleBody, Strict


class PausedEntry(Strict):
    """Why a schedule is paused, and until when."""

    reason: str = Field("", max_length=500, description="As it was given.")
    until: Moment | None = Field(None, description="When it resumes by itself; null: never.")


class HoldEntry(Strict):
    """How a schedule is held."""

    shadow: bool = Field(False, description="Whether what it would have fired is noted.")


class ScheduleEntry(ScheduleBody):
    """A schedule of a document: as its owner wrote it, and how it stands."""

    id: str = Field(pattern=ID, description="Its id, there as here.")
    status: Literal["active", "paused", "held", "parked", "completed"] = Field(
        "active", description="How a new one begins; what is parked begins as held."
    )
    paused: PausedEntry | None = Field(None, description="Of one that is paused.")
    hold: HoldEntry | None = Field(None, description="Of one that is held.")


class TenantDocument(Strict):
    """What GET /v1/tenants/{id}/export answers; it is sent as it is."""

    format: str = Field(description="`cronfleet-tenant/1`.")
    tenant: str = Field("", max_length=64, description="Where it comes from: names of secrets begin with it.")
    exported_at: str = Field("", max_length=64, description="When it was exported; not read.")
    calendars: list[Any] = Field(default_factory=list, description="Calendars, with their versions in force.")
    schedules: list[Any] = Field(default_factory=list, description="Schedules.")
    unreadable: list[Any] = Field(default_factory=list, description="What could not be exported; not read.")
    cursor: str | None = Field(None, max_length=2_048, description="Whether there is another document; not read.")
