"""What watching and telling cost, in units, counted under the real adapter; without objectives it is nothing."""

from dataclasses import replace
from typing import Any

import pytest

from cronfleet.domain.incident import Broken, IncidentKind
from cronfleet.domain.instant import DAY, HOUR, MINUTE
from cronfleet.domain.objective import Objectives
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.alerts import PutAlert
from cronfleet.ports.job_store import CreateTimer, InsertDefinition, PutTenant
from cronfleet.services.incidents import Incidents
from cronfleet.services.letter_watch import LetterWatch
from cronfleet.services.self_watch import SelfWatch
from cronfleet.services.shard_watch import ShardWatch
from cronfleet.services.waking import waking
from cronfleet.services.watching import Watching
from tests.support.builders import cron, definition, timer
from tests.support.settable_clock import NOON, CountingIds
from tests.support.stores import Engine, metered_engine
from tests.support.watch_room import CHANNEL
from tests.support.world import Notes

NIGHTLY = cron("0 2 * * *")
BROKEN = Broken(NOON, "the fire of noon did not start within 5m", {"nominal_at": NOON}, ("nightly",), 1)


@pytest.fixture
def engine() -> Engine:
    return metered_engine()


def incidents(engine: Engine) -> Incidents:
    return Incidents(store=engine.store, clock=engine.clock, ids=CountingIds(), shards=1)


def watched(engine: Engine, objectives: Objectives | None) -> Any:
    one = replace(timer(NIGHTLY, NOON + HOUR), is_watched=objectives is not None)
    described = replace(definition(NIGHTLY, objectives=objectives), created_at=NOON - DAY)
    engine.store.commit([CreateTimer(one), InsertDefinition(described)])
    return one


def test_a_change_of_a_schedule_without_objectives_reads_and_writes_nothing_for_them(engine: Engine) -> None:
    one = watched(engine, None)
    with engine.client.counted() as bill:
        assert waking(engine.store, one, one, NOON, 1) == ()
    assert (bill.writes, bill.reads) == (0, 0)


def test_a_look_at_which_nothing_is_broken_writes_two_units(engine: Engine) -> None:
    watched(engine, Objectives(starts_within_seconds=300))
    watching = Watching(store=engine.store, clock=engine.clock, incidents=incidents(engine), telemetry=Notes())
    watching.carry_on("acme", "nightly", NOON + HOUR)
    engine.clock.advance(MINUTE)
    with engine.client.counted() as bill:
        watching.carry_on("acme", "nightly", NOON + HOUR)
    assert bill.writes == 2
    assert bill.reads <= 7


def test_an_edge_writes_the_incident_and_its_standing_and_for_each_channel_a_notice_with_its_errand(
    engine: Engine,
) -> None:
    engine.store.commit([PutAlert(CHANNEL)])
    with engine.client.counted() as bill:
        incidents(engine).open("acme", "schedule:nightly", IncidentKind.STARTS_WITHIN, BROKEN)
    # Two for each item in a transaction, and two more for the errand's place in the due index.
    assert bill.writes <= 2 + 2 + 2 + 4


def test_an_installation_of_which_no_shard_is_stopped_asks_once_a_sweep(engine: Engine) -> None:
    watch = ShardWatch(store=engine.store, incidents=incidents(engine))
    with engine.client.counted() as bill:
        watch.served(dict.fromkeys(range(64), NOON), NOON)
    assert (bill.writes, bill.reads) == (0, 1)


def test_an_installation_without_dead_letters_is_looked_at_once_an_hour_for_two_reads_a_tenant(engine: Engine) -> None:
    tenants = [Tenant(f"t{number}", rev=1) for number in range(10)]
    engine.store.commit([PutTenant(one, None) for one in tenants])
    watch = LetterWatch(store=engine.store, incidents=incidents(engine), clock=engine.clock, telemetry=Notes())
    with engine.client.counted() as bill:
        assert watch.look(NOON + HOUR) == 10
    # How far it was; the list of tenants with their records; of each its oldest letter, and what it was told.
    assert bill.reads <= 1 + 1 + 5 + 2 * 10
    assert bill.writes <= 2
    with engine.client.counted() as bill:
        assert watch.look(NOON + HOUR) == 0
    assert (bill.writes, bill.reads) == (0, 1)


def test_watching_itself_an_installation_reads_half_a_unit_for_each_shard_and_three_and_writes_two(
    engine: Engine,
) -> None:
    watch = SelfWatch(store=engine.store, incidents=incidents(engine))
    watch.beat(NOON)
    with engine.client.counted() as bill:
        assert not watch.overdue(0, NOON)
    assert (bill.writes, bill.reads) == (0, 0.5)
    with engine.client.counted() as bill:
        watch.judge((), (), NOON, is_all_claims=True, is_all=True)
        watch.beat(NOON + MINUTE)
    assert bill.writes == 2
    assert bill.reads <= 3
