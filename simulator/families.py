"""Families: schedules that run after one another, in diamonds, in a tenant of their own; callers pause and cancel some.

Their roots fire by the clock; `left` and `right` run after the root, `foot` after both. How each waits is drawn.
"""

import random
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from cronfleet.domain.dependency import AfterTrigger, Else, On
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.schedule import Spec
from cronfleet.domain.tenant import Tenant
from cronfleet.domain.trigger import IntervalTrigger, Trigger
from simulator import population
from simulator.faults import MINUTE, SECOND
from simulator.world import World

KINFOLK: Final = "kinfolk"
DIAMONDS: Final = 3
PERIODS: Final = (60, 120, 300)
"""Seconds between the fires of a root."""
WITHIN: Final = (30, 90, 600)
"""Seconds that parents may take."""
CHANGES: Final = 20
ASKED: Final = 4
"""How often each is put: the API may have been silent, or a parent not there yet."""


@dataclass(frozen=True)
class Member:
    """One of them: whom it runs after, and how."""

    name: str
    parents: tuple[str, ...] = ()
    on: str = ""
    within: int = 0
    otherwise: str = ""


@dataclass
class Family:
    """All of a world, by name."""

    members: dict[str, Member] = field(default_factory=dict)


def is_dependant(key: tuple[str, str]) -> bool:
    """Whether a schedule has no times of its own."""
    tenant, name = key
    return tenant == KINFOLK and not name.startswith("root")


def found_family(world: World, rng: random.Random, begun_at: int, calm_at: int) -> Family:
    """Let diamonds live in `world`, which has just begun, and callers do things to them until the calm."""
    family = Family()
    quotas = (("burst", world.rate.burst), ("fires_per_second", world.rate.per_second))
    world.store.state.tenants[KINFOLK] = Tenant(KINFOLK, quotas=quotas, rev=1)
    for number in range(DIAMONDS):
        root, left, right = (f"{word}-{number}" for word in ("root", "left", "right"))
        _put(world, rng, root, IntervalTrigger(rng.choice(PERIODS), begun_at), begun_at)
        family.members[root] = Member(root)
        for name, parents in ((left, (root,)), (right, (root,)), (f"foot-{number}", (left, right))):
            trigger = AfterTrigger(parents, rng.choice(list(On)), rng.choice(WITHIN), rng.choice(list(Else)))
            _put(world, rng, name, trigger, begun_at + len(family.members) * SECOND)
            member = Member(name, parents, trigger.on.value, trigger.within_seconds, trigger.otherwise.value)
            family.members[name] = member
    for _ in range(CHANGES):
        at = rng.randint(begun_at + 5 * MINUTE, max(begun_at + 5 * MINUTE, calm_at))
        action, change = _change(rng, at)
        world.loop.at(at, partial(world.ask, KINFOLK, rng.choice(sorted(family.members)), action, change))
    return family


def _put(world: World, rng: random.Random, name: str, trigger: Trigger, at: int) -> None:
    spec = population.drawn_spec(rng, at)
    policies = replace(spec.policies, jitter_seconds=0, spread=None, overlap=Overlap.ALLOW)
    change = population.create(Spec(trigger, spec.target, policies=policies, labels=spec.labels))
    for turn in range(ASKED):
        world.loop.at(at + turn * MINUTE, partial(world.ask, KINFOLK, name, "create", change))


def _change(rng: random.Random, now: int) -> tuple[str, population.Change]:
    kind = rng.random()
    if kind < 0.4:
        return "pause", population.pause(now + rng.randint(5, 240) * SECOND)
    if kind < 0.6:
        return "resume", population.Resume(None)
    if kind < 0.9:
        return "run", population.run_now()
    return "edit", population.describe(f"edited at {now}")
