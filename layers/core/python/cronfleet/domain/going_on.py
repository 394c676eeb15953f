"""Going on: what an installation still has to finish, counted from its dispatch log and ledger. Pure."""

from collections import Counter
from dataclasses import dataclass, field

from cronfleet.domain.books import Standing
from cronfleet.domain.form import Form


@dataclass(slots=True)
class GoingOn:
    """What was claimed and is not over, by where it stands; `open_batches` may still be claimed in part.

    `open_shards` have not been shut by the hold that is in force. Not `is_whole`: there is more.
    """

    standings: Counter[Standing] = field(default_factory=Counter)
    open_batches: int = 0
    open_shards: int = 0
    is_whole: bool = True

    @property
    def is_settled(self) -> bool:
        """Whether nothing can be claimed any more, whoever wakes up: every shard is shut, and no batch is open."""
        return not self.open_batches and not self.open_shards

    @property
    def is_drained(self) -> bool:
        """Whether nothing is claimed that is not over, but for runs whose worker is gone."""
        waits = self.standings[Standing.UNSTARTED] + self.standings[Standing.GOING]
        return self.is_settled and self.is_whole and not waits

    def form(self) -> Form:
        """As callers see it."""
        return {
            "settled": self.is_settled,
            "drained": self.is_drained,
            "open_batches": self.open_batches,
            "unstarted": self.standings[Standing.UNSTARTED],
            "running": self.standings[Standing.GOING],
            "abandoned": self.standings[Standing.DEAD_LEASE],
            "counted_all": self.is_whole,
        }
