"""How many schedules tenants may have in a world, and an installation that is older than their being counted."""

import random
from collections.abc import Mapping
from dataclasses import replace

from cronfleet.adapters.memory.timers import put_timer
from simulator.world import World


def limit_schedules(world: World, rng: random.Random, wanted: Mapping[str, int]) -> None:
    """A little less than each tenant will ask for, so that some are refused until others go."""
    tenants = world.store.state.tenants
    for tenant, number in wanted.items():
        limit = max(1, number - rng.randint(0, 3))
        record = tenants[tenant]
        tenants[tenant] = replace(record, quotas=tuple(sorted((*record.quotas, ("schedules", limit)))))


def forget_counting(world: World) -> None:
    """From now on the installation is one that comes from the time before counting, which did not mark schedules.

    Their `rev` rises, so that nothing which was decided on a marked one is written any more.
    """
    state = world.store.state
    state.schedule_counts.clear()
    state.counted_tenants.clear()
    state.counted_until.clear()
    for timer in list(state.timers.values()):
        put_timer(state, replace(timer, is_counted=False, rev=timer.rev + 1))
    world.history.note(world.loop.now, "counting forgotten")
