"""How a sweep reads what a shard's books owe: many batches together, and the rows of all of them in few requests."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from cronfleet.adapters.memory.job_store import MemoryJobStore
from cronfleet.adapters.memory.side_by_side import OneByOne
from cronfleet.domain.books import Books, Owed
from cronfleet.domain.claim import Batch, BatchId, RunClaim
from cronfleet.domain.lease import ShardLease
from cronfleet.domain.run import Run, RunKey, RunStatus
from cronfleet.ports.job_store import Damaged, NoAnswer
from cronfleet.services.book_reading import BATCHES_AT_ONCE, ROWS_AT_ONCE, BookReading
from tests.support.examples import run_timer
from tests.support.settable_clock import NOON, SettableClock


class Waves:
    def __init__(self) -> None:
        self.sizes: list[int] = []

    def run(self, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        self.sizes.append(len(calls))
        return OneByOne().run(calls)


def logged(store: MemoryJobStore, count: int, claims: int = 1) -> list[Batch]:
    """Closed batches, one after the other, each of runs of its own; every other run has its row."""
    batches: list[Batch] = []
    for number in range(1, count + 1):
        timers = [run_timer(schedule_id=f"s-{number}-{one}") for one in range(claims)]
        previous = batches[-1].batch_id if batches else None
        batch = Batch(BatchId(0, 1, number), previous, NOON, tuple(RunClaim(timer) for timer in timers))
        store.put_batch(batch)
        if number % 2:
            for timer in timers:
                store.insert_run(Run(timer.key, RunStatus.RUNNING, due_at=NOON, tier="standard"))
        batches.append(batch)
    return batches


def test_what_the_books_carry_is_read_together_and_its_rows_in_requests_as_full_as_they_may_be() -> None:
    store, waves = MemoryJobStore(SettableClock(NOON)), Waves()
    batches = logged(store, 2 * BATCHES_AT_ONCE + 1)
    books = Books(0, open={str(batch.batch_id): Owed((0,), NOON) for batch in batches})
    found = list(BookReading(store, waves).carried(books))
    assert [one.batch for one in found] == batches
    assert [one.messages[0].key in one.rows for one in found] == [
        bool(number % 2) for number in range(1, len(batches) + 1)
    ]
    assert waves.sizes == [BATCHES_AT_ONCE, 1, BATCHES_AT_ONCE, 1, 1, 1]


def test_what_was_closed_since_is_read_likewise_and_in_its_order() -> None:
    store, waves = MemoryJobStore(SettableClock(NOON)), Waves()
    batches = logged(store, 30, claims=10)
    lease = ShardLease(0, "", fence=1, until=0, slot_at=0, last_batch=batches[-1].batch_id)
    found = list(BookReading(store, waves).newly_closed(lease, Books(0), NOON + 60_000))
    assert [one.batch for one in found] == batches
    assert {len(one.messages) for one in found} == {10}
    assert waves.sizes == [300 // ROWS_AT_ONCE]


def test_what_the_log_has_forgotten_is_left_out() -> None:
    store = MemoryJobStore(SettableClock(NOON))
    (batch,) = logged(store, 1)
    books = Books(0, open={"0.9.9": Owed((0,), NOON), str(batch.batch_id): Owed((0,), NOON)})
    assert [one.batch for one in BookReading(store, OneByOne()).carried(books)] == [batch]


def test_a_store_that_stays_silent_for_one_batch_is_told_to_who_reads() -> None:
    store: Any = MemoryJobStore(SettableClock(NOON))
    batches = logged(store, 3)
    read = store.get_batch

    def silent_for_one(batch_id: BatchId) -> Batch | None:
        if batch_id.number == 2:
            raise NoAnswer("the store is silent")
        return read(batch_id)

    store.get_batch = silent_for_one
    books = Books(0, open={str(batch.batch_id): Owed((0,), NOON) for batch in batches})
    with pytest.raises(NoAnswer):
        list(BookReading(store, OneByOne()).carried(books))


@pytest.mark.parametrize("claims", [1, 2, 7, ROWS_AT_ONCE + 3])
def test_of_rows_that_are_read_together_those_that_cannot_be_read_hide_none_of_the_others(claims: int) -> None:
    store: Any = MemoryJobStore(SettableClock(NOON))
    (batch,) = logged(store, 1, claims)
    keys = [message.key for message in batch.messages().values()]
    spoilt, read = {keys[0], keys[-1]}, store.get_runs

    def damaged(wanted: Sequence[RunKey]) -> Mapping[RunKey, Run]:
        for key in wanted:
            if key in spoilt:
                raise Damaged("acme#job", "R#1", "no row")
        found: Mapping[RunKey, Run] = read(wanted)
        return found

    store.get_runs = damaged
    books = Books(0, open={str(batch.batch_id): Owed(tuple(range(claims)), NOON)})
    (owing,) = BookReading(store, OneByOne()).carried(books)
    assert set(owing.damaged) == spoilt
    assert set(owing.rows) == set(keys) - spoilt
