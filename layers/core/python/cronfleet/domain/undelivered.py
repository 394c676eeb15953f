"""Undelivered: what a message that came to a dead-letter queue makes of its run.

It was received as often as its queue allows, and nobody finished with it: its worker died each time, the store was
silent, or its time had not come. Whatever the reason was, the run may have ended since by another copy of the message.
"""

from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from cronfleet.domain.instant import Instant
from cronfleet.domain.reason import Code, Detail, Reason
from cronfleet.domain.run import Attempt, Outcome, Run, RunMessage, RunStatus
from cronfleet.domain.settlement import How, Settlement

MAX_BODY_KEPT: Final = 8_192
"""Characters of an unreadable message that are kept; a run queue's own messages have a few hundred."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What the queue says of a dead message: where it was, how often it was received, when it was sent."""

    queue: str
    message_id: str
    receives: int
    sent_at: Instant


@dataclass(frozen=True, slots=True)
class UnreadableMessage:
    """A dead message that is none of ours, or of a version of the code that is gone: `why` it cannot be read."""

    delivery: Delivery
    body: str
    why: str
    came_at: Instant
    settled: Settlement | None = None

    @property
    def unreadable_id(self) -> str:
        """What callers name it by."""
        return f"{self.delivery.sent_at:015}.{self.delivery.message_id}"

    def discarded(self, by: str, at: Instant, reason: str) -> "UnreadableMessage":
        """The same, let go of."""
        return replace(self, settled=Settlement(How.DISCARDED, by, at, reason=reason))


def parse_unreadable_id(text: str) -> tuple[Instant, str]:
    """When the message was sent, and its own id; raises `ValueError`."""
    sent_at, _, message_id = text.partition(".")
    return int(sent_at), message_id


@dataclass(frozen=True, slots=True)
class Insert:
    """Write `run`, a dead letter, where there is no row."""

    run: Run


@dataclass(frozen=True, slots=True)
class Replace:
    """Write `run`, a dead letter, in the place of its row."""

    run: Run


@dataclass(frozen=True, slots=True)
class Leave:
    """There is nothing to write: the run has ended, goes on, or waits for something else."""

    reason: Reason


Verdict: TypeAlias = Insert | Replace | Leave


def decide_undelivered(row: Run | None, message: RunMessage, delivery: Delivery, now: Instant) -> Verdict:
    """What becomes of the run of a dead message, by its row (`None`: there is none).

    A run that nobody else is about becomes a dead letter. What a live lease holds goes on, and a row that waits for
    another attempt has a timer of its own.
    """
    if row is None:
        if message.attempt > 1:
            return Leave(Reason(Code.OUT_OF_TURN, f"attempt {message.attempt} of a run that has no row"))
        return Insert(_dead(_blank(message), message, delivery, now))
    if row.is_terminal:
        return Leave(Reason(Code.FINISHED, f"the run is {row.status}"))
    if row.status is RunStatus.RUNNING:
        if row.execution is not None:
            return Leave(Reason(Code.LIVE_LEASE, f"attempt {row.attempt} goes on elsewhere, and is followed"))
        if row.lease_until is not None and row.lease_until > now:
            detail = {"lease_until": row.lease_until}
            return Leave(Reason(Code.LIVE_LEASE, f"attempt {row.attempt} holds a lease", detail))
        return Replace(_dead(_lost(row, now), message, delivery, now))
    if row.status is RunStatus.WAITING and not _waits_for(row, message):
        return Leave(Reason(Code.OUT_OF_TURN, f"attempt {message.attempt}; the run waits for {row.attempt + 1}"))
    return Replace(_dead(row, message, delivery, now))


def _waits_for(row: Run, message: RunMessage) -> bool:
    # A stray copy from before the attempt was put off has its number too; but it is older.
    return message.attempt == row.attempt + 1 and row.retry_at is not None and row.retry_at <= message.due_at


def _blank(message: RunMessage) -> Run:
    return Run(
        message.key,
        RunStatus.QUEUED,
        due_at=message.due_at,
        tier=message.tier,
        rev=0,
        version=message.version,
        batch=message.batch,
        claimed_at=message.claimed_at,
        late=message.late,
        kept_days=message.kept_days,
    )


def _lost(row: Run, now: Instant) -> Run:
    """The row with its open attempt closed: its worker died, and nobody took over."""
    last: Attempt = replace(
        row.attempts[-1],
        finished_at=now,
        outcome=Outcome.LOST,
        error="its worker stopped without a word",
    )
    return replace(row, attempts=(*row.attempts[:-1], last))


def _dead(row: Run, message: RunMessage, delivery: Delivery, now: Instant) -> Run:
    if row.cancel is not None:
        return row.ended(RunStatus.CANCELLED, now, row.cancel.as_reason)
    text = f"its message was received {delivery.receives} times from {delivery.queue}, and no worker finished with it"
    detail: Detail = {
        "receives": delivery.receives,
        "queue": delivery.queue,
        "sent_at": delivery.sent_at,
        "claimed_at": message.claimed_at,
    }
    return row.ended(RunStatus.DEAD, now, Reason(Code.UNDELIVERED, text, detail))
