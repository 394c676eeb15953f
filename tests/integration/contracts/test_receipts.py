"""What every receipt store promises: one effect per run and name, under the run's fence."""

from dataclasses import replace

import pytest

from cronfleet.domain.cancel_request import CancelRequest
from cronfleet.domain.run import RunStatus
from cronfleet.ports.target import CancelAsked, FenceLost, Receipt
from tests.support.examples import run
from tests.support.settable_clock import NOON
from tests.support.stores import Engine

KEY = run().key


def test_the_first_call_records_and_later_ones_are_told_what_it_recorded(engine: Engine) -> None:
    engine.store.insert_run(run())
    value = {"invoice": "A-1", "amount": 0.1, "note": None}
    assert engine.receipts.record(KEY, 1, "invoice", value, NOON) == Receipt(first=True, value=value)
    assert engine.receipts.record(KEY, 1, "invoice", {"invoice": "A-2"}, NOON) == Receipt(first=False, value=value)
    assert engine.receipts.record(KEY, 1, "invoice", value, NOON) == Receipt(first=False, value=value)


def test_each_name_and_each_run_has_its_own(engine: Engine) -> None:
    other = run(NOON + 60_000)
    engine.store.insert_run(run())
    engine.store.insert_run(other)
    records = [(KEY, "a"), (KEY, "b"), (other.key, "a")]
    assert all(engine.receipts.record(key, 1, name, None, NOON).first for key, name in records)


def test_a_later_attempt_finds_the_receipt_of_an_earlier_one(engine: Engine) -> None:
    engine.store.insert_run(run())
    engine.receipts.record(KEY, 1, "invoice", "A-1", NOON)
    engine.store.replace_run(run(rev=2, fence=2))
    assert engine.receipts.record(KEY, 2, "invoice", "A-2", NOON) == Receipt(first=False, value="A-1")


def test_an_attempt_that_lost_its_fence_records_nothing(engine: Engine) -> None:
    engine.store.insert_run(run())
    engine.store.replace_run(run(rev=2, fence=2))
    with pytest.raises(FenceLost):
        engine.receipts.record(KEY, 1, "invoice", "late", NOON)
    assert engine.receipts.record(KEY, 2, "invoice", "ours", NOON) == Receipt(first=True, value="ours")


def test_after_the_end_of_its_run_an_attempt_records_nothing(engine: Engine) -> None:
    with pytest.raises(FenceLost):
        engine.receipts.record(KEY, 1, "invoice", "no run", NOON)
    engine.store.insert_run(run())
    engine.store.replace_run(replace(run(), rev=2, status=RunStatus.SUCCEEDED))
    with pytest.raises(FenceLost):
        engine.receipts.record(KEY, 1, "invoice", "too late", NOON)


def test_an_attempt_that_does_not_know_of_its_cancellation_records_nothing_and_learns_it(engine: Engine) -> None:
    engine.store.insert_run(run())
    engine.store.replace_run(run().asked_to_cancel(CancelRequest(NOON, "ada")))
    with pytest.raises(CancelAsked):
        engine.receipts.record(KEY, 1, "invoice", "A-1", NOON)
    told = engine.receipts.record(KEY, 1, "invoice", "A-2", NOON, knows_of_cancel=True)
    assert told == Receipt(first=True, value="A-2")
    with pytest.raises(FenceLost):
        engine.receipts.record(KEY, 2, "invoice", "another's", NOON)
