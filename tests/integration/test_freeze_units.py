"""What a freeze costs, in units, counted under the real adapter: the same for one schedule and for a thousand."""

from dataclasses import replace

import pytest

from cronfleet.domain.freeze import Freeze, FreezeDirectory, FreezeList, TenantScope, with_freeze
from cronfleet.domain.instant import MINUTE, SECOND
from cronfleet.ports.freezes import PutFreezeDirectory, PutFreezeList
from cronfleet.ports.job_store import CreateTimer
from cronfleet.services.freeze_watch import FreezeWatch
from cronfleet.services.freezing import Freezing, Labels
from tests.support.builders import TENANT, every, timer
from tests.support.lived import ACME
from tests.support.settable_clock import NOON, CountingIds
from tests.support.stores import Engine, metered_engine
from tests.support.world import Notes

LABELS = Labels({"system": "billing"})


@pytest.fixture
def engine() -> Engine:
    return metered_engine()


def freezing(engine: Engine) -> Freezing:
    return Freezing(store=engine.store, clock=engine.clock, ids=CountingIds())


@pytest.mark.parametrize("schedules", [1, 1_000])
def test_a_freeze_and_a_thaw_write_as_much_for_a_thousand_schedules_as_for_one(engine: Engine, schedules: int) -> None:
    for number in range(schedules):
        engine.store.commit([CreateTimer(timer(every(60), NOON + MINUTE, schedule_id=f"s{number}"))])
    service, units = freezing(engine), list[float]()
    for _ in range(2):
        with engine.client.counted() as bill:
            freeze_id = service.freeze(ACME, LABELS, reason="the ledger moves").form["id"]
        units.append(bill.writes)
        with engine.client.counted() as bill:
            service.thaw(ACME, freeze_id, "it has moved")
        units.append(bill.writes)
    # The tenant's list, the directory, the audit entry with its index, and the end of its chain: two units each.
    assert max(units) <= 12


def crowded(number: int, directory: FreezeDirectory) -> FreezeDirectory:
    tenant = f"tenant-{number}"
    freeze = Freeze(f"f{number:025}", TenantScope(tenant), "ada", NOON, "unpaid", suspends=True)
    return with_freeze(FreezeList(tenant), directory, freeze, now=NOON, change_id="c" * 26)[1]


@pytest.mark.parametrize(("frozen", "units"), [(0, 1.0), (100, 1.0), (300, 1.0), (10_000, 3.0)])
def test_the_directory_costs_a_read_unit_or_few_however_many_tenants_are_frozen(
    engine: Engine, frozen: int, units: float
) -> None:
    directory = FreezeDirectory()
    for number in range(frozen):
        directory = crowded(number, directory)
    if frozen:
        engine.store.commit([PutFreezeDirectory(replace(directory, rev=1))])
    with engine.client.counted() as bill:
        assert engine.store.get_freeze_directory().marks == directory.marks
    assert bill.reads <= units


def test_what_is_frozen_is_read_once_a_second_however_often_it_is_asked(engine: Engine) -> None:
    freezing(engine).freeze(ACME, LABELS, reason="the ledger moves")
    watch = FreezeWatch(engine.store, engine.clock, Notes(), consistent=True)
    with engine.client.counted() as bill:
        for _ in range(100):
            assert watch.freezes([TENANT, "other"]).by_tenant[TENANT]
    assert bill.reads == 2.0, "the directory and the tenant's own list"
    engine.clock.advance(SECOND)
    with engine.client.counted() as bill:
        watch.freezes(["other"])
    assert bill.reads == 1.0, "nobody else's list is read"


def test_a_dispatchers_look_costs_half(engine: Engine) -> None:
    freezing(engine).freeze(ACME, LABELS, reason="the ledger moves")
    watch = FreezeWatch(engine.store, engine.clock, Notes(), consistent=False)
    with engine.client.counted() as bill:
        watch.freezes([TENANT])
    assert bill.reads == 1.0


def test_two_writes_are_one_transaction_for_a_tenant_and_one_is_enough_for_a_tier(engine: Engine) -> None:
    kept, directory = with_freeze(
        FreezeList(TENANT), FreezeDirectory(), Freeze("f", TenantScope(TENANT), "ada", NOON), now=NOON, change_id="c"
    )
    with engine.client.counted() as bill:
        engine.store.commit([PutFreezeList(kept), PutFreezeDirectory(directory)])
    assert bill.writes == 4.0
