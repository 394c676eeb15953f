"""Held back: what a pause, a parking or a cancellation has kept from being claimed, and the rows that say so."""

from dataclasses import dataclass

from cronfleet.domain.attempt import paused_reason
from cronfleet.domain.backlog import stretches_of
from cronfleet.domain.holding import shadow_row, why_held
from cronfleet.domain.instant import Instant, floor_second
from cronfleet.domain.late import Late
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.run import Run, RunKey, RunStatus, range_row
from cronfleet.domain.schedule import Status, Timer
from cronfleet.domain.trigger import UNCOMPUTABLE, latest_fires


@dataclass(frozen=True, slots=True)
class HeldBack:
    """Nominals from `first_at` to `last_at`, both included, that were named up to now and not claimed.

    `late` says why, for those that were to be caught up already.
    """

    first_at: Instant
    last_at: Instant
    late: Late | None = None


def held_back(timer: Timer, now: Instant) -> list[HeldBack]:
    """What waited to be caught up, and what has been named since, oldest first."""
    held = [HeldBack(stretch.first_at, stretch.last_at, stretch.late) for stretch in stretches_of(timer.backlog)]
    if timer.nominal_at is not None and timer.nominal_at <= now:
        held.append(HeldBack(timer.nominal_at, newest(timer, timer.nominal_at, now)))
    return held


def newest(timer: Timer, first_at: Instant, now: Instant) -> Instant:
    """The newest nominal from `first_at` up to `now`."""
    try:
        found = latest_fires(timer.trigger, first_at - 1, timer.capped(now), 1)
    except UNCOMPUTABLE:
        # That is why schedules are parked; it must not keep them from being cancelled.
        return max(first_at, floor_second(now))
    return found[0] if found else first_at


def held_back_rows(timer: Timer, now: Instant) -> tuple[Run, ...]:
    """A row for each stretch of it."""
    return tuple(held_row(timer, held, now) for held in held_back(timer, now))


def held_row(timer: Timer, held: HeldBack, now: Instant) -> Run:
    """The row of one stretch: paused, refused, cancelled or in shadow, as the timer stood till now."""
    status, reason = _why_held(timer)
    if status is RunStatus.SHADOW:
        return shadow_row(key_of(timer, held.first_at), held.last_at, timer.tier, now, reason)
    return range_row(key_of(timer, held.first_at), held.last_at, timer.tier, status, now, reason)


def _why_held(timer: Timer) -> tuple[RunStatus, Reason]:
    if timer.status is Status.PAUSED:
        return RunStatus.PAUSED, paused_reason(timer)
    if timer.status is Status.HELD and timer.parked is None:
        return why_held(timer)
    if timer.status is Status.ACTIVE:
        return RunStatus.CANCELLED, Reason(Code.CANCELLED, "the schedule was cancelled before these fires were claimed")
    text = timer.parked.text if timer.parked else f"the schedule was {timer.status}"
    return RunStatus.REFUSED, Reason(Code.NOT_ON, text)


def key_of(timer: Timer, nominal_at: Instant) -> RunKey:
    """The key of the run of a nominal that `timer` names."""
    return RunKey(timer.tenant, timer.schedule_id, timer.epoch, nominal_at)
