"""What callers get of a change of many schedules."""

from pydantic import Field

from .answers import Answered


class BulkFailedAnswer(Answered):
    """A schedule that could not be changed."""

    id: str = Field(description="Its id.")
    reason: str = Field(description="Why.")


class BulkAnswer(Answered):
    """What a change of many schedules did, or would do."""

    bulk: str = Field(description="The id of this change: it stands in the reason of each audit entry.")
    dry_run: bool = Field(description="Whether nothing was changed.")
    counts: dict[str, int] = Field(
        description="`scanned` schedules, `matched` of them, `changed`, `unchanged`, `failed`. Of a resume also "
        "`resumed` (as `changed`) and `off`: left out, having been off in the old system."
    )
    schedules: list[str] = Field(description="The ids that matched, or the first hundred of them.")
    failed: list[BulkFailedAnswer] = Field(description="Those that could not be changed.")
    cursor: str | None = Field(description="To go on from here; null: that was all.")
