"""Pace: how fast each run queue's workers start what was claimed, as the rows of one sweep tell it.

What is slow is not sent again, and what is sent again is a small part of what goes through its queue.
"""

from collections import Counter

from cronfleet.domain.books import FIRST_RESEND, Standing, resend_allowance, still_draining, waits_its_turn
from cronfleet.domain.claim import Batch
from cronfleet.domain.instant import Instant
from cronfleet.domain.lease import MAX_SKEW
from cronfleet.domain.run import Run, RunMessage


class Pace:
    """Of each run queue: how many fires were seen, how many go on, the oldest claim lately started, what was resent."""

    def __init__(self, now: Instant) -> None:
        self._now = now
        self._seen: Counter[str] = Counter()
        self._going: Counter[str] = Counter()
        self._resent: Counter[str] = Counter()
        self._oldest_started: dict[str, Instant] = {}

    def saw(self, message: RunMessage, row: Run | None, standing: Standing) -> None:
        """A fire that the books name, its row and where it stands."""
        if row is None:
            return
        queue = message.queue
        self._seen[queue] += 1
        self._going[queue] += standing is Standing.GOING
        if row.resent_at is not None:
            return  # It started late whatever the tier's pace: it would make a lost message look slow.
        if row.claimed_at is not None and self._was_lately(row.started_at):
            known = self._oldest_started.get(queue, row.claimed_at)
            self._oldest_started[queue] = min(known, row.claimed_at)

    def _was_lately(self, started_at: Instant | None) -> bool:
        # A start of the future was written by a wrong clock: it would hold up all that was lost until then.
        return started_at is not None and self._now - FIRST_RESEND <= started_at <= self._now + MAX_SKEW

    def is_draining(self, message: RunMessage, batch: Batch) -> bool:
        """Whether the workers of its queue have not come to it yet, as far as one can tell."""
        if still_draining(batch.claimed_at, self._oldest_started.get(message.queue)):
            return True
        return waits_its_turn(message, self._going[message.queue], self._now)

    def may_resend(self, message: RunMessage) -> bool:
        """Whether this sweep may send one more of its queue again; counts it as sent."""
        self._resent[message.queue] += 1
        return self._resent[message.queue] <= resend_allowance(self._seen[message.queue])
