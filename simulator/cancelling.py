"""Cancellations in a world: callers have runs cancelled in the middle of their work."""

import random
from functools import partial
from typing import Final

from cronfleet.domain.run import RunKey, RunStatus
from simulator import population
from simulator.faults import MINUTE
from simulator.world import World

CANCELLATIONS_PER_HOUR: Final = 240
HOUR: Final = 60 * MINUTE

MAX_CANDIDATES: Final = 50
"""Rows, newest first, among which one that is running is looked for."""


def cancel_some(world: World, rng: random.Random, begun_at: int, calm_at: int) -> None:
    """Until the calm callers cancel runs that are going on or wait; half of the jobs say that they are alive."""
    world.jobs_beat = True
    for _ in range(round((calm_at - begun_at) / HOUR * CANCELLATIONS_PER_HOUR)):
        at = rng.randint(begun_at + MINUTE, calm_at)
        world.loop.at(at, partial(_cancel_one, world, rng))


def _cancel_one(world: World, rng: random.Random) -> None:
    known = (key for key in world.rows if key.tenant in population.TENANTS)
    newest = sorted(known, key=lambda key: (key.nominal_at, key.run_id))[-MAX_CANDIDATES:]
    going = [key for key in newest if world.rows[key].status in (RunStatus.RUNNING, RunStatus.WAITING)]
    if going:
        key: RunKey = rng.choice(going)
        world.ask_of_run(key)
