"""Heartbeat URLs and pings: kept exactly, found by name and time, and written on the condition that was read."""

from dataclasses import replace

import pytest

from cronfleet.domain.heartbeat import PING_LIFE, Heartbeat, Ping, PingState
from cronfleet.domain.instant import SECOND
from cronfleet.ports.job_store import InsertPing, PutHeartbeat, Refused
from tests.support.settable_clock import NOON
from tests.support.stores import Engine

URL = Heartbeat("acme", "nightly", 3, "d" * 64, "key-1", NOON, NOON - 5, "change-1", 29_941_200, 7)
OTHER = replace(URL, schedule_id="hourly")


def ping(number: int, **changes: object) -> Ping:
    return replace(Ping("acme", "nightly", f"p{number:025}", NOON + number * SECOND), **changes)


def test_a_url_is_kept_as_it_was_put_and_found_by_its_name_alone(engine: Engine) -> None:
    engine.store.commit([PutHeartbeat(URL, None)])
    assert engine.store.get_heartbeat(URL.name) == URL
    assert engine.store.get_heartbeat(OTHER.name) is None


def test_a_url_is_replaced_only_by_who_has_seen_it_as_it_is(engine: Engine) -> None:
    engine.store.commit([PutHeartbeat(URL, None)])
    after = replace(URL, change_id="change-2", pings=8)
    engine.store.commit([PutHeartbeat(after, URL)])
    with pytest.raises(Refused) as refused:
        engine.store.commit([PutHeartbeat(replace(URL, change_id="change-3"), URL)])
    assert refused.value.stored == after
    with pytest.raises(Refused):
        engine.store.commit([PutHeartbeat(replace(URL, change_id="change-4"), None)])
    assert engine.store.get_heartbeat(URL.name) == after


def test_a_write_whose_reply_was_lost_is_recognised(engine: Engine) -> None:
    writes = [PutHeartbeat(URL, None), InsertPing(ping(1))]
    engine.store.commit(writes)
    engine.store.commit(writes)
    assert len(engine.store.list_pings(URL.name, since=0, until=NOON * 2, cursor=None, limit=9).items) == 1


def test_a_ping_is_not_written_when_its_url_has_changed(engine: Engine) -> None:
    engine.store.commit([PutHeartbeat(URL, None)])
    stale = replace(URL, change_id="another")
    with pytest.raises(Refused):
        engine.store.commit([PutHeartbeat(replace(URL, change_id="change-5"), stale), InsertPing(ping(1))])
    assert not engine.store.list_pings(URL.name, since=0, until=NOON * 2, cursor=None, limit=9).items


def test_pings_are_kept_exactly_and_come_newest_first_page_by_page(engine: Engine) -> None:
    pings = [
        ping(0),
        ping(1, state=PingState.START),
        ping(2, state=PingState.FAIL, exit_code=255, message="läuft nicht – «no space»"),
        ping(2, ping_id="q", exit_code=0),
        ping(3),
    ]
    for one in pings:
        engine.store.commit([InsertPing(one)])
    engine.store.commit([InsertPing(replace(ping(1), schedule_id="hourly"))])
    found, cursor = [], None
    for _ in range(5):
        page = engine.store.list_pings(URL.name, since=NOON, until=NOON + 3 * SECOND, cursor=cursor, limit=2)
        found += page.items
        cursor = page.cursor
        if cursor is None:
            break
    assert found == pings[::-1]


def test_both_ends_of_a_stretch_of_pings_belong_to_it(engine: Engine) -> None:
    for number in range(4):
        engine.store.commit([InsertPing(ping(number))])
    read = engine.store.list_pings(URL.name, since=NOON + SECOND, until=NOON + 2 * SECOND, cursor=None, limit=9)
    assert list(read.items) == [ping(2), ping(1)]
    assert not engine.store.list_pings(URL.name, since=NOON + 2, until=NOON + 1, cursor=None, limit=9).items


def test_a_ping_expires_with_the_rows_that_it_is_compared_with(engine: Engine) -> None:
    engine.store.commit([InsertPing(ping(0))])
    if engine.client is None or not engine.prefix:
        return
    table = f"{engine.prefix}-heartbeats"
    answer = engine.client.query(
        TableName=table,
        KeyConditionExpression="#pk = :name",
        ExpressionAttributeNames={"#pk": "pk"},
        ExpressionAttributeValues={":name": {"S": URL.name}},
        Limit=5,
        ScanIndexForward=True,
        ConsistentRead=True,
    )
    assert [item["expires_at"]["N"] for item in answer["Items"]] == [str((NOON + PING_LIFE) // SECOND)]
