"""Leases of dispatchers on shards: five-second slots, owners, fences, the open batch."""

from dataclasses import dataclass
from typing import Final

from cronfleet.domain.claim import BatchId
from cronfleet.domain.instant import SECOND, Instant

SLOT: Final = 5 * SECOND
"""Ticks are for absolute slots, so a lost one costs five seconds and nothing drifts."""

BATCH_LEASE: Final = 15 * SECOND
"""What announcing a batch renews the lease by; a crashed dispatcher blocks its shard no longer than this."""

MIN_LEASE: Final = 2 * SECOND
"""The shortest lease worth taking: a tick that comes at the end of its slot needs time for its first batch."""

MAX_SKEW: Final = 2 * SECOND
"""A process whose clock is further than this from the store's does nothing."""


@dataclass(frozen=True, slots=True)
class ShardLease:
    """The lease item of a shard.

    `owner` is unique per invocation and `fence` rises with each. `slot_at` is the last slot served. `open_batch`
    is what the predecessor announced and did not close; `last_batch` the newest announced, closed or open, and
    `last_losers` the positions of its claims that somebody else won, once it is closed. `shards`, which the lease of
    shard 0 alone says, is how many are served: what waits in one waits there, so it never becomes fewer. `shut_rev` and
    `shut_in` say of which hold, in which region, one has to know to take the shard.
    """

    shard: int
    owner: str
    fence: int
    until: Instant
    slot_at: Instant
    open_batch: BatchId | None = None
    last_batch: BatchId | None = None
    last_losers: frozenset[int] = frozenset()
    shards: int = 0
    shut_rev: int = 0
    shut_in: str = ""

    def is_shut(self, region: str, known: int) -> bool:
        """Whether it is kept from whoever, in `region`, knows its switch as it was with the `rev` `known`."""
        return self.shut_rev > known and self.shut_in == region


def slot_of(instant: Instant) -> Instant:
    """The start of the slot that `instant` lies in."""
    return instant - instant % SLOT


def lease_until(slot_at: Instant, now: Instant) -> Instant:
    """The end of a lease taken for `slot_at`: with its slot, so that the next tick finds the shard free."""
    return max(slot_at + SLOT, now + MIN_LEASE)


def too_skewed(skew_ms: int) -> bool:
    """Whether a clock that is `skew_ms` from the store's must not be acted on."""
    return abs(skew_ms) > MAX_SKEW
