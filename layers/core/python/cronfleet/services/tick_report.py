"""What one tick of a dispatcher did, in counts."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from cronfleet.ports.telemetry import Telemetry

PUBLISHED: Final = (
    "claims_won",
    "claims_lost",
    "fires",
    "caught_up",
    "skips",
    "noted",
    "deferrals",
    "resumes",
    "parks",
    "retimes",
    "errands",
)
"""The counts that become metrics."""


class Served(StrEnum):
    """What became of a tick."""

    SERVED = "served"
    NOT_OURS = "not_ours"
    """The slot was served before, or another dispatcher has the shard."""
    EARLY = "early"
    """The slot lies ahead of this process's clock."""
    LOST_LEASE = "lost_lease"
    """Another dispatcher took the shard in between; it finishes what this one had announced."""
    HELD = "held"
    """A hold lets nothing be claimed: at most what a predecessor had announced was finished."""


@dataclass(slots=True)
class TickReport:
    """What one tick did, in counts."""

    shard: int
    served: Served = Served.SERVED
    batches: int = 0
    finished_for_predecessor: int = 0
    claims_won: int = 0
    claims_lost: int = 0
    fires: int = 0
    caught_up: int = 0
    skips: int = 0
    # No Counter: `asdict` makes pairs its keys, which no log line can hold.
    skip_reasons: dict[str, int] = field(default_factory=dict)
    """The skips, by the code of their reason."""
    noted: int = 0
    """Entries of what held schedules would have fired; no loss, and so no skip."""
    deferrals: int = 0
    resumes: int = 0
    parks: int = 0
    retimes: int = 0
    errands: int = 0

    def note_skip(self, reason: str) -> None:
        """Count a skip by the code of its reason."""
        self.skips += 1
        self.skip_reasons[reason] = self.skip_reasons.get(reason, 0) + 1


def publish(report: TickReport, telemetry: Telemetry) -> None:
    """Count what there is to count."""
    values = {name: value for name in PUBLISHED if (value := getattr(report, name))}
    if values:
        telemetry.tally(values, shard=str(report.shard))
    for reason, value in report.skip_reasons.items():
        telemetry.count("fires_skipped", value, reason=reason)
