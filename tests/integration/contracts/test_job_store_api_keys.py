"""API keys: kept exactly, found by their ids, listed by their tenants, and changed on the condition that was read."""

from dataclasses import replace

import pytest

from cronfleet.domain.api_key import KEPT_AFTER_END, ApiKey
from cronfleet.domain.instant import DAY, SECOND
from cronfleet.domain.role import Role
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.job_store import ListApiKey, PutApiKey, Refused
from tests.support.settable_clock import NOON
from tests.support.stores import Engine

ACME = Tenant("acme", "priority")
KEY = ApiKey("k1", "0" * 64, ACME, Role.OPERATOR, "night shift", NOON, "ada", change_id="change-1")
ENDED = replace(
    KEY, key_id="k2", expires_at=NOON + DAY, revoked_at=NOON + 5, last_used_at=NOON + 1, replaced_by="k3", name=""
)
FIRST_ITEM = {
    "pk": {"S": "KEY#old"},
    "sk": {"S": "KEY"},
    "hash": {"S": "1" * 64},
    "tenant": {"S": "acme"},
    "tier": {"S": "standard"},
}


def put(engine: Engine, *keys: ApiKey) -> None:
    for key in keys:
        engine.store.commit([PutApiKey(key, None), ListApiKey(key)])


def ids(engine: Engine, tenant: str = "acme") -> list[str]:
    return [key.key_id for key in engine.store.list_api_keys(tenant, cursor=None, limit=50).items]


@pytest.mark.parametrize("key", [KEY, ENDED])
def test_a_key_is_kept_as_it_was_put_and_found_by_its_id(engine: Engine, key: ApiKey) -> None:
    put(engine, key)
    assert engine.store.find_api_key(key.key_id) == key
    assert engine.store.find_api_key("another") is None


def test_a_tenant_lists_its_own_keys_by_id_page_by_page(engine: Engine) -> None:
    put(engine, *(replace(KEY, key_id=f"k{number}") for number in (3, 1, 2)))
    put(engine, replace(KEY, key_id="k0", tenant=Tenant("acme2")))
    first = engine.store.list_api_keys("acme", cursor=None, limit=2)
    assert [key.key_id for key in first.items] == ["k1", "k2"]
    second = engine.store.list_api_keys("acme", cursor=first.cursor, limit=2)
    assert [key.key_id for key in second.items] == ["k3"]
    assert second.cursor is None
    assert ids(engine, "nobody") == []


def test_a_key_is_replaced_only_by_who_has_seen_it_as_it_is(engine: Engine) -> None:
    put(engine, KEY)
    after = replace(KEY, revoked_at=NOON, change_id="change-2")
    engine.store.commit([PutApiKey(after, KEY)])
    with pytest.raises(Refused) as refused:
        engine.store.commit([PutApiKey(replace(KEY, change_id="change-3"), KEY)])
    assert refused.value.stored == after
    with pytest.raises(Refused):
        put(engine, replace(KEY, change_id="change-4"))
    assert engine.store.find_api_key("k1") == after


def test_a_write_whose_reply_was_lost_is_recognised(engine: Engine) -> None:
    put(engine, KEY)
    put(engine, KEY)
    assert ids(engine) == ["k1"]


def test_a_use_is_noted_and_nothing_else_of_the_key_changes(engine: Engine) -> None:
    put(engine, KEY)
    engine.store.note_use(KEY, NOON + 7)
    assert engine.store.find_api_key("k1") == replace(KEY, last_used_at=NOON + 7)


def test_a_use_of_a_key_that_has_gone_makes_no_key(engine: Engine) -> None:
    engine.store.note_use(KEY, NOON)
    assert engine.store.find_api_key("k1") is None


def test_a_change_that_was_decided_before_a_use_was_noted_goes_through(engine: Engine) -> None:
    put(engine, KEY)
    engine.store.note_use(KEY, NOON + 7)
    after = replace(KEY, revoked_at=NOON + 8, change_id="change-2")
    engine.store.commit([PutApiKey(after, KEY)])
    assert engine.store.find_api_key("k1") == after


def test_a_key_of_the_first_release_is_a_tenant_admins_and_is_listed_at_its_next_use(engine: Engine) -> None:
    if engine.client is None:
        return
    engine.client.put_item(TableName=f"{engine.prefix}-tenants", Item=FIRST_ITEM)
    key = engine.store.find_api_key("old")
    assert key == ApiKey("old", "1" * 64, Tenant("acme"), Role.TENANT_ADMIN, is_listed=False)
    assert ids(engine) == []
    engine.store.note_use(key, NOON)
    assert ids(engine) == ["old"]
    used = engine.store.find_api_key("old")
    engine.store.commit([PutApiKey(replace(used, revoked_at=NOON, change_id="change-1"), used)])
    with pytest.raises(Refused):
        engine.store.commit([PutApiKey(replace(used, change_id="change-2"), used)])


def test_what_has_ended_is_forgotten_by_the_table_some_time_after(engine: Engine) -> None:
    put(engine, ENDED)
    if engine.client is None:
        return
    for place in (("KEY#k2", "KEY"), ("TENANT#acme", "KEY#k2")):
        item = engine.client.get_item(
            TableName=f"{engine.prefix}-tenants",
            Key={"pk": {"S": place[0]}, "sk": {"S": place[1]}},
            ConsistentRead=True,
        )["Item"]
        assert item["expires_at"]["N"] == str((ENDED.revoked_at + KEPT_AFTER_END) // SECOND)
