"""Slots: how many runs of a tenant go on at once. One item for each, held under a lease, so that nothing leaks.

Whoever dispatches a run takes a slot for it; the worker lets go of it when the attempt ends. A counter would leak with
every crash; a lease ends by itself. See docs/decisions/0014-concurrency.md.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cronfleet.domain.instant import SECOND, Instant, ceil_second, to_text
from cronfleet.domain.reason import Code, Reason

MAX_SLOTS: Final = 1_000
"""The highest limit that is enforced: a tenant's slots are read with each tick that dispatches for it."""

PATIENCE_SECONDS: Final = 60
"""How late after its time an attempt may start without renewing its slot."""

RUN_MARGIN_SECONDS: Final = 10
"""How much longer than its time limit the lease of an attempt lasts (`long_run.LEASE_MARGIN_SECONDS`) …"""

SLOT_MARGIN_SECONDS: Final = 10
"""… and how much longer than that lease a slot is held: two clocks may each be three seconds off, one either way."""

LEAST_HOLD: Final = 5 * SECOND
"""A slot is given again by a tick: one that is held for less is as good as held until the next."""


@dataclass(frozen=True, slots=True)
class SlotLease:
    """A run's right to the slot `number`, as its claim and its message carry it: under `fence`, until `until`."""

    number: int
    fence: int
    until: Instant


@dataclass(frozen=True, slots=True)
class Slot:
    """One of a tenant's slots, numbered from 1.

    `fence` rises with each taking; `holder` is the attempt that has it ("" for none) until `until` (0 for free).
    `held_ms` is how long it was held the last time.
    """

    tenant: str
    number: int
    fence: int = 0
    holder: str = ""
    taken_at: Instant = 0
    until: Instant = 0
    held_ms: int | None = None

    @property
    def lease(self) -> SlotLease:
        """What its holder may claim of it."""
        return SlotLease(self.number, self.fence, self.until)

    def is_free(self, now: Instant) -> bool:
        """Whether it may be taken at `now`: let go of, or its lease has ended."""
        return self.until <= now

    def taken(self, holder: str, now: Instant, until: Instant) -> "Slot":
        """The same, taken anew at `now`."""
        return replace(self, fence=self.fence + 1, holder=holder, taken_at=now, until=until)

    def released(self, now: Instant) -> "Slot":
        """The same, let go of at `now`."""
        return replace(self, holder="", until=0, held_ms=max(0, now - self.taken_at))


def holder_of(run_id: str, attempt: int, sign: Instant | str) -> str:
    """The name under which an attempt holds its slot.

    An attempt that was put off comes again under its number; `sign` tells it from the one before: the time for which it
    was dispatched, or the owner of the attempt where a worker took the slot.
    """
    return f"{run_id}/{attempt}/{sign}"


def is_of_run(holder: str, run_id: str) -> bool:
    """Whether `holder` is some attempt of the run."""
    return holder.partition("/")[0] == run_id


def held_until(due_at: Instant, now: Instant, timeout_seconds: int) -> Instant:
    """The end of a slot's lease that is taken at `now` for an attempt due at `due_at`, long enough for all of it."""
    longest = PATIENCE_SECONDS + timeout_seconds + RUN_MARGIN_SECONDS + SLOT_MARGIN_SECONDS
    return max(due_at, now) + longest * SECOND


def covers(lease: SlotLease, lease_until: Instant) -> bool:
    """Whether a slot lasts for all of an attempt whose own lease ends at `lease_until`."""
    return lease_until + SLOT_MARGIN_SECONDS * SECOND <= lease.until


def all_of(tenant: str, stored: Iterable[Slot], limit: int) -> list[Slot]:
    """The slots of a tenant under `limit`, those that nobody has taken yet too; above it, only those still held."""
    known = {slot.number: slot for slot in stored}
    within = [known.pop(number, Slot(tenant, number)) for number in range(1, min(limit, MAX_SLOTS) + 1)]
    return [*within, *(slot for _, slot in sorted(known.items()) if slot.holder)]


def live(slots: Iterable[Slot], now: Instant) -> int:
    """How many are held at `now`."""
    return sum(not slot.is_free(now) for slot in slots)


def usual_hold(slots: Sequence[Slot]) -> int:
    """How long a slot is held, in milliseconds, as far as the slots tell: by the rate at which they were let go of.

    A hold that goes on says nothing: its worker may be dead. And one long hold beside short ones says little. A guess
    that is too short has what waits look again sooner than it needed; one that is too long leaves slots free that
    something waits for.
    """
    known = [max(slot.held_ms, LEAST_HOLD) for slot in slots if slot.held_ms is not None]
    return round(len(known) / sum(1 / hold for hold in known)) if known else LEAST_HOLD


def spacing(slots: Sequence[Slot], limit: int) -> int:
    """How long it usually takes until another of `limit` slots is let go of, in milliseconds."""
    return -(-usual_hold(slots) // max(1, limit))


def free_at(slots: Sequence[Slot], limit: int, now: Instant) -> Instant:
    """The whole second in which another slot is likely to be free."""
    return ceil_second(now + spacing(slots, limit))


def for_run(slots: Sequence[Slot], limit: int, run_id: str, now: Instant) -> Slot | None:
    """The slot that a run may have which has none for sure: its own from an earlier attempt, or else a free one."""
    own = [slot for slot in slots if is_of_run(slot.holder, run_id)]
    free = [slot for slot in slots if slot.number <= limit and slot.is_free(now)]
    kept = [slot for slot in own if slot.number <= limit or not slot.is_free(now)]
    return next(iter([*kept, *free]), None)


def waits(limit: int, until: Instant) -> Reason:
    """Why a fire or an attempt waits for a slot."""
    text = f"as many runs of the tenant are going on as may at once ({limit}); it waits, likely until {to_text(until)}"
    return Reason(Code.CONCURRENCY, text, {"limit": limit, "until": until})
