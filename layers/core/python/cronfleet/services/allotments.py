"""Allotments: what each tenant may send in a tick, asked of its line where a shard's own share is not enough."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from cronfleet.domain.allotment import (
    MAX_TENANT_FIRES_PER_TICK,
    Draft,
    Part,
    Pool,
    by_tenant,
    divided,
    over_rate,
)
from cronfleet.domain.dispatch_plan import Deferral, Tally
from cronfleet.domain.instant import SECOND, Instant
from cronfleet.domain.lease import SLOT
from cronfleet.domain.quota import quotas_of
from cronfleet.domain.rate import AHEAD, MICROSECONDS, Pace, Rate, line_of_tenant
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.job_store import JobStore, NoAnswer
from cronfleet.ports.rates import Draw, Drawn
from cronfleet.services.asking import ask

MAX_DRAWS: Final = 3
"""How often a line is asked for what it has left: others draw from it meanwhile."""

MIN_LINES_TOGETHER: Final = 2
"""A line is quicker asked alone than looked at first."""


def rate_of(tenant: Tenant) -> Rate:
    """The rate of a tenant's fires."""
    quotas = quotas_of(tenant)
    return Rate(quotas.fires_per_second, quotas.burst)


@dataclass(frozen=True, slots=True)
class _Wants:
    """What a tenant wants of its line, beside what is in its pool already."""

    rate: Rate
    pool: Pool
    places: int
    caught_up: int


@dataclass(slots=True)
class Allotments:
    """Of one tick, at `now`. A tick that comes after its slot has no shares of its own: late ones come in heaps."""

    store: JobStore
    shards: int
    now: Instant
    tally: Tally
    has_shares: bool

    def parts(self, drafts: Sequence[Draft], tenants: Mapping[str, Tenant]) -> Iterator[Part]:
        """What of `drafts` goes now, and what waits. What is not named is left as it is for the next tick."""
        owned = by_tenant(drafts)
        wants = {
            tenant_id: self._wants(tenant_id, own, rate_of(tenants[tenant_id])) for tenant_id, own in owned.items()
        }
        moved = self._draw_all(wants)
        for tenant_id, own in owned.items():
            rate, pool = wants[tenant_id].rate, wants[tenant_id].pool
            is_silent = not self._fill(tenant_id, wants[tenant_id], has_drawn=tenant_id in moved)
            parts = list(divided(own, pool))
            self.tally.fires[tenant_id] += sum(part.fires + part.caught_up for part in parts)
            cut = [part for part in parts if part.is_cut]
            yield from (part for part in parts if not part.is_cut) if cut else parts
            if cut and not is_silent:
                yield from (part for part in cut if part.waits)
                yield from self._cut(tenant_id, rate, [part for part in cut if not part.waits])

    def at_once(self, drafts: Sequence[Draft], tenants: Mapping[str, Tenant]) -> Iterator[Part]:
        """What of `drafts`, which yield to live traffic, goes now: only places that are free at once, and of those only
        what leaves half of the tenant's burst for what comes live. What is not named is left as it is.
        """
        for tenant_id, own in by_tenant(drafts).items():
            rate = rate_of(tenants[tenant_id])
            pool = Pool(0, most=max(0, MAX_TENANT_FIRES_PER_TICK - self.tally.fires[tenant_id]))
            wanted = min(sum(draft.unpaid for draft in own), pool.most)
            pool.places = self._unasked(tenant_id, rate, wanted)
            try:
                pool.places += self._draw(tenant_id, rate, wanted - pool.places, self._spared_until(rate))
            except NoAnswer:
                continue
            parts = [part for part in divided(own, pool) if not part.is_cut]
            self.tally.fires[tenant_id] += sum(part.fires for part in parts)
            yield from parts

    def _spared_until(self, rate: Rate) -> Instant:
        """Up to where a tenant's line has places that nothing live needs: all but half of its burst.

        Where the burst is small, live fires of each tick move the line past `now`, and it is never seen at rest; but
        what is not taken by the next tick lapses. Of these places half are left for live fires of other shards.
        """
        half_of_burst = rate.burst * SECOND // (2 * rate.per_second)
        lapses_at = rate.pace(self.shards).floor(self.now + SLOT) // MICROSECONDS
        return max(self.now - half_of_burst, lapses_at - SLOT // 2)

    def _cut(self, tenant_id: str, rate: Rate, parts: Sequence[Part]) -> Iterator[Part]:
        """Those of which something stays behind, each with a place for it."""
        places = self._places(tenant_id, rate, len(parts))
        for part, place in zip(parts, places, strict=False):
            yield replace(part, place=place, why=over_rate(rate, place))

    def _wants(self, tenant_id: str, drafts: Sequence[Draft], rate: Rate) -> _Wants:
        """What the tenant's drafts ask for, and what of it the shard lets through by itself."""
        pool = Pool(0, most=max(0, MAX_TENANT_FIRES_PER_TICK - self.tally.fires[tenant_id]))
        places = min(sum(draft.unpaid for draft in drafts), pool.most)
        caught_up = min(sum(draft.caught_up for draft in drafts), pool.most)
        pool.places = self._unasked(tenant_id, rate, places)
        pool.caught_up = self._unasked(tenant_id, rate, caught_up)
        return _Wants(rate, pool, places - pool.places, caught_up - pool.caught_up)

    def _draw_all(self, wants: Mapping[str, _Wants]) -> Collection[str]:
        """The tenants who have what they want, by one look at all of their lines. The others are asked alone."""
        draws: dict[str, Draw] = {}
        for tenant_id, one in wants.items():
            if one.places > 0:
                pace, line = one.rate.pace(self.shards), line_of_tenant(tenant_id)
                ceiling = pace.ceiling(self.now + AHEAD)
                draws[tenant_id] = Draw(line, pace.span(one.places), pace.floor(self.now), ceiling)
        if len(draws) < MIN_LINES_TOGETHER:
            return ()
        try:
            moved = frozenset(self.store.draw_all(list(draws.values())))
        except NoAnswer:
            return ()
        return [tenant_id for tenant_id, draw in draws.items() if draw.line in moved]

    def _fill(self, tenant_id: str, wants: _Wants, *, has_drawn: bool) -> bool:
        """Put into the pool what the tenant may send now; false: its line gave no answer, and nobody knows what has
        to wait.
        """
        rate, pool = wants.rate, wants.pool
        try:
            pool.places += wants.places if has_drawn else self._draw(tenant_id, rate, wants.places, self.now + AHEAD)
            # Missed time gets what is left of a slot, so that what is due on time has places by its own; but one of
            # its fires has its turn like anything else, or it might wait for ever.
            pool.caught_up += self._draw(tenant_id, rate, wants.caught_up, self.now + SLOT)
            if wants.caught_up and not pool.caught_up:
                pool.caught_up = self._draw(tenant_id, rate, 1, self.now + AHEAD)
        except NoAnswer:
            return False
        return True

    def _unasked(self, tenant_id: str, rate: Rate, count: int) -> int:
        """How many of `count` fires the shard lets through by itself."""
        if not self.has_shares:
            return 0
        free = max(0, min(count, rate.share(self.shards) - self.tally.unasked[tenant_id]))
        self.tally.unasked[tenant_id] += free
        return free

    def _draw(self, tenant_id: str, rate: Rate, count: int, until: Instant) -> int:
        """How many places, `count` at most, the tenant's line gives that are free by `until`."""
        pace = rate.pace(self.shards)
        for _ in range(MAX_DRAWS):
            if count <= 0:
                return 0
            drawn = self._ask(tenant_id, pace, count, pace.ceiling(until))
            if drawn.is_granted:
                return count
            count = min(count, pace.room(drawn.start, until))
        return 0

    def _ask(self, tenant_id: str, pace: Pace, count: int, ceiling: int | None) -> Drawn:
        floor = pace.floor(self.now)
        draw = partial(self.store.draw, line_of_tenant(tenant_id), pace.span(count), floor=floor, ceiling=ceiling)
        return ask(draw)

    def deferrals(self, drafts: Sequence[Draft], tenant: Tenant) -> list[Deferral]:
        """Places for `drafts` of one tenant, which have to wait; none when its line gives no answer."""
        rate = rate_of(tenant)
        places = self._places(tenant.tenant_id, rate, len(drafts))
        made = zip(drafts, places, strict=False)
        # A place may be free before the fire is due; it is not moved ahead of its time.
        later = [(draft, max(place, draft.dues[0])) for draft, place in made]
        return [Deferral(draft.item, place, over_rate(rate, place)) for draft, place in later]

    def _places(self, tenant_id: str, rate: Rate, count: int) -> list[Instant]:
        if not count:
            return []
        pace = rate.pace(self.shards)
        try:
            drawn = self._ask(tenant_id, pace, count, None)
        except NoAnswer:
            return []
        return pace.places(drawn.start, count, self.now)
