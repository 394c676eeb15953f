"""The dispatch plan: due items + policies + now → claims, deferrals, resumes and parkings, each with its reason.

A pure function of values. The dispatcher reads, asks this, and writes what it says.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

from cronfleet.domain.backlog import Backlog, Stretch, first_of
from cronfleet.domain.catch_up import MAX_CAUGHT_UP_PER_CLAIM, extended, missed_reason, taken, wanted
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
from cronfleet.domain.late import Cause, Late
from cronfleet.domain.lease import SLOT, slot_of
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.schedule import Status, Timer
from cronfleet.domain.trigger import UNCOMPUTABLE, latest_fires
from cronfleet.domain.zone_check import is_outdated
from cronfleet.domain.zone_stamp import ZoneStamp, stamp

LOOK_AHEAD: Final = 10 * SECOND
"""Fires due this soon are claimed now and delayed by the queue to their second: two ticks' worth."""

MAX_TENANT_FIRES_PER_TICK: Final = 2_500
"""What one shard can claim in a slot (500 firings a second): no tenant takes more of a tick than that."""

MAX_CAUGHT_UP_PER_TICK: Final = 250
"""Fires of missed time that a shard catches up in a tick, a tenth of what it can claim: the rest is for live work."""

CATCH_UP_SHARE: Final = 20
"""A tenant catches up at most one in this many of the fires that it may have in a tick."""


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
class Tally:
    """What the claims of one tick have taken so far, by tenant; regular fires and what is caught up, apart."""

    tenant_limit: int = MAX_TENANT_FIRES_PER_TICK
    fires: Counter[str] = field(default_factory=Counter)
    caught_up: Counter[str] = field(default_factory=Counter)
    all_caught_up: int = 0
    postponed: Counter[str] = field(default_factory=Counter)
    all_postponed: int = 0

    @property
    def share(self) -> int:
        """How much a tenant may catch up in a tick: something always, however small its limit."""
        return max(1, self.tenant_limit // CATCH_UP_SHARE)

    def room(self, tenant: str) -> int:
        """How much more `tenant` may catch up in this tick."""
        left = min(MAX_CAUGHT_UP_PER_TICK - self.all_caught_up, self.share - self.caught_up[tenant])
        return max(0, min(left, MAX_CAUGHT_UP_PER_CLAIM))

    def add(self, claim: ScheduleClaim) -> None:
        """Count what `claim` takes."""
        self.fires[claim.tenant] += len(claim.fires)
        self.caught_up[claim.tenant] += len(claim.caught_up)
        self.all_caught_up += len(claim.caught_up)

    def next_turn(self, tenant: str, now: Instant) -> Instant:
        """A slot for one that found no room in this tick: so many to each slot, in their order."""
        ahead = max(self.postponed[tenant] // self.share, self.all_postponed // MAX_CAUGHT_UP_PER_TICK)
        self.postponed[tenant] += 1
        self.all_postponed += 1
        return slot_of(now) + SLOT * (1 + ahead)


@dataclass(slots=True)
class Plan:
    """What to do about a page of due items."""

    claims: list[Claim] = field(default_factory=list)
    deferrals: list[Deferral] = field(default_factory=list)
    resumes: list[Resume] = field(default_factory=list)
    parks: list[Park] = field(default_factory=list)
    outdated: list[Timer] = field(default_factory=list)
    """What waits for a time that newer zone data has elsewhere: to be looked at again before it is claimed."""


def plan(items: Sequence[DueItem], now: Instant, tally: Tally | None = None) -> Plan:
    """What to do about `items` at `now`. `tally` holds what this tick has taken already, and is added to."""
    counts = Tally() if tally is None else tally
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
        elif item.status is Status.ACTIVE and item.due_at is not None:
            if _is_outdated(item):
                made.outdated.append(item)
            else:
                ready.append((item.tenant, item))
    for item in rounds(ready):
        _plan_ready(item, now, made, counts)
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
        made.parks.append(Park(timer, uncomputable(error)))


def uncomputable(error: Exception) -> Reason:
    """Why a schedule is parked whose trigger no longer computes."""
    return Reason(Code.UNREADABLE, f"its next fire cannot be computed: {error}")


def _plan_ready(item: Timer | RunTimer, now: Instant, made: Plan, tally: Tally) -> None:
    if isinstance(item, RunTimer):
        tally.fires[item.key.tenant] += 1
        made.claims.append(RunClaim(item))
        return
    try:
        claim = claim_schedule(item, now, room=tally.room(item.tenant))
        claim = _given_turn(claim, now, tally)
    except UNCOMPUTABLE as error:
        # A trigger that no longer computes must not stop the shard: it alone is parked.
        made.parks.append(Park(item, uncomputable(error)))
        return
    deferral = _deferral(claim, item, now, tally)
    if deferral is not None:
        made.deferrals.append(deferral)
    elif claim.fires or claim.caught_up or claim.skipped or claim.backlog != item.backlog:
        tally.add(claim)
        made.claims.append(claim)


def _given_turn(claim: ScheduleClaim, now: Instant, tally: Tally) -> ScheduleClaim:
    """`claim`, a turn that found no room in this tick put off to one that has it: it need not be read until then."""
    backlog = claim.backlog
    if backlog is None or claim.caught_up or backlog.turn_at > now:
        return claim
    return replace(claim, backlog=backlog.postponed(tally.next_turn(claim.tenant, now)))


def _deferral(claim: ScheduleClaim, timer: Timer, now: Instant, tally: Tally) -> Deferral | None:
    limit = tally.tenant_limit
    if tally.fires[timer.tenant] < limit or not claim.fires or claim.nominal_at is None:
        return None
    until = slot_of(now) + SLOT + LOOK_AHEAD
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


def regular_fire(timer: Timer) -> Fire | None:
    """The fire that `timer` waits for besides its backlog; `None`: it waits for none."""
    if timer.nominal_at is None or timer.due_at is None:
        return None
    # With a backlog `due_at` is that of whatever comes first, but never earlier than a deferral said.
    due_at = timer.due_at if timer.backlog is None else max(timer.due_at, _due_at(timer, timer.nominal_at))
    return Fire(timer.nominal_at, due_at)


def _fire(timer: Timer, nominal: Instant | None) -> Fire | None:
    if nominal is None or (timer.end_at is not None and nominal > timer.end_at):
        return None
    return Fire(nominal, _due_at(timer, nominal))


def _due_at(timer: Timer, nominal: Instant) -> Instant:
    following = timer.trigger.next_after(nominal) if timer.jitter_seconds else None
    return jittered(timer.key, nominal, following, timer.jitter_seconds, timer.end_at)


def claim_schedule(
    timer: Timer, now: Instant, look_ahead: int = LOOK_AHEAD, room: int = MAX_CAUGHT_UP_PER_CLAIM
) -> ScheduleClaim:
    """The claim of everything `timer` has due up to the look-ahead: what fires, what is skipped, what follows.

    Of missed time it catches up what has its turn by `now`, at most `room` fires.
    """
    if timer.due_at is None:
        raise ValueError(f"the timer of {timer.key} waits for nothing")
    first, backlog, skipped = regular_fire(timer), timer.backlog, list[SkippedRange]()
    if first is not None and first.due_at <= timer.misfire.missed_through(now):
        first, backlog, skipped = _after_missed(timer, first, now)
    fires = tuple(islice(_due_fires(timer, first, now + look_ahead), MAX_FIRES_PER_CLAIM))
    following = _fire(timer, timer.trigger.next_after(fires[-1].nominal_at)) if fires else first
    caught_up: tuple[Fire, ...] = ()
    if backlog is not None and max(backlog.turn_at, timer.due_at) <= now and room > 0:
        turn = taken(backlog, timer.trigger, now, room)
        caught_up, backlog = turn.fires, turn.rest
        skipped += turn.dropped
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
        tuple(skipped),
        following=following,
        zone_data=_zone_data(timer, following),
        backlog_at=first_of(timer.backlog),
        caught_up=caught_up,
        backlog=backlog,
    )


def _zone_data(timer: Timer, following: Fire | None) -> ZoneStamp | None:
    """With what `following` was worked out: now, unless it is what `timer` has waited for already."""
    if following is None or following.nominal_at == timer.nominal_at:
        return timer.zone_data
    return stamp(timer.trigger, following.nominal_at)


def _due_fires(timer: Timer, first: Fire | None, until: Instant) -> Iterator[Fire]:
    fire = first
    while fire is not None and fire.due_at <= until:
        yield fire
        fire = _fire(timer, timer.trigger.next_after(fire.nominal_at))


def _after_missed(timer: Timer, first: Fire, now: Instant) -> tuple[Fire | None, Backlog | None, list[SkippedRange]]:
    """What follows a stretch of missed time that begins with `first`: the first fire that was not missed, the backlog
    with what the misfire policy wants of the stretch, and the ranges that it does not want.
    """
    policy, first_at, last_at = timer.misfire, first.nominal_at, _last_missed(timer, first, now)
    late = Late(Cause.OUTAGE, first_at, last_at, now)
    kept = wanted(timer.trigger, first_at, last_at, policy, now, policy.wanted)
    skipped: list[SkippedRange] = []
    backlog = timer.backlog
    if kept.dropped_to is not None:
        text = f"nothing fired until {to_text(now)}; misfire policy {policy.policy}"
        skipped.append(SkippedRange(first_at, kept.dropped_to, missed_reason(late, text, now)))
    if kept.kept_from is not None:
        stretch = Stretch(kept.kept_from, last_at, late, policy.per_minute, policy.window_seconds)
        backlog, gave_way = extended(backlog, stretch, now)
        skipped += [] if gave_way is None else [gave_way]
    return _fire(timer, timer.trigger.next_after(last_at)), backlog, skipped


def _last_missed(timer: Timer, first: Fire, now: Instant) -> Instant:
    """The newest nominal that is missed by `now`; `first` is."""
    missed_through = timer.misfire.missed_through(now)
    # Two, because jitter may still save the newest; the one before it came due before that.
    newest = latest_fires(timer.trigger, first.nominal_at - 1, timer.capped(missed_through), 2)
    missed = [nominal for nominal in newest if _due_at(timer, nominal) <= missed_through]
    return missed[-1] if missed else first.nominal_at
