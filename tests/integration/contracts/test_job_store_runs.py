"""What every job store promises about the ledger and the overlap gate."""

from dataclasses import replace
from typing import Any

import pytest

from cronfleet.domain.instant import MINUTE, SECOND
from cronfleet.domain.run import Run, RunKey, RunStatus
from cronfleet.ports.job_store import Refused
from tests.support import examples
from tests.support.examples import TENANT, run
from tests.support.settable_clock import NOON


@pytest.mark.parametrize("row", examples.rows(), ids=lambda row: f"{row.status}-{row.key.cause[:6]}")
def test_a_row_is_read_back_as_it_was_written(store: Any, row: Run) -> None:
    assert store.insert_run(row) is None
    assert store.get_run(row.key) == row
    assert store.get_runs([row.key]) == {row.key: row}


def test_a_row_is_inserted_once_and_the_second_is_shown_the_first(store: Any) -> None:
    first = run()
    assert store.insert_run(first) is None
    assert store.insert_run(replace(first, batch="9.9.9")) == first
    assert store.insert_run(first) == first, "its own row, for a writer whose reply was lost"
    assert store.get_run(first.key) == first


def test_a_row_is_replaced_only_by_the_next_rev(store: Any) -> None:
    first = run()
    store.insert_run(first)
    ended = replace(first, status=RunStatus.SUCCEEDED, rev=2, finished_at=NOON + 9)
    assert store.replace_run(replace(ended, rev=3)) == first
    assert store.replace_run(replace(ended, rev=1)) == first
    assert store.replace_run(ended) is None
    assert store.replace_run(ended) == ended, "its own row, for a writer whose reply was lost"
    assert store.get_run(first.key) == ended


def test_a_row_that_is_gone_is_not_replaced(store: Any) -> None:
    with pytest.raises(Refused):
        store.replace_run(run(rev=2))
    assert store.get_run(run().key) is None


def test_many_rows_are_read_in_one_call_and_absent_ones_left_out(store: Any) -> None:
    rows = [run(NOON + number * SECOND) for number in range(130)]
    for row in rows:
        store.insert_run(row)
    keys = [row.key for row in rows]
    absent = RunKey(TENANT, "nightly", 2, NOON)
    assert store.get_runs([*keys, absent, keys[0]]) == {row.key: row for row in rows}
    assert store.get_runs([]) == {}


def test_history_is_newest_first_and_one_schedules_own(store: Any) -> None:
    rows = [run(NOON + number * MINUTE) for number in range(5)]
    rows += [run(NOON - MINUTE, epoch=2), run(NOON, "manual-1", epoch=2), run(NOON, epoch=2)]
    for row in [*rows, run(NOON, schedule_id="nightly2"), run(NOON, schedule_id="night")]:
        store.insert_run(row)
    newest_first = sorted((row.key for row in rows), reverse=True)
    for limit in (1, 3, 7, 8, 9):
        page = store.list_runs(TENANT, "nightly", cursor=None, limit=limit)
        found = [row.key for row in page.items]
        while page.cursor is not None:
            assert len(page.items) == limit
            page = store.list_runs(TENANT, "nightly", cursor=page.cursor, limit=limit)
            found += [row.key for row in page.items]
        assert found == newest_first
    assert store.list_runs(TENANT, "nightly", cursor=None, limit=len(rows)).cursor is None, "nothing is left"


def test_a_schedule_without_runs_has_an_empty_history(store: Any) -> None:
    page = store.list_runs(TENANT, "nightly", cursor=None, limit=10)
    assert (list(page.items), page.cursor) == ([], None)


def test_one_run_holds_the_gate(store: Any) -> None:
    assert store.take_gate(TENANT, "nightly", "run-1", NOON, None) is None
    assert store.take_gate(TENANT, "nightly", "run-1", NOON, None) is None, "it holds it already"
    assert store.take_gate(TENANT, "nightly", "run-2", NOON, None) == "run-1"
    assert store.take_gate(TENANT, "other", "run-3", NOON, None) is None, "each schedule has its own"


def test_the_gate_is_taken_over_only_from_the_run_that_was_named(store: Any) -> None:
    store.take_gate(TENANT, "nightly", "run-1", NOON, None)
    assert store.take_gate(TENANT, "nightly", "run-2", NOON, "run-0") == "run-1"
    assert store.take_gate(TENANT, "nightly", "run-2", NOON, "run-1") is None
    assert store.take_gate(TENANT, "nightly", "run-1", NOON, None) == "run-2"


def test_only_its_holder_frees_the_gate(store: Any) -> None:
    store.release_gate(TENANT, "nightly", "run-1", NOON)
    store.take_gate(TENANT, "nightly", "run-1", NOON, None)
    store.release_gate(TENANT, "nightly", "run-2", NOON)
    assert store.take_gate(TENANT, "nightly", "run-2", NOON, None) == "run-1"
    store.release_gate(TENANT, "nightly", "run-1", NOON)
    store.release_gate(TENANT, "nightly", "run-1", NOON)
    assert store.take_gate(TENANT, "nightly", "run-2", NOON, None) is None


def test_a_gate_is_free_to_those_that_started_when_it_was(store: Any) -> None:
    """A run that started while another was going, and asks a moment after that has ended, has been in its way."""
    store.take_gate(TENANT, "nightly", "run-1", NOON, None)
    store.release_gate(TENANT, "nightly", "run-1", NOON + SECOND)
    assert store.take_gate(TENANT, "nightly", "run-2", NOON + SECOND - 1, None) == "run-1"
    assert store.take_gate(TENANT, "nightly", "run-2", NOON + SECOND - 1, "run-1") == "run-1"
    assert store.take_gate(TENANT, "nightly", "run-3", NOON + SECOND, None) is None
    assert store.take_gate(TENANT, "nightly", "run-2", NOON + MINUTE, None) == "run-3"


def test_history_may_be_read_from_an_epoch_and_a_nominal_back(store: Any) -> None:
    rows = [run(NOON + number * MINUTE) for number in range(4)]
    rows += [run(NOON + MINUTE, "manual-1"), run(NOON, epoch=2), run(NOON, "manual-1", epoch=2), run(NOON, epoch=3)]
    for row in rows:
        store.insert_run(row)

    def keys(epoch: int, nominal_at: int, limit: int = 50) -> list[RunKey]:
        found, cursor = [], None
        while True:
            page = store.list_runs(TENANT, "nightly", cursor=cursor, limit=limit, through=(epoch, nominal_at))
            found += [row.key for row in page.items]
            cursor = page.cursor
            if cursor is None:
                return found

    newest_first = sorted((row.key for row in rows), reverse=True)
    assert keys(9, NOON) == newest_first
    assert keys(2, NOON) == [key for key in newest_first if key.epoch <= 2]
    assert keys(2, NOON - SECOND) == [key for key in newest_first if key.epoch == 1]
    assert keys(1, NOON + MINUTE) == [key for key in newest_first if (key.epoch, key.nominal_at) <= (1, NOON + MINUTE)]
    assert keys(1, NOON + 2 * MINUTE, limit=1) == keys(1, NOON + 2 * MINUTE)
    assert keys(1, NOON - SECOND) == []


def test_a_run_that_was_sent_again_says_so_in_its_row(store: Any) -> None:
    row = run(resent_at=NOON + 5 * MINUTE)
    store.insert_run(row)
    assert store.get_run(row.key) == row
