"""Book reading: what a shard's books owe, read from the dispatch log and the ledger, many at once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from cronfleet.domain.books import FIRST_RESEND, Books, Owed, is_ripe
from cronfleet.domain.claim import Batch, BatchId
from cronfleet.domain.instant import Instant
from cronfleet.domain.lease import ShardLease
from cronfleet.domain.run import Run, RunKey, RunMessage
from cronfleet.ports.job_store import Damaged, JobStore
from cronfleet.ports.side_by_side import SideBySide, in_parts
from cronfleet.services.asking import ask

MAX_BATCHES_PER_SWEEP: Final = 500
"""Newly closed batches looked at per shard and sweep."""

BATCHES_AT_ONCE: Final = 50
"""Batches that are read together."""

ROWS_AT_ONCE: Final = 100
"""Rows of one call, whichever batches they are of: what the store takes in a request."""


@dataclass(frozen=True, slots=True)
class Owing:
    """A batch, what is owed of it, the messages of that by their positions, the rows that there are, and what is wrong
    with those that cannot be read.
    """

    batch: Batch
    owed: Owed
    messages: Mapping[int, RunMessage]
    rows: Mapping[RunKey, Run]
    damaged: Mapping[RunKey, str]


class BookReading:
    """Reads for a sweeper. Nothing is under way while what was read is looked at."""

    def __init__(self, store: JobStore, side_by_side: SideBySide) -> None:
        self._store = store
        self._side_by_side = side_by_side

    def carried(self, books: Books) -> Iterator[Owing]:
        """The batches that the books carry; what the log has forgotten is left out."""
        for ids in in_parts(list(books.open), BATCHES_AT_ONCE):
            reads = [partial(ask, partial(self._store.get_batch, BatchId.parse(one))) for one in ids]
            found = [
                (batch, books.open[batch_id])
                for batch_id, batch in zip(ids, self._side_by_side.run(reads), strict=True)
                if batch is not None
            ]
            yield from self._with_rows([(batch, owed, _owed(batch, owed)) for batch, owed in found])

    def newly_closed(self, lease: ShardLease, books: Books, now: Instant) -> Iterator[Owing]:
        """Announced and closed batches after `closed_through`, without their losers, oldest first, once old enough."""
        for batches in in_parts(list(self._closed(lease, books, now)), BATCHES_AT_ONCE):
            yield from self._with_rows(
                [
                    (batch, Owed((), resend_at=batch.claimed_at + FIRST_RESEND), batch.messages(losers))
                    for batch, losers in batches
                ]
            )

    def _closed(self, lease: ShardLease, books: Books, now: Instant) -> Iterator[tuple[Batch, frozenset[int]]]:
        """A batch was announced if a later one, or the lease, names it: an orphan (written by a dispatcher that
        crashed or lost its lease before announcing it) is named by none. Whoever names it knows its losers.
        """
        last = lease.last_batch
        if last is None or last == books.closed_through:
            return
        window = ask(lambda: self._store.batches(lease.shard, books.closed_through, last, MAX_BATCHES_PER_SWEEP))
        named = {batch.previous for batch in window} | {last}
        announced = [batch for batch in window if batch.batch_id in named]
        successors = {batch.previous: batch for batch in announced}
        ripe = [place for place, batch in enumerate(announced) if is_ripe(batch, now)]
        # A younger batch with short limits is not kept waiting by an older one with long ones.
        for batch in announced[: ripe[-1] + 1 if ripe else 0]:
            if batch.batch_id == lease.open_batch:
                return
            if batch.batch_id == last:
                yield batch, lease.last_losers
            elif batch.batch_id in successors:
                yield batch, successors[batch.batch_id].previous_losers
            else:
                return  # Its successor lies beyond this window, and is read with the next.

    def _with_rows(self, found: Sequence[tuple[Batch, Owed, Mapping[int, RunMessage]]]) -> Iterator[Owing]:
        keys = list(dict.fromkeys(message.key for _, _, messages in found for message in messages.values()))
        reads = [partial(self._rows, part) for part in in_parts(keys, ROWS_AT_ONCE)]
        rows: dict[RunKey, Run] = {}
        damaged: dict[RunKey, str] = {}
        for found_rows, spoilt in self._side_by_side.run(reads):
            rows |= found_rows
            damaged |= spoilt
        for batch, owed, messages in found:
            yield Owing(batch, owed, messages, rows, damaged)

    def _rows(self, keys: Sequence[RunKey]) -> tuple[Mapping[RunKey, Run], Mapping[RunKey, str]]:
        """The rows of `keys`, and what is wrong with those that cannot be read: one hides none of the others."""
        try:
            return ask(partial(self._store.get_runs, keys)), {}
        except Damaged as error:
            if len(keys) == 1:
                return {}, {keys[0]: str(error)}
        half = len(keys) // 2
        (rows, damaged), (more, worse) = self._rows(keys[:half]), self._rows(keys[half:])
        return {**rows, **more}, {**damaged, **worse}


def _owed(batch: Batch, owed: Owed) -> Mapping[int, RunMessage]:
    messages = batch.messages()
    return {place: messages[place] for place in owed.positions if place in messages}
