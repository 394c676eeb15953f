"""What an installation is asked to do, and what the bill takes for granted; pure values."""

from dataclasses import dataclass
from math import ceil, log2
from typing import Final

HOURS_A_MONTH: Final = 730
"""As AWS counts a month in its calculators: 8,760 hours a year by twelve."""
MINUTES_A_MONTH: Final = HOURS_A_MONTH * 60
DAYS_A_MONTH: Final = HOURS_A_MONTH / 24

SLOTS_A_MINUTE: Final = 12
"""Ticks of a shard that find their slot unserved: one each five seconds."""

SHARD_CEILING: Final = 500
"""Firings a second: a partition of the due index takes 1,000 write units, and a claim moves its entry."""
HERD_SECONDS: Final = 3.2
"""In which a minute's firings are claimed even if all are due in the same second."""
FEWEST_SHARDS: Final = 4
MOST_SHARDS: Final = 1_024

MOST_SCHEDULES: Final = 100_000_000
MOST_FIRINGS: Final = 10_000_000


class WrongWorkload(ValueError):
    """A figure of the workload is out of bounds; the message names it and says what to write instead."""


@dataclass(frozen=True, slots=True)
class Workload:
    """What is asked of an installation.

    `firings_per_minute` come in `hours_a_day` of each day, spread evenly over the seconds; in the other hours nothing
    is due. `shards` 0 means as many as they need. `handler_ms` is how long a job takes, and `worker_mb` what its worker
    has. `changes_a_day` are requests to the API. `payload_bytes` is what a schedule carries along. `retention_days` is
    how long rows of runs are kept.
    """

    schedules: int
    firings_per_minute: float
    hours_a_day: float = 24
    shards: int = 0
    handler_ms: float = 100
    worker_mb: int = 1_024
    payload_bytes: int = 256
    changes_a_day: int = 10_000
    retention_days: int = 30

    def __post_init__(self) -> None:
        bounds: tuple[tuple[str, float, float], ...] = (
            ("schedules", 1, MOST_SCHEDULES),
            ("firings_per_minute", 0, MOST_FIRINGS),
            ("hours_a_day", 0, 24),
            ("shards", 0, MOST_SHARDS),
            ("handler_ms", 0, 840_000),
            ("worker_mb", 128, 10_240),
            ("payload_bytes", 0, 262_144),
            ("changes_a_day", 0, 1_000_000_000),
            ("retention_days", 1, 3_650),
        )
        if not self.shards:
            object.__setattr__(self, "shards", shards_for(self.firings_per_minute))
        for name, least, most in bounds:
            if not least <= getattr(self, name) <= most:
                flag = "--" + name.replace("_", "-")
                raise WrongWorkload(f"{flag} is {getattr(self, name):,g}: write a number from {least:,} to {most:,}")

    @property
    def hours(self) -> float:
        """Hours a month in which fires are due."""
        return self.hours_a_day * DAYS_A_MONTH

    @property
    def firings(self) -> float:
        """Firings a month."""
        return self.firings_per_minute * 60 * self.hours

    @property
    def per_second(self) -> float:
        """Firings a second while fires are due."""
        return self.firings_per_minute / 60

    @property
    def in_a_tick(self) -> float:
        """Firings that a tick of one shard finds due, on average."""
        return self.firings_per_minute / SLOTS_A_MINUTE / self.shards


def shards_for(firings_per_minute: float) -> int:
    """As many shards, a power of two, as claim a minute's firings in `HERD_SECONDS`."""
    wanted = max(1.0, firings_per_minute / (SHARD_CEILING * HERD_SECONDS))
    return min(MOST_SHARDS, max(FEWEST_SHARDS, 1 << ceil(log2(wanted))))
