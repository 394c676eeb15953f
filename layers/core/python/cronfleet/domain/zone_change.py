"""Zone change: what new zone data makes of a schedule that waits for a time worked out with older zone data.

What a schedule waits for is a local time. If the new data shows that local time at another instant, the fire moves
there, in a new epoch: it is not lost where that instant is past already (it is due at once, late), and it is not fired
again where the old data had it come too early. A wildcard job takes real minutes as they come: it goes on with the
first that it names.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from cronfleet.domain import naming, zones
from cronfleet.domain.backlog import Backlog, Stretch, stretches_of
from cronfleet.domain.change import new_epoch, onwards, waiting_for, written
from cronfleet.domain.claim import Fire, ScheduleClaim, soonest
from cronfleet.domain.dispatch_plan import first_fire, regular_fire
from cronfleet.domain.errors import Contended
from cronfleet.domain.instant import EARLIEST, SECOND, Instant, floor_second, to_text
from cronfleet.domain.late import Cause, Late
from cronfleet.domain.left_behind import ended_row
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.run import Run, RunKey, RunStatus, range_row
from cronfleet.domain.schedule import Status, Timer
from cronfleet.domain.trigger import OneShotTrigger, Trigger, latest_fires, retold
from cronfleet.domain.zone_check import names_otherwise
from cronfleet.domain.zone_stamp import moving_zone, stamp


@dataclass(frozen=True, slots=True)
class Moved:
    """A schedule under new zone data: its timer, rows of what the old data had named up to now, and why."""

    timer: Timer
    rows: tuple[Run, ...]
    reason: str


def moved(timer: Timer, *, version: int, last: ScheduleClaim | None, now: Instant, change_id: str) -> Moved | None:
    """`timer` under the zone data at work; `None` where that names what it waits for.

    `last` is its last claim, if that is known; `version` the number of the definition that the timer is to have (a
    one-shot's instant stands in its definition). `Contended` while a claimed fire is about to run: it is not taken
    back, and its schedule is looked at again later.
    """
    if not names_otherwise(timer):
        return None
    after = replace(timer, trigger=_retold(timer.trigger), version=version)
    if timer.status is not Status.ACTIVE:
        return _held_back(timer, after, max(now, timer.updated_at), change_id)
    now = onwards(timer, now)
    if last is not None and last.epoch == timer.epoch and any(fire.due_at > now for fire in last.fires):
        raise Contended(f"schedule {timer.schedule_id} has a fire that is claimed and about to run")
    at = _pending(timer, after.trigger, _last_nominal(last), now)
    if at == timer.nominal_at:
        return Moved(_stays(timer, now, change_id), (), _reason(timer, timer))
    owed = _carried_over(timer, after.trigger, now)
    at = _earliest(at, _put_off(timer, after.trigger, now))
    if at is not None and owed and at <= owed[-1].last_at:
        at = after.trigger.next_after(owed[-1].last_at)
    is_late = at is not None and at <= now and timer.reserved_at is None and _is_in_time(timer, now)
    after = new_epoch(after, now)
    if at is not None and is_late:
        owed.append(Stretch(at, at, Late(Cause.ZONE_DATA, at, at, now), after.misfire.per_minute))
    after = _owing(after, owed, floor_second(now) if timer.backlog is None else timer.backlog.turn_at)
    after = waiting_for(after, None if at is None else first_fire(after, at if is_late else at - 1))
    after = _still_in_line(timer, after, now)
    reason = _reason(timer, after)
    rows = (*_rows(timer, now, reason), *_backlog_rows(timer, owed, now, reason))
    return Moved(written(after, change_id, now), rows, reason)


def _stays(timer: Timer, now: Instant, change_id: str) -> Timer:
    """The same fire in the same epoch, known to the new data: it is not looked at again."""
    return written(replace(timer, zone_data=stamp(timer.trigger, timer.nominal_at)), change_id, now)


def _retold(trigger: Trigger) -> Trigger:
    return retold(trigger) if isinstance(trigger, OneShotTrigger) else trigger


def _held_back(timer: Timer, after: Timer, now: Instant, change_id: str) -> Moved | None:
    """A pause goes on, and with it the epoch: only what it holds back begins elsewhere; what it held is held."""
    at = _pending(timer, after.trigger, None, now)
    fire = None if at is None else first_fire(after, at - 1)
    waited = timer.nominal_at
    if fire is None or (waited is not None and waited <= min(now, fire.nominal_at)):
        # The old time stays where the stretch begins that is not on; a one-shot still needs its new instant.
        fire = Fire(waited or 0, timer.due_at or waited or 0) if waited is not None else None
    after = waiting_for(after, fire)
    if timer.status is Status.PAUSED:
        after = replace(after, status=Status.PAUSED, due_at=timer.due_at)
    if (after.nominal_at, after.trigger) == (timer.nominal_at, timer.trigger):
        return None
    return Moved(written(after, change_id, now), (), _reason(timer, after))


def _last_nominal(last: ScheduleClaim | None) -> Instant:
    if last is None:
        return EARLIEST
    fired = last.fires[-1].nominal_at if last.fires else EARLIEST
    return max([fired, *(skipped.last_at for skipped in last.skipped)])


def _pending(timer: Timer, trigger: Trigger, last_at: Instant | None, now: Instant) -> Instant | None:
    """The instant at which the new data has the fire that `timer` waits for.

    Time moves forward: what would come no later than `last_at`, which was claimed, fires when the old data said.
    """
    if isinstance(trigger, OneShotTrigger):
        return trigger.at
    last_at = EARLIEST if last_at is None else last_at
    local = _same_local_time(timer, trigger)
    if local is not None and local <= last_at:
        local = timer.nominal_at
    if local is not None and naming.is_fixed_time(trigger):
        return local
    real = trigger.next_after(max(now, last_at))
    return _earliest(local, real)


def _earliest(*instants: Instant | None) -> Instant | None:
    return min((at for at in instants if at is not None), default=None)


def _same_local_time(timer: Timer, trigger: Trigger) -> Instant | None:
    """The first fire not before the instant at which the clock now shows what `timer` waits for."""
    zone_name = moving_zone(trigger)
    if timer.zone_data is None or timer.nominal_at is None or zone_name is None:
        return None
    wall = timer.nominal_at // SECOND + timer.zone_data.offset_seconds
    second = zones.load(zone_name).first_instant(wall)
    return None if second is None else trigger.next_after(second * SECOND - 1)


def _is_in_time(timer: Timer, now: Instant) -> bool:
    """Whether what moved into the past is wanted however late: it is, unless it was late already before it moved."""
    waited = regular_fire(timer)
    return waited is None or waited.due_at > timer.misfire.missed_through(now)


def _owing(after: Timer, owed: list[Stretch], turn_at: Instant) -> Timer:
    """`after` with what is caught up in its epoch."""
    if not owed:
        return after
    return replace(after, backlog=Backlog(tuple(owed), turn_at), caught_up_from=min(one.first_at for one in owed))


def _still_in_line(timer: Timer, after: Timer, now: Instant) -> Timer:
    """`after`, waiting for the place for which `timer` waits, where what it waits for was due: it is not late."""
    place, nominal_at = timer.reserved_at, after.nominal_at
    if place is None or nominal_at is None or nominal_at > now:
        return after
    due_at = soonest(Fire(nominal_at, place), after.backlog)
    first_at = min(nominal_at, nominal_at if after.caught_up_from is None else after.caught_up_from)
    return replace(after, due_at=due_at, reserved_at=place, deferred=timer.deferred, caught_up_from=first_at)


def _carried_over(timer: Timer, trigger: Trigger, now: Instant) -> list[Stretch]:
    """What was still to be caught up, where the new data has it, up to `now`: what is later is not missed any more."""
    moved_ones = []
    for stretch, first_at, end_at in _moved_stretches(timer, trigger):
        last_at = end_at if end_at <= now else max(latest_fires(trigger, first_at - 1, now, 1), default=first_at - 1)
        if first_at <= last_at:
            late = _moved_late(stretch, first_at, last_at)
            moved_ones.append(replace(stretch, first_at=first_at, last_at=last_at, late=late))
    return moved_ones


def _put_off(timer: Timer, trigger: Trigger, now: Instant) -> Instant | None:
    """The first of what was to be caught up that the new data has after `now`: it is waited for like any other."""
    for _, first_at, last_at in _moved_stretches(timer, trigger):
        if last_at > now:
            return trigger.next_after(max(now, first_at - 1))
    return None


def _moved_stretches(timer: Timer, trigger: Trigger) -> Iterator[tuple[Stretch, Instant, Instant]]:
    """Each stretch, and its first and last nominal where the new data has them."""
    for stretch in stretches_of(timer.backlog):
        if naming.is_fixed_time(trigger):
            first_at, last_at = (_moved_nominal(timer, trigger, at) for at in (stretch.first_at, stretch.last_at))
        else:
            # The real minutes that it names in that time.
            first_at = trigger.next_after(stretch.first_at - 1)
            last_at = max(latest_fires(trigger, stretch.first_at - 1, stretch.last_at, 1), default=None)
        if first_at is not None and last_at is not None and first_at <= last_at:
            yield stretch, first_at, last_at


def _moved_late(stretch: Stretch, first_at: Instant, last_at: Instant) -> Late:
    """Why it is late, its ends where they moved with the stretch; what was dropped already stays where it was."""
    late = stretch.late
    from_at = first_at if late.from_at == stretch.first_at else min(late.from_at, first_at)
    until_at = last_at if late.until_at == stretch.last_at else max(late.until_at, last_at)
    return replace(late, from_at=from_at, until_at=until_at)


def _moved_nominal(timer: Timer, trigger: Trigger, at: Instant) -> Instant | None:
    """Where the new data has what the old named `at`; a time that both name stays."""
    if naming.names(trigger, at):
        return at
    return _same_local_time(replace(timer, nominal_at=at), trigger)


def _backlog_rows(timer: Timer, owed: list[Stretch], now: Instant, reason: str) -> Iterator[Run]:
    """A row for each stretch that was still to be caught up and is now elsewhere."""
    kept = {(one.first_at, one.last_at) for one in owed}
    for stretch in stretches_of(timer.backlog):
        if (stretch.first_at, stretch.last_at) not in kept:
            key = RunKey(timer.tenant, timer.schedule_id, timer.epoch, stretch.first_at)
            why = Reason(
                Code.SUPERSEDED, f"{reason}; so do these, which were still to be caught up", stretch.late.detail
            )
            yield range_row(key, stretch.last_at, timer.tier, RunStatus.SKIPPED, now, why)


def _rows(timer: Timer, now: Instant, reason: str) -> tuple[Run, ...]:
    """The row of a fire that was due by the old data and is not claimed: it runs at its new time, in the new epoch."""
    if timer.nominal_at is None or timer.nominal_at > now:
        return ()
    fire = Fire(timer.nominal_at, timer.due_at or timer.nominal_at)
    return (ended_row(timer, fire, now, Reason(Code.SUPERSEDED, reason)),)


def _reason(timer: Timer, after: Timer) -> str:
    before = timer.zone_data.release if timer.zone_data else "unknown"
    at = after.nominal_at if after.backlog is None else after.backlog.next_at
    to = "nothing more" if at is None else to_text(at)
    waited = to_text(timer.nominal_at or 0)
    return f"zone data {before} → {zones.tzdata_version()}: what was to fire at {waited} fires at {to}"
