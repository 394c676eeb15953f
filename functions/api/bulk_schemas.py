"""What callers may send to change many schedules."""

from typing import Literal

from pydantic import Field

from cronfleet.domain.selection import MAX_LABELS
from cronfleet.services.bulk import MAX_CHANGED

from .schemas import TEXT, MissedBody, Moment, Reason, Strict, shown

DEFAULT_CHANGED = 100
PREFIX = r"^[A-Za-z0-9._-]{0,64}$"


class FilterBody(Strict):
    """Which schedules are meant: those of which all that is written here is true."""

    labels: dict[str, str] = Field(
        default_factory=dict,
        max_length=MAX_LABELS,
        description="They have all of these.",
        examples=[{"team": "billing"}],
    )
    owner: str | None = Field(None, max_length=128, description="This is their owner; empty: they have none.")
    status: Literal["active", "paused", "held", "parked", "completed"] | None = Field(
        None, description="Left out: where the change is usual. Pause takes what is active, resume what is paused."
    )
    prefix: str = Field("", pattern=PREFIX, description="Their ids begin like this.")


class BulkBody(Strict):
    """Which schedules are changed, and how many at a time."""

    filter: FilterBody = Field(default_factory=FilterBody, description="Which ones; an empty one needs `all`.")
    all: bool = Field(False, description="Every schedule of the tenant; with an empty filter.")
    expected: int | None = Field(
        None,
        ge=0,
        description="How many there are, by a dry run: if another number matches now, nothing is changed (409).",
    )
    limit: int = Field(DEFAULT_CHANGED, ge=1, le=MAX_CHANGED, description="At most this many at a time.")
    cursor: str | None = Field(
        None, min_length=1, max_length=2_048, description="The `cursor` of the answer before, to go on from there."
    )
    reason: Reason = ""


class BulkPauseBody(BulkBody):
    """Which schedules are paused, why, and until when."""

    model_config = shown({"filter": {"labels": {"team": "billing"}}, "reason": "month end", "expected": 12})

    until: Moment | None = Field(None, description="RFC 3339; when they resume by themselves. Left out: never.")
    reason: str = Field(
        min_length=1, max_length=250, pattern=TEXT, description="Kept with each schedule and its history."
    )


class BulkResumeBody(BulkBody):
    """Which schedules are resumed, or, held ones, turned on."""

    model_config = shown(
        {"filter": {"labels": {"team": "billing"}}, "reason": "month end is over", "expected": 12},
        {"labels": {"import": "web1-etc-crontab"}, "reason": "a week in shadow without a difference"},
    )

    labels: dict[str, str] | None = Field(
        None,
        min_length=1,
        max_length=MAX_LABELS,
        description="Short for a filter of these labels and of status `held`.",
        examples=[{"import": "web1"}],
    )
    missed: MissedBody | None = Field(None, description="Left out: as each schedule's `policies.after_pause` says.")
    include_off: bool = Field(
        False, description="Those too that were off in the old system, which have the label import-state=off."
    )


class BulkCancelBody(BulkBody):
    """Which schedules are deleted."""

    model_config = shown({"filter": {"prefix": "trial-"}, "reason": "the trial is over", "expected": 3})


class BulkLabelsBody(BulkBody):
    """Which schedules get which labels, and lose which."""

    model_config = shown({"filter": {"owner": "billing"}, "set": {"team": "payments"}, "remove": ["stage"]})

    set: dict[str, str] = Field(
        default_factory=dict, max_length=MAX_LABELS, description="Labels that each gets, with these values."
    )
    remove: list[str] = Field(default_factory=list, max_length=MAX_LABELS, description="Names of labels that go.")
