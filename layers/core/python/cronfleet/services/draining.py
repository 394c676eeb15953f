"""Draining: how far an installation that is held has come to rest, counted from its leases, dispatch log and ledger."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from cronfleet.domain.books import Books, Standing, standing
from cronfleet.domain.claim import Batch, BatchId
from cronfleet.domain.going_on import GoingOn
from cronfleet.domain.instant import Instant
from cronfleet.domain.lease import ShardLease
from cronfleet.domain.run import RunKey, RunMessage
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import JobStore
from cronfleet.services.asking import ask

MAX_BATCHES: Final = 500
"""Batches that one count looks at, of all shards; behind a sweep there are few."""


def served_shards(store: JobStore, shards: int) -> int:
    """How many shards there are: never fewer than ever were, whatever this process was told. Raises `NoAnswer`."""
    lease = ask(lambda: store.get_lease(0))
    return max(shards, 0 if lease is None else lease.shards)


class Draining:
    """Counts what was claimed and is not over. Reads only."""

    def __init__(self, *, store: JobStore, clock: Clock, shards: int) -> None:
        self._store = store
        self._clock = clock
        self._shards = shards

    def count(self, rev: int) -> GoingOn:
        """What is going on now, and whether the hold that was written with `rev` is obeyed. Raises `NoAnswer`."""
        found, now, left = GoingOn(), self._clock.now(), MAX_BATCHES
        region = self._store.here.region
        for shard in range(served_shards(self._store, self._shards)):
            lease = ask(partial(self._store.get_lease, shard))
            if lease is None or (lease.shut_rev, lease.shut_in) != (rev, region):
                found.open_shards += 1
            if lease is None:
                continue
            found.open_batches += lease.open_batch is not None
            places: dict[RunKey, Standing] = {}
            for messages in self._owed(lease, left):
                left -= 1
                self._look_at(messages, places, now)
            found.standings.update(places.values())
            found.is_whole = found.is_whole and left > 0
        return found

    def _look_at(self, messages: Mapping[int, RunMessage], places: dict[RunKey, Standing], now: Instant) -> None:
        """Where each run stands: once, though every attempt that it had has a message of its own."""
        rows = ask(lambda: self._store.get_runs([message.key for message in messages.values()]))
        for message in messages.values():
            where = standing(message, rows.get(message.key), now)
            if where is not Standing.SETTLED or message.key not in places:
                places[message.key] = where

    def _owed(self, lease: ShardLease, most: int) -> Iterator[Mapping[int, RunMessage]]:
        """The messages of each batch that may not be settled, `most` batches of them."""
        books = ask(lambda: self._store.get_books(lease.shard))
        for batch_id, owed in list(books.open.items())[:most]:
            batch = ask(partial(self._store.get_batch, BatchId.parse(batch_id)))
            if batch is not None:
                messages = batch.messages()
                yield {place: messages[place] for place in owed.positions if place in messages}
        rest = max(0, most - len(books.open))
        for batch, losers in self._since(lease, books, rest):
            yield batch.messages(losers)

    def _since(self, lease: ShardLease, books: Books, most: int) -> Iterator[tuple[Batch, frozenset[int]]]:
        """Announced batches that no sweep has looked at yet, with their losers; of the open one all count."""
        last = lease.last_batch
        if last is None or last == books.closed_through or most <= 0:
            return
        window: Sequence[Batch] = ask(lambda: self._store.batches(lease.shard, books.closed_through, last, most))
        losers = {batch.previous: batch.previous_losers for batch in window} | {last: lease.last_losers}
        yield from ((batch, losers[batch.batch_id]) for batch in window if batch.batch_id in losers)
