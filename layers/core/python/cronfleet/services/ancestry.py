"""Ancestry: a run that succeeds settles the dead letters that it repeats, in the transaction that ends it."""

from collections.abc import Sequence
from typing import Final

from cronfleet.domain.audit import SCHEDULER_ACTOR
from cronfleet.domain.dead_letter import is_letter, settled
from cronfleet.domain.run import Run, RunKey, RunStatus
from cronfleet.domain.schedule import Timer
from cronfleet.domain.settlement import How
from cronfleet.ports.job_store import JobStore, ReplaceRun, Write
from cronfleet.services.asking import ask

MAX_ANCESTORS: Final = 10
"""How far back a run's ancestors are settled with it: what was run again so often has been looked at by somebody."""


class SettlingAncestors:
    """A follower of ends: reads nothing for a run that repeats none."""

    def __init__(self, store: JobStore) -> None:
        self._store = store

    def writes_for(self, before: Run | None, after: Run, timer: Timer | None) -> Sequence[Write]:  # noqa: ARG002 - as Follower has it
        """The rows of the letters that `after` repeats, and those that they repeat in turn, settled."""
        if after.status is not RunStatus.SUCCEEDED:
            return ()
        writes: list[Write] = []
        run_id = after.ancestor
        while run_id and len(writes) < MAX_ANCESTORS:
            row = self._row(run_id)
            if row is None:
                break
            if is_letter(row):
                writes.append(ReplaceRun(_settled_by(after, row)))
            run_id = row.ancestor
        return writes

    def _row(self, run_id: str) -> Run | None:
        return ask(lambda: self._store.get_run(RunKey.parse(run_id)))


def _settled_by(after: Run, row: Run) -> Run:
    """The letter, settled; what an operation's run repeats itself stays among the letters of that operation."""
    operation = after.operation if after.ancestor == row.key.run_id else ""
    at, run_id = after.finished_at or row.due_at, after.key.run_id
    return settled(row, How.RERUN, SCHEDULER_ACTOR, at, run_id=run_id, operation=operation)
