"""What each step of a firing costs in write and read units, counted by the engine, against the budgets.

The whole chain is counted by `benchmarks/metering`, which `test_metering.py` holds against the engine.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from cronfleet.domain.audit_chain import SEAL_SLICES
from cronfleet.domain.calendar import CalendarRule, Mode
from cronfleet.domain.calendar_form import parse_content
from cronfleet.domain.claim import MAX_BATCH_ENTRIES, Batch, BatchId, ClaimOutcome, RunClaim, ScheduleClaim
from cronfleet.domain.instant import MINUTE, SECOND
from cronfleet.domain.lease import SLOT
from cronfleet.domain.run import Outcome, RunStatus
from cronfleet.domain.schedule import Status, Timer
from cronfleet.domain.slot import Slot, holder_of
from cronfleet.domain.trigger import CronTrigger
from cronfleet.ports.job_store import (
    CreateTimer,
    InsertAudit,
    InsertCalendar,
    InsertDefinition,
    InsertRunTimer,
    ReplaceRun,
    UpdateTimer,
)
from cronfleet.ports.schedule_counts import CountSchedules
from cronfleet.services.sealing import Sealer
from tests.support import examples
from tests.support.builders import cron
from tests.support.capacity import counted
from tests.support.examples import TENANT, changed, claim_of, run, run_timer, waiting
from tests.support.settable_clock import NOON
from tests.support.stores import Engine, dynamodb_engine
from tests.support.world import Notes

pytestmark = pytest.mark.emulator

BATCH = BatchId(0, 1, 1)
LONG = "x" * 64


@pytest.fixture
def engine(emulator_dynamodb: object) -> Iterator[Engine]:
    with dynamodb_engine(emulator_dynamodb) as made:
        yield made


def largest(schedule_id: str = LONG) -> Timer:
    """A timer with every id at its longest."""
    return replace(
        waiting(schedule_id, tenant=LONG, tier="priority", shard=1_023, jitter_seconds=60, change_id="c" * 26),
        trigger=cron("0,10,20,30,40,50 0-6,18-23 1-15 1,4,7,10 mon-fri", "America/Argentina/ComodRivadavia"),
        rev=999_999,
        epoch=999_999,
        epoch_starts=(NOON,),
        born_epoch=1,
        created_at=NOON,
        updated_at=NOON,
        start_at=NOON,
        end_at=NOON + MINUTE,
        claim_batch="1023.999999999.999999",
    )


def writes_of(engine: Engine, *claims: ScheduleClaim | RunClaim) -> float:
    with counted(engine.client) as capacity:
        assert engine.store.claim(BATCH, claims) == [ClaimOutcome.WON] * len(claims)
    return capacity.writes


def calendared(timer: Timer) -> Timer:
    """The same under a calendar whose name is as long as it may be."""
    rule = CalendarRule("c" * 32, 9_999, Mode.NTH_BUSINESS_DAY, -22, pinned=True)
    trigger = timer.trigger if isinstance(timer.trigger, CronTrigger) else cron("0 2 * * *")
    return replace(timer, trigger=replace(trigger, calendar=rule))


@pytest.mark.parametrize(
    "timer",
    [waiting(), largest(), calendared(waiting()), calendared(largest())],
    ids=["ordinary", "largest", "with a calendar", "largest with a calendar"],
)
def test_a_claim_costs_three_units_whatever_the_length_of_its_ids(engine: Engine, timer: Timer) -> None:
    engine.store.commit([CreateTimer(timer)])
    assert writes_of(engine, claim_of(timer)) == 3.0


@pytest.mark.parametrize("timer", [waiting(), calendared(waiting())], ids=["ordinary", "with a calendar"])
def test_the_last_claim_of_a_schedule_costs_three_units(engine: Engine, timer: Timer) -> None:
    engine.store.commit([CreateTimer(timer)])
    assert writes_of(engine, claim_of(timer, following=None)) == 3.0


def test_a_calendar_is_read_once_by_a_process_however_many_schedules_use_it(engine: Engine) -> None:
    timers = [replace(calendared(waiting(f"s{number}")), shard=0) for number in range(5)]
    content = parse_content({"holidays": ["2026-12-25"]}).of(TENANT, "c" * 32, 9_999)
    engine.store.commit([InsertCalendar(content), *map(CreateTimer, timers)])
    with counted(engine.client) as first:
        assert len(engine.store.due(0, NOON, None, 10).items) == 5
    with counted(engine.client) as second:
        assert len(engine.store.due(0, NOON, None, 10).items) == 5
    assert first.reads - second.reads == 0.5, "one eventually consistent read of less than 4 KB"


def test_retiring_a_runs_timer_costs_two_units(engine: Engine) -> None:
    engine.store.commit([InsertRunTimer(run_timer())])
    assert writes_of(engine, RunClaim(run_timer())) == 2.0


def test_a_deferral_costs_three_units(engine: Engine) -> None:
    engine.store.commit([CreateTimer(waiting())])
    with counted(engine.client) as capacity:
        assert engine.store.defer(waiting(), NOON + SECOND, examples.WHY)
    assert capacity.writes == 3.0


def test_starting_and_finishing_a_run_cost_one_unit_each(engine: Engine) -> None:
    started = run(schedule_id=LONG)
    ended = replace(started.attempts[0], finished_at=NOON + MINUTE, outcome=Outcome.SUCCEEDED)
    finished = replace(started, status=RunStatus.SUCCEEDED, rev=2, attempts=(ended,), finished_at=NOON + MINUTE)
    with counted(engine.client) as capacity:
        assert engine.store.insert_run(started) is None
        assert engine.store.replace_run(finished) is None
    assert capacity.requests == [("PutItem", 1.0), ("PutItem", 1.0)]


def test_the_gate_costs_two_units(engine: Engine) -> None:
    with counted(engine.client) as capacity:
        engine.store.take_gate(TENANT, "nightly", run().key.run_id, NOON, None)
        engine.store.release_gate(TENANT, "nightly", run().key.run_id, NOON)
    assert capacity.writes == 2.0


def test_a_slot_costs_two_units_and_the_look_at_a_tenants_slots_one_read(engine: Engine) -> None:
    store = engine.store
    holder = holder_of(run(schedule_id=LONG).key.run_id, 1, NOON)
    slots = [Slot(LONG, number) for number in range(1, 6)]
    with counted(engine.client) as capacity:
        for slot in slots:
            store.take_slot(slot.taken(holder, NOON, NOON + MINUTE), slot)
        for slot in slots:
            assert store.release_slot(LONG, slot.number, 1, holder, NOON + SECOND)
    assert capacity.writes == 2.0 * len(slots)
    with counted(engine.client) as capacity:
        assert len(store.get_slots(LONG)) == len(slots)
    assert capacity.reads == 1.0


def test_an_empty_tick_costs_one_write_and_one_read(engine: Engine) -> None:
    with counted(engine.client) as capacity:
        assert engine.store.take_lease(0, NOON, "owner", NOON + SLOT, NOON) is not None
        assert not engine.store.due(0, NOON, None, MAX_BATCH_ENTRIES).items
    assert capacity.writes == 1.0
    assert 0.0 < capacity.reads <= 1.0


def herd(size: int) -> list[Timer]:
    return [waiting(f"{number:04}-nightly-billing-of-a-customer") for number in range(size)]


@pytest.mark.parametrize(("size", "budget"), [(50, 5.3), (MAX_BATCH_ENTRIES, 5.3), (1, 9.0)])
def test_an_ordinary_firing_stays_in_its_budget_of_writes(engine: Engine, size: int, budget: float) -> None:
    store = engine.store
    timers = herd(size)
    for timer in timers:
        store.commit([CreateTimer(timer)])
    with counted(engine.client) as capacity:
        lease = store.take_lease(0, NOON, "0" * 26, NOON + SLOT, NOON)
        page = store.due(0, NOON, None, MAX_BATCH_ENTRIES)
        batch = Batch(BATCH, None, NOON, tuple(map(claim_of, page.items)))
        store.put_batch(batch)
        assert store.announce(lease, BATCH, NOON + 15 * SECOND)
        assert store.claim(BATCH, batch.claims) == [ClaimOutcome.WON] * size
        for message in batch.messages().values():
            started = run(schedule_id=message.key.schedule_id)
            store.insert_run(started)
            store.replace_run(replace(started, status=RunStatus.SUCCEEDED, rev=2, finished_at=NOON + SECOND))
        assert store.release(lease, frozenset())
    assert 5.0 < capacity.writes / size <= budget
    log = next(units for operation, units in capacity.requests if operation == "PutItem")
    assert log <= 5.0, "the batch in the dispatch log"


def test_an_ordinary_firing_stays_in_its_budget_of_reads(engine: Engine) -> None:
    store = engine.store
    timers = herd(50)
    for timer in timers:
        definition = examples.definition(examples.MINUTELY, timer.schedule_id)
        store.commit([CreateTimer(timer), InsertDefinition(definition)])
    with counted(engine.client) as capacity:
        page = store.due(0, NOON, None, MAX_BATCH_ENTRIES)
        for timer in page.items:
            assert store.get_timer(TENANT, timer.schedule_id) is not None
            assert store.get_definition(TENANT, timer.schedule_id, 1) is not None
    assert 1.0 < capacity.reads / len(timers) <= 2.1


def test_a_failed_finish_and_its_retry_cost_what_a_transaction_costs(engine: Engine) -> None:
    store = engine.store
    running = run()
    store.insert_run(running)
    waits = replace(running, status=RunStatus.WAITING, rev=2, lease_until=None, retry_at=NOON + MINUTE)
    with counted(engine.client) as capacity:
        store.commit([ReplaceRun(waits), InsertRunTimer(run_timer())])
    assert 4.0 <= capacity.writes <= 5.0


def test_a_pause_costs_no_more_than_its_items(engine: Engine) -> None:
    store = engine.store
    store.commit([CreateTimer(waiting())])
    paused = changed(waiting(), "pause", status=Status.PAUSED, due_at=None)
    with counted(engine.client) as capacity:
        store.commit([UpdateTimer(paused, waiting()), InsertAudit(examples.audit())])
    # Three items at two units each (the timer, the entry, the end of its chain), the timer's entry that leaves the due
    # index, its status in the index by tenant, the entry in the index by subject, and the end that waits for a seal.
    assert 8.0 <= capacity.writes <= 12.0
    assert capacity.reads == 1.0, "the end of the chain"


def test_counting_a_schedule_costs_two_units_and_one_read_whatever_the_limit(engine: Engine) -> None:
    for number, limit in enumerate([10_000, 2]):
        timer = waiting(f"s{number}")
        with counted(engine.client) as plain:
            engine.store.commit([CreateTimer(replace(timer, schedule_id=f"plain{number}"))])
        with counted(engine.client) as capacity:
            engine.store.commit([CreateTimer(timer), CountSchedules(f"tenant-{number}", 1, limit)])
        assert (capacity.writes - plain.writes, capacity.reads) == (2.0, 1.0)


def test_a_seal_costs_two_units_for_each_chain_that_has_grown_and_reads_alone_while_none_has(engine: Engine) -> None:
    sealer = Sealer(store=engine.store, clock=engine.clock, telemetry=Notes())
    with counted(engine.client) as nothing:
        sealer.seal(NOON + MINUTE)
    assert (nothing.writes, nothing.reads) == (0.0, SEAL_SLICES / 2)
    for number in range(30):
        entries = [examples.audit(f"{number}-{turn}", subject=f"schedule:s{number}") for turn in range(3)]
        engine.store.commit([InsertAudit(entry) for entry in entries])
    with counted(engine.client) as capacity:
        assert sealer.seal(NOON + MINUTE).chains == 30
    # However often each was changed: its mark, and its entry that leaves the index; the seal itself is a few KB.
    assert 60.0 < capacity.writes <= 65.0
