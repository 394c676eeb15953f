"""Allotment: which of the drafted claims may go now, and how much of each. Pure.

A draft asks for a place in its tenant's line for each fire. What has none in time waits: its timer is moved to a place
that is reserved for it, and by that the fire is paid for, however long it waits (docs/fairness.md).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from cronfleet.domain.claim import Claim, RunClaim, RunTimer
from cronfleet.domain.instant import Instant, to_text
from cronfleet.domain.rate import Rate
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.schedule import Timer
from cronfleet.domain.slot import SlotLease

Owned = TypeVar("Owned", "Draft", "Part")

MAX_TENANT_FIRES_PER_TICK: Final = 2_500
"""What one shard can claim in a slot (500 firings a second): no tenant has more of a tick. The rest is left."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A due item, and the claim of all that it has due, before it is known how much of that may go now.

    What follows from these is worked out once: a tick asks for it a dozen times.
    """

    item: Timer | RunTimer
    claim: Claim
    room: int = 0
    """How many fires of missed time it might have taken."""
    tenant: str = field(init=False, compare=False, repr=False)
    """Whose it is."""
    due: int = field(init=False, compare=False, repr=False)
    """How many of its fires are due, those that are caught up not among them."""
    caught_up: int = field(init=False, compare=False, repr=False)
    """How many fires of missed time it takes besides."""

    def __post_init__(self) -> None:
        item, claim = self.item, self.claim
        due, caught_up = (1, 0) if isinstance(claim, RunClaim) else (len(claim.fires), len(claim.caught_up))
        object.__setattr__(self, "tenant", item.key.tenant if isinstance(item, RunTimer) else item.tenant)
        object.__setattr__(self, "due", due)
        object.__setattr__(self, "caught_up", caught_up)

    @property
    def dues(self) -> tuple[Instant, ...]:
        """When its fires are due, in order; those that are caught up are not among them."""
        if isinstance(self.claim, RunClaim):
            return (self.claim.timer.due_at,)
        return tuple(fire.due_at for fire in self.claim.fires)

    @property
    def is_paid(self) -> bool:
        """Whether its first fire has its place already."""
        return self.item.reserved_at is not None and self.due > 0

    @property
    def unpaid(self) -> int:
        """How many of its fires need a place."""
        return self.due - self.is_paid

    @property
    def cost(self) -> int:
        """What it counts in the rounds: its fires, one at least."""
        return (self.due + self.caught_up) or 1


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
    slots: tuple[SlotLease, ...] = ()
    """Of its fires, then of what it catches up; none where the tenant has no limit of runs at once."""
    needs_slot: bool = False
    """Whether it waits for a slot, and not for a place in its tenant's line."""

    @property
    def tenant(self) -> str:
        """Whose it is."""
        return self.draft.tenant

    @property
    def is_cut(self) -> bool:
        """Whether a fire that is due stays behind."""
        return self.fires < self.draft.due

    @property
    def waits(self) -> bool:
        """Whether nothing of it goes now, and something should."""
        return self.is_cut and not self.fires and not self.caught_up


@dataclass(slots=True)
class Pool:
    """What a tenant may send now: so many fires that need a place, and so many caught up; at most `most` in all."""

    places: int
    caught_up: int = 0
    most: int = MAX_TENANT_FIRES_PER_TICK


def divided(drafts: Sequence[Draft], pool: Pool) -> Iterator[Part]:
    """How much of each of a tenant's `drafts` goes now, in their order. What `most` leaves out is not named."""
    for draft in drafts:
        if pool.most <= 0:
            return
        paid = min(int(draft.is_paid), pool.most)
        unpaid = min(draft.due - paid, pool.places, pool.most - paid)
        caught_up = min(draft.caught_up, pool.caught_up, pool.most - paid - unpaid)
        pool.places -= unpaid
        pool.caught_up -= caught_up
        pool.most -= paid + unpaid + caught_up
        yield Part(draft, paid + unpaid, caught_up)


def over_rate(rate: Rate, until: Instant) -> Reason:
    """Why a fire waits for its place in its tenant's line."""
    text = f"the tenant has more due than its {rate.per_second} fires a second; its place is at {to_text(until)}"
    return Reason(Code.TENANT_RATE, text, {"until": until, "per_second": rate.per_second})


def by_tenant(items: Iterable[Owned]) -> Mapping[str, list[Owned]]:
    """The drafts, or parts, of each tenant, in their order."""
    found: dict[str, list[Owned]] = {}
    for item in items:
        found.setdefault(item.tenant, []).append(item)
    return found
