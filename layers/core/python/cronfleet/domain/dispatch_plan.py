"""The dispatch plan: due items + policies + now → claims, deferrals, resumes and parkings, each with its reason.

A pure function of values. The dispatcher reads, asks this, and writes what it says.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from cronfleet.domain.allotment import Draft, Part, by_tenant
from cronfleet.domain.backlog import Backlog, Stretch
from cronfleet.domain.catch_up import MAX_CAUGHT_UP_PER_CLAIM, before, extended, missed_reason, taken, wanted
from cronfleet.domain.claim import (
    MAX_FIRES_PER_CLAIM,
    Claim,
    Claimable,
    Fire,
    RunClaim,
    RunTimer,
    ScheduleClaim,
    SkippedRange,
    Unreadable,
    claim_of,
    with_slots,
)
from cronfleet.domain.fairness import quantum_of, rounds
from cronfleet.domain.holding import shadow_claim
from cronfleet.domain.instant import SECOND, Instant, to_text
from cronfleet.domain.jitter import due_at as jittered
from cronfleet.domain.late import Cause, Late
from cronfleet.domain.lease import SLOT, slot_of
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.run import Lane
from cronfleet.domain.schedule import Status, Timer
from cronfleet.domain.trigger import UNCOMPUTABLE, latest_fires
from cronfleet.domain.zone_check import is_outdated
from cronfleet.domain.zone_stamp import ZoneStamp, stamp

LOOK_AHEAD: Final = 10 * SECOND
"""Fires due this soon are claimed now and delayed by the queue to their second: two ticks' worth."""

MAX_CAUGHT_UP_PER_TICK: Final = 250
"""Fires of missed time that a shard catches up in a tick, a tenth of what it can claim: the rest is for live work."""

CATCH_UP_SHARE: Final = 125
"""Of those a tenant has half at most."""

MAX_OUTSTANDING: Final = 1_000
"""Fires of one schedule that wait for their places in its tenant's line, at most: past that the oldest are skipped."""


@dataclass(frozen=True, slots=True)
class Deferral:
    """`item` waits until `due_at`: its fire is later, and not lost. The place is its tenant's, and paid for."""

    item: Timer | RunTimer
    due_at: Instant
    reason: Reason


@dataclass(frozen=True, slots=True)
class Resume:
    """A pause whose end has come."""

    item: Timer


@dataclass(frozen=True, slots=True)
class Park:
    """An item that cannot be scheduled any more; everything else goes on."""

    item: Timer | Unreadable
    reason: Reason


@dataclass(slots=True)
class Tally:
    """What one tick has taken so far: of missed time, and of what each tenant may send without asking."""

    unasked: Counter[str] = field(default_factory=Counter)
    fires: Counter[str] = field(default_factory=Counter)
    caught_up: Counter[str] = field(default_factory=Counter)
    all_caught_up: int = 0
    postponed: Counter[str] = field(default_factory=Counter)
    all_postponed: int = 0

    def room(self, tenant: str) -> int:
        """How much more `tenant` may catch up in this tick."""
        left = min(MAX_CAUGHT_UP_PER_TICK - self.all_caught_up, CATCH_UP_SHARE - self.caught_up[tenant])
        return max(0, min(left, MAX_CAUGHT_UP_PER_CLAIM))

    def add(self, claim: ScheduleClaim) -> None:
        """Count what `claim` catches up."""
        if not claim.caught_up:
            return
        self.caught_up[claim.tenant] += len(claim.caught_up)
        self.all_caught_up += len(claim.caught_up)

    def next_turn(self, tenant: str, now: Instant) -> Instant:
        """A slot for one that found no room in this tick: so many to each slot, in their order."""
        ahead = max(self.postponed[tenant] // CATCH_UP_SHARE, self.all_postponed // MAX_CAUGHT_UP_PER_TICK)
        self.postponed[tenant] += 1
        self.all_postponed += 1
        return slot_of(now) + SLOT * (1 + ahead)


@dataclass(slots=True)
class Plan:
    """What to do about what was read ahead.

    `drafts` asks for claims; once it is known what may go (`allotment`), `settle` makes claims of it, in the rounds of
    the tenants, and what has to wait is `waiting`.
    """

    drafts: list[Draft] = field(default_factory=list)
    noted: list[Claim] = field(default_factory=list)
    """Claims that only note what does not run: nobody waits for them."""
    yielding: list[Draft] = field(default_factory=list)
    """What operations asked for: it is claimed with what everything else leaves."""
    waiting: list[Part] = field(default_factory=list)
    resumes: list[Resume] = field(default_factory=list)
    parks: list[Park] = field(default_factory=list)
    outdated: list[Timer] = field(default_factory=list)
    """What waits for a time that newer zone data has elsewhere: to be looked at again before it is claimed."""


def drafted(items: Sequence[Claimable], now: Instant, tally: Tally) -> Plan:
    """What `items` ask for at `now`. `tally` holds what this tick has caught up already, and is added to."""
    made = Plan()
    ready: defaultdict[str, list[Timer | RunTimer]] = defaultdict(list)
    for item in items:
        if isinstance(item, Unreadable):
            made.parks.append(Park(item, Reason(Code.UNREADABLE, item.why)))
        elif isinstance(item, RunTimer) and item.key.lane is Lane.BACKFILL:
            made.yielding.append(Draft(item, RunClaim(item)))
        elif isinstance(item, RunTimer):
            ready[item.key.tenant].append(item)
        elif item.status is Status.PAUSED:
            _plan_resume(item, now, made)
        elif item.is_shadow:
            _plan_shadow(item, now, made)
        elif item.status is Status.ACTIVE and item.due_at is not None:
            if _is_outdated(item):
                made.outdated.append(item)
            else:
                ready[item.tenant].append(item)
    for item in rounds(ready, cost=lambda _: 1, quantum=lambda _: 1):
        _draft(item, now, made, tally)
    return made


def in_rounds(drafts: Sequence[Draft], tiers: Mapping[str, str]) -> list[Draft]:
    """`drafts` by deficit round robin over their tenants."""
    return rounds(by_tenant(drafts), cost=lambda draft: draft.cost, quantum=lambda tenant: quantum_of(tiers[tenant]))


def settle(made: Plan, parts: Iterable[Part], now: Instant, tally: Tally, tiers: Mapping[str, str]) -> list[Claim]:
    """The claims of those of the `parts` that go now, in rounds; the others wait in `made`.

    `tiers` says through which queues they go.
    """
    queues: defaultdict[str, list[Part]] = defaultdict(list)
    for part in parts:
        if part.waits:
            made.waiting.append(part)
        else:
            queues[part.draft.tenant].append(part)
    ordered = rounds(queues, cost=lambda part: part.draft.cost, quantum=lambda tenant: quantum_of(tiers[tenant]))
    return [_sent_by(with_slots(_settled(part, now, tally), part.slots), tiers[part.tenant]) for part in ordered]


def placed(part: Part) -> Deferral | None:
    """The deferral of what waits and has its place; none where it waits for that already."""
    if part.place is None or part.why is None or part.place == part.draft.item.due_at:
        return None
    return Deferral(part.draft.item, part.place, part.why)


def _sent_by(claim: Claim, tier: str) -> Claim:
    """`claim`, through the queue of its tenant's tier of today."""
    if isinstance(claim, RunClaim):
        return claim if claim.timer.tier == tier else replace(claim, timer=replace(claim.timer, tier=tier))
    return claim if claim.tier == tier else replace(claim, tier=tier)


def _settled(part: Part, now: Instant, tally: Tally) -> Claim:
    draft = part.draft
    if isinstance(draft.claim, RunClaim) or isinstance(draft.item, RunTimer):
        return draft.claim
    claim = draft.claim
    if part.is_cut or part.caught_up < draft.caught_up:
        claim = narrowed(draft, draft.item, now, part.fires, part.caught_up)
    if part.is_cut and part.place is not None and part.why is not None and claim.following is not None:
        following = replace(claim.following, due_at=part.place)
        claim = replace(claim, following=following, reserved_at=part.place, deferred=part.why)
    if part.place is not None and claim.backlog is not None and _has_turn(claim, now):
        claim = replace(claim, backlog=claim.backlog.postponed(part.place))
    return _given_turn(claim, now, tally)


def narrowed(draft: Draft, timer: Timer, now: Instant, fires: int, caught_up: int) -> ScheduleClaim:
    """The claim of `draft`, which is that of `timer`, with no more than so many fires and so many caught up."""
    # What has grown too old to be caught up takes no place: it is dropped all the same.
    room = draft.room if caught_up == draft.caught_up else caught_up
    return claim_schedule(timer, now, room=room, most=fires)


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
        made.noted.append(shadow_claim(timer, now))
    except UNCOMPUTABLE as error:
        made.parks.append(Park(timer, uncomputable(error)))


def uncomputable(error: Exception) -> Reason:
    """Why a schedule is parked whose trigger no longer computes."""
    return Reason(Code.UNREADABLE, f"its next fire cannot be computed: {error}")


def _draft(item: Timer | RunTimer, now: Instant, made: Plan, tally: Tally) -> None:
    if isinstance(item, RunTimer):
        made.drafts.append(Draft(item, RunClaim(item)))
        return
    try:
        room = tally.room(item.tenant)
        claim = claim_schedule(item, now, room=room)
    except UNCOMPUTABLE as error:
        # A trigger that no longer computes must not stop the shard: it alone is parked.
        made.parks.append(Park(item, uncomputable(error)))
        return
    if claim.fires or claim.caught_up or claim.skipped or claim.backlog != item.backlog or _has_turn(claim, now):
        tally.add(claim)
        made.drafts.append(Draft(item, claim, room))


def _has_turn(claim: ScheduleClaim, now: Instant) -> bool:
    """Whether a turn has come that found no room: it is put off."""
    return claim.backlog is not None and not claim.caught_up and claim.backlog.turn_at <= now


def _given_turn(claim: ScheduleClaim, now: Instant, tally: Tally) -> ScheduleClaim:
    """`claim`, a turn that found no room in this tick put off to one that has it: it need not be read until then."""
    if claim.backlog is None or not _has_turn(claim, now):
        return claim
    return replace(claim, backlog=claim.backlog.postponed(tally.next_turn(claim.tenant, now)))


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
    if timer.reserved_at is not None:
        return in_line(timer, Fire(timer.nominal_at, _own_due_at(timer, timer.nominal_at)))
    # With a backlog `due_at` is that of whatever comes first, but never earlier than a deferral said.
    due_at = timer.due_at if timer.backlog is None else max(timer.due_at, _due_at(timer, timer.nominal_at))
    return Fire(timer.nominal_at, due_at)


def _own_due_at(timer: Timer, nominal: Instant) -> Instant:
    try:
        return _due_at(timer, nominal)
    except UNCOMPUTABLE:
        return nominal  # Its claim finds out as well, and has it parked; until then this time counts as it stands.


def in_line(timer: Timer, fire: Fire) -> Fire:
    """`fire`, no sooner than the place for which `timer` waits: what came due before waits behind it."""
    place = timer.reserved_at
    if place is None or fire.due_at >= place:
        return fire
    return Fire(fire.nominal_at, place, Late(Cause.RATE, fire.nominal_at, fire.nominal_at, fire.due_at))


def _fire(timer: Timer, nominal: Instant | None) -> Fire | None:
    if nominal is None or (timer.end_at is not None and nominal > timer.end_at):
        return None
    return Fire(nominal, _due_at(timer, nominal))


def _due_at(timer: Timer, nominal: Instant) -> Instant:
    following = timer.trigger.next_after(nominal) if timer.jitter_seconds else None
    return jittered(timer.key, nominal, following, timer.jitter_seconds, timer.end_at, is_spread=timer.is_spread)


def claim_schedule(
    timer: Timer,
    now: Instant,
    look_ahead: int = LOOK_AHEAD,
    room: int = MAX_CAUGHT_UP_PER_CLAIM,
    most: int = MAX_FIRES_PER_CLAIM,
) -> ScheduleClaim:
    """The claim of everything `timer` has due up to the look-ahead: what fires, what is skipped, what follows.

    At most `most` fires; of missed time it catches up what has its turn by `now`, at most `room` fires.
    """
    if timer.due_at is None:
        raise ValueError(f"the timer of {timer.key} waits for nothing")
    first, backlog, skipped = regular_fire(timer), timer.backlog, list[SkippedRange]()
    if first is not None and first.due_at <= timer.misfire.missed_through(now):
        first, backlog, skipped = _after_missed(timer, first, now)
    elif first is not None and timer.reserved_at is not None:
        first, skipped = _outstanding(timer, first, now)
    fires, following = _due_fires(timer, first, now + look_ahead, most)
    caught_up: tuple[Fire, ...] = ()
    if backlog is not None and max(backlog.turn_at, timer.due_at) <= now and room > 0:
        turn = taken(backlog, timer.trigger, now, room)
        caught_up, backlog = turn.fires, turn.rest
        skipped += turn.dropped
    return claim_of(
        timer,
        following=following,
        zone_data=_zone_data(timer, following),
        fires=fires,
        skipped=skipped,
        caught_up=caught_up,
        backlog=backlog,
        reserved_at=timer.reserved_at if following is not None and following.nominal_at == timer.nominal_at else None,
    )


def _zone_data(timer: Timer, following: Fire | None) -> ZoneStamp | None:
    """With what `following` was worked out: now, unless it is what `timer` has waited for already."""
    if following is None or following.nominal_at == timer.nominal_at:
        return timer.zone_data
    return stamp(timer.trigger, following.nominal_at)


def _due_fires(timer: Timer, first: Fire | None, until: Instant, most: int) -> tuple[tuple[Fire, ...], Fire | None]:
    """The fires from `first` on that are due by `until`, at most so many, and what follows them."""
    fires: list[Fire] = []
    fire = following = first
    while fire is not None and fire.due_at <= until and len(fires) < most:
        fires.append(fire)
        following = _fire(timer, timer.trigger.next_after(fire.nominal_at))
        fire = following and in_line(timer, following)
    return tuple(fires), following


def _outstanding(timer: Timer, first: Fire, now: Instant) -> tuple[Fire, list[SkippedRange]]:
    """The first of the newest `MAX_OUTSTANDING` fires that wait for places, and what is too many before it."""
    if now - first.nominal_at < MAX_OUTSTANDING * SECOND:
        return first, []
    newest = latest_fires(timer.trigger, first.nominal_at - 1, timer.capped(now), MAX_OUTSTANDING)
    if len(newest) < MAX_OUTSTANDING or newest[0] <= first.nominal_at:
        return first, []
    last_at = before(timer.trigger, first.nominal_at, newest[0])
    text = f"{MAX_OUTSTANDING} later fires of the schedule waited for the tenant's rate, and more may not wait"
    reason = Reason(Code.QUOTA, text, {"outstanding": MAX_OUTSTANDING})
    kept = in_line(timer, Fire(newest[0], _due_at(timer, newest[0])))
    return kept, [SkippedRange(first.nominal_at, last_at, reason)]


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
