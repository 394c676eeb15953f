"""Lane wait: why a run of an operation, which is due, has not been sent. Derived from what is known anyway; pure.

What yields to live traffic is left as it is when there is no place for it (docs/backfills.md, "The lane"): nothing is
written down, so that the reason is found only when somebody asks for it.
"""

from collections.abc import Iterable
from typing import Final

from cronfleet.domain.claim import RunTimer
from cronfleet.domain.instant import SECOND, Instant
from cronfleet.domain.quota import Quotas
from cronfleet.domain.reason import Code, Detail, Reason
from cronfleet.domain.run import Lane
from cronfleet.domain.slot import Slot, all_of, live
from cronfleet.domain.slot_plan import yields

LEFT_AFTER: Final = 10 * SECOND
"""Due for so long, two ticks, and not claimed: it has been left."""


def is_left(timer: RunTimer, now: Instant) -> bool:
    """Whether an attempt yields, is due, and has been passed by."""
    return timer.key.lane is Lane.BACKFILL and timer.deferred is None and timer.due_at <= now - LEFT_AFTER


def why_left(timer: RunTimer, quotas: Quotas, stored: Iterable[Slot], now: Instant) -> Reason:
    """What leaves it no place, as far as the tenant's slots tell; if not those, then its rate or its live traffic."""
    limit, due = quotas.concurrent_runs, timer.due_at
    if limit is None:
        return _of_rate(quotas, due)
    slots = all_of(timer.key.tenant, stored, limit)
    taken, held = live(slots, now), sum(not slot.is_free(now) and yields(slot.holder) for slot in slots)
    if taken >= limit:
        said = f"as many runs of the tenant are going on as may at once ({limit})"
        return _reason(said, "slots", due, {"limit": limit, "held": held})
    if held >= max(1, limit // 2):
        said = f"runs of operations have {held} of the tenant's {limit} slots, as many as they may"
        return _reason(said, "share", due, {"limit": limit, "held": held})
    return _of_rate(quotas, due)


def _of_rate(quotas: Quotas, due_at: Instant) -> Reason:
    per_second = quotas.fires_per_second
    said = f"of the tenant's {per_second} fires a second none was left, or something live of it waits itself"
    return _reason(said, "rate", due_at, {"per_second": per_second})


def _reason(said: str, short_of: str, due_at: Instant, detail: Detail) -> Reason:
    return Reason(Code.YIELDS, f"yields to live traffic: {said}", {"short_of": short_of, "due_at": due_at, **detail})
