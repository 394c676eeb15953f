"""The books: whether what a batch won has come to its end, is still going, or got lost on the way."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain
from typing import Final

from cronfleet.domain.claim import Batch, BatchId
from cronfleet.domain.instant import HOUR, MINUTE, SECOND, Instant
from cronfleet.domain.run import MESSAGE_MAX_AGE, Run, RunKey, RunMessage, RunStatus

SETTLE_AFTER: Final = 45 * SECOND
"""A batch younger than this is left to the next sweep: most of its runs will have ended by then, read once. Unless a
time limit in it is shorter: then the lease of a dead worker ends sooner too, and is to be found a minute later."""

FIRST_RESEND: Final = 5 * MINUTE
LONGEST_RESEND: Final = 6 * HOUR
MAX_OPEN_BATCHES: Final = 200
"""Unsettled batches that the books carry; past that, older ones are settled before newer ones are read."""

MAX_OPEN_LONG_BATCHES: Final = 1_000
"""The same, of batches that owe nothing but long runs: those go on, or wait for their few workers, for hours, and are
not to keep the books from the others. Some 120 KB of the books' item.
"""

LONG_PATIENCE: Final = HOUR
"""How long a long run may wait in its queue while others of its kind go on, before its message is taken for lost: a
long worker that is busy starts nothing for hours, so that the starts of the last minutes tell nothing."""

REVIVED_AT_ONCE: Final = 3 * MINUTE
"""A long run whose worker died is sent again by each sweep for so long, should a copy be lost or be refused …"""
REVIVED_EVERY: Final = 20 * MINUTE
"""… and afterwards once in so long: by whichever sweep falls into the first of these minutes."""

RESEND_SHARE: Final = 100
"""At most one in this many of a tier's fires is sent again per sweep …"""
RESEND_FLOOR: Final = 10
"""… but always this many, so that a quiet tier recovers too."""


class Standing(StrEnum):
    """Where a won fire stands, by its row."""

    SETTLED = "settled"
    """Terminal, waiting for a later attempt, whose timer was written together with it, or going on elsewhere, which an
    errand follows that was written together with it too."""
    GOING = "going"
    """Running under a live lease."""
    DEAD_LEASE = "dead_lease"
    """Running under a lease that has ended: to be revived at once."""
    UNSTARTED = "unstarted"
    """No row, or one that still waits for this very attempt: slow, or lost by the queue."""
    EXPIRED = "expired"
    """So old that its row may be gone by TTL and its message by retention."""


def standing(message: RunMessage, row: Run | None, now: Instant) -> Standing:
    """Where the fire of `message` stands."""
    if row is not None and row.is_terminal:
        return Standing.SETTLED
    if row is not None and row.execution is not None:
        return Standing.SETTLED
    if row is not None and row.status is RunStatus.RUNNING:
        live = row.lease_until is not None and row.lease_until > now
        return Standing.GOING if live else Standing.DEAD_LEASE
    if row is not None and _waits_for_another(row, message):
        return Standing.SETTLED
    if now - message.claimed_at > MESSAGE_MAX_AGE:
        return Standing.EXPIRED
    return Standing.UNSTARTED


def _waits_for_another(row: Run, message: RunMessage) -> bool:
    """Whether a row that is not running waits for a later attempt, or for the same one at a later time (a pause)."""
    put_off = row.retry_at is not None and row.retry_at > message.due_at
    return row.attempt >= message.attempt or put_off


@dataclass(frozen=True, slots=True)
class Owed:
    """What is still owed of a batch: positions (as `Batch.messages` numbers them) without a settled row.

    `resends` counts the rounds in which the unstarted ones among them were sent again; the next begins at `resend_at`.
    `sent` are those that the round under way has sent: a sweep sends a few, so that a mass takes several, and none
    has its second turn before each had its first.
    """

    positions: tuple[int, ...]
    resend_at: Instant
    resends: int = 0
    sent: tuple[int, ...] = ()

    def resent(self, again: Collection[int], unstarted: Collection[int], now: Instant) -> "Owed":
        """After a sweep that sent `again`. Once none of the `unstarted` is left, the next round has twice the wait."""
        sent = (*self.sent, *again)
        if set(unstarted) - set(sent):
            return replace(self, sent=sent)
        wait = min(FIRST_RESEND << min(self.resends + 1, 16), LONGEST_RESEND)
        return Owed(self.positions, now + wait, self.resends + 1)


@dataclass(frozen=True, slots=True)
class Books:
    """How far the sweeper has closed a shard's books.

    Every announced batch up to `closed_through` is settled, but for what `open` says is owed, by batch id.
    """

    shard: int
    rev: int = 0
    closed_through: BatchId | None = None
    open: Mapping[str, Owed] = field(default_factory=dict)


def is_ripe(batch: Batch, now: Instant) -> bool:
    """Whether `batch` is to be looked at: it is old enough, or the time limit of one of its runs may have ended."""
    if batch.claimed_at <= now - SETTLE_AFTER:
        return True
    limits = (max(batch.claimed_at, one.due_at) + one.timeout_seconds * SECOND for one in batch.messages().values())
    return any(limit <= now for limit in limits)


def still_draining(batch_claimed_at: Instant, oldest_claim_started: Instant | None) -> bool:
    """Whether a tier's workers still start runs claimed no later than the batch: slow, then, and not lost.

    `oldest_claim_started` is the oldest claim among the runs that the tier started lately, `None` for none.
    """
    return oldest_claim_started is not None and oldest_claim_started <= batch_claimed_at


def waits_its_turn(message: RunMessage, going: int, now: Instant) -> bool:
    """Whether a long run without a start waits for a worker, of whom `going` are busy: slow, then, and not lost."""
    return message.is_long and going > 0 and now - message.claimed_at < LONG_PATIENCE


def is_to_be_revived(message: RunMessage, row: Run, now: Instant) -> bool:
    """Whether a run whose lease has ended is sent again by this sweep: by each, until another worker has it.

    A long one may wait for hours until a worker is free. Its copies would look like work and start tasks, and whoever
    is free at last would have to take and drop them all; so after a few minutes it is sent again but now and then.
    """
    dead_for = now - (row.lease_until or 0)
    return not message.is_long or dead_for < REVIVED_AT_ONCE or dead_for % REVIVED_EVERY < MINUTE


def once_each(batches: Iterable[Sequence[RunMessage]]) -> list[list[RunMessage]]:
    """The same batches with each run once, where its newest message is: every attempt that it had has one."""
    listed = [list(messages) for messages in batches]
    newest: dict[RunKey, RunMessage] = {}
    for message in chain.from_iterable(listed):
        if message.key not in newest or message.attempt > newest[message.key].attempt:
            newest[message.key] = message
    return [[message for message in messages if newest[message.key] is message] for messages in listed]


def is_full(are_long: Iterable[bool]) -> bool:
    """Whether the books carry all that they can; of each open batch, whether it owes nothing but long runs."""
    counts = Counter(are_long)
    return counts[False] >= MAX_OPEN_BATCHES or counts[True] >= MAX_OPEN_LONG_BATCHES


def resend_allowance(fires_seen: int) -> int:
    """How many fires of a tier one sweep may send again."""
    return max(RESEND_FLOOR, fires_seen // RESEND_SHARE)
