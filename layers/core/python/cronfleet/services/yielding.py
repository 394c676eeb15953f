"""Yielding: what operations asked for goes when everything live of a tick is claimed, with what that leaves.

What gets nothing is left as it is, without a place of its own in any line, and is found again by the next tick: so it
never makes anything live later, and costs no write.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from cronfleet.domain.allotment import Draft, Part, by_tenant
from cronfleet.domain.claim import Claim
from cronfleet.domain.dispatch_plan import Plan, Tally, in_rounds, settle
from cronfleet.domain.instant import Instant
from cronfleet.domain.quota import quotas_of
from cronfleet.domain.tenant import Tenant
from cronfleet.services.allotments import Allotments
from cronfleet.services.slot_allotments import SlotAllotments

MAX_YIELDING_PER_TICK: Final = 250
"""Runs of operations that a shard sends in a tick, a tenth of what it can claim: the rest is for live work."""


@dataclass(slots=True)
class Yielding:
    """Of one tick, at `now`: what yields, as it was read."""

    now: Instant
    drafts: list[Draft] = field(default_factory=list)
    _kept: Counter[str] = field(default_factory=Counter)

    def add(self, drafts: Sequence[Draft]) -> None:
        """Keep what was read until all that is live is claimed; no more of a tenant than all may have."""
        for draft in drafts:
            if self._kept[draft.tenant] < MAX_YIELDING_PER_TICK:
                self._kept[draft.tenant] += 1
                self.drafts.append(draft)

    def claims(
        self,
        live: Sequence[Part],
        tenants: dict[str, Tenant],
        allotments: Allotments,
        slots: SlotAllotments,
        tally: Tally,
    ) -> list[Claim]:
        """The claims of what may go now; none of a tenant of which something `live` waits."""
        waiting = {part.tenant for part in live}
        free = [draft for draft in self.drafts if draft.tenant not in waiting]
        tiers = {tenant_id: tenant.tier for tenant_id, tenant in tenants.items()}
        first = in_rounds(free, tiers)[:MAX_YIELDING_PER_TICK]
        with_slots = slots.narrowed(self._within_slots(first, tenants, slots), tenants)
        parts = list(slots.granted(allotments.at_once(with_slots, tenants)))
        slots.forget_wishes()
        going = [part for part in parts if not part.waits]
        return settle(Plan(), going, self.now, tally, tiers)

    def _within_slots(
        self, drafts: Sequence[Draft], tenants: dict[str, Tenant], slots: SlotAllotments
    ) -> Sequence[Draft]:
        kept: list[Draft] = []
        for tenant_id, own in by_tenant(drafts).items():
            limit = quotas_of(tenants[tenant_id]).concurrent_runs
            kept += own if limit is None else own[: slots.left_for_yielding(tenant_id, limit)]
        return kept
