"""What an installation is set to, and what is taken for granted about it, as far as the lag depends on it."""

from dataclasses import dataclass, field
from typing import Final

LAMBDA_MB_OF_A_CORE: Final = 1_769
DISPATCHER_MB: Final = 1_024
"""`infra/constructs/dispatcher.py`."""


@dataclass(frozen=True, slots=True)
class Workers:
    """Of one tier: at most so many runs at once; with `pollers`, ten for each are ready from the beginning."""

    most: int
    pollers: int = 0

    @property
    def ready(self) -> int:
        """Runs at once that need not be waited for."""
        return min(self.most, 10 * self.pollers) if self.pollers else 5


@dataclass(frozen=True, slots=True)
class Settings:
    """Defaults are the product's; quotas are those that docs/capacity.md says to raise."""

    shards: int = 64
    index_quota: int = 64_000
    """Write units a second of the index due: 40,000 before it is raised."""
    table_partitions: int = 64
    """Of the table schedules: as many as a warm throughput of 64,000 makes."""
    tick_pollers: int = 7
    """Held ready for the queue of ticks: one for ten shards."""
    dispatcher_cpu: float = 0.2
    """CPU seconds that the dispatcher and its client need for 1,000 firings on a whole core."""
    workers: tuple[Workers, Workers] = field(default_factory=lambda: (Workers(500), Workers(300)))
    """Of the tiers standard and priority."""
    job_ms: int = 100
    killed: float = 0.0
    """Of the ticks, how many die in the middle."""

    @property
    def cpu_ms_a_firing(self) -> float:
        """On the part of a core that the function has."""
        return self.dispatcher_cpu * LAMBDA_MB_OF_A_CORE / DISPATCHER_MB
