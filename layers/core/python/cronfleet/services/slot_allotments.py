"""Slots at the dispatcher: nothing of a tenant with a limit is claimed before it has a slot, and what has none waits.

A slot is taken before the batch that names it is logged. So whoever dies in between leaves slots that nobody uses: the
next tick finds them held for the very fires that it plans, and takes them over under the next fence. A slot is let go
of here only if no batch with it was announced, or once the shard's lease has confirmed that its claim was lost.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from cronfleet.domain.allotment import Draft, Part, by_tenant
from cronfleet.domain.claim import Claim, has_slots
from cronfleet.domain.dispatch_plan import Deferral, narrowed
from cronfleet.domain.instant import Instant, ceil_second
from cronfleet.domain.quota import quotas_of
from cronfleet.domain.rate import MICROSECONDS, line_of_slots
from cronfleet.domain.schedule import Timer
from cronfleet.domain.slot import Slot, SlotLease, all_of, held_until, spacing, waits
from cronfleet.domain.slot_plan import Grant, Wish, grants, wishes, yields
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.job_store import JobStore, NoAnswer
from cronfleet.services.asking import ask

MAX_TRIES: Final = 20
"""Slots that are tried for one fire, when others take them at the same time."""


@dataclass(slots=True)
class _Limited:
    """What a tick knows of the slots of a tenant."""

    tenant_id: str
    limit: int
    slots: dict[int, Slot]

    def free(self, now: Instant) -> list[Slot]:
        return [slot for slot in self.slots.values() if slot.number <= self.limit and slot.is_free(now)]

    def held_for(self, holder: str) -> Slot | None:
        """The slot that was taken for this very attempt, and for which no batch was written."""
        return next((slot for slot in self.slots.values() if slot.holder == holder), None)


@dataclass(frozen=True, slots=True)
class _Fresh:
    """A slot that this tick took from nobody."""

    tenant_id: str
    holder: str
    lease: SlotLease


@dataclass(slots=True)
class SlotAllotments:
    """Of one tick, at `now`. Tenants without a limit pass through it untouched."""

    store: JobStore
    now: Instant
    _limited: dict[str, _Limited] = field(default_factory=dict)
    _grants: dict[int, Grant] = field(default_factory=dict)
    """By the identity of their items, which they keep alive."""
    _fresh: dict[str, _Fresh] = field(default_factory=dict)
    """By their holders."""
    _logged: set[str] = field(default_factory=set)

    # --- before the rate is asked ---------------------------------------------------------------------------

    def narrowed(self, drafts: Sequence[Draft], tenants: Mapping[str, Tenant]) -> list[Draft]:
        """`drafts` without what finds no slot: for that no place in the tenant's line is used up.

        A tenant whose slots cannot be read is left to the next tick.
        """
        kept: list[Draft] = []
        for tenant_id, own in by_tenant(drafts).items():
            limit = quotas_of(tenants[tenant_id]).concurrent_runs
            if limit is None:
                kept += own
                continue
            limited = self._read(tenant_id, limit)
            if limited is not None:
                kept += self._within(own, limited)
        return kept

    def _read(self, tenant_id: str, limit: int) -> _Limited | None:
        if tenant_id not in self._limited:
            try:
                stored = ask(partial(self.store.get_slots, tenant_id))
            except NoAnswer:
                return None
            slots = {slot.number: slot for slot in all_of(tenant_id, stored, limit)}
            self._limited[tenant_id] = _Limited(tenant_id, limit, slots)
        return self._limited[tenant_id]

    def _within(self, drafts: Sequence[Draft], limited: _Limited) -> Iterator[Draft]:
        own = sum(limited.held_for(wish.holder) is not None for draft in drafts for wish in wishes(draft.claim))
        for grant in grants(drafts, len(limited.free(self.now)) + own, self.now):
            self._grants[id(grant.draft.item)] = grant
            if grant.goes or not (grant.draft.dues or grant.draft.caught_up):
                yield _narrow(grant, self.now)

    def left_for_yielding(self, tenant_id: str, limit: int) -> int:
        """How many slots are free for what yields to live traffic: it holds half of all at most, and may hold one."""
        limited = self._read(tenant_id, limit)
        if limited is None:
            return 0
        held = sum(not slot.is_free(self.now) and yields(slot.holder) for slot in limited.slots.values())
        return max(0, min(len(limited.free(self.now)), max(1, limit // 2) - held))

    def forget_wishes(self) -> None:
        """What got no place or slot is left to the next tick, and waits for none."""
        self._grants.clear()

    # --- once the rate has said what may go -----------------------------------------------------------------

    def granted(self, parts: Iterable[Part]) -> Iterator[Part]:
        """`parts` with the slots of what goes, and with places for what waits for a slot."""
        short: list[Part] = []
        for part in parts:
            grant = self._grants.pop(id(part.draft.item), None)
            if grant is None:
                yield part
            elif part.waits:
                yield replace(part, draft=grant.draft)
            else:
                given = self._given(part, grant)
                if given.place is None and _is_short(given, self.now):
                    short.append(given)
                elif given.place is not None or not given.waits:
                    yield self._still_placed(given)
                # What has no slot and is not due yet is left to the next tick.
        yield from self._placed(short)

    def without(self) -> list[Part]:
        """What has no slot at all and waits, or is put off to its next turn; the rest is left to the next tick."""
        left = [grant for grant in self._grants.values() if not grant.goes]
        self._grants.clear()
        put_off = [Part(grant.draft, 0, 0) for grant in left if not grant.draft.dues and grant.waits_caught_up]
        waiting = [Part(grant.draft, 0, 0, needs_slot=True) for grant in left if grant.waiting]
        return [*self._placed(put_off), *waiting]

    def _still_placed(self, part: Part) -> Part:
        place = _own_place(part) if part.place is None else None
        if place is None:
            return part
        return replace(part, place=place, why=waits(self._limited[part.tenant].limit, place))

    def _given(self, part: Part, grant: Grant) -> Part:
        """`part` of the whole draft again, as far as slots could be had for it."""
        wanted = list(wishes(part.draft.claim, part.fires, part.caught_up))
        tenant_id = part.draft.tenant
        slots: list[SlotLease] = []
        for wish in wanted:
            slot = self._take(self._limited[tenant_id], wish)
            if slot is None:
                break
            slots.append(slot)
        fires = min(part.fires, len(slots))
        whole = replace(part, draft=grant.draft, fires=fires, caught_up=len(slots) - fires, slots=tuple(slots))
        return replace(whole, place=None, why=None) if fires < part.fires else whole

    def _take(self, limited: _Limited, wish: Wish) -> SlotLease | None:
        until = held_until(wish.due_at, self.now, wish.timeout_seconds)
        for _ in range(MAX_TRIES):
            found = limited.held_for(wish.holder)
            before = found or next(iter(limited.free(self.now)), None)
            if before is None:
                return None
            wanted = before.taken(wish.holder, self.now, max(until, before.until))
            try:
                stored = ask(partial(self.store.take_slot, wanted, before))
            except NoAnswer:
                return None
            limited.slots[stored.number] = stored
            if (stored.holder, stored.fence) == (wanted.holder, wanted.fence):
                if found is None:
                    self._fresh[wish.holder] = _Fresh(limited.tenant_id, wish.holder, stored.lease)
                return stored.lease
        return None

    # --- places for what waits ------------------------------------------------------------------------------

    def deferrals(self, parts: Sequence[Part]) -> list[Deferral]:
        """Places for what has to wait, of one tenant."""
        placed = self._placed(parts)
        return [
            Deferral(part.draft.item, part.place, part.why)
            for part in placed
            if part.place is not None and part.why is not None
        ]

    def _placed(self, parts: Sequence[Part]) -> Iterator[Part]:
        """`parts`, each with a place of its own in the line for its tenant's slots.

        One for all that a schedule has waiting: when its time comes, it takes as many slots as there are.
        """
        for tenant_id, own in by_tenant(parts).items():
            limited = self._limited[tenant_id]
            start, apart = self._draw(limited, len(own))
            for number, part in enumerate(own):
                place = ceil_second(-(-(start + number * apart) // MICROSECONDS))
                yield replace(part, place=place, why=waits(limited.limit, place))

    def _draw(self, limited: _Limited, count: int) -> tuple[int, int]:
        """Where `count` places begin, and how far they are apart, in µs."""
        apart = spacing(list(limited.slots.values()), limited.limit) * MICROSECONDS
        floor = self.now * MICROSECONDS + apart
        try:
            line = line_of_slots(limited.tenant_id)
            return ask(partial(self.store.draw, line, count * apart, floor=floor)).start, apart
        except NoAnswer:
            return floor, apart

    # --- what was taken in vain -----------------------------------------------------------------------------

    def logged(self, claims: Iterable[Claim]) -> None:
        """The slots of `claims` stand in the log, so that they are not this tick's alone any more."""
        self._logged.update(wish.holder for claim in claims if has_slots(claim) for wish in wishes(claim))

    def lost(self, claims: Iterable[Claim]) -> None:
        """Let go of the slots of `claims` that somebody else won. Only once the lease says that this is so."""
        self._let_go([wish.holder for claim in claims for wish in wishes(claim)])

    def close(self) -> None:
        """Let go of the slots that stand in no batch."""
        self._let_go([holder for holder in self._fresh if holder not in self._logged])

    def _let_go(self, holders: Sequence[str]) -> None:
        for holder in holders:
            fresh = self._fresh.pop(holder, None)
            if fresh is None:
                continue
            lease = fresh.lease
            release = partial(self.store.release_slot, fresh.tenant_id, lease.number, lease.fence, holder, self.now)
            try:
                ask(release)
            except NoAnswer:
                return  # It ends with its lease.


def _narrow(grant: Grant, now: Instant) -> Draft:
    """The draft of what has a slot."""
    draft = grant.draft
    if not isinstance(draft.item, Timer) or (grant.fires, grant.caught_up) == (len(draft.dues), draft.caught_up):
        return draft
    return replace(draft, claim=narrowed(draft, draft.item, now, grant.fires, grant.caught_up))


def _is_short(part: Part, now: Instant) -> bool:
    """Whether something is left of `part` that needs another time: a fire due by now, or a turn that has come."""
    dues = part.draft.dues[part.fires :]
    return (bool(dues) and dues[0] <= now) or part.caught_up == 0 < part.draft.caught_up


def _own_place(part: Part) -> Instant | None:
    """The place of the first fire that stays behind, where it waits for one already; it keeps it."""
    dues, place = part.draft.dues[part.fires :], part.draft.item.reserved_at
    return place if place is not None and dues and dues[0] == place else None
