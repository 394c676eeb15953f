"""What every job store promises about the audit log: lists, chains, and what can be found out about them."""

from dataclasses import replace
from typing import Any

import pytest

from cronfleet.domain.audit import AuditEntry, Broken, Wanted, id_prefix, schedule_subject
from cronfleet.domain.audit_chain import entry_digest, sealed, slice_of
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import DAY, HOUR, MINUTE, Instant
from cronfleet.ports import cursors
from cronfleet.ports.job_store import CreateTimer, InsertAudit, Refused
from tests.support.examples import TENANT, waiting
from tests.support.settable_clock import NOON
from tests.support.stores import Engine
from tests.support.tampering import Tampering

NIGHTLY = "schedule:nightly"


def entry(at: Instant, schedule_id: str = "nightly", tenant: str = TENANT, **changes: Any) -> AuditEntry:
    subject = changes.pop("subject", schedule_subject(schedule_id))
    values: dict[str, Any] = {"actor": "ada", "action": "pause", "reason": "x", **changes}
    entry_id = f"{id_prefix(at)}{schedule_id:0>16}"
    return AuditEntry(tenant, entry_id, at, subject=subject, request_id=f"r-{entry_id}", **values)


def write(store: Any, *entries: AuditEntry) -> None:
    for start in range(0, len(entries), 40):
        store.commit([InsertAudit(one) for one in entries[start : start + 40]])


def read(store: Any, since: Instant, until: Instant, limit: int = 100, **wanted: str) -> list[AuditEntry]:
    found: list[AuditEntry] = []
    cursor = None
    while True:
        about = Wanted(since, until, **{"subject": NIGHTLY, **wanted})
        page = store.list_audit(TENANT, about, cursor=cursor, limit=limit)
        assert len(page.items) <= limit
        found += page.items
        cursor = page.cursor
        if cursor is None:
            return found


# --- lists ---------------------------------------------------------------------------------------------------------


def test_one_schedules_entries_are_read_newest_first(store: Any) -> None:
    ours = [entry(NOON + number * MINUTE) for number in range(5)]
    write(store, *ours)
    write(store, entry(NOON, "other"), entry(NOON, tenant="rival"))
    assert read(store, NOON, NOON + HOUR) == ours[::-1]
    assert read(store, NOON, NOON + HOUR, limit=2) == ours[::-1]
    assert read(store, NOON + MINUTE, NOON + 3 * MINUTE) == ours[3:0:-1], "both ends are included"
    assert read(store, NOON + HOUR, NOON + 2 * HOUR) == []


def test_the_whole_log_is_read_by_who_and_what_and_when(store: Any) -> None:
    by_ada = entry(NOON)
    by_bob = entry(NOON + MINUTE, "other", actor="bob", action="resume")
    of_key = entry(NOON + 2 * MINUTE, "key", subject="key:01j", action="rotate")
    write(store, by_ada, by_bob, of_key)
    assert read(store, NOON, NOON + HOUR, subject="") == [of_key, by_bob, by_ada]
    assert read(store, NOON, NOON + HOUR, subject="", limit=1) == [of_key, by_bob, by_ada]
    assert read(store, NOON, NOON + HOUR, subject="", actor="bob") == [by_bob]
    assert read(store, NOON, NOON + HOUR, subject="", action="rotate") == [of_key]
    assert read(store, NOON, NOON + HOUR, subject="key:01j") == [of_key]
    assert read(store, NOON, NOON + HOUR, actor="bob") == []


def test_a_page_may_be_short_where_other_schedules_entries_lie_between(store: Any) -> None:
    first = entry(NOON)
    write(store, first)
    write(store, *(entry(NOON + MINUTE + number, f"o{number}") for number in range(240)))
    assert read(store, NOON, NOON + HOUR, limit=1) == [first]
    assert read(store, NOON, NOON + 30_000, limit=1, subject="") == [first]


def test_an_entry_is_found_by_its_own_time_although_its_id_is_a_little_older(store: Any) -> None:
    late = replace(entry(NOON), at=NOON + 20_000)
    write(store, late)
    assert read(store, NOON + 15_000, NOON + 25_000) == [late]
    assert read(store, NOON, NOON + 10_000) == []


def test_entries_from_before_there_were_chains_are_listed_after_those_in_one(engine: Engine) -> None:
    old = [entry(NOON - DAY + number * MINUTE) for number in range(3)]
    for one in [*old, entry(NOON - DAY, "other")]:
        Tampering(engine, TENANT).put(one)
    new = [entry(NOON + number * MINUTE) for number in range(3)]
    write(engine.store, *new)
    seal_all(engine.store)
    for limit in (1, 3, 4, 100):
        assert read(engine.store, NOON - 2 * DAY, NOON + HOUR, limit) == [*new[::-1], *old[::-1]]
    assert read(engine.store, NOON - 2 * DAY, NOON - DAY) == [old[0]]


def test_a_cursor_of_another_list_is_refused(engine: Engine) -> None:
    store = engine.store
    write(store, *(entry(NOON + number) for number in range(3)))
    foreign = ["x", "WyJhIl0x"]
    if engine.client is not None:
        foreign += [cursors.encode(["all", f"{id_prefix(NOON)}x"]), cursors.encode(["chain", "9"])]
        foreign.append(cursors.encode(["chain", f"{id_prefix(NOON)}{'x' * 100}"]))
    for cursor in foreign:
        with pytest.raises(Invalid):
            store.list_audit(TENANT, Wanted(NOON - HOUR, NOON + HOUR, NIGHTLY), cursor=cursor, limit=1)


def test_an_entry_that_cannot_be_read_is_left_out_of_lists_and_named_to_whoever_walks(engine: Engine) -> None:
    if engine.client is None:
        pytest.skip("memory holds values, all of which can be read")
    entries = [entry(NOON + number) for number in range(3)]
    write(engine.store, *entries)
    table, key = f"{engine.prefix}-audit", {"pk": {"S": TENANT}, "sk": {"S": entries[1].entry_id}}
    item = engine.client.get_item(TableName=table, Key=key, ConsistentRead=True)["Item"]
    engine.client.put_item(TableName=table, Item={**item, "after": {"S": "{"}})
    assert read(engine.store, NOON, NOON + HOUR) == [entries[2], entries[0]]
    assert read(engine.store, NOON, NOON + HOUR, subject="") == [entries[2], entries[0]]
    broken = engine.store.walk_audit(TENANT, "", 10)[1]
    assert isinstance(broken, Broken)
    assert broken.entry_id == entries[1].entry_id
    assert engine.store.get_audit(TENANT, [broken.entry_id]) == {broken.entry_id: broken}
    moved = {**item, "chain": {"S": f"{TENANT}#schedule:other"}}
    engine.client.put_item(TableName=table, Item=moved)
    assert isinstance(engine.store.walk_audit(TENANT, "", 10)[1], Broken)


# --- chains --------------------------------------------------------------------------------------------------------


def test_each_subject_has_a_chain_of_its_own_and_each_tenant_too(store: Any) -> None:
    entries = [entry(NOON), entry(NOON + 1, "other"), entry(NOON + 2), entry(NOON, tenant="rival")]
    for one in entries:
        write(store, one)
    first, other, second = store.walk_audit(TENANT, "", 10)
    (foreign,) = store.walk_audit("rival", "", 10)
    assert [one.link.seq for one in (first, other, second, foreign)] == [1, 1, 2, 1]
    assert (second.link.previous, second.link.previous_id) == (first.link.digest, first.entry_id)
    assert all(one.link.digest == entry_digest(one, one.link) for one in (first, other, second, foreign))
    head = store.get_heads(TENANT, [NIGHTLY])[NIGHTLY]
    assert (head.seq, head.entry_id, head.digest, head.first_id) == (
        2,
        second.entry_id,
        second.link.digest,
        first.entry_id,
    )
    assert [one.subject for one in store.walk_heads(TENANT, "", 10)] == [NIGHTLY, "schedule:other"]
    assert [one.subject for one in store.walk_heads(TENANT, NIGHTLY, 10)] == ["schedule:other"]
    assert store.get_heads(TENANT, ["schedule:none", NIGHTLY]) == {NIGHTLY: head}
    assert store.get_heads(TENANT, []) == {}


def test_entries_of_one_transaction_follow_one_another(store: Any) -> None:
    write(store, *(entry(NOON + number) for number in range(5)))
    assert [one.link.seq for one in store.walk_audit(TENANT, "", 10)] == [1, 2, 3, 4, 5]


def test_what_a_refused_transaction_would_have_said_has_no_place(store: Any) -> None:
    store.commit([CreateTimer(waiting()), InsertAudit(entry(NOON))])
    with pytest.raises(Refused):
        store.commit([CreateTimer(waiting(change_id="another")), InsertAudit(entry(NOON + 1))])
    assert [one.link.seq for one in store.walk_audit(TENANT, "", 10)] == [1]
    assert store.get_heads(TENANT, [NIGHTLY])[NIGHTLY].seq == 1


def test_an_entry_whose_reply_was_lost_keeps_its_place_when_it_is_written_again(store: Any) -> None:
    first = entry(NOON)
    write(store, first)
    write(store, entry(NOON + 1))
    write(store, first)
    assert [one.link.seq for one in store.walk_audit(TENANT, "", 10)] == [1, 2]
    assert store.get_heads(TENANT, [NIGHTLY])[NIGHTLY].seq == 2


def test_an_entry_is_read_with_everything_that_its_digest_is_made_of(store: Any) -> None:
    said = entry(
        NOON,
        before={"payload": {"b": 1.5, "a": [None, True, "é"]}, "share": 1e-7},
        after={"payload": {"a": 2**70, "b": -0.0}},
        credential="key-1",
        home_tenant="platform",
    )
    write(store, said)
    (stored,) = store.walk_audit(TENANT, "", 10)
    assert stored == said
    assert (stored.acting_for, stored.home_tenant, stored.credential) == (TENANT, "platform", "key-1")
    assert stored.link.digest == entry_digest(said, stored.link)
    assert store.get_audit(TENANT, [said.entry_id, "none"]) == {said.entry_id: said}


def test_a_log_is_walked_in_pages(store: Any) -> None:
    entries = [entry(NOON + number, f"s{number}") for number in range(7)]
    write(store, *entries)
    walked, after = [], ""
    while page := store.walk_audit(TENANT, after, 3):
        walked += page
        after = page[-1].entry_id
    assert walked == entries


# --- seals ---------------------------------------------------------------------------------------------------------


def seal_all(store: Any) -> None:
    heads = [head for head in store.walk_heads(TENANT, "", 100) if head.seal is None]
    seal = sealed(store.last_seal(TENANT), heads, NOON)
    assert store.put_seal(seal)
    for head in heads:
        store.mark_sealed(head, seal.number)


def waiting_for_a_seal(store: Any, tenant: str = TENANT, limit: int = 100) -> list[tuple[str, str]]:
    found, cursor = [], None
    while True:
        page = store.unsealed(slice_of(tenant), cursor, limit)
        found += page.items
        cursor = page.cursor
        if cursor is None:
            return found


def test_the_end_of_a_chain_waits_for_a_seal_until_it_is_marked_and_again_when_it_grows(store: Any) -> None:
    write(store, entry(NOON), entry(NOON + 1, "other"))
    both = [(TENANT, NIGHTLY), (TENANT, "schedule:other")]
    assert sorted(waiting_for_a_seal(store)) == sorted(waiting_for_a_seal(store, limit=1)) == both
    seal_all(store)
    assert waiting_for_a_seal(store) == []
    assert {head.seal for head in store.walk_heads(TENANT, "", 10)} == {1}
    write(store, entry(NOON + 2))
    assert waiting_for_a_seal(store) == [(TENANT, NIGHTLY)]


def test_an_end_that_has_grown_meanwhile_is_not_marked(store: Any) -> None:
    write(store, entry(NOON))
    (before,) = store.walk_heads(TENANT, "", 10)
    write(store, entry(NOON + 1))
    store.mark_sealed(before, 1)
    assert waiting_for_a_seal(store) == [(TENANT, NIGHTLY)]


def test_of_two_seals_of_one_number_one_is_written_and_known_again(store: Any) -> None:
    write(store, entry(NOON))
    heads = store.walk_heads(TENANT, "", 10)
    first, other = sealed(None, heads, NOON), sealed(None, heads, NOON + 1)
    assert store.last_seal(TENANT) is None
    assert store.put_seal(first)
    assert store.put_seal(first), "its reply was lost"
    assert not store.put_seal(other)
    second = sealed(first, heads, NOON - HOUR)
    assert (second.number, second.previous, second.at) == (2, first.digest, first.at), "time does not go back"
    assert store.put_seal(second)
    assert store.last_seal(TENANT) == second
    assert store.walk_seals(TENANT, 0, 10) == [first, second]
    assert store.walk_seals(TENANT, 1, 10) == [second]
    assert store.walk_seals(TENANT, 0, 1) == [first]
    assert store.walk_seals(TENANT, 2, 10) == []
    assert store.last_seal("rival") is None
