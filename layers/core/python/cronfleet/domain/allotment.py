"""Allotment: which of the drafted claims may go now, and how much of each. Pure.

A draft asks for a place in its tenant's line for each fire. What has none in time waits: its timer is moved to a place
that is reserved for it, and by that the fire is paid for, however long it waits (docs/fairness.md).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from cronfleet.domain.claim import Claim, RunClaim, RunTimer, ScheduleClaim
from cronfleet.domain.instant import Instant, to_text
from cronfleet.domain.rate import Rate
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.schedule import Timer

MAX_TENANT_FIRES_PER_TICK: Final = 2_500
"""What one shard can claim in a slot (500 firings a second): no tenant has more of a tick. The rest is left."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A due item, and the claim of all that it has due, before it is known how much of that may go now."""

    item: Timer | RunTimer
    claim: Claim

    @property
    def tenant(self) -> str:
        """Whose it is."""
        return self.item.key.tenant if isinstance(self.item, RunTimer) else self.item.tenant

    @property
    def dues(self) -> tuple[Instant, ...]:
        """When its fires are due, in order; those that are caught up are not among them."""
        if isinstance(self.claim, RunClaim):
            return (self.claim.timer.due_at,)
        return tuple(fire.due_at for fire in self.claim.fires)

    @property
    def caught_up(self) -> int:
        """How many fires of missed time it takes besides."""
        return len(self.claim.caught_up) if isinstance(self.claim, ScheduleClaim) else 0

    @property
    def is_paid(self) -> bool:
        """Whether its first fire has its place already."""
        return self.item.reserved_at is not None and bool(self.dues)

    @property
    def unpaid(self) -> tuple[Instant, ...]:
        """When the fires are due that need a place."""
        return self.dues[1:] if self.is_paid else self.dues

    @property
    def cost(self) -> int:
        """What it counts in the rounds: its fires, one at least."""
        return max(1, len(self.dues) + self.caught_up)


@dataclass(frozen=True, slots=True)
class Part:
    """How much of a draft goes now: its first `fires`, and so many caught up.

    `place` is reserved for the first fire that is cut off; `why` says what it waits for.
    """

    draft: Draft
    fires: int
    caught_up: int
    place: Instant | None = None
    why: Reason | None = None

    @property
    def is_cut(self) -> bool:
        """Whether a fire that is due stays behind."""
        return self.fires < len(self.draft.dues)

    @property
    def waits(self) -> bool:
        """Whether nothing of it goes now, and something should."""
        return self.is_cut and not self.fires and not self.caught_up


@dataclass(slots=True)
class Pool:
    """What a tenant may send now: `places` by the moment for which they were asked, and so many caught up.

    `most` is how many fires it may have at all.
    """

    places: Counter[Instant] = field(default_factory=Counter)
    caught_up: int = 0
    most: int = MAX_TENANT_FIRES_PER_TICK

    def take_place(self, moment: Instant) -> bool:
        """Take a place for `moment`, if one is left."""
        if self.places[moment] <= 0:
            return False
        self.places[moment] -= 1
        return True


def moment_of(due_at: Instant, now: Instant) -> Instant:
    """The moment for which a fire asks for a place: its time, or now for what is due already."""
    return max(now, due_at)


def asked(drafts: Iterable[Draft], now: Instant) -> Counter[Instant]:
    """How many places `drafts` ask for, by moment, soonest first."""
    return Counter(sorted(moment_of(due_at, now) for draft in drafts for due_at in draft.unpaid))


def divided(drafts: Sequence[Draft], pool: Pool, now: Instant) -> Iterator[Part]:
    """How much of each of a tenant's `drafts` goes now, in their order. What `most` leaves out is not named."""
    for draft in drafts:
        if pool.most <= 0:
            return
        fires = _served(draft, pool, now)
        caught_up = min(draft.caught_up, pool.caught_up, pool.most - fires)
        pool.caught_up -= caught_up
        pool.most -= fires + caught_up
        yield Part(draft, fires, caught_up)


def _served(draft: Draft, pool: Pool, now: Instant) -> int:
    served = 0
    for number, due_at in enumerate(draft.dues):
        has_place = (number == 0 and draft.is_paid) or pool.take_place(moment_of(due_at, now))
        if not has_place or served >= pool.most:
            break
        served += 1
    return served


def over_rate(rate: Rate, until: Instant) -> Reason:
    """Why a fire waits for its place in its tenant's line."""
    text = f"the tenant has more due than its {rate.per_second} fires a second; its place is at {to_text(until)}"
    return Reason(Code.TENANT_RATE, text, {"until": until, "per_second": rate.per_second})


def by_tenant(drafts: Iterable[Draft]) -> Mapping[str, list[Draft]]:
    """The drafts of each tenant, in their order."""
    found: dict[str, list[Draft]] = {}
    for draft in drafts:
        found.setdefault(draft.tenant, []).append(draft)
    return found
