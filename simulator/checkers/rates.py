"""The promises about rates: no tenant has more started than its rate allows; none of its fires is deferred twice."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from simulator.checkers.overlap import those_that_may_wait
from simulator.checkers.violation import Violation
from simulator.faults import SECOND
from simulator.world import World

WINDOW: int = 5 * SECOND
LENIENCE: int = 9
"""Seconds of its rate that a tenant may have besides: dispatchers claim ten seconds ahead, and their clocks differ."""


def check_rates(world: World) -> Iterator[Violation]:
    """Of every tenant, by the rows of what ran and by the deferrals that were written."""
    yield from _check_claims(world)
    deferred = Counter(one.fire for one in world.history.deferrals.values() if one.code == "tenant_rate")
    for one in world.history.deferrals.values():
        if deferred[one.fire] > 1:
            yield Violation(one.at, "a fire was deferred for its tenant's rate more than once", str(one))


def _check_claims(world: World) -> Iterator[Violation]:
    claimed: dict[str, list[int]] = defaultdict(list)
    patient = those_that_may_wait(world)
    for key, row in world.rows.items():
        # What waited at a gate was claimed once before, within the rate; its row tells of the latest claim alone.
        if row.claimed_at is not None and row.attempts and (key.tenant, key.schedule_id) not in patient:
            claimed[key.tenant].append(row.claimed_at)
    most = world.rate.burst + world.rate.per_second * (WINDOW // SECOND + LENIENCE)
    for tenant, instants in claimed.items():
        instants.sort()
        for number, at in enumerate(instants[most:]):
            if at - instants[number] < WINDOW:
                text = f"{tenant}: more than {most} were claimed from {instants[number]} to {at}"
                yield Violation(at, "a tenant had more started than its rate allows", text)
                break
