"""Deletions, as the services need them stored, and what tenants own, to be removed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from cronfleet.domain.deletion import Deletion, Owned, Stage
from cronfleet.domain.run import Run


@dataclass(frozen=True, slots=True)
class InsertDeletion:
    """Put a deletion where its tenant has none; or its end, where that is not yet.

    An ended one is taken out of the open ones by `close_deletion`, afterwards.
    """

    job: Deletion


@dataclass(frozen=True, slots=True)
class Found:
    """Things to be removed, and the `cursor` to ask with once they are (`None`: from the start).

    Neither things nor a cursor: the stage is done.
    """

    items: Sequence[Owned]
    cursor: str | None


class DeletionStore(Protocol):
    """Deletions, and what is left of a tenant."""

    def get_deletion(self, tenant: str) -> Deletion | None:
        """A tenant's deletion, open or over, read strongly."""
        ...

    def open_deletions(self, limit: int) -> Sequence[Deletion]:
        """Deletions that are not over, read strongly, by their tenants."""
        ...

    def put_deletion(self, job: Deletion) -> bool:
        """Replace an open deletion if its `rev` is still `job.rev - 1`; False when another was faster."""
        ...

    def close_deletion(self, tenant: str) -> None:
        """Take a deletion whose end is stored out of the open ones; done twice it changes nothing."""
        ...

    def owned(self, tenant: str, stage: Stage, cursor: str | None, limit: int) -> Found:
        """Up to about `limit` things that a stage is to remove, read strongly."""
        ...

    def erase(self, items: Sequence[Owned]) -> None:
        """Remove things for good, whatever they are now; what is gone already is no error."""
        ...

    def forget_run(self, run: Run) -> bool:
        """Remove a ledger row if its `rev` is still that of `run`."""
        ...
