"""The source of redrives: dead letters, by their runs or by a filter, those that died first before the others.

A letter that is redriven leaves the tenant's letters and stands among those of the operation, so that what became of
each can be told afterwards; what is passed over (its schedule is gone, its signature is left out) stays a letter.
"""

from functools import partial
from typing import Final

from cronfleet.domain.dead_letter import LetterFilter, is_letter, settled
from cronfleet.domain.instant import Instant
from cronfleet.domain.operation import Candidate, Operation, rerun_key
from cronfleet.domain.reason import Reason
from cronfleet.domain.redrive import MAX_PAGE, is_excluded, letters_of, returning, stop_reason
from cronfleet.domain.run import RunKey
from cronfleet.domain.settlement import How
from cronfleet.domain.signature import Signature
from cronfleet.ports.dead_letters import Died
from cronfleet.ports.job_store import JobStore
from cronfleet.services.asking import ask
from cronfleet.services.letter_walk import LetterWalk, Spot, Spots, is_past, is_place
from cronfleet.services.operation_sources import Drawn, Making, Named, Names, remade

LATEST: Final = 50
"""Letters among which the words for a signature are looked for."""


class RedriveSource:
    """Goes through dead letters."""

    def __init__(self, store: JobStore) -> None:
        self._store = store
        self._walk = LetterWalk(store)

    # --- what it comes to ----------------------------------------------------------------------------------------

    def names(self, operation: Operation, cursor: str, limit: int) -> Names:
        """The next letters after `cursor`: those that it has redriven, and those that are letters still."""
        if _is_by_name(operation):
            spots = self._listed(operation, cursor, limit)
        else:
            spots = self._walk.every(operation, self._meant(operation), cursor, limit)
        rows = ask(partial(self._store.get_runs, [spot.key for spot in spots.items]))
        items = [
            Named(spot.position, rerun_key(spot.key, operation.operation_id), rows.get(spot.key))
            for spot in spots.items
        ]
        return Names(items, spots.is_last, spots.position)

    def _listed(self, operation: Operation, cursor: str, limit: int) -> Spots:
        run_ids, start = operation.asked["run_ids"], int(cursor or 0)
        end = min(start + limit, len(run_ids))
        items = [Spot(str(place + 1), RunKey.parse(run_ids[place])) for place in range(start, end)]
        return Spots(items, end == len(run_ids), str(end))

    def _meant(self, operation: Operation) -> LetterFilter:
        return letters_of(operation.asked, operation.created_at)

    def is_position(self, operation: Operation, text: str) -> bool:
        """Whether `text` is a place in the operation's letters."""
        if _is_by_name(operation):
            return text.isascii() and text.isdecimal() and int(text) <= len(operation.asked["run_ids"])
        return is_place(operation, text)

    def has_passed(self, operation: Operation, named: Named) -> bool:
        """Whether the letter stands no further on than where the operation is."""
        if not _is_by_name(operation):
            return is_past(operation, named.position)
        if operation.is_drawn or not operation.cursor:
            return operation.is_drawn
        return int(named.position) <= int(operation.cursor)

    # --- making runs of it ---------------------------------------------------------------------------------------

    def draw(self, operation: Operation, runs: int, now: Instant) -> Drawn:
        """The next letters as runs, each settled by its own; passed over where it is no letter any more."""
        limit, cursor = min(runs, MAX_PAGE), operation.cursor
        spots = (
            self._listed(operation, cursor, limit)
            if _is_by_name(operation)
            else self._walk.left(operation, self._meant(operation), cursor, limit)
        )
        making = Making(self._store, operation, now)
        making.know([spot.key.schedule_id for spot in spots.items])
        made = [self._made(making, spot, operation, now) for spot in spots.items]
        return Drawn(made, spots.is_last, spots.position)

    def _made(self, making: Making, spot: Spot, operation: Operation, now: Instant) -> Candidate:
        # Read strongly: by the index, a letter that was settled in the last moments is one still.
        row = ask(partial(self._store.get_run, spot.key))
        named = Named(spot.position, rerun_key(spot.key, operation.operation_id), row)
        if row is None or not is_letter(row) or is_excluded(operation, row.signature):
            return making.passed_over(named)
        made = remade(making, named, operation)
        if made.run is None:
            return made
        done = settled(
            row,
            How.REDRIVEN,
            operation.created_by,
            now,
            run_id=made.run.key.run_id,
            reason=operation.reason,
            operation=operation.operation_id,
        )
        return Candidate(made.position, made.run, made.timer, done)

    # --- stopping by itself --------------------------------------------------------------------------------------

    def reason_to_stop(self, operation: Operation) -> Reason | None:
        """Failures that return in one and the same way: what they were redriven for is not mended."""
        found = returning(operation)
        if found is None:
            return None
        digest, count = found
        return stop_reason(self._signature(operation.tenant, digest), count, len(operation.recent))

    def _signature(self, tenant: str, digest: str) -> Signature:
        """The signature in words, by one of the letters that have just come: the index may not show it yet."""
        page = ask(partial(self._store.list_letters, tenant, Died(), cursor=None, limit=LATEST))
        known = (letter.signature for letter in page.items if letter.signature.digest == digest)
        return next(known, Signature(digest, f"signature {digest}"))


def _is_by_name(operation: Operation) -> bool:
    return "run_ids" in operation.asked
