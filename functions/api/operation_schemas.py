"""What callers may send to have the past run again: backfills and re-runs."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from cronfleet.domain.backfill import Mode, Order
from cronfleet.domain.operation import DEFAULT_CONCURRENT, MAX_CONCURRENT, MAX_RATE_PER_MINUTE
from cronfleet.domain.redrive import MAX_EXCLUDED
from cronfleet.domain.rerun import REPEATABLE, Version
from cronfleet.domain.selection import MAX_LABELS

from .schemas import ID, Moment, Reason, Strict, left_out, shown

SIGNATURE: Final = r"^[0-9a-f]{12}$"
"""A failure signature."""

ID_OR_NONE: Final = f"{ID}|^$"
"""A schedule's id; empty: left out."""


class PaceBody(Strict):
    """How fast runs are begun."""

    max_concurrent: int = Field(
        DEFAULT_CONCURRENT, ge=1, le=MAX_CONCURRENT, description="At most this many of them under way."
    )
    rate_per_minute: int | None = Field(
        None, ge=1, le=MAX_RATE_PER_MINUTE, description="At most this many begun in a minute. Left out: as they go."
    )
    payload: Any = Field(
        None,
        description="Instead of the runs' own, be it null; up to the quota. Left out: as it would be.",
        json_schema_extra=left_out,
    )
    flow_on: bool = Field(False, description="Whether schedules that run after this one follow with runs of their own.")
    reason: Reason = ""


class BackfillBody(PaceBody):
    """Which dates become runs. What names a backfill is all but `max_concurrent`, `rate_per_minute` and `reason`."""

    model_config = shown(
        {
            "schedule": "billing-nightly",
            "from": "2026-11-01T00:00:00Z",
            "to": "2026-11-30T00:00:00Z",
            "order": "oldest",
            "max_concurrent": 4,
            "mode": "skip_succeeded",
            "reason": "the tariff of November was wrong",
        },
        {"labels": {"team": "billing"}, "from": "2026-11-29T00:00:00Z", "to": "2026-11-30T00:00:00Z"},
        oneOf=[{"required": ["schedule"]}, {"required": ["labels"]}],
    )

    schedule: str = Field("", pattern=ID_OR_NONE, description="The schedule's id.", json_schema_extra=left_out)
    labels: dict[str, str] | None = Field(
        None, min_length=1, max_length=MAX_LABELS, description="Or: every schedule that has all of these, up to 100."
    )
    from_: Moment = Field(alias="from", description="The first nominal time that is meant; included.")
    to: Moment = Field(description="The first moment that is not meant any more; not later than now.")
    order: Literal[tuple(order.value for order in Order)] = Field(
        Order.OLDEST.value, description="Which dates come first."
    )
    mode: Literal[tuple(mode.value for mode in Mode)] = Field(
        Mode.SKIP_SUCCEEDED.value,
        description="`skip_succeeded`: every date that has not succeeded and is not on its way. `redo_failed`: only "
        "dates whose runs failed. `redo_all`: every date.",
    )
    version: int | None = Field(
        None, ge=1, le=999_999_999, description="Runs keep this version of the schedule. Left out: the current one."
    )
    again: int = Field(
        1, ge=1, le=1_000, description="To have done once more what the same call has done already: 2, then 3, …"
    )


class RunFilterBody(Strict):
    """Which runs are repeated: those of which all that is written here is true. Re-runs are none of them."""

    schedule: str = Field("", pattern=ID_OR_NONE, description="Of this schedule.", json_schema_extra=left_out)
    labels: dict[str, str] | None = Field(
        None, min_length=1, max_length=MAX_LABELS, description="Or: of every schedule with all of these, up to 100."
    )
    from_: Moment | None = Field(None, alias="from", description="With a nominal time from here on.")
    to: Moment | None = Field(None, description="With a nominal time before this.")
    status: list[Literal[tuple(sorted(status.value for status in REPEATABLE))]] = Field(
        default_factory=lambda: ["dead"], min_length=1, max_length=len(REPEATABLE), description="That ended so."
    )
    signature: str | None = Field(
        None,
        pattern=SIGNATURE,
        description="That failed so. Without `schedule` and `labels`: every dead letter of this failure.",
    )


class RerunBody(Strict):
    """How one run is repeated."""

    model_config = shown({"version": "newest", "reason": "the mirror is up again"})

    version: Literal[tuple(version.value for version in Version)] = Field(
        Version.NEWEST.value, description="`same`: the version that ran then; `newest`: the current one."
    )
    payload: Any = Field(
        None,
        description="Instead of what the run had, be it null; up to the quota. Left out: what it had.",
        json_schema_extra=left_out,
    )
    flow_on: bool = Field(False, description="Whether schedules that run after this one follow with runs of their own.")
    reason: Reason = ""


class RerunsBody(PaceBody):
    """Which runs are repeated, how, and how fast."""

    model_config = shown(
        {
            "filter": {"schedule": "billing-nightly", "from": "2026-11-29T00:00:00Z"},
            "version": "newest",
            "rate_per_minute": 60,
            "reason": "the mirror is up again",
            "expected": 120,
        }
    )

    filter: RunFilterBody = Field(description="Which ones.")
    version: Literal[tuple(version.value for version in Version)] = Field(
        Version.NEWEST.value, description="`same`: the version that ran then; `newest`: the current one."
    )
    expected: int | None = Field(
        None,
        ge=0,
        description="How many there are, by a dry run: if another number matches now, nothing is done (409).",
    )


class ResumeOperationBody(Strict):
    """Why; and, of a redrive, which failures it leaves out from now on."""

    model_config = shown({"reason": "mended"}, {"exclude_signatures": ["0f3a9be1c2d4"]})

    exclude_signatures: list[Annotated[str, Field(pattern=SIGNATURE)]] = Field(
        default_factory=list,
        max_length=MAX_EXCLUDED,
        description="Dead letters of these failure signatures are passed over; of a redrive alone.",
    )
    reason: Reason = ""


class OperationVerbBody(Strict):
    """Why."""

    model_config = shown({"reason": "the database is being moved"})

    reason: Reason = ""
