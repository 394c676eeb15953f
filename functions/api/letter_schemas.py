"""What callers may send about dead letters."""

from pydantic import Field

from cronfleet.domain.selection import MAX_LABELS
from cronfleet.services.dead_letters import MAX_AT_ONCE

from .schemas import ID, TEXT, Moment, Strict, shown

SIGNATURE = r"^[0-9a-f]{12}$"


class LetterFilterBody(Strict):
    """Which dead letters are meant: those of which all that is written here is true."""

    schedule: str | None = Field(None, pattern=ID, description="Runs of this schedule.")
    labels: dict[str, str] = Field(
        default_factory=dict, max_length=MAX_LABELS, description="Of schedules that have all of these."
    )
    signature: str | None = Field(None, pattern=SIGNATURE, description="Of this failure signature.")
    from_: Moment | None = Field(None, alias="from", description="RFC 3339; they died then or later.")
    to: Moment | None = Field(None, description="RFC 3339; they died before.")


class DiscardBody(Strict):
    """Which dead letters are let go of, and why: exactly one of `run_ids` and `filter`."""

    model_config = shown(
        {"run_ids": ["acme~billing-nightly~1~20261201T203000Z~schedule"], "reason": "paid by hand"},
        {"filter": {"signature": "0f3a9be1c2d4"}, "expected": 12, "reason": "the customer is gone"},
    )

    run_ids: list[str] | None = Field(
        None, min_length=1, max_length=MAX_AT_ONCE, description="These, all or none of them."
    )
    filter: LetterFilterBody | None = Field(None, description="Those; an empty one means every dead letter.")
    expected: int | None = Field(
        None, ge=0, description="How many there are, by a dry run: if it is another number now, nothing changes (409)."
    )
    reason: str = Field(min_length=1, max_length=300, pattern=TEXT, description="Kept with each run and its history.")
