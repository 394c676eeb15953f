"""Which kinds of faults a seed turns on, and how hard. Swarm testing: each seed has its own few.

Source: A. Groce et al., "Swarm Testing", ISSTA 2012: leaving kinds out finds more than turning all on.
"""

import random
from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Final

SECOND: Final = 1_000
MINUTE: Final = 60 * SECOND

KINDS: Final = (
    "crash",
    "lost_reply",
    "throttle",
    "slow_call",
    "clock_skew",
    "clock_wrong",
    "clock_step",
    "duplicate_message",
    "late_message",
    "lost_message",
    "refused_message",
    "double_invocation",
    "index_lag",
    "hot_partition",
    "missed_minutes",
    "polling_outage",
    "store_outage",
    "scheduler_outage",
)
"""Every kind of fault; the names that `--faults` takes."""


@dataclass(frozen=True)
class Faults:
    """Probabilities (per call, message or invocation), bounds in milliseconds, and outages as spans of true time."""

    crash: float = 0.0
    lost_reply: float = 0.0
    throttle: float = 0.0
    slow_call: float = 0.0
    clock_skew: int = 0
    """Clocks are off by up to this much, which they may be without being noticed (under two seconds)."""
    clock_wrong: float = 0.0
    """Invocations whose clock is seconds to hours off."""
    clock_step: float = 0.0
    """Calls during which the invocation's clock jumps."""
    duplicate_message: float = 0.0
    late_message: float = 0.0
    lost_message: float = 0.0
    refused_message: float = 0.0
    double_invocation: float = 0.0
    index_lag: int = 0
    hot_partition: int = 0
    """Write units a second that a shard's index partition takes; 0 for no limit worth speaking of."""
    missed_minutes: float = 0.0
    polling_outage: tuple[int, int] = (0, 0)
    store_outage: tuple[int, int] = (0, 0)
    scheduler_outage: tuple[int, int] = (0, 0)
    """Neither ticker nor dispatcher nor sweeper is invoked."""
    second_outage: tuple[int, int] = (0, 0)
    """A second one, which comes with the first: soon after it, while what that missed is caught up."""

    @property
    def kinds(self) -> list[str]:
        """The kinds that are on."""
        return [field.name for field in fields(self) if getattr(self, field.name) not in (0, 0.0, (0, 0))]


NONE: Final = Faults()


def drawn(rng: random.Random, begin: int, end: int, allowed: Collection[str] = KINDS) -> Faults:
    """Faults of one seed between `begin` and `end` (true time); each allowed kind is on half of the time."""
    outage = _span(rng, begin, end, rng.choice([3, 15, 60]) * MINUTE)
    strengths = {
        "crash": rng.choice([0.002, 0.01, 0.03]),
        "lost_reply": rng.choice([0.005, 0.02, 0.05]),
        "throttle": rng.choice([0.01, 0.05, 0.2]),
        "slow_call": rng.choice([0.001, 0.005, 0.01]),
        "clock_skew": rng.choice([500, 1_200, 1_700]),
        "clock_wrong": rng.choice([0.02, 0.1]),
        "clock_step": rng.choice([0.001, 0.005]),
        "duplicate_message": rng.choice([0.02, 0.1, 0.3]),
        "late_message": rng.choice([0.02, 0.1]),
        "lost_message": rng.choice([0.005, 0.02]),
        "refused_message": rng.choice([0.02, 0.1]),
        "double_invocation": rng.choice([0.05, 0.3]),
        "index_lag": rng.choice([300, 1_500, 5_000]),
        "hot_partition": rng.choice([3, 10, 40]),
        "missed_minutes": rng.choice([0.1, 0.4]),
        "polling_outage": _span(rng, begin, end, 60 * MINUTE),
        "store_outage": _span(rng, begin, end, 20 * MINUTE),
        "scheduler_outage": outage,
    }
    on = {kind: strength for kind, strength in strengths.items() if rng.random() < 0.5 and kind in allowed}
    if "scheduler_outage" in on and rng.random() < 0.5:
        again = outage[1] + rng.randint(5, 300) * SECOND
        on["second_outage"] = (again, again + rng.randint(1, 10) * MINUTE)
    return Faults(**on)  # type: ignore[arg-type]  # each kind's own type, by its name


def _span(rng: random.Random, begin: int, end: int, longest: int) -> tuple[int, int]:
    length = min(longest, max(MINUTE, (end - begin) // 2))
    start = rng.randint(begin, max(begin, end - length))
    return start, start + length
