"""What happens in a fail-over, and what came of it."""

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from simulator.checkers.violation import Violation
from simulator.faults import MINUTE, SECOND
from simulator.replication import Lag
from simulator.world import START


@dataclass(frozen=True)
class Plan:
    """What happens to the two regions, and when. `lives_on`: the first is cut off, and goes on until it is fenced."""

    lag: Lag
    cut_at: int
    lives_on: bool
    fenced_at: int
    is_revoked: bool
    """Fenced from outside, by taking its roles' rights; else it is held, and ends what runs."""
    released_at: int
    heals_at: int | None
    """When what had not come comes after all; `None`: never."""


@dataclass(frozen=True)
class Planted:
    """Faults of the operator, or of the product, for which the checkers must have eyes."""

    is_held: bool = True
    mends: bool = True


SOUND: Final = Planted()


@dataclass
class Outcome:
    """What came of one seed."""

    seed: int
    plan: Plan
    fires: int
    violation: Violation | None
    doubles: Counter[str] = field(default_factory=Counter)
    """Runs that both regions ran, by why."""
    bound: int = 0
    """Runs that might have, at most."""
    mended: Counter[str] = field(default_factory=Counter)
    changes: Counter[str] = field(default_factory=Counter)
    """Requests that the first region had accepted: how many the second has, and how many it lacks."""
    damage: Counter[str] = field(default_factory=Counter)
    """What transactions whose halves came apart have left, that nothing mends."""
    takes_over_ms: int = 0
    """From the release to the first run that the second region starts."""
    went_back: bool = False
    """Whether the first region took over again, as planned."""


def drawn_plan(rng: random.Random) -> Plan:
    """What happens, drawn."""
    cut_at = START + 5 * MINUTE + rng.randint(0, 10 * MINUTE)
    worse_at = cut_at - rng.choice([0, 10 * SECOND, MINUTE])
    lag = Lag(rng.choice([400, 1_500, 5_000]), rng.choice([3_000, 15_000, 60_000]), worse_at)
    fenced_at = cut_at + rng.randint(MINUTE, 8 * MINUTE)
    released_at = fenced_at + rng.randint(30 * SECOND, 3 * MINUTE)
    comes_back = rng.random() < 0.6
    heals_at = released_at + rng.randint(MINUTE, 20 * MINUTE) if comes_back else None
    return Plan(lag, cut_at, rng.random() < 0.5, fenced_at, rng.random() < 0.4, released_at, heals_at)
