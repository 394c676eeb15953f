"""What a tenant's life costs, in units, counted under the real adapter."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from cronfleet.domain.audit import AuditEntry, schedule_subject
from cronfleet.domain.deletion import MAX_PAGE, SETTLES_AFTER
from cronfleet.domain.instant import DAY, MINUTE, SECOND
from cronfleet.domain.role import Role
from cronfleet.domain.run import Run, RunKey, RunStatus
from cronfleet.domain.schedule import Change
from cronfleet.domain.tenant import Tenant, TenantStatus
from cronfleet.ports.job_store import CreateTimer, InsertAudit, InsertDefinition, PutTenant
from cronfleet.services.access import Caller
from cronfleet.services.deletions import Deletions
from cronfleet.services.tenant_life import TenantLife
from tests.support.builders import definition, every, timer
from tests.support.settable_clock import NOON, CountingIds
from tests.support.stores import Engine, metered_engine
from tests.support.world import Notes

ROWS = 1_000
ACTING = Caller(Tenant("acme", rev=1), "root", "request-1", Role.PLATFORM_ADMIN, home_tenant="home")


@dataclass
class Metered:
    """A store that counts, with two tenants, and the services on it."""

    engine: Engine

    def __post_init__(self) -> None:
        store, clock = self.engine.store, self.engine.clock
        self.ids = CountingIds()
        self.life = TenantLife(store=store, clock=clock, ids=self.ids)
        self.jobs = Deletions(store=store, clock=clock, ids=self.ids, telemetry=Notes())
        for tenant in ("home", "acme"):
            store.commit([PutTenant(Tenant(tenant, rev=1, change_id=f"made-{tenant}"), None)])

    def furnish(self, schedules: int, rows: int) -> None:
        """Schedules as their log names them, with so many rows each."""
        for number in range(schedules):
            name = f"job-{number:03}"
            made = timer(every(60), NOON + DAY, tenant="acme", schedule_id=name, change_id=f"made-{name}")
            filed = schedule_subject(name)
            entry = AuditEntry("acme", self.ids.unique(), NOON, "ada", Change.CREATE, filed, f"r-{name}")
            described = replace(definition(made.trigger, name), tenant="acme")
            self.engine.store.commit([CreateTimer(made), InsertDefinition(described), InsertAudit(entry)])
            for row in range(rows):
                key = RunKey("acme", name, 1, NOON - (row + 1) * SECOND)
                done = Run(key, RunStatus.SUCCEEDED, due_at=key.nominal_at, tier="standard", version=1)
                self.engine.store.insert_run(done)

    def delete(self) -> None:
        self.life.delete(ACTING, "acme", "contract ended")
        for _ in range(10):
            self.jobs.advance(self.engine.clock.now() + MINUTE)
            self.engine.clock.advance(SETTLES_AFTER)
        found = self.engine.store.get_tenant("acme")
        assert found is not None
        assert found.status is TenantStatus.DELETED


@pytest.fixture
def metered() -> Metered:
    return Metered(metered_engine())


def test_a_suspension_costs_what_its_transaction_costs_however_many_schedules_it_holds(metered: Metered) -> None:
    units = []
    for schedules in (0, 20):
        metered.furnish(schedules, 0)
        with metered.engine.client.counted() as bill:
            metered.life.suspend(ACTING, "unpaid")
        units.append(bill.writes)
        metered.life.resume(ACTING, "paid")
    # Of a transaction: the record, the list of freezes, the directory, the audit entry, the end of its chain, two each.
    assert units[0] <= 12
    assert units[1] <= units[0]


def test_what_is_removed_costs_its_own_deletion_and_a_tenth_more_for_the_note(metered: Metered) -> None:
    metered.furnish(5, ROWS // 5)
    with metered.engine.client.counted() as bill:
        metered.delete()
    deletes = sum(one.writes for one in bill.requests if one.operation == "BatchWriteItem")
    notes = bill.writes - deletes
    said: Any = metered.engine.store.get_deletion("acme")
    removed = sum(said.removed.values())
    assert removed >= ROWS
    assert deletes / removed <= 1.1
    assert notes / removed <= 0.2
    assert bill.reads / removed <= 1
    assert len([one for one in bill.requests if one.operation == "PutItem"]) <= removed / MAX_PAGE + 20


def test_a_sweep_without_a_deletion_costs_one_read(metered: Metered) -> None:
    with metered.engine.client.counted() as bill:
        metered.jobs.advance(NOON + MINUTE)
    assert (bill.writes, bill.reads) == (0, 1)
