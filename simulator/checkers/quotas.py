"""The promise of the count: it says how many schedules a tenant has, and never passes what it may have.

How many there were is read off the audit log, in the order in which changes were committed.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from simulator.checkers.violation import Violation
from simulator.world import World

_BY: Final = {"create": 1, "cancel": -1}


def check_quotas(world: World, end_at: int) -> Iterator[Violation]:
    """Never more than the limit; and what is counted is what is there."""
    limits = {tenant: dict(record.quotas).get("schedules") for tenant, record in world.store.state.tenants.items()}
    there: Counter[str] = Counter()
    for entry in world.store.state.audit.values():
        if entry.schedule_id:
            there[entry.tenant] += _BY.get(entry.action, 0)
            limit = limits.get(entry.tenant)
            if limit is not None and there[entry.tenant] > limit:
                yield Violation(entry.at, "a quota was passed", f"{entry.tenant}: {there[entry.tenant]} of {limit}")
    for tenant in sorted(limits):
        yield from _miscounted(world, tenant, end_at)


def _miscounted(world: World, tenant: str, end_at: int) -> Iterator[Violation]:
    state = world.store.state
    live = [one for (owner, _), one in state.timers.items() if owner == tenant and one.status.value != "cancelled"]
    marked = sum(timer.is_counted for timer in live)
    counted = state.schedule_counts.get(tenant, 0)
    if counted != marked:
        yield Violation(end_at, "schedules are miscounted", f"{tenant}: {counted} counted, {marked} marked so")
    if tenant in state.counted_tenants and marked != len(live):
        yield Violation(end_at, "a schedule was not counted", f"{tenant}: {marked} of {len(live)}")
