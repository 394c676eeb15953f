"""Frozen: what becomes of a schedule that a freeze holds, while it lasts and when it has ended.

A frozen schedule goes on as its trigger names: its claim fires nothing, and notes what the freeze held back up to now,
never ahead, so that a thaw finds every later fire in place. Since nobody waits for these entries, the next claim comes
no sooner than `FROZEN_STRETCH`: a schedule that names every second makes one entry a minute. What a fire would have
been due before that is not late after a thaw: for so long after one, ticks look that much further ahead
(`looks_back`), and put whatever the freeze has put off back in its place.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from cronfleet.domain.backlog import Backlog, Stretch
from cronfleet.domain.catch_up import extended, wanted
from cronfleet.domain.claim import Claim, Claimable, Fire, RunTimer, ScheduleClaim, SkippedRange, Unreadable, claim_of
from cronfleet.domain.dispatch_plan import Park, first_fire, uncomputable
from cronfleet.domain.freeze import Freeze, Freezes, LabelScope, TenantScope, TierScope, lasting
from cronfleet.domain.holding import skipped_row
from cronfleet.domain.instant import MINUTE, Instant, floor_second, to_text
from cronfleet.domain.late import Cause, Late
from cronfleet.domain.lease import MAX_SKEW
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.run import Run
from cronfleet.domain.schedule import Status, Timer
from cronfleet.domain.trigger import UNCOMPUTABLE, latest_fires
from cronfleet.domain.zone_check import is_outdated
from cronfleet.domain.zone_stamp import stamp

FROZEN_STRETCH: Final = MINUTE
"""After a claim of a frozen schedule the next one comes no sooner than this, or than the freeze's end."""

SETTLED: Final = 2 * MAX_SKEW
"""Ticks note nothing of a frozen schedule that is younger than this: by no clock that may act is it still to come, so
that no change takes it for a fire which is claimed and not yet due.
"""

LONGEST_LOOK: Final = 15 * MINUTE
"""What waits for a thaw (a backlog, a retry, a manual run) looks again after a quarter of the time that the freeze has
lasted, a minute at least and this at most; a freeze with an end is waited out.
"""
_SHARE: Final = 4


def look_again(freeze: Freeze, now: Instant) -> Instant:
    """When what waits for the end of `freeze` looks again."""
    wait = min(max((now - freeze.at) // _SHARE, MINUTE), LONGEST_LOOK)
    until = floor_second(now) + wait
    return until if freeze.until is None else min(until, max(freeze.until, now))


def scope_words(freeze: Freeze) -> str:
    """What a freeze holds, in words."""
    match freeze.scope:
        case TierScope(tier):
            return f"tier {tier}"
        case TenantScope(tenant):
            return f"tenant {tenant}"
        case LabelScope(_, labels):
            return "label " + ", ".join(f"{name}={value}" for name, value in labels)


def frozen_reason(freeze: Freeze, said: str = "") -> Reason:
    """Why nothing starts: who froze what, since when and until when, and what they said; `said` goes first."""
    end = "" if freeze.until is None else f" until {to_text(freeze.until)}"
    why = f": {freeze.reason}" if freeze.reason else ""
    held = "suspended" if freeze.suspends else "frozen"
    text = f"{scope_words(freeze)} is {held} by {freeze.by} since {to_text(freeze.at)}{end}{why}"
    detail: dict[str, str | int] = {"freeze_id": freeze.freeze_id, "by": freeze.by, "frozen_at": freeze.at}
    if freeze.until is not None:
        detail["until_at"] = freeze.until
    if freeze.reason:
        detail["why"] = freeze.reason
    code = Code.TENANT_SUSPENDED if freeze.suspends else Code.FROZEN
    return Reason(code, f"{said}; {text}" if said else text, detail)


# --- what a tick does about it -----------------------------------------------------------------------------------


@dataclass(slots=True)
class Apart:
    """Due items, those that freezes have to do with apart: `rest` is planned as ever."""

    rest: list[Claimable] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    parks: list[Park] = field(default_factory=list)


def looks_back(ends: Iterable[Instant], now: Instant) -> bool:
    """Whether a freeze has ended so lately that what it put off may still wait further ahead than ticks look."""
    return any(end <= now < end + FROZEN_STRETCH for end in ends)


def apart(items: Sequence[Claimable], freezes: Freezes, now: Instant, until: Instant) -> Apart:
    """What freezes make of `items` at `now`; of what is due after `until` only what they have put off."""
    made = Apart()
    if not freezes.tiers and not freezes.by_tenant:
        made.rest = [item for item in items if _due_at(item) <= until]
        return made
    for item in items:
        if isinstance(item, Timer) and item.status is Status.ACTIVE and item.due_at is not None:
            _sort_out(item, freezes, now, until, made)
        elif _due_at(item) <= until:
            made.rest.append(item)
    return made


def _due_at(item: Claimable) -> Instant:
    if isinstance(item, RunTimer | Unreadable):
        return item.due_at
    return item.due_at or 0


def _sort_out(timer: Timer, freezes: Freezes, now: Instant, until: Instant, made: Apart) -> None:
    own = freezes.of(timer.tenant, timer.tier, timer.labels)
    try:
        if own and not is_outdated(timer) and _is_held(timer, own, now, made):
            return
    except UNCOMPUTABLE as error:
        made.parks.append(Park(timer, uncomputable(error)))
        return
    if _due_at(timer) <= until:
        made.rest.append(timer)


def _is_held(timer: Timer, own: Sequence[Freeze], now: Instant, made: Apart) -> bool:
    """Whether a freeze of `timer` has to do with what it waits for; what is to be written about that goes to `made`."""
    fire = _natural(timer)
    freeze = in_force(own, now)
    if freeze is not None and not _comes_after(timer, fire, freeze):
        if _due_at(timer) <= now - SETTLED:
            made.claims.append(frozen_claim(timer, freeze, now, now - SETTLED))
        return True
    over = _over(fire, own, now)
    if freeze is None and over is not None:
        if (over.until or 0) <= now - SETTLED:
            made.claims.append(thawed_claim(timer, over, now))
        return True
    if freeze is None and fire is not None and _is_put_off(timer, fire, own, now):
        made.claims.append(_claim(timer, fire, timer.backlog, []))
        return True
    return False


def _over(fire: Fire | None, own: Sequence[Freeze], now: Instant) -> Freeze | None:
    """The freeze that has ended, and held `fire` back; of several the last to end."""
    over = [one for one in own if fire is not None and one.has_ended(now) and one.covers(fire.due_at)]
    return max(over, key=lambda one: one.until or 0, default=None)


def _natural(timer: Timer) -> Fire | None:
    """The regular fire of `timer`, due when its trigger and jitter say, whatever has put it off."""
    return None if timer.nominal_at is None else first_fire(timer, timer.nominal_at - 1)


def in_force(freezes: Iterable[Freeze], now: Instant) -> Freeze | None:
    """The one of those in force that lasts longest.

    A freeze begins when it is read: whoever wrote it may have a clock that is ahead of the reader's.
    """
    return lasting(freeze for freeze in freezes if not freeze.has_ended(now))


def freeze_of(fire: Fire, freezes: Iterable[Freeze], now: Instant) -> Freeze | None:
    """The freeze that holds `fire` back, or will: it comes due in it, or is due while one lasts."""
    known = list(freezes)
    found = lasting(freeze for freeze in known if freeze.covers(fire.due_at))
    return in_force(known, now) if found is None and fire.due_at <= now else found


def _comes_after(timer: Timer, fire: Fire | None, freeze: Freeze) -> bool:
    """Whether what `timer` waits for is due after the known end of `freeze`: it may be claimed ahead."""
    end = freeze.until
    return end is not None and _due_at(timer) >= end and (fire is None or fire.due_at >= end)


def frozen_claim(timer: Timer, freeze: Freeze, now: Instant, through: Instant) -> ScheduleClaim:
    """The claim of everything that has come due of `timer` up to `through` while it is frozen: none of it starts.

    What the schedule's policy for pauses wants of it waits in the timer's backlog for the thaw; the rest is one range.
    """
    following, backlog, skipped = _held_back(timer, freeze, now, through)
    again = floor_second(now) + FROZEN_STRETCH
    if freeze.until is not None:
        again = min(again, max(freeze.until, floor_second(now)))
    if following is not None:
        following = replace(following, due_at=max(following.due_at, again))
    if backlog is not None:
        backlog = backlog.postponed(look_again(freeze, now))
    return _claim(timer, following, backlog, skipped)


def thawed_claim(timer: Timer, freeze: Freeze, now: Instant) -> ScheduleClaim:
    """The claim that ends what an ended `freeze` has left of `timer`: what it held back to its end is noted, and what
    follows is due when its trigger says.
    """
    following, backlog, skipped = _held_back(timer, freeze, now, (freeze.until or now) - 1)
    if backlog is not None:
        # A turn may have been taken a moment ago; the next keeps its distance from that, and from nothing else.
        backlog = replace(backlog, turn_at=min(backlog.turn_at, floor_second(now) + backlog.stretches[0].turn))
    return _claim(timer, following, backlog, skipped)


def _is_put_off(timer: Timer, natural: Fire, own: Sequence[Freeze], now: Instant) -> bool:
    """Whether a claim made while a freeze lasted that has ended put the fire off."""
    due_at = _due_at(timer)
    if due_at <= natural.due_at or timer.reserved_at is not None:
        return False
    ends = (freeze.until or 0 for freeze in own if freeze.has_ended(now))
    return any(end <= due_at < end + FROZEN_STRETCH for end in ends)


def unfrozen(timer: Timer, own: Sequence[Freeze], now: Instant) -> tuple[Timer, tuple[Run, ...]]:
    """An active `timer` as claims up to `now` leave it that go by its freezes `own`, and what they note: for a change
    that comes before the next claim. Nothing frozen is left behind to run, and nothing that came due after a thaw is
    taken for what is still to come.
    """
    if timer.status is not Status.ACTIVE or timer.due_at is None or timer.nominal_at is None or timer.nominal_at > now:
        return timer, ()
    try:
        claim = _claim_by_now(timer, own, now)
    except UNCOMPUTABLE:
        return timer, ()
    if claim is None:
        return timer, ()
    following = claim.following
    after = replace(
        timer,
        nominal_at=None if following is None else following.nominal_at,
        due_at=claim.wakes_at,
        backlog=claim.backlog,
        reserved_at=None,
        deferred=None,
        zone_data=claim.zone_data or timer.zone_data,
    )
    return after, tuple(skipped_row(claim, skipped, now) for skipped in claim.skipped)


def _claim_by_now(timer: Timer, own: Sequence[Freeze], now: Instant) -> ScheduleClaim | None:
    freeze, fire = in_force(own, now), _natural(timer)
    if freeze is not None:
        return frozen_claim(timer, freeze, now, now)
    over = _over(fire, own, now)
    if over is not None:
        return thawed_claim(timer, over, now)
    if fire is not None and _is_put_off(timer, fire, own, now):
        return _claim(timer, fire, timer.backlog, [])
    return None


def _claim(
    timer: Timer, following: Fire | None, backlog: Backlog | None, skipped: Sequence[SkippedRange]
) -> ScheduleClaim:
    is_same = following is not None and following.nominal_at == timer.nominal_at
    return claim_of(
        timer,
        following=following,
        zone_data=timer.zone_data if is_same else stamp(timer.trigger, following.nominal_at) if following else None,
        skipped=skipped,
        backlog=backlog,
    )


def _held_back(
    timer: Timer, freeze: Freeze, now: Instant, through: Instant
) -> tuple[Fire | None, Backlog | None, list[SkippedRange]]:
    """What follows the nominals that were due by `through`, the backlog with what is wanted of them, and the rest."""
    first_at, last_at = timer.nominal_at, _last_due(timer, through)
    if first_at is None or last_at is None:
        return _natural(timer), timer.backlog, []
    backlog, skipped = _kept(timer, freeze, first_at, last_at, now)
    return first_fire(timer, last_at), backlog, skipped


def _last_due(timer: Timer, through: Instant) -> Instant | None:
    """The newest nominal of `timer` that has come due by then, if it waits for one."""
    if timer.nominal_at is None:
        return None
    # Two, because jitter may put off the newest; the one before it came due before that.
    newest = latest_fires(timer.trigger, timer.nominal_at - 1, timer.capped(through), 2)
    fires = [first_fire(timer, nominal_at - 1) for nominal_at in reversed(newest)]
    return next((fire.nominal_at for fire in fires if fire is not None and fire.due_at <= through), None)


def _kept(
    timer: Timer, freeze: Freeze, first_at: Instant, last_at: Instant, now: Instant
) -> tuple[Backlog | None, list[SkippedRange]]:
    """The backlog with what the policy for pauses wants of all that the freeze has held back, and what it does not."""
    policy, reason = timer.after_pause, frozen_reason(freeze)
    if not policy.wanted:
        return timer.backlog, [SkippedRange(first_at, last_at, reason)]
    backlog, before = _without_latest(timer.backlog, freeze)
    late = Late(Cause.FREEZE, before.late.from_at if before else first_at, last_at, now)
    since = before.first_at if before else first_at
    kept = wanted(timer.trigger, since, last_at, policy, now, policy.wanted)
    skipped = [] if kept.dropped_to is None else [SkippedRange(since, kept.dropped_to, reason)]
    if kept.kept_from is None:
        return backlog, skipped
    stretch = Stretch(kept.kept_from, last_at, late, policy.per_minute, policy.window_seconds)
    after, gave_way = extended(backlog, stretch, now)
    if before is not None and timer.backlog is not None:
        after = replace(after, turn_at=timer.backlog.turn_at)
    return after, skipped + ([] if gave_way is None else [gave_way])


def _without_latest(backlog: Backlog | None, freeze: Freeze) -> tuple[Backlog | None, Stretch | None]:
    """`backlog` without the stretch that this freeze has begun, and that; it grows as the freeze goes on."""
    latest = None if backlog is None else backlog.stretches[-1]
    if backlog is None or latest is None or latest.late.cause is not Cause.FREEZE or latest.late.until_at < freeze.at:
        return backlog, None
    others = backlog.stretches[:-1]
    return (replace(backlog, stretches=others) if others else None), latest
