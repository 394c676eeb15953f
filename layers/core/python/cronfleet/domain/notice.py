"""Notices: one message to one channel about one edge of an incident, from when it is owed until it is told.

The id of a notice is a hash of incident, edge and channel: whoever owes it twice owes it once. It is delivered at least
once: a clerk that dies between a delivery and its note delivers it again, under the same id, by which receivers can
tell.
"""

import hashlib
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from cronfleet.domain.audit import base32
from cronfleet.domain.form import Form
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND, Instant, to_text

MAX_ATTEMPTS: Final = 10
"""Deliveries that may fail before a notice is given up: about four hours."""

FIRST_BACKOFF: Final = 15 * SECOND
LONGEST_BACKOFF: Final = HOUR

MAX_HELD: Final = 100
"""Notices that one summary tells one by one; what comes on top it counts."""

NOTICE_LIFE: Final = 30 * DAY
MAX_ERROR: Final = 300
"""Characters of what went wrong, as it is kept."""

DELIVERY_TIME: Final = 20 * SECOND
"""How long one delivery may take."""

_ID_DIGITS: Final = 26


class Edge(StrEnum):
    """What a notice tells."""

    OPENED = "opened"
    HEALED = "healed"
    WITHDRAWN = "withdrawn"
    TEST = "test"
    """Nothing is broken: somebody wants to see that the channel works."""
    SUMMARY = "summary"
    """What came up in quiet hours."""


class NoticeStatus(StrEnum):
    """Where a notice is."""

    OWED = "owed"
    HELD = "held"
    """It came up in quiet hours, and is part of a summary."""
    SENT = "sent"
    GIVEN_UP = "given_up"
    """It failed too often, or in a way that no retry mends."""
    DROPPED = "dropped"
    """Its channel was deleted before it was told."""


@dataclass(frozen=True, slots=True)
class Notice:
    """One message that is owed. `rev` rises with every write.

    `summary` names the summary that it is held for; a summary `holds` the ids of those that it tells, and counts in
    `more` those that it does not.
    """

    tenant: str
    notice_id: str
    edge: Edge
    channel: str
    created_at: Instant
    incident_id: str = ""
    status: NoticeStatus = NoticeStatus.OWED
    attempts: int = 0
    error: str = ""
    next_at: Instant | None = None
    ended_at: Instant | None = None
    summary: str = ""
    holds: tuple[str, ...] = ()
    more: int = 0
    rev: int = 1

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to be done for it."""
        return self.status is not NoticeStatus.OWED

    @property
    def expires_at(self) -> Instant:
        """When it may be forgotten."""
        return (self.ended_at or self.created_at) + NOTICE_LIFE

    def sent(self, now: Instant) -> "Notice":
        """The same, told."""
        return self._moved(NoticeStatus.SENT, now, attempts=self.attempts + 1, error="")

    def dropped(self, now: Instant, why: str) -> "Notice":
        """The same, never to be told."""
        return self._moved(NoticeStatus.DROPPED, now, attempts=self.attempts, error=why)

    def held(self, now: Instant, summary: str) -> "Notice":
        """The same, left to a summary."""
        moved = self._moved(NoticeStatus.HELD, now, attempts=self.attempts, error="")
        return replace(moved, summary=summary)

    def failed(self, now: Instant, error: str, *, retryable: bool) -> "Notice":
        """The same after a delivery that failed: owed again at `next_at`, or given up."""
        attempts = self.attempts + 1
        if not retryable or attempts >= MAX_ATTEMPTS:
            return self._moved(NoticeStatus.GIVEN_UP, now, attempts=attempts, error=error)
        next_at = now + min(FIRST_BACKOFF << (attempts - 1), LONGEST_BACKOFF)
        return replace(self, attempts=attempts, error=error[:MAX_ERROR], next_at=next_at, rev=self.rev + 1)

    def _moved(self, status: NoticeStatus, now: Instant, *, attempts: int, error: str) -> "Notice":
        return replace(
            self,
            status=status,
            attempts=attempts,
            error=error[:MAX_ERROR],
            next_at=None,
            ended_at=now,
            rev=self.rev + 1,
        )

    def holding(self, notice_id: str) -> "Notice":
        """A summary, with one more to tell."""
        if notice_id in self.holds:
            return self
        if len(self.holds) >= MAX_HELD:
            return replace(self, more=self.more + 1, rev=self.rev + 1)
        return replace(self, holds=(*self.holds, notice_id), rev=self.rev + 1)


def notice_id_of(incident_id: str, edge: Edge, channel: str) -> str:
    """The id of the one notice of this incident, edge and channel."""
    return _digest(f"{incident_id}\0{edge.value}\0{channel}")


def summary_id_of(channel: str, told_at: Instant) -> str:
    """The id of the one summary of a channel at this end of its quiet hours."""
    return _digest(f"summary\0{channel}\0{told_at // MINUTE}")


def _digest(text: str) -> str:
    return base32(int.from_bytes(hashlib.sha256(text.encode()).digest(), "big"), _ID_DIGITS)


def notice_form(notice: Notice) -> Form:
    """A notice as callers see it."""
    return {
        "id": notice.notice_id,
        "edge": notice.edge.value,
        "channel": notice.channel,
        "incident_id": notice.incident_id or None,
        "status": notice.status.value,
        "attempts": notice.attempts,
        "error": notice.error,
        "next_at": None if notice.next_at is None else to_text(notice.next_at),
        "created_at": to_text(notice.created_at),
        "ended_at": None if notice.ended_at is None else to_text(notice.ended_at),
        "summary": notice.summary or None,
    }
