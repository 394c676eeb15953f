"""What callers may send about dead letters."""

from typing import Annotated, Literal

from pydantic import Field

from cronfleet.domain.redrive import MAX_RUN_IDS
from cronfleet.domain.rerun import Version
from cronfleet.domain.selection import MAX_LABELS
from cronfleet.services.dead_letters import MAX_AT_ONCE

from .operation_schemas import SIGNATURE, PaceBody
from .schemas import ID, TEXT, Moment, Strict, shown


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


class DiscardMessageBody(Strict):
    """Why a message that nobody can read is let go of."""

    model_config = shown({"reason": "sent by another program"})

    reason: str = Field(min_length=1, max_length=300, pattern=TEXT, description="Kept with it, and in the audit log.")


class RedriveBody(PaceBody):
    """Which dead letters are run again, how, and how fast: exactly one of `run_ids` and `filter`."""

    model_config = shown(
        {"run_ids": ["acme~billing-nightly~1~20261201T203000Z~schedule"], "payload": {"month": "2026-11"}},
        {
            "filter": {"signature": "0f3a9be1c2d4"},
            "expected": 9_120,
            "rate_per_minute": 600,
            "reason": "the mirror is up again",
        },
    )

    run_ids: list[Annotated[str, Field(max_length=256)]] | None = Field(
        None, min_length=1, max_length=MAX_RUN_IDS, description="These, each once."
    )
    filter: LetterFilterBody | None = Field(None, description="Those; an empty one means every dead letter.")
    version: Literal[tuple(version.value for version in Version)] = Field(
        Version.NEWEST.value, description="`same`: the version that ran then; `newest`: the current one."
    )
    expected: int | None = Field(
        None, ge=0, description="How many there are, by a dry run: if it is another number now, nothing is done (409)."
    )
