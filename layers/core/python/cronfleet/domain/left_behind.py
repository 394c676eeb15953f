"""Left behind: what becomes of the fires that a timer named and that no claim has turned into runs when it changes.

What was due still runs: its rows and their timers come back. What is claimed and not yet due gets its row here: whoever
is first, the change or the worker that starts it, decides whether it ran; the other finds the row.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from cronfleet.domain.backlog import stretches_of
from cronfleet.domain.claim import Fire, RunTimer, ScheduleClaim, first_attempt
from cronfleet.domain.dispatch_plan import LOOK_AHEAD, claim_schedule, first_fire
from cronfleet.domain.errors import Contended
from cronfleet.domain.held_back import held_back_rows, key_of, newest
from cronfleet.domain.holding import skipped_status
from cronfleet.domain.instant import SECOND, Instant, floor_second
from cronfleet.domain.lease import MAX_SKEW
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.run import Run, RunStatus, range_row
from cronfleet.domain.schedule import Status, Timer
from cronfleet.domain.trigger import UNCOMPUTABLE

CLAIMED_AHEAD: Final = LOOK_AHEAD + 2 * MAX_SKEW
"""How far ahead of this process's clock a dispatcher may have claimed: both clocks may be off, either way."""

MAX_FIRES_PER_CHANGE: Final = 30
"""Fires that a change of the trigger may find due and unclaimed: each takes two writes of a transaction of 100."""

MAX_CAUGHT_UP_PER_CHANGE: Final = 10
"""Fires whose turn has come to be caught up, and that a change of the trigger finds unclaimed, likewise."""

RETIMED: Final = "the trigger changed before this fire was due"


def left_behind(timer: Timer, after: Timer, now: Instant) -> tuple[tuple[Run, ...], tuple[RunTimer, ...]]:
    """What a changed trigger leaves behind: the rows of what the old one named up to `now`, and the timers of what
    still runs. `Contended` when more is due than one transaction can hold.
    """
    if timer.status is not Status.ACTIVE:
        return held_back_rows(timer, now), ()
    if timer.backlog is None and (timer.nominal_at is None or timer.nominal_at > now):
        return (), ()
    most = MAX_FIRES_PER_CHANGE
    claim = claim_schedule(_out_of_line(timer, now), now, 0, MAX_CAUGHT_UP_PER_CHANGE, most)
    rest = claim.following
    if rest is not None and rest.due_at <= now and timer.reserved_at is None:
        raise _too_many_due(timer)
    queued = [*claim.fires, *claim.caught_up]
    rows = [*_missed_rows(claim, timer, now), *_not_caught_up_rows(claim, timer, now)]
    if rest is not None and rest.nominal_at <= now:
        rows.append(_unplaced_row(timer, rest, now) if rest.due_at <= now else _superseded_row(timer, rest, now))
    rows += [_queued_row(timer, after, fire) for fire in queued]
    return tuple(rows), tuple(
        first_attempt(key_of(timer, fire.nominal_at), after, due_at=floor_second(now)) for fire in queued
    )


def _out_of_line(timer: Timer, now: Instant) -> Timer:
    """`timer` as if the place that it waits for had come: what is due runs, and has its run's place instead."""
    if timer.reserved_at is None or timer.reserved_at <= now:
        return timer
    return replace(timer, reserved_at=floor_second(now), due_at=min(timer.due_at or now, floor_second(now)))


def _unplaced_row(timer: Timer, first: Fire, now: Instant) -> Run:
    """A row for what waits behind as many as a change can take along: the tenant's rate has had no place for them."""
    reason = Reason(Code.SUPERSEDED, "the trigger changed before the tenant's rate had places for these fires")
    last_at = newest(timer, first.nominal_at, now)
    return range_row(key_of(timer, first.nominal_at), last_at, timer.tier, RunStatus.SKIPPED, now, reason)


def _too_many_due(timer: Timer) -> Contended:
    return Contended(f"schedule {timer.schedule_id} has fires that are due right now; try again in a few seconds")


def overtaken_rows(timer: Timer, now: Instant, reason: Reason) -> tuple[Run, ...]:
    """A row for each fire that is claimed and not yet due: it will not run.

    If a worker has started one all the same (by its clock it was due, or it was faster than this change is written),
    the row is there already, the change is refused, and decided anew from that fire's time on. What a held schedule
    named in shadow has its row, and was never sent.
    """
    if timer.hold is not None:
        return ()
    try:
        return tuple(_claimed_ahead_rows(timer, now, reason))
    except UNCOMPUTABLE:
        # That is why schedules are parked; nothing that such a trigger named is under way.
        return ()


def _claimed_ahead_rows(timer: Timer, now: Instant, reason: Reason) -> list[Run]:
    rows: list[Run] = []
    fire = first_fire(timer, max(now - timer.jitter_seconds * SECOND, timer.epoch_since))
    while fire is not None and fire.nominal_at <= now + CLAIMED_AHEAD and _is_claimed(timer, fire):
        if is_under_way(fire, now):
            rows.append(ended_row(timer, fire, now, reason))
        if len(rows) > MAX_FIRES_PER_CHANGE:
            raise _too_many_due(timer)
        fire = first_fire(timer, fire.nominal_at)
    return rows


def is_under_way(fire: Fire, now: Instant) -> bool:
    """Whether a `fire` that is claimed is not due yet.

    What seems to be due later than anybody claims ahead was claimed before its schedule was put off by more: it is
    over, or a worker has it.
    """
    return now < fire.due_at <= now + CLAIMED_AHEAD


def _is_claimed(timer: Timer, fire: Fire) -> bool:
    if timer.nominal_at is not None:
        return fire.nominal_at < timer.nominal_at
    return timer.status is Status.COMPLETED or timer.backlog is not None


def _missed_rows(claim: ScheduleClaim, timer: Timer, now: Instant) -> Iterator[Run]:
    for skipped in claim.skipped:
        key, status = claim.run_key(skipped.first_at), skipped_status(skipped)
        yield range_row(key, skipped.last_at, timer.tier, status, now, skipped.reason)


def _not_caught_up_rows(claim: ScheduleClaim, timer: Timer, now: Instant) -> Iterator[Run]:
    """A row for each stretch that was still to be caught up when its trigger was replaced: no turn, no run."""
    for stretch in stretches_of(claim.backlog):
        reason = Reason(Code.SUPERSEDED, "the trigger changed before these fires were caught up", stretch.late.detail)
        key = claim.run_key(stretch.first_at)
        yield range_row(key, stretch.last_at, timer.tier, RunStatus.SKIPPED, now, reason)


def _superseded_row(timer: Timer, fire: Fire, now: Instant) -> Run:
    """The row of a nominal that jitter had not made due yet when its trigger was replaced; a freeze puts off more."""
    reason = Reason(Code.SUPERSEDED, RETIMED, {"due_at": fire.due_at})
    last_at = newest(timer, fire.nominal_at, now)
    if last_at > fire.nominal_at:
        return range_row(key_of(timer, fire.nominal_at), last_at, timer.tier, RunStatus.SKIPPED, now, reason)
    return ended_row(timer, fire, now, reason)


def ended_row(timer: Timer, fire: Fire, now: Instant, reason: Reason) -> Run:
    """The row of a fire that does not run."""
    return Run(
        key_of(timer, fire.nominal_at),
        RunStatus.CANCELLED if reason.code is Code.CANCELLED else RunStatus.SKIPPED,
        due_at=fire.due_at,
        tier=timer.tier,
        version=timer.version,
        finished_at=now,
        reason=reason,
    )


def _queued_row(timer: Timer, after: Timer, fire: Fire) -> Run:
    return Run(
        key_of(timer, fire.nominal_at),
        RunStatus.QUEUED,
        due_at=fire.due_at,
        tier=timer.tier,
        version=after.version,
        late=fire.late,
    )
