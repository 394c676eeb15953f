"""Errands: one of each kind and id, changed on the condition of its rev, waiting in the due index of its shard."""

from typing import Any

import pytest

from cronfleet.domain.claim import Unreadable
from cronfleet.domain.errand import Errand, ErrandKind, new_errand
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import MINUTE, SECOND
from cronfleet.ports.job_store import PutErrand, Refused
from tests.support.settable_clock import NOON
from tests.support.stores import Engine

SHARDS = 2


def errand(errand_id: str = "b1", due_at: int = NOON, tenant: str = "acme", **more: Any) -> Errand:
    return new_errand(tenant, more.pop("kind", ErrandKind.OPERATION), errand_id, due_at, now=NOON, shards=SHARDS)


def put(engine: Engine, *errands: Errand) -> None:
    engine.store.commit([PutErrand(one) for one in errands])


def due(engine: Engine, until: int) -> list[Any]:
    return [item for shard in range(SHARDS) for item in engine.store.due(shard, until, None, 10).items]


def test_an_errand_is_kept_as_it_was_put_and_waits_in_its_shard(engine: Engine) -> None:
    mine, other = errand(), errand(kind=ErrandKind.WATCH)
    put(engine, mine, other, errand(tenant="acme-2"))
    assert engine.store.get_errand("acme", ErrandKind.OPERATION, "b1") == mine
    assert engine.store.get_errand("acme", ErrandKind.WATCH, "b1") == other
    assert engine.store.get_errand("acme", ErrandKind.NOTICE, "b1") is None
    assert engine.store.due(mine.shard, NOON, None, 10).items.count(mine) == 1
    assert due(engine, NOON - SECOND) == []


def test_there_is_one_of_each(engine: Engine) -> None:
    put(engine, errand())
    with pytest.raises(Refused) as refused:
        put(engine, errand(due_at=NOON + MINUTE))
    assert refused.value.stored == errand()


def test_it_is_put_anew_only_instead_of_what_was_read(engine: Engine) -> None:
    first = errand()
    put(engine, first)
    second = first.moved(NOON + MINUTE)
    engine.store.commit([PutErrand(second, first)])
    assert engine.store.get_errand(*first.key[:1], first.kind, "b1") == second
    with pytest.raises(Refused) as refused:
        engine.store.commit([PutErrand(first.moved(NOON + SECOND), first)])
    assert refused.value.stored == second


def test_a_move_counts_once_and_is_recognised_when_its_reply_was_lost(engine: Engine) -> None:
    first = errand()
    put(engine, first)
    assert engine.store.move_errand(first, NOON + MINUTE)
    assert engine.store.move_errand(first, NOON + MINUTE), "the same move, asked again"
    assert not engine.store.move_errand(first, NOON + SECOND), "another one, of what is no more"
    stored = engine.store.get_errand("acme", first.kind, "b1")
    assert stored == first.moved(NOON + MINUTE)
    assert due(engine, NOON) == []
    assert due(engine, NOON + MINUTE) == [stored]


def test_failures_are_kept_by_whoever_does_not_count_them_and_the_index_does_not_tell_of_them(engine: Engine) -> None:
    put(engine, errand())
    assert engine.store.move_errand(errand(), NOON + MINUTE, 3)
    (seen,) = due(engine, NOON + MINUTE)
    assert seen.failures == 0
    assert engine.store.move_errand(seen, NOON + MINUTE + SECOND)
    stored = engine.store.get_errand("acme", ErrandKind.OPERATION, "b1")
    assert (stored.failures, stored.rev) == (3, NOON + 2)
    assert engine.store.move_errand(stored, NOON + 2 * MINUTE, 0)
    assert engine.store.get_errand("acme", ErrandKind.OPERATION, "b1").failures == 0


def test_a_retired_errand_is_gone_and_only_who_read_it_last_may_retire_it(engine: Engine) -> None:
    first = errand()
    put(engine, first)
    engine.store.move_errand(first, NOON + MINUTE)
    assert not engine.store.retire_errand(first)
    assert engine.store.retire_errand(first.moved(NOON + MINUTE))
    assert engine.store.retire_errand(first.moved(NOON + MINUTE)), "asked again"
    assert engine.store.get_errand("acme", first.kind, "b1") is None
    assert due(engine, NOON + MINUTE) == []
    assert not engine.store.move_errand(first, NOON + MINUTE), "nothing comes back"
    assert engine.store.get_errand("acme", first.kind, "b1") is None


def test_what_stands_behind_a_page_of_the_index_is_found_by_its_keys(engine: Engine) -> None:
    put(engine, *(errand(f"b{number}") for number in range(6)))
    shard = errand("b0").shard
    page = engine.store.due(shard, NOON, None, 1)
    rest = engine.store.peek(shard, NOON, page.cursor, 10).items
    found = engine.store.get_due(rest)
    assert {key.tenant for key in rest} <= {"acme"}
    assert sorted(one.errand_id for one in (*page.items, *found)) == sorted(
        f"b{number}" for number in range(6) if errand(f"b{number}").shard == shard
    )


def test_a_spoilt_errand_is_an_item_that_cannot_be_read_and_stops_nobody(engine: Engine) -> None:
    if engine.client is None:
        pytest.skip("the memory store holds values, which cannot be spoilt")
    put(engine, errand(), errand("b2"))
    place = next(item for item in _items(engine) if item["sk"]["S"].endswith("#b1"))
    engine.client.put_item(TableName=f"{engine.prefix}-schedules", Item={**place, "sk": {"S": "ERRAND#none#b1"}})
    found = due(engine, NOON)
    assert {one.errand_id for one in found if isinstance(one, Errand)} == {"b1", "b2"}
    assert [one.sort for one in found if isinstance(one, Unreadable)] == ["ERRAND#none#b1"]


def _items(engine: Engine) -> list[Any]:
    items: list[Any] = engine.client.scan(TableName=f"{engine.prefix}-schedules", Limit=100)["Items"]
    return items


@pytest.mark.parametrize("errand_id", ["", "a#b", "-a", "a" * 241, "a b"])
def test_an_id_that_is_no_key_is_refused(errand_id: str) -> None:
    with pytest.raises(Invalid, match="errand_id"):
        errand(errand_id)
