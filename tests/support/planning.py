"""The plan of a tick whose tenants may send all that is due, or so many fires each."""

from collections.abc import Sequence

from cronfleet.domain.allotment import Pool, asked, by_tenant, divided
from cronfleet.domain.claim import DueItem
from cronfleet.domain.dispatch_plan import Plan, Tally, drafted, settle
from cronfleet.domain.instant import Instant


def plan(items: Sequence[DueItem], now: Instant, most: int | None = None) -> Plan:
    """With `most`, each tenant has places for so many; the rest waits."""
    tally = Tally()
    made = drafted(items, now, tally)
    parts = []
    for drafts in by_tenant(made.drafts).values():
        places, left = asked(drafts, now), most
        if left is not None:
            for moment, count in places.items():
                places[moment] = min(count, left)
                left -= places[moment]
        parts += divided(drafts, Pool(places, caught_up=sum(draft.caught_up for draft in drafts)), now)
    settle(made, parts, now, tally, {draft.tenant: draft.item.tier for draft in made.drafts})
    return made
