"""The plan of a tick whose tenants may send all that is due, or so many fires each."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from cronfleet.domain.allotment import Pool, by_tenant, divided
from cronfleet.domain.claim import Claim, DueItem
from cronfleet.domain.dispatch_plan import Plan, Tally, drafted, settle
from cronfleet.domain.instant import Instant


@dataclass
class Planned(Plan):
    """With the claims that it comes to."""

    claims: list[Claim] = field(default_factory=list)


def plan(items: Sequence[DueItem], now: Instant, most: int | None = None) -> Planned:
    """With `most`, each tenant has places for so many; the rest waits."""
    tally = Tally()
    made = drafted(items, now, tally)
    parts = []
    for drafts in by_tenant(made.drafts).values():
        wanted = sum(draft.unpaid for draft in drafts)
        caught_up = sum(draft.caught_up for draft in drafts)
        parts += divided(drafts, Pool(wanted if most is None else min(wanted, most), caught_up))
    claims = settle(made, parts, now, tally, {draft.tenant: draft.item.tier for draft in made.drafts})
    found = Planned(waiting=made.waiting, resumes=made.resumes, parks=made.parks, outdated=made.outdated)
    found.claims = [*claims, *made.noted]
    return found
