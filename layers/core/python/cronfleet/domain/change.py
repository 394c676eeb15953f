"""Changes: what a timer becomes when a schedule is created, edited, paused, resumed, cancelled or parked.

Pure: a timer and a wish in, the next timer and what belongs into the ledger out. Every change raises `rev`. One
after which old fires must no longer count raises `epoch` as well, and accounts for each nominal that the old epoch
named up to now (`left_behind`, `held_back`): it still runs, or a row says why not.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from cronfleet.domain.backlog import Backlog, Stretch
from cronfleet.domain.calendar_change import check_fires
from cronfleet.domain.catch_up import wanted
from cronfleet.domain.claim import Fire, RunTimer, soonest
from cronfleet.domain.dependency import AfterTrigger
from cronfleet.domain.dispatch_plan import first_fire
from cronfleet.domain.errors import Invalid
from cronfleet.domain.freeze import label_hashes
from cronfleet.domain.held_back import HeldBack, held_back, held_back_rows, held_row
from cronfleet.domain.instant import Instant, ceil_second, floor_second, to_text
from cronfleet.domain.late import Cause, Late
from cronfleet.domain.left_behind import CLAIMED_AHEAD, RETIMED, left_behind, overtaken_rows
from cronfleet.domain.misfire import Misfire
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.run import Run
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

_NOTHING_MISSED: Final = (
    "a schedule that was held has missed nothing: what it named was another system's to run. Leave it out, and use "
    "run now for what you want to run here"
)


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
        feeds=tombstone.feeds if tombstone else False,
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
        "concurrency_key": spec.policies.concurrency_key,
        "breaker": spec.policies.breaker,
        "jitter_seconds": spec.policies.delay_seconds,
        "is_spread": spec.policies.spread is not None,
        "timeout_seconds": spec.attempt_seconds,
        "start_at": spec.start_at,
        "end_at": spec.end_at,
        "labels": label_hashes(spec.labels),
        "is_watched": spec.objectives is not None,
    }


def waiting_for(timer: Timer, fire: Fire | None) -> Timer:
    """`timer`, going on to `fire`; without one it is completed, unless it is held."""
    if timer.status is Status.HELD:
        nominal_at = None if fire is None else fire.nominal_at
        return _stamped(replace(timer, nominal_at=nominal_at, due_at=nominal_at if timer.is_shadow else None))
    if isinstance(timer.trigger, AfterTrigger):
        # Its parents name its fires: it waits for nothing, and is not over either.
        return replace(timer, nominal_at=None, due_at=None, zone_data=None)
    if fire is None and timer.backlog is None:
        completed = moved(timer.status, Change.COMPLETE)
        return replace(timer, status=completed, nominal_at=None, due_at=None, zone_data=None)
    nominal_at = None if fire is None else fire.nominal_at
    return _stamped(replace(timer, nominal_at=nominal_at, due_at=soonest(fire, timer.backlog)))


def _stamped(timer: Timer) -> Timer:
    """`timer` with what its `nominal_at` was worked out with, just now."""
    return replace(timer, zone_data=stamp(timer.trigger, timer.nominal_at))


def _required_fire(timer: Timer, now: Instant) -> Fire | None:
    """The first fire, which there must be; `None` of a schedule whose parents name them."""
    if isinstance(timer.trigger, AfterTrigger):
        return None
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
    rows, run_timers = left_behind(timer, after, now)
    overtaken = overtaken_rows(timer, now, Reason(Code.SUPERSEDED, RETIMED))
    return written(after, change_id, now), definition, rows + overtaken, run_timers


def _paced_anew(timer: Timer, before: Policies, policies: Policies) -> Timer:
    """An edit of the pace counts at once; which fires are caught up is decided and stays so."""
    backlog = timer.backlog
    if backlog is not None and policies.misfire.per_minute != before.misfire.per_minute:
        backlog = backlog.paced(Cause.OUTAGE, policies.misfire.per_minute)
        backlog = backlog.paced(Cause.HOLD, policies.misfire.per_minute)
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
    # What parents name belongs together across a pause: its rows were there all the time.
    after = after if isinstance(timer.trigger, AfterTrigger) else new_epoch(after, now)
    held = held_back(timer, now)
    overtaken = overtaken_rows(timer, now, Reason(Code.SUPERSEDED, "the schedule was resumed before this fire was due"))
    stretches, dropped = _kept(timer, held, catch_up, now)
    rows = tuple(held_row(timer, one, now) for one in dropped)
    if stretches:
        backlog = Backlog(stretches, floor_second(now))
        after = replace(after, backlog=backlog, caught_up_from=backlog.next_at)
    return written(waiting_for(after, first_fire(after, now)), change_id, now), rows + overtaken


def _kept(
    timer: Timer, held: Sequence[HeldBack], policy: Misfire | None, now: Instant
) -> tuple[tuple[Stretch, ...], list[HeldBack]]:
    """What `policy` wants of all that was held back, the newest first counted, and what it does not."""
    left = 0 if policy is None else policy.wanted
    stretches, dropped = list[Stretch](), list[HeldBack]()
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
    return written(waiting_for(after, first_fire(after, now)), change_id, now), held_back_rows(timer, now)


def cancelled(timer: Timer, *, now: Instant, change_id: str) -> tuple[Timer, tuple[Run, ...]]:
    """The tombstone: in no index, its numbers kept for an id that comes back. What was held back gets its row."""
    now = onwards(timer, now)
    status = moved(timer.status, Change.CANCEL)
    after = replace(timer, status=status, pause=None, parked=None, hold=None, is_counted=False)
    overtaken = overtaken_rows(
        timer, now, Reason(Code.CANCELLED, "the schedule was cancelled before this fire was due")
    )
    return written(new_epoch(after, now), change_id, now), held_back_rows(timer, now) + overtaken


def parked(timer: Timer, reason: Reason, *, now: Instant, change_id: str) -> Timer:
    """Out of the due index with `reason`, until it is resumed, its trigger is changed, or it is cancelled.

    What is held stays held: nobody has turned it on.
    """
    now = onwards(timer, now)
    status = moved(timer.status, Change.PARK)
    after = replace(timer, status=status, parked=reason, pause=None, due_at=None, deferred=None, reserved_at=None)
    return written(after, change_id, now)
