"""Changes: what a timer becomes when a schedule is created, edited, paused, resumed, cancelled or parked.

Pure: a timer and a wish in, the next timer and what belongs into the ledger out. Every change raises `rev`. One
after which old fires must no longer count raises `epoch` as well, and accounts for each nominal that the old epoch
named up to now: it still runs, or a row says why not. A fire that is claimed ahead of its time gets its row here as
well: whoever is first, the change or the worker that starts it, decides whether it ran; the other finds the row.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from cronfleet.domain.attempt import paused_reason
from cronfleet.domain.backlog import Backlog, Stretch, stretches_of
from cronfleet.domain.calendar_change import check_fires
from cronfleet.domain.catch_up import wanted
from cronfleet.domain.claim import Fire, RunTimer, ScheduleClaim, first_attempt, soonest
from cronfleet.domain.dispatch_plan import LOOK_AHEAD, claim_schedule, first_fire
from cronfleet.domain.errors import Contended, Invalid
from cronfleet.domain.freeze import label_hashes
from cronfleet.domain.holding import shadow_row, skipped_status, why_held
from cronfleet.domain.instant import SECOND, Instant, ceil_second, floor_second, to_text
from cronfleet.domain.late import Cause, Late
from cronfleet.domain.lease import MAX_SKEW
from cronfleet.domain.misfire import Misfire
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.run import Run, RunKey, RunStatus, range_row
from cronfleet.domain.schedule import (
    MAX_EPOCH_STARTS,
    Change,
    Definition,
    Hold,
    Pause,
    Policies,
    Shadow,
    Spec,
    Status,
    Timer,
    moved,
)
from cronfleet.domain.shard import shard_of
from cronfleet.domain.tenant import Tenant
from cronfleet.domain.trigger import UNCOMPUTABLE, OneShotTrigger, latest_fires
from cronfleet.domain.zone_stamp import stamp

CLAIMED_AHEAD: Final = LOOK_AHEAD + 2 * MAX_SKEW
"""How far ahead of this process's clock a dispatcher may have claimed: both clocks may be off, either way."""

MAX_FIRES_PER_CHANGE: Final = 30
"""Fires that a change of the trigger may find due and unclaimed: each takes two writes of a transaction of 100."""

MAX_CAUGHT_UP_PER_CHANGE: Final = 10
"""Fires whose turn has come to be caught up, and that a change of the trigger finds unclaimed, likewise."""

_NOTHING_MISSED: Final = (
    "a schedule that was held has missed nothing: what it named was another system's to run. Leave it out, and use "
    "run now for what you want to run here"
)
_RETIMED: Final = "the trigger changed before this fire was due"


def created(  # noqa: PLR0913 - each is named by its callers, and no two belong together
    spec: Spec,
    *,
    tenant: Tenant,
    schedule_id: str,
    shards: int,
    now: Instant,
    change_id: str,
    author: str,
    tombstone: Timer | None,
    may_be_over: bool = False,
) -> tuple[Timer, Definition]:
    """The first timer and definition of a schedule; numbers go on from the `tombstone` of an earlier one.

    `Invalid` when the trigger names no time after `now` inside start and end, unless it `may_be_over`.
    """
    if tombstone is not None:
        moved(tombstone.status, Change.CREATE)
        now = onwards(tombstone, now)
    timer = Timer(
        tenant.tenant_id,
        schedule_id,
        tenant.tier,
        shard_of(tenant.tenant_id, schedule_id, shards),
        Status.ACTIVE,
        **_fixed_by(spec),
        version=tombstone.version + 1 if tombstone else 1,
        epoch=tombstone.epoch + 1 if tombstone else 1,
        epoch_starts=(now,),
        born_epoch=tombstone.epoch + 1 if tombstone else 1,
        rev=tombstone.rev + 1 if tombstone else 1,
        nominal_at=None,
        due_at=None,
        claim_batch=tombstone.claim_batch if tombstone else None,
        is_counted=True,
        change_id=change_id,
        created_at=now,
        updated_at=now,
    )
    fire = first_fire(timer, now) if may_be_over else _required_fire(timer, now)
    return waiting_for(timer, fire), Definition(tenant.tenant_id, schedule_id, timer.version, spec, author, now)


def put_on_hold(timer: Timer, hold: Hold) -> Timer:
    """A `timer` that was just created, registered as held: out of the due index, unless it is in shadow."""
    after = replace(timer, status=Status.HELD, hold=hold)
    return waiting_for(after, None if timer.nominal_at is None else Fire(timer.nominal_at, timer.nominal_at))


def _fixed_by(spec: Spec) -> dict[str, Any]:
    """The fields of a timer that its definition fixes."""
    return {
        "trigger": spec.trigger,
        "misfire": spec.policies.misfire,
        "after_pause": spec.policies.after_pause,
        "overlap": spec.policies.overlap,
        "jitter_seconds": spec.policies.jitter_seconds,
        "timeout_seconds": spec.policies.timeout_seconds,
        "start_at": spec.start_at,
        "end_at": spec.end_at,
        "labels": label_hashes(spec.labels),
    }


def waiting_for(timer: Timer, fire: Fire | None) -> Timer:
    """`timer`, going on to `fire`; without one it is completed, unless it is held."""
    if timer.status is Status.HELD:
        nominal_at = None if fire is None else fire.nominal_at
        return _stamped(replace(timer, nominal_at=nominal_at, due_at=nominal_at if timer.is_shadow else None))
    if fire is None and timer.backlog is None:
        completed = moved(timer.status, Change.COMPLETE)
        return replace(timer, status=completed, nominal_at=None, due_at=None, zone_data=None)
    nominal_at = None if fire is None else fire.nominal_at
    return _stamped(replace(timer, nominal_at=nominal_at, due_at=soonest(fire, timer.backlog)))


def _stamped(timer: Timer) -> Timer:
    """`timer` with what its `nominal_at` was worked out with, just now."""
    return replace(timer, zone_data=stamp(timer.trigger, timer.nominal_at))


def _required_fire(timer: Timer, now: Instant) -> Fire:
    fire = first_fire(timer, now)
    if fire is not None:
        return fire
    if timer.trigger.next_after(now) is not None:
        raise Invalid("end_at", f"the trigger names no time between {_window_start(timer, now)} and this end")
    try:
        check_fires(timer.trigger, now)
    except Invalid as error:
        raise error.under("trigger") from error
    field = "trigger.at" if isinstance(timer.trigger, OneShotTrigger) else "trigger"
    raise Invalid(field, f"names no time after {to_text(floor_second(now))}: the schedule would never fire")


def _window_start(timer: Timer, now: Instant) -> str:
    return to_text(max(floor_second(now), timer.start_at or 0))


def retimes(before: Spec, spec: Spec) -> bool:
    """Whether an edit from `before` to `spec` changes when the schedule fires."""
    return (before.trigger, before.start_at, before.end_at) != (spec.trigger, spec.start_at, spec.end_at)


def edited(
    timer: Timer,
    before: Definition,
    spec: Spec,
    *,
    now: Instant,
    change_id: str,
    author: str,
    reason: str,
    may_end: bool = False,
) -> tuple[Timer, Definition, tuple[Run, ...], tuple[RunTimer, ...]]:
    """A new version, and for a changed trigger what becomes of the fires that the old one named up to `now`.

    What was due and not yet claimed still runs: its rows and their timers come back. The new trigger goes on from
    its first nominal after `now`: a change never fires at once. `Contended` when more is due than one transaction
    can hold: the dispatcher is about to claim it. `Invalid` when the trigger names no time any more, unless that
    `may_end` the schedule.
    """
    now = onwards(timer, now)
    definition = Definition(timer.tenant, timer.schedule_id, timer.version + 1, spec, author, now, reason)
    after = replace(timer, **_fixed_by(spec), version=definition.version)
    if not retimes(before.spec, spec):
        after = _paced_anew(after, before.spec.policies, spec.policies)
        after = replace(after, status=moved(timer.status, Change.EDIT))
        return written(after, change_id, now), definition, (), ()
    after = new_epoch(replace(after, status=moved(timer.status, Change.RETIME), parked=None), now)
    fire = first_fire(after, now) if may_end else _required_fire(after, now)
    if after.status is Status.PAUSED:
        after = _stamped(replace(after, nominal_at=None if fire is None else fire.nominal_at, due_at=timer.due_at))
    elif after.status in (Status.ACTIVE, Status.HELD):
        after = waiting_for(after, fire)
    rows, run_timers = _left_behind(timer, after, now)
    overtaken = _overtaken(timer, now, Reason(Code.SUPERSEDED, _RETIMED))
    return written(after, change_id, now), definition, rows + overtaken, run_timers


def _paced_anew(timer: Timer, before: Policies, policies: Policies) -> Timer:
    """An edit of the pace counts at once; which fires are caught up is decided and stays so."""
    backlog = timer.backlog
    if backlog is not None and policies.misfire.per_minute != before.misfire.per_minute:
        backlog = backlog.paced(Cause.OUTAGE, policies.misfire.per_minute)
    if backlog is not None and policies.after_pause.per_minute != before.after_pause.per_minute:
        backlog = backlog.paced(Cause.PAUSE, policies.after_pause.per_minute)
    return replace(timer, backlog=backlog)


def new_epoch(timer: Timer, now: Instant) -> Timer:
    """`timer` in an epoch that begins at `now`, waiting for nothing yet."""
    return replace(
        timer,
        epoch=timer.epoch + 1,
        epoch_starts=(*timer.epoch_starts, now)[-MAX_EPOCH_STARTS:],
        nominal_at=None,
        due_at=None,
        deferred=None,
        reserved_at=None,
        backlog=None,
        caught_up_from=None,
        zone_data=None,
    )


def onwards(timer: Timer, now: Instant) -> Instant:
    """`now`, never before the latest change: two processes' clocks differ, and time moves forward.

    Nor before what a dispatcher, by its clock, has noted in shadow: that is decided, and is not fired as well.
    """
    now = max(now, timer.updated_at)
    if timer.hold is None:
        return now
    try:
        until = now + CLAIMED_AHEAD if timer.nominal_at is None else timer.nominal_at - 1
        since = now if timer.start_at is None else max(now, timer.start_at - 1)
        return max([now, *latest_fires(timer.trigger, since, timer.capped(until), 1)])
    except UNCOMPUTABLE:
        return now


def written(timer: Timer, change_id: str, now: Instant) -> Timer:
    """`timer` as the change of that id writes it."""
    return replace(timer, rev=timer.rev + 1, change_id=change_id, updated_at=now)


# --- what a changed trigger leaves behind ----------------------------------------------------------------------


def _left_behind(timer: Timer, after: Timer, now: Instant) -> tuple[tuple[Run, ...], tuple[RunTimer, ...]]:
    if timer.status is not Status.ACTIVE:
        return _held_back_rows(timer, now), ()
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
        first_attempt(_key(timer, fire.nominal_at), after, due_at=floor_second(now)) for fire in queued
    )


def _out_of_line(timer: Timer, now: Instant) -> Timer:
    """`timer` as if the place that it waits for had come: what is due runs, and has its run's place instead."""
    if timer.reserved_at is None or timer.reserved_at <= now:
        return timer
    return replace(timer, reserved_at=floor_second(now), due_at=min(timer.due_at or now, floor_second(now)))


def _unplaced_row(timer: Timer, first: Fire, now: Instant) -> Run:
    """A row for what waits behind as many as a change can take along: the tenant's rate has had no place for them."""
    reason = Reason(Code.SUPERSEDED, "the trigger changed before the tenant's rate had places for these fires")
    last_at = _newest(timer, first.nominal_at, now)
    return range_row(_key(timer, first.nominal_at), last_at, timer.tier, RunStatus.SKIPPED, now, reason)


def _too_many_due(timer: Timer) -> Contended:
    return Contended(f"schedule {timer.schedule_id} has fires that are due right now; try again in a few seconds")


def _overtaken(timer: Timer, now: Instant, reason: Reason) -> tuple[Run, ...]:
    """A row for each fire that is claimed and not yet due: it will not run.

    If a worker has started one all the same (by its clock it was due, or it was faster than this change is written),
    the row is there already, the change is refused, and decided anew from that fire's time on. What a held schedule
    named in shadow has its row, and was never sent.
    """
    if timer.hold is not None:
        return ()
    try:
        return tuple(_overtaken_rows(timer, now, reason))
    except UNCOMPUTABLE:
        # That is why schedules are parked; nothing that such a trigger named is under way.
        return ()


def _overtaken_rows(timer: Timer, now: Instant, reason: Reason) -> list[Run]:
    rows: list[Run] = []
    fire = first_fire(timer, max(now - timer.jitter_seconds * SECOND, timer.epoch_since))
    while fire is not None and fire.nominal_at <= now + CLAIMED_AHEAD and _is_claimed(timer, fire):
        if fire.due_at > now:
            rows.append(ended_row(timer, fire, now, reason))
        if len(rows) > MAX_FIRES_PER_CHANGE:
            raise _too_many_due(timer)
        fire = first_fire(timer, fire.nominal_at)
    return rows


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
    """The row of a nominal that jitter had not made due yet when its trigger was replaced."""
    return ended_row(timer, fire, now, Reason(Code.SUPERSEDED, _RETIMED, {"due_at": fire.due_at}))


def ended_row(timer: Timer, fire: Fire, now: Instant, reason: Reason) -> Run:
    """The row of a fire that does not run."""
    return Run(
        _key(timer, fire.nominal_at),
        RunStatus.CANCELLED if reason.code is Code.CANCELLED else RunStatus.SKIPPED,
        due_at=fire.due_at,
        tier=timer.tier,
        version=timer.version,
        finished_at=now,
        reason=reason,
    )


def _queued_row(timer: Timer, after: Timer, fire: Fire) -> Run:
    return Run(
        _key(timer, fire.nominal_at),
        RunStatus.QUEUED,
        due_at=fire.due_at,
        tier=timer.tier,
        version=after.version,
        late=fire.late,
    )


def _key(timer: Timer, nominal_at: Instant) -> RunKey:
    return RunKey(timer.tenant, timer.schedule_id, timer.epoch, nominal_at)


# --- what a pause, a parking or a cancellation held back -------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Held:
    """Nominals from `first_at` to `last_at`, both included, that were named up to now and not claimed.

    `late` says why, for those that were to be caught up already.
    """

    first_at: Instant
    last_at: Instant
    late: Late | None = None


def _held_back(timer: Timer, now: Instant) -> list[_Held]:
    """What waited to be caught up, and what has been named since, oldest first."""
    held = [_Held(stretch.first_at, stretch.last_at, stretch.late) for stretch in stretches_of(timer.backlog)]
    if timer.nominal_at is not None and timer.nominal_at <= now:
        held.append(_Held(timer.nominal_at, _newest(timer, timer.nominal_at, now)))
    return held


def _newest(timer: Timer, first_at: Instant, now: Instant) -> Instant:
    """The newest nominal from `first_at` up to `now`."""
    try:
        found = latest_fires(timer.trigger, first_at - 1, timer.capped(now), 1)
    except UNCOMPUTABLE:
        # That is why schedules are parked; it must not keep them from being cancelled.
        return max(first_at, floor_second(now))
    return found[0] if found else first_at


def _held_back_rows(timer: Timer, now: Instant) -> tuple[Run, ...]:
    return tuple(_range(timer, held, now) for held in _held_back(timer, now))


def _range(timer: Timer, held: _Held, now: Instant) -> Run:
    status, reason = _why_held(timer)
    if status is RunStatus.SHADOW:
        return shadow_row(_key(timer, held.first_at), held.last_at, timer.tier, now, reason)
    return range_row(_key(timer, held.first_at), held.last_at, timer.tier, status, now, reason)


def _why_held(timer: Timer) -> tuple[RunStatus, Reason]:
    if timer.status is Status.PAUSED:
        return RunStatus.PAUSED, paused_reason(timer)
    if timer.status is Status.HELD and timer.parked is None:
        return why_held(timer)
    if timer.status is Status.ACTIVE:
        return RunStatus.CANCELLED, Reason(Code.CANCELLED, "the schedule was cancelled before these fires were claimed")
    text = timer.parked.text if timer.parked else f"the schedule was {timer.status}"
    return RunStatus.REFUSED, Reason(Code.NOT_ON, text)


def paused(timer: Timer, pause: Pause, *, now: Instant, change_id: str) -> Timer:
    """Out of the due index until `pause.until` (for ever without one); what is named meanwhile is held back.

    `nominal_at` stays: it is the first that the pause holds back.
    """
    now = onwards(timer, now)
    until = None if pause.until is None else ceil_second(pause.until)
    status = moved(timer.status, Change.PAUSE)
    return written(
        replace(timer, status=status, pause=pause, due_at=until, deferred=None, reserved_at=None), change_id, now
    )


def resumed(timer: Timer, *, now: Instant, change_id: str, catch_up: Misfire | None) -> tuple[Timer, tuple[Run, ...]]:
    """On again from the first nominal after `now`; the newest that `catch_up` wants of those held back are caught up.

    The rest becomes range rows of the old epoch. A schedule with nothing left to fire is completed. `catch_up` left
    out, a pause is followed by what `after_pause` says, and any other state by nothing. One that was held has missed
    nothing: `Invalid` for whoever wants that caught up.
    """
    if catch_up is None and timer.status is Status.PAUSED:
        catch_up = timer.after_pause
    now = onwards(timer, now)
    if timer.status is Status.HELD and catch_up is not None and catch_up.wanted:
        raise Invalid("missed", _NOTHING_MISSED)
    after = replace(timer, status=moved(timer.status, Change.RESUME), pause=None, parked=None, hold=None)
    after = new_epoch(after, now)
    held = _held_back(timer, now)
    overtaken = _overtaken(timer, now, Reason(Code.SUPERSEDED, "the schedule was resumed before this fire was due"))
    stretches, dropped = _kept(timer, held, catch_up, now)
    rows = tuple(_range(timer, one, now) for one in dropped)
    if stretches:
        backlog = Backlog(stretches, floor_second(now))
        after = replace(after, backlog=backlog, caught_up_from=backlog.next_at)
    return written(waiting_for(after, first_fire(after, now)), change_id, now), rows + overtaken


def _kept(
    timer: Timer, held: Sequence[_Held], policy: Misfire | None, now: Instant
) -> tuple[tuple[Stretch, ...], list[_Held]]:
    """What `policy` wants of all that was held back, the newest first counted, and what it does not."""
    left = 0 if policy is None else policy.wanted
    stretches, dropped = list[Stretch](), list[_Held]()
    for one in reversed(held):
        if policy is None or left <= 0:
            dropped.append(one)
            continue
        kept = wanted(timer.trigger, one.first_at, one.last_at, policy, now, left)
        if kept.dropped_to is not None:
            dropped.append(replace(one, last_at=kept.dropped_to))
        if kept.kept_from is not None:
            late = one.late or Late(Cause.PAUSE, one.first_at, one.last_at, now)
            stretches.append(Stretch(kept.kept_from, one.last_at, late, policy.per_minute, policy.window_seconds))
            left -= len(latest_fires(timer.trigger, kept.kept_from - 1, one.last_at, left))
    return tuple(reversed(stretches)), dropped[::-1]


def shadowed(
    timer: Timer, shadow: Shadow | None, *, now: Instant, change_id: str, by: str
) -> tuple[Timer, tuple[Run, ...]]:
    """Held in `shadow` from now on, or (`None`) no longer. What was named up to now keeps the name it had till then."""
    now = onwards(timer, now)
    hold = timer.hold or Hold(by, timer.updated_at)
    after = replace(timer, status=moved(timer.status, Change.SHADOW), hold=replace(hold, shadow=shadow), parked=None)
    return written(waiting_for(after, first_fire(after, now)), change_id, now), _held_back_rows(timer, now)


def cancelled(timer: Timer, *, now: Instant, change_id: str) -> tuple[Timer, tuple[Run, ...]]:
    """The tombstone: in no index, its numbers kept for an id that comes back. What was held back gets its row."""
    now = onwards(timer, now)
    status = moved(timer.status, Change.CANCEL)
    after = replace(timer, status=status, pause=None, parked=None, hold=None, is_counted=False)
    overtaken = _overtaken(timer, now, Reason(Code.CANCELLED, "the schedule was cancelled before this fire was due"))
    return written(new_epoch(after, now), change_id, now), _held_back_rows(timer, now) + overtaken


def parked(timer: Timer, reason: Reason, *, now: Instant, change_id: str) -> Timer:
    """Out of the due index with `reason`, until it is resumed, its trigger is changed, or it is cancelled.

    What is held stays held: nobody has turned it on.
    """
    now = onwards(timer, now)
    status = moved(timer.status, Change.PARK)
    after = replace(timer, status=status, parked=reason, pause=None, due_at=None, deferred=None, reserved_at=None)
    return written(after, change_id, now)
