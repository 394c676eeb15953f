"""Dependency answers: what a schedule runs after, and what runs after it."""

from typing import Any

from pydantic import Field

from .answers import Answered, ReasonAnswer, Time, Warnings


class RelatedRunAnswer(Answered):
    """The latest entry in a schedule's history."""

    run_id: str = Field(description="Its id.")
    nominal_at: Time = Field(description="The time it is for.")
    status: str = Field(description="As in the history.")
    due_at: Time = Field(description="Of one that waits for parents: how long it waits.")
    parents: dict[str, str] | None = Field(description="How its parents ended, those that have; null: it has none.")
    missing: list[str] = Field(description="The parents that it still waits for.")
    reason: ReasonAnswer | None = Field(description="Why it did not run, or not yet.")


class RelatedAnswer(Answered):
    """A schedule next to another."""

    schedule_id: str = Field(description="Its id.")
    status: str = Field(description="As of a schedule, or `deleted`.")
    latest: RelatedRunAnswer | None = Field(description="Null: it has no history.")


class DependenciesAnswer(Answered):
    """One step up and one step down."""

    schedule_id: str = Field(description="The schedule that was asked for.")
    after: dict[str, Any] | None = Field(description="Its trigger, if it runs after others.")
    parents: list[RelatedAnswer] = Field(description="What it runs after.")
    dependants: list[RelatedAnswer] = Field(description="What runs directly after it.")
    latest: RelatedRunAnswer | None = Field(description="Its own latest entry; null: it has no history.")
    warnings: Warnings
