"""What identity costs: units of the authorizer and of the API's admission, as docs/identity.md says them."""

from dataclasses import replace
from typing import Any

from cronfleet.domain.api_key import USE_NOTED_EVERY, ApiKey, digest_of
from cronfleet.domain.role import Role
from cronfleet.domain.tenant import Tenant
from cronfleet.services.access import Access, Caller
from cronfleet.services.admission import Admission
from tests.support.settable_clock import NOON
from tests.support.stores import Engine, metered_engine

KEY = "cf_key_0123456789abcdef"
ACME = Tenant("acme", rev=1, change_id="c" * 26, created_at=NOON, updated_at=NOON)
CALLER = Caller(ACME, "key", "request", Role.EDITOR)


def units(engine: Engine, work: Any) -> tuple[float, float]:
    """Read and write units of `work`."""
    with engine.client.counted() as bill:
        work()
    return sum(one.reads for one in bill.requests), sum(one.writes for one in bill.requests)


def made() -> Engine:
    engine = metered_engine()
    engine.store.put_api_key(ApiKey("key", digest_of(KEY), ACME, Role.EDITOR, "night shift", NOON, change_id="c" * 26))
    return engine


def test_a_credential_costs_two_reads_and_every_five_minutes_a_write_and_the_question_whether_it_may_be() -> None:
    engine = made()
    access = Access(store=engine.store, clock=engine.clock)
    assert units(engine, lambda: access.credential_of(f"Bearer {KEY}")) == (3, 1)
    assert units(engine, lambda: access.credential_of(f"Bearer {KEY}")) == (2, 0)
    engine.clock.advance(USE_NOTED_EVERY)
    assert units(engine, lambda: access.credential_of(f"Bearer {KEY}")) == (3, 1)


def test_a_wrong_secret_costs_one_read_and_writes_nothing() -> None:
    engine = made()
    access = Access(store=engine.store, clock=engine.clock)
    assert units(engine, lambda: access.credential_of(f"Bearer {KEY}x")) == (1, 0)


def test_a_request_that_reads_costs_a_fraction_of_a_unit() -> None:
    """The tenant's record each half minute; places of the key's line in bulk, the first of them on a line at rest."""
    engine = made()
    admission = Admission(store=engine.store, clock=engine.clock)

    def ask() -> None:
        for _ in range(400):
            admission.at_home(CALLER, reads=True)
            engine.clock.advance(30)

    reads, writes = units(engine, ask)
    assert reads == 0.5
    assert writes / 400 <= 0.1


def test_a_request_that_changes_something_reads_its_tenant_as_it_is() -> None:
    engine = made()
    admission = Admission(store=engine.store, clock=engine.clock)
    admission.at_home(CALLER, reads=True)
    assert units(engine, lambda: admission.at_home(CALLER, reads=False)) == (1, 0)


def test_acting_for_another_tenant_costs_one_read() -> None:
    engine = made()
    admission = Admission(store=engine.store, clock=engine.clock)
    admin = replace(CALLER, role=Role.PLATFORM_ADMIN, tenant=Tenant("operations"))
    assert units(engine, lambda: admission.acting_for(admin, "acme")) == (1, 0)
