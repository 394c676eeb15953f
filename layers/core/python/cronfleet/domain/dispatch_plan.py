"""The dispatch plan: due items + policies + now → claims, deferrals, resumes and parkings, each with its reason.

A pure function of values. The dispatcher reads, asks this, and writes what it says.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from cronfleet.domain.claim import (
    MAX_FIRES_PER_CLAIM,
    Claim,
    DueItem,
    Fire,
    RunClaim,
    RunTimer,
    ScheduleClaim,
    SkippedRange,
    Unreadable,
)
from cronfleet.domain.fairness import rounds
from cronfleet.domain.holding import shadow_claim
from cronfleet.domain.instant import SECOND, Instant, to_text
from cronfleet.domain.jitter import due_at as jittered
from cronfleet.domain.lease import SLOT
from cronfleet.domain.misfire import split
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.schedule import Status, Timer
from cronfleet.domain.trigger import UNCOMPUTABLE, latest_fires
from cronfleet.domain.zone_check import is_outdated
from cronfleet.domain.zone_stamp import stamp

LOOK_AHEAD: Final = 10 * SECOND
"""Fires due this soon are claimed now and delayed by the queue to their second: two ticks' worth."""

MAX_TENANT_FIRES_PER_TICK: Final = 2_500
"""What one shard can claim in a slot (500 firings a second): no tenant takes more of a tick than that."""


@dataclass(frozen=True, slots=True)
class Deferral:
    """`timer` waits until `due_at`, before its next nominal: the fire is later, and not lost."""

    timer: Timer
    due_at: Instant
    reason: Reason


@dataclass(frozen=True, slots=True)
class Resume:
    """A pause whose end has come."""

    timer: Timer


@dataclass(frozen=True, slots=True)
class Park:
    """An item that cannot be scheduled any more; everything else goes on."""

    item: Timer | Unreadable
    reason: Reason


@dataclass(slots=True)
class Plan:
    """What to do about a page of due items."""

    claims: list[Claim] = field(default_factory=list)
    deferrals: list[Deferral] = field(default_factory=list)
    resumes: list[Resume] = field(default_factory=list)
    parks: list[Park] = field(default_factory=list)
    outdated: list[Timer] = field(default_factory=list)
    """What waits for a time that newer zone data has elsewhere: to be looked at again before it is claimed."""


def plan(
    items: Sequence[DueItem],
    now: Instant,
    used: Counter[str] | None = None,
    tenant_limit: int = MAX_TENANT_FIRES_PER_TICK,
) -> Plan:
    """What to do about `items` at `now`. `used` counts the fires each tenant had in this tick, and is added to."""
    counts: Counter[str] = Counter() if used is None else used
    made = Plan()
    ready: list[tuple[str, Timer | RunTimer]] = []
    for item in items:
        if isinstance(item, Unreadable):
            made.parks.append(Park(item, Reason(Code.UNREADABLE, item.why)))
        elif isinstance(item, RunTimer):
            ready.append((item.key.tenant, item))
        elif item.status is Status.PAUSED:
            _plan_resume(item, now, made)
        elif item.is_shadow:
            _plan_shadow(item, now, made)
        elif item.status is Status.ACTIVE and item.nominal_at is not None and item.due_at is not None:
            if _is_outdated(item):
                made.outdated.append(item)
            else:
                ready.append((item.tenant, item))
    for item in rounds(ready):
        _plan_ready(item, now, made, counts, tenant_limit)
    return made


def _is_outdated(timer: Timer) -> bool:
    try:
        return is_outdated(timer)
    except UNCOMPUTABLE:
        return False  # Its claim finds out as well, and has it parked.


def _plan_resume(timer: Timer, now: Instant, made: Plan) -> None:
    if timer.due_at is not None and timer.due_at <= now:
        made.resumes.append(Resume(timer))


def _plan_shadow(timer: Timer, now: Instant, made: Plan) -> None:
    """Not ahead of its time: until then the schedule may be turned on, and fire. Nobody's share is used up."""
    if timer.nominal_at is None or timer.due_at is None or timer.due_at > now:
        return
    try:
        made.claims.append(shadow_claim(timer, now))
    except UNCOMPUTABLE as error:
        made.parks.append(Park(timer, _uncomputable(error)))


def _uncomputable(error: Exception) -> Reason:
    return Reason(Code.UNREADABLE, f"its next fire cannot be computed: {error}")


def _plan_ready(item: Timer | RunTimer, now: Instant, made: Plan, used: Counter[str], tenant_limit: int) -> None:
    if isinstance(item, RunTimer):
        used[item.key.tenant] += 1
        made.claims.append(RunClaim(item))
        return
    try:
        claim = claim_schedule(item, now)
    except UNCOMPUTABLE as error:
        # A trigger that no longer computes must not stop the shard: it alone is parked.
        made.parks.append(Park(item, _uncomputable(error)))
        return
    deferral = _deferral(claim, item, now, used[item.tenant], tenant_limit)
    if deferral is not None:
        made.deferrals.append(deferral)
        return
    used[item.tenant] += len(claim.fires)
    made.claims.append(claim)


def _deferral(claim: ScheduleClaim, timer: Timer, now: Instant, used: int, limit: int) -> Deferral | None:
    if used < limit or not claim.fires:
        return None
    until = now - now % SLOT + SLOT + LOOK_AHEAD
    # A fire may move only while it stays before the next nominal; else it is claimed all the same.
    following = timer.trigger.next_after(claim.nominal_at)
    if following is not None and until >= following:
        return None
    text = f"the tenant has had {limit} fires in this tick; waits until {to_text(until)}"
    return Deferral(timer, until, Reason(Code.TENANT_RATE, text, {"until": until}))


def first_fire(timer: Timer, after: Instant) -> Fire | None:
    """The first fire of `timer` whose nominal is strictly later than `after`, inside its start and end."""
    if timer.start_at is not None:
        after = max(after, timer.start_at - 1)
    nominal = timer.trigger.next_after(after)
    return _fire(timer, nominal)


def _fire(timer: Timer, nominal: Instant | None) -> Fire | None:
    if nominal is None or (timer.end_at is not None and nominal > timer.end_at):
        return None
    return Fire(nominal, _due_at(timer, nominal))


def _due_at(timer: Timer, nominal: Instant) -> Instant:
    following = timer.trigger.next_after(nominal) if timer.jitter_seconds else None
    due = jittered(timer.key, nominal, following, timer.jitter_seconds, timer.end_at)
    if timer.fire_through is not None and nominal <= timer.fire_through:
        # Caught up after a resume: due when the resume was asked for, so that its lag is ours and not the pause's.
        return max(due, timer.fire_through)
    return due


def claim_schedule(timer: Timer, now: Instant, look_ahead: int = LOOK_AHEAD) -> ScheduleClaim:
    """The claim of everything `timer` has due up to the look-ahead: what fires, what is skipped, what follows."""
    if timer.nominal_at is None or timer.due_at is None:
        raise ValueError(f"the timer of {timer.key} waits for nothing")
    skipped, first = _skip_missed(timer, Fire(timer.nominal_at, timer.due_at), now)
    fires = tuple(islice(_due_fires(timer, first, now + look_ahead), MAX_FIRES_PER_CLAIM))
    following = _fire(timer, timer.trigger.next_after(fires[-1].nominal_at)) if fires else first
    return ScheduleClaim(
        timer.tenant,
        timer.schedule_id,
        timer.tier,
        timer.rev,
        timer.epoch,
        timer.version,
        timer.timeout_seconds,
        timer.nominal_at,
        timer.due_at,
        fires,
        skipped,
        following=following,
        zone_data=stamp(timer.trigger, following.nominal_at) if following else None,
    )


def _due_fires(timer: Timer, first: Fire | None, until: Instant) -> Iterator[Fire]:
    fire = first
    while fire is not None and fire.due_at <= until:
        yield fire
        following = _fire(timer, timer.trigger.next_after(fire.nominal_at))
        if following is not None and _is_wanted(timer, fire) and not _is_wanted(timer, following):
            return  # Past what the resume asked for the misfire policy decides again, in the next claim.
        fire = following


def _is_wanted(timer: Timer, fire: Fire) -> bool:
    return timer.fire_through is not None and fire.nominal_at <= timer.fire_through


def _skip_missed(timer: Timer, first: Fire, now: Instant) -> tuple[SkippedRange | None, Fire | None]:
    """What the misfire policy drops, and the first fire that it keeps or that was not missed at all."""
    missed_through = timer.misfire.missed_through(now)
    if first.due_at > missed_through or _is_wanted(timer, first):
        return None, first
    wanted = timer.misfire.wanted
    # Two more than are wanted: one to end the dropped range with, one that jitter may still save.
    newest = latest_fires(timer.trigger, first.nominal_at - 1, timer.capped(missed_through), wanted + 2)
    missed = [nominal for nominal in newest if _due_at(timer, nominal) <= missed_through] or [first.nominal_at]
    dropped, kept = split(missed, wanted)
    if not dropped:
        return None, first
    text = f"nothing fired until {to_text(now)}; misfire policy {timer.misfire.policy}"
    skipped = SkippedRange(first.nominal_at, dropped[-1], Reason(Code.MISSED, text, {"noticed_at": now}))
    if kept:
        return skipped, Fire(kept[0], _due_at(timer, kept[0]))
    return skipped, _fire(timer, timer.trigger.next_after(dropped[-1]))
