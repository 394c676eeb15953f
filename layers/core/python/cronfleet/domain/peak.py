"""Peak: the second of the next day in which most schedules fire together with one that is about to change."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from cronfleet.domain.dispatch_plan import first_fire
from cronfleet.domain.instant import DAY, HOUR, SECOND, Instant
from cronfleet.domain.jitter import due_at
from cronfleet.domain.schedule import Status, Timer
from cronfleet.domain.trigger import UNCOMPUTABLE, latest_fires

HOURS: Final = DAY // HOUR
"""Of each hour of the next day one fire is looked at, the first of it, where most others crowd as well."""


@dataclass(frozen=True, slots=True)
class Peak:
    """How many fires are due in the fullest second, the schedule's own included; which second that is."""

    at: Instant
    fires: int


def peak_of(timer: Timer, others: Iterable[Timer], now: Instant) -> Peak | None:
    """The fullest of the seconds in which `timer` is due in the next day; `None` where it is due in none."""
    counts = dict.fromkeys(_seconds(timer, now), 1)
    for other in others:
        if other.status is Status.ACTIVE and other.key != timer.key:
            for second in counts:
                counts[second] += _is_due_in(other, second)
    if not counts:
        return None
    at = max(sorted(counts), key=lambda second: counts[second])
    return Peak(at, counts[at])


def _seconds(timer: Timer, now: Instant) -> list[Instant]:
    if timer.status is not Status.ACTIVE:
        return []
    first_hour = now - now % HOUR + HOUR
    starts = (now, *(first_hour + hour * HOUR - 1 for hour in range(HOURS)))
    fires = (first_fire(timer, start) for start in starts)
    return sorted({fire.due_at for fire in fires if fire is not None and fire.nominal_at <= now + DAY})


def _is_due_in(timer: Timer, second: Instant) -> bool:
    """Whether a fire of `timer` is due at just this second. Jitter never passes the next fire: only one can be."""
    since = second - timer.jitter_seconds * SECOND - 1
    if timer.start_at is not None:
        since = max(since, timer.start_at - 1)
    try:
        found = latest_fires(timer.trigger, since, timer.capped(second), 1)
        if not found:
            return False
        following = timer.trigger.next_after(found[0]) if timer.jitter_seconds else None
    except UNCOMPUTABLE:
        return False  # it fires nothing: the scheduler parks it
    due = due_at(timer.key, found[0], following, timer.jitter_seconds, timer.end_at, is_spread=timer.is_spread)
    return due == second
