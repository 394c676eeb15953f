"""Slots in a tick: which of a tenant's due fires get one of the slots that are free, and which have to wait. Pure.

The soonest due come first, whichever schedules they belong to. What is due only after the next tick is left to that: a
slot that is taken ahead of its time keeps something else from running (docs/decisions/0014-concurrency.md).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from cronfleet.domain.allotment import Draft
from cronfleet.domain.claim import Claim, Fire, RunClaim
from cronfleet.domain.instant import SECOND, Instant
from cronfleet.domain.lease import SLOT
from cronfleet.domain.run import Lane, lane_of
from cronfleet.domain.slot import holder_of

AHEAD: Final = SLOT + 2 * SECOND
"""How far ahead of its time a slot is taken: until the next tick has surely come."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A fire that wants a slot, under the name of the attempt that it becomes."""

    holder: str
    due_at: Instant
    timeout_seconds: int


def yields(holder: str) -> bool:
    """Whether `holder` is an attempt of a run that yields to live traffic."""
    return lane_of(holder.partition("/")[0].rpartition("~")[2]) is Lane.BACKFILL


def wishes(claim: Claim, fires: int | None = None, caught_up: int | None = None) -> Iterator[Wish]:
    """What a claim wants: for its first `fires` and so many caught up (`None`: for all), in the order of its slots."""
    if isinstance(claim, RunClaim):
        timer = claim.timer
        if fires is None or fires:
            yield Wish(holder_of(timer.key.run_id, timer.attempt, timer.due_at), timer.due_at, timer.timeout_seconds)
        return
    for fire in (*claim.fires[:fires], *claim.caught_up[:caught_up]):
        run_id = claim.run_key(fire.nominal_at).run_id
        yield Wish(holder_of(run_id, 1, fire.due_at), fire.due_at, claim.timeout_seconds)


@dataclass(frozen=True, slots=True)
class Grant:
    """How much of a draft may go, by the slots that are free: its first `fires`, and so many caught up.

    `waiting` fires are due and have no slot; `waits_caught_up`: neither has some missed time whose turn has come.
    """

    draft: Draft
    fires: int
    caught_up: int
    waiting: int
    waits_caught_up: bool

    @property
    def goes(self) -> bool:
        """Whether anything of it goes now."""
        return bool(self.fires or self.caught_up)


def grants(drafts: Sequence[Draft], free: int, now: Instant) -> list[Grant]:
    """What of one tenant's `drafts` may go when `free` slots are."""
    wanted = [
        (due_at, not is_caught_up, number)
        for number, draft in enumerate(drafts)
        for is_caught_up, dues in ((False, draft.dues), (True, _caught_up_dues(draft)))
        for due_at in dues
        if due_at <= now + AHEAD
    ]
    # Of those due at once missed time comes first, which has waited longest and comes in turns; then in their order.
    served = Counter((number, is_regular) for _, is_regular, number in sorted(wanted)[: max(0, free)])
    return [_grant(draft, served[number, True], served[number, False], now) for number, draft in enumerate(drafts)]


def _grant(draft: Draft, fires: int, caught_up: int, now: Instant) -> Grant:
    waiting = sum(due_at <= now for due_at in draft.dues[fires:])
    return Grant(draft, fires, caught_up, waiting, caught_up < draft.caught_up)


def _caught_up_dues(draft: Draft) -> tuple[Instant, ...]:
    claim = draft.claim
    caught_up: tuple[Fire, ...] = () if isinstance(claim, RunClaim) else claim.caught_up
    return tuple(fire.due_at for fire in caught_up)
