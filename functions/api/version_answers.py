"""What callers get of a schedule's versions."""

from typing import Any

from pydantic import Field

from cronfleet.domain.version_diff import ChangeKind

from .answers import Answered, Time, Warnings, Words


class ListedVersionAnswer(Answered):
    """A version of a schedule, without what it says."""

    schedule_id: str = Field(description="The schedule that it is of.")
    version: int = Field(description="Its number; 1 is the first.")
    is_current: bool = Field(description="Whether the schedule is at this version.")
    author: str = Field(description="Who made it; `cronfleet`: the scheduler, for a calendar or new zone data.")
    created_at: Time = Field(description="When.")
    reason: str = Field(description="Why, as it was given.")
    changed: list[str] = Field(
        description="The fields, by dotted path, in which it differs from the version before; none for the first."
    )


class VersionsAnswer(Answered):
    """A page of a schedule's versions, newest first."""

    versions: list[ListedVersionAnswer] = Field(description="Those of an earlier life of the id as well.")
    cursor: str | None = Field(description="For the next page; null on the last.")


class VersionAnswer(Answered):
    """One version of a schedule, as it was written, with every default spelled out. It never changes."""

    schedule_id: str = Field(description="The schedule that it is of.")
    version: int = Field(description="Its number; 1 is the first.")
    is_current: bool = Field(description="Whether the schedule is at this version.")
    author: str = Field(description="Who made it; `cronfleet`: the scheduler, for a calendar or new zone data.")
    created_at: Time = Field(description="When.")
    reason: str = Field(description="Why, as it was given.")
    description: str = Field(description="As in a schedule.")
    owner: str = Field(description="As in a schedule.")
    trigger: dict[str, Any] = Field(description="As in a schedule.")
    target: dict[str, Any] = Field(description="As in a schedule; secrets are names only.")
    payload: Any = Field(description="As in a schedule.")
    policies: dict[str, Any] = Field(description="As in a schedule.")
    labels: dict[str, str] = Field(description="As in a schedule.")
    start_at: Time | None = Field(description="As in a schedule.")
    end_at: Time | None = Field(description="As in a schedule.")
    objectives: dict[str, Any] | None = Field(description="As in a schedule.")
    words: Words
    warnings: Warnings


class FieldChangeAnswer(Answered):
    """One field that differs."""

    field: str = Field(description="Its dotted path.", examples=["trigger.cron"])
    change: ChangeKind = Field(description="What became of it.")
    before: Any = Field(description="What stood there; null: nothing, or null.")
    after: Any = Field(description="What stands there; null: nothing, or null.")


class VersionDiffAnswer(Answered):
    """What leads from one version to another."""

    schedule_id: str = Field(description="The schedule that was asked about.")
    from_: int = Field(alias="from", description="The version of the path.")
    to: int = Field(description="The version that it was compared with.")
    patch: dict[str, Any] = Field(
        description="A JSON merge patch: as PATCH of a schedule that is at `from`, it makes it say what `to` says.",
        examples=[{"trigger": {"cron": "30 2 * * *"}}],
    )
    is_exact: bool = Field(
        description="False: `to` has a null in its payload, which a merge patch cannot write; roll back instead."
    )
    changes: list[FieldChangeAnswer] = Field(description="Each field that differs, two hundred at most.")
    is_cut: bool = Field(description="Whether there are more; the patch has all of them.")
