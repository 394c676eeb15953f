"""Tenants' records, on every store."""

import pytest

from cronfleet.domain.tenant import Tenant, TenantStatus
from cronfleet.ports.job_store import JobStore, Refused
from cronfleet.ports.tenants import PutTenant

ACME = Tenant(
    "acme",
    "priority",
    TenantStatus.SUSPENDED,
    (("burst", 5), ("schedules", 7)),
    name="Acme & Söhne",
    created_at=1_000,
    updated_at=2_000,
    reason="unpaid",
    rev=1,
    change_id="first",
)


def changed(before: Tenant, change_id: str) -> Tenant:
    return Tenant(before.tenant_id, before.tier, rev=before.rev + 1, change_id=change_id)


def test_a_tenant_is_read_as_it_was_put(store: JobStore) -> None:
    store.commit([PutTenant(ACME, None)])

    assert store.get_tenant("acme") == ACME
    assert store.get_tenants(["acme", "nobody"]) == {"acme": ACME}
    assert store.get_tenant("nobody") is None


def test_a_record_is_replaced_only_as_it_was_read(store: JobStore) -> None:
    store.commit([PutTenant(ACME, None)])
    second = changed(ACME, "second")
    store.commit([PutTenant(second, ACME)])

    with pytest.raises(Refused) as refused:
        store.commit([PutTenant(changed(ACME, "other"), ACME)])
    with pytest.raises(Refused):
        store.commit([PutTenant(changed(Tenant("acme"), "other"), None)])

    assert refused.value.stored == second
    assert store.get_tenant("acme") == second


def test_a_write_whose_reply_was_lost_is_recognised(store: JobStore) -> None:
    store.commit([PutTenant(ACME, None)])
    second = changed(ACME, "second")
    store.commit([PutTenant(second, ACME)])

    store.commit([PutTenant(second, ACME)])

    assert store.get_tenant("acme") == second


def test_tenants_are_listed_by_id_page_on_page(store: JobStore) -> None:
    for name in ("b", "c", "a"):
        store.commit([PutTenant(Tenant(name, rev=1, change_id=name), None)])

    first = store.list_tenants(cursor=None, limit=2)
    second = store.list_tenants(cursor=first.cursor, limit=2)

    assert [one.tenant_id for one in (*first.items, *second.items)] == ["a", "b", "c"]
    assert first.cursor is not None
    assert second.cursor is None
