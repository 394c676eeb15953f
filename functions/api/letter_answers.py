"""Answers about dead letters."""

from typing import Any

from pydantic import Field

from cronfleet.domain.dead_letter import Kind
from cronfleet.domain.run import RunStatus
from cronfleet.domain.settlement import How

from .answers import Answered, ReasonAnswer, RunAnswer, Time


class LetterAnswer(Answered):
    """A run that ended without having done its work."""

    run_id: str = Field(description="The run.")
    schedule_id: str = Field(description="Its schedule.")
    cause: str = Field(description="As in the run.")
    nominal_at: Time = Field(description="As in the run.")
    status: RunStatus = Field(description="`dead` or `refused`.")
    kind: Kind = Field(description="`undelivered`: its message came to a dead-letter queue.")
    died_at: Time = Field(description="When it ended.")
    expires_at: Time = Field(description="When it is removed, settled or not.")
    expires_soon: bool = Field(description="Whether that is within three days.")
    signature: str = Field(description="What it has in common with other failures, as a digest.")
    failure: str = Field(description="The same in words.", examples=["webhook failed: HTTP 503"])
    reason: ReasonAnswer | None = Field(description="Why it is dead.")


class UnreadableAnswer(Answered):
    """A message of a dead-letter queue that nobody can read."""

    id: str = Field(description="What it is discarded by.")
    message_id: str = Field(description="The queue's id for it.")
    queue: str = Field(description="Where it was found.")
    receives: int = Field(description="How often it was received.")
    sent_at: Time = Field(description="When it was sent.")
    came_at: Time = Field(description="When it was taken out of the queue.")
    why: str = Field(description="Why it cannot be read.")
    body: str = Field(description="Its text, as far as it is kept.")


class LettersAnswer(Answered):
    """A page of dead letters, newest first."""

    dead_letters: list[LetterAnswer | UnreadableAnswer] = Field(
        description="May be fewer than `limit` before the last page."
    )
    cursor: str | None = Field(description="For the next page; null on the last.")


class GroupAnswer(Answered):
    """The dead letters of one failure signature."""

    signature: str = Field(description="Its digest.")
    failure: str = Field(description="The same in words.")
    count: int = Field(description="How many there are.")
    first_died_at: Time = Field(description="When the oldest ended.")
    last_died_at: Time = Field(description="When the newest did.")
    first_expires_at: Time = Field(description="When the first of them is removed.")
    expires_soon: bool = Field(description="Whether that is within three days.")
    examples: list[str] = Field(description="Run ids of the newest.")
    schedules: dict[str, int] = Field(description="How many of each schedule; of many, those with the most.")
    schedule_count: int = Field(description="Of how many schedules they are.")


class GroupsAnswer(Answered):
    """Dead letters by failure signature, the largest group first."""

    groups: list[GroupAnswer] = Field(description="Of the letters that were looked through.")
    count: int = Field(description="How many letters are in them.")
    is_complete: bool = Field(description="Whether these are all; if not, the newest were looked through.")
    cursor: str | None = Field(description="To group those that are older; null when there are none.")


class SettlementAnswer(Answered):
    """What became of a dead letter."""

    how: How = Field(description="How it was settled.")
    by: str = Field(description="By whom.")
    at: Time = Field(description="When.")
    run_id: str | None = Field(description="The run that repeats it.")
    reason: str = Field(description="As it was given.")


class LogLinkAnswer(Answered):
    """Where the log of an attempt is read."""

    attempt: int = Field(description="The attempt.")
    path: str = Field(description="The request that reads it.")
    line_count: int = Field(description="Lines that are kept; 0: it said nothing, or nothing is kept.")
    url: str | None = Field(description="The whole of it in CloudWatch Logs; null where that is not known.")


class LetterDetailAnswer(Answered):
    """A dead letter with all there is of it."""

    run: RunAnswer = Field(description="The run, with every attempt.")
    signature: str | None = Field(description="Its failure signature; null: it died before there were any.")
    failure: str | None = Field(description="The same in words.")
    target: dict[str, Any] | None = Field(description="What was called; null: that version is gone.")
    payload: Any = Field(description="What it was given.")
    is_payload_known: bool = Field(description="Whether that is known still.")
    log: LogLinkAnswer | None = Field(description="What its last attempt said; null: none was made.")
    settled: SettlementAnswer | None = Field(description="What became of it; null: it waits for somebody.")


class DiscardAnswer(Answered):
    """What was discarded."""

    discarded: int = Field(description="How many letters were; of a dry run, how many would be.")
    more: bool = Field(description="Whether more are meant: ask again.")


class RedrivePreviewAnswer(Answered):
    """What a redrive would do."""

    dry_run: bool = Field(description="True.")
    count: int = Field(description="Dead letters that are meant.")
    is_complete: bool = Field(description="Whether that is all; false: there are at least so many.")
    examples: list[str] = Field(description="Run ids of the oldest.")
    write_units: int = Field(description="What it costs the job store, where each run succeeds at once.")
