"""Zone data answers: the releases at work, and the jobs that look at schedules again."""

from typing import Literal

from pydantic import Field

from cronfleet.domain.retiming import Cause

from .answers import Answered, Time


class ZoneReleaseAnswer(Answered):
    """A release of the zone data, and since when."""

    release: str = Field(description="As IANA names it.", examples=["2026f"])
    since: Time = Field(description="When the schedules began to be looked at again by it.")


class ComingReleaseAnswer(Answered):
    """A release that functions have been seen to work with, and that has to settle first."""

    release: str = Field(description="As IANA names it.", examples=["2026g"])
    since: Time = Field(description="When it was first seen.")
    in_force_from: Time = Field(description="From when on the next sweep looks at the schedules again.")


class RetimingAnswer(Answered):
    """A job that looks at schedules again."""

    id: str = Field(description="The audit log names it as the request of each change that it made.")
    cause: Cause = Field(description="What has changed.")
    release: str | None = Field(description="Of the zone data, if that has changed.", examples=["2026f"])
    calendar: str | None = Field(description="The calendar's name, if one has changed.")
    version: int | None = Field(description="The calendar's version.")
    status: Literal["open", "finished"] = Field(description="An open one goes on each minute.")
    started_at: Time = Field(description="When it was started.")
    finished_at: Time | None = Field(description="When the last schedule was done.")
    seen: int = Field(description="Schedules looked at: of the whole installation for zone data, else of the tenant.")
    changed: int = Field(description="Schedules that wait for another time now.")
    failed: int = Field(description="Schedules that could not be worked out; each is in the log, with an alarm.")
    postponed: int = Field(description="Schedules that are tried again: others kept changing them.")


class ZoneDataAnswer(Answered):
    """The zone data at work."""

    release: str = Field(description="What answers, works with this release.", examples=["2026f"])
    in_force: ZoneReleaseAnswer | None = Field(description="What schedules are timed by; null until it has settled.")
    coming: ComingReleaseAnswer | None = Field(description="What they will be timed by soon.")
    retimings: list[RetimingAnswer] = Field(description="Open jobs, then finished ones, newest first.")
