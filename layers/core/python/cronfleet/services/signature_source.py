"""The source of re-runs that name a failure signature and no schedule: the dead letters of that signature.

A re-run leaves a letter one until its repetition has succeeded; from then on it stands in the operation's own list.
"""

from functools import partial

from cronfleet.domain.dead_letter import LetterFilter, is_letter
from cronfleet.domain.instant import Instant
from cronfleet.domain.operation import Candidate, Operation, rerun_key
from cronfleet.domain.redrive import MAX_PAGE
from cronfleet.domain.rerun import RunFilter
from cronfleet.ports.job_store import JobStore
from cronfleet.services.asking import ask
from cronfleet.services.letter_walk import LetterWalk, Spots
from cronfleet.services.operation_sources import Drawn, Making, Named, Names, remade


class SignatureSource:
    """Goes through the dead letters of one signature."""

    def __init__(self, store: JobStore) -> None:
        self._store = store
        self._walk = LetterWalk(store)

    def names(self, operation: Operation, cursor: str, limit: int) -> Names:
        """The next letters after `cursor` that the filter takes; there may be fewer than `limit`, and still more."""
        return self._taken(operation, self._walk.every(operation, _meant(operation), cursor, limit))

    def draw(self, operation: Operation, runs: int, now: Instant) -> Drawn:
        """The next letters as runs; passed over where one was settled meanwhile, or its schedule is gone."""
        limit = min(runs, MAX_PAGE)
        found = self._taken(operation, self._walk.left(operation, _meant(operation), operation.cursor, limit))
        making = Making(self._store, operation, now)
        making.know([named.key.schedule_id for named in found.items])
        made = [self._made(making, named, operation) for named in found.items]
        return Drawn(made, found.is_last, found.position)

    def _made(self, making: Making, named: Named, operation: Operation) -> Candidate:
        # By the index, a letter that was settled in the last moments is one still.
        if named.ancestor is None or not is_letter(named.ancestor):
            return making.passed_over(named)
        return remade(making, named, operation)

    def _taken(self, operation: Operation, spots: Spots) -> Names:
        wanted = RunFilter.of(operation.asked, operation.created_at)
        rows = ask(partial(self._store.get_runs, [spot.key for spot in spots.items]))
        items = [
            Named(spot.position, rerun_key(spot.key, operation.operation_id), rows[spot.key])
            for spot in spots.items
            if spot.key in rows and wanted.takes(rows[spot.key])
        ]
        return Names(items, spots.is_last, spots.position)


def _meant(operation: Operation) -> LetterFilter:
    """Times are of the rows' nominal times: the row tells them, the index does not."""
    return LetterFilter(signature=operation.asked["signature"], until_at=operation.created_at)
