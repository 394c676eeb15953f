"""What every job store promises about operations: kept exactly, moved on only from what was read, listed by time."""

from dataclasses import replace

import pytest

from cronfleet.domain.instant import DAY, MINUTE, SECOND
from cronfleet.domain.operation import Kind, Operation, Status
from cronfleet.domain.reason import Code, Reason
from cronfleet.ports.job_store import Refused
from cronfleet.ports.operations import PutOperation
from tests.support.examples import ORIGIN
from tests.support.settable_clock import NOON
from tests.support.stores import Engine

ASKED = {"schedules": [["nightly", 3, 1]], "from": NOON - DAY, "mode": "redo_all", "payload": [None]}
BARE = Operation("acme", "o1", Kind.BACKFILL, ASKED, "ada", NOON, "change-1")
FULL = replace(
    BARE,
    kind=Kind.REDRIVE,
    reason="«the mirror was down»",
    total=10_000,
    max_concurrent=200,
    rate_per_minute=60,
    status=Status.STOPPED,
    cursor="17",
    is_drawn=True,
    open=("acme~nightly~1~20261130T110000Z~backfill-o1",),
    counts={"succeeded": 7, "passed_over": 2},
    recent=("succeeded", "dead"),
    line_at=NOON + 5,
    stopped=Reason(Code.ATTEMPTS, "five died alike", {"runs": 5}),
    changed_at=NOON + SECOND,
    ended_at=NOON + MINUTE,
    rev=9,
    origin=ORIGIN,
)


@pytest.mark.parametrize("operation", [BARE, FULL], ids=["bare", "full"])
def test_an_operation_is_kept_as_it_was_put(engine: Engine, operation: Operation) -> None:
    engine.store.commit([PutOperation(operation, None)])
    assert engine.store.get_operation("acme", "o1") == operation
    assert engine.store.get_operation("acme", "o2") is None
    assert engine.store.get_operation("other", "o1") is None


def test_it_moves_on_only_from_the_revision_that_was_read(engine: Engine) -> None:
    engine.store.commit([PutOperation(BARE, None)])
    moved = replace(BARE, rev=2, change_id="change-2", counts={"succeeded": 1})
    engine.store.commit([PutOperation(moved, BARE)])
    for late in (replace(BARE, rev=2, change_id="change-3"), replace(moved, change_id="change-4")):
        with pytest.raises(Refused) as refused:
            engine.store.commit([PutOperation(late, BARE)])
        assert refused.value.stored == moved
    with pytest.raises(Refused):
        engine.store.commit([PutOperation(replace(BARE, change_id="change-5"), None)])
    assert engine.store.get_operation("acme", "o1") == moved


def test_a_write_whose_reply_was_lost_is_recognised(engine: Engine) -> None:
    engine.store.commit([PutOperation(BARE, None)])
    engine.store.commit([PutOperation(BARE, None)])


def test_a_tenants_operations_are_listed_newest_first_page_by_page(engine: Engine) -> None:
    made = [
        replace(BARE, operation_id=f"o{number}", created_at=NOON + number // 2, change_id=f"c{number}")
        for number in range(5)
    ]
    for operation in made:
        engine.store.commit([PutOperation(operation, None)])
    engine.store.commit([PutOperation(replace(BARE, tenant="other", change_id="c9"), None)])
    found, cursor = [], None
    for _ in range(5):
        page = engine.store.list_operations("acme", cursor=cursor, limit=2)
        found += page.items
        cursor = page.cursor
        if cursor is None:
            break
    assert cursor is None
    assert [one.created_at for one in found] == sorted((one.created_at for one in made), reverse=True)
    assert {one.operation_id for one in found} == {f"o{number}" for number in range(5)}
