"""What zone data costs in units: nothing for a firing; only reads for a schedule that a retiming leaves as it is."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from cronfleet.domain import zones
from cronfleet.domain.claim import BatchId, ClaimOutcome
from cronfleet.domain.dispatch_plan import claim_schedule
from cronfleet.domain.instant import MINUTE
from cronfleet.domain.retiming import Cause
from cronfleet.domain.trigger import CronTrigger, Trigger
from cronfleet.domain.zone_release import SETTLES_AFTER
from cronfleet.domain.zone_stamp import stamp
from cronfleet.ports.job_store import CreateTimer
from cronfleet.services.retiming import Retimings
from cronfleet.services.zone_step import ZoneStep
from tests.support import stores
from tests.support.builders import every
from tests.support.examples import waiting
from tests.support.settable_clock import NOON, CountingIds
from tests.support.world import Notes
from tests.support.zone_sources import release

ZONED = CronTrigger("0 * * * *", "Asia/Kolkata")
READS_PER_SCHEDULE = 0.6
"""An eventually consistent read of its timer, and its share of a page of the index."""


def claim_units(trigger: Trigger) -> float:
    engine = stores.metered_engine()
    nominal_at = trigger.next_after(NOON) or 0
    timer = replace(waiting("s", nominal_at), trigger=trigger, zone_data=stamp(trigger, nominal_at))
    engine.store.commit([CreateTimer(timer)])
    with engine.client.counted() as bill:
        (outcome,) = engine.store.claim(BatchId(0, 1, 1), [claim_schedule(timer, nominal_at)])
    assert outcome is ClaimOutcome.WON
    after = engine.store.get_timer(timer.tenant, timer.schedule_id)
    assert after.zone_data == stamp(trigger, after.nominal_at)
    return float(bill.writes)


def test_the_stamp_of_a_claimed_timer_costs_no_unit() -> None:
    assert claim_units(ZONED) == claim_units(every(3_600)) == 3.0


def test_a_retiming_that_changes_nothing_writes_nothing_but_its_own_progress(tmp_path: Path) -> None:
    engine = stores.metered_engine()
    store, clock = engine.store, engine.clock
    nominal_at = ZONED.next_after(NOON) or 0
    marks: dict[str, Any] = {"trigger": ZONED, "zone_data": stamp(ZONED, nominal_at)}
    timers = [replace(waiting(f"s{number:03}", nominal_at), **marks) for number in range(250)]
    for timer in timers:
        store.commit([CreateTimer(timer)])
    zone = [(0, 19_800)]
    source = release(tmp_path, "2027a", {"Asia/Kolkata": zone})
    step: Any = ZoneStep(store)
    service = Retimings(store=store, clock=clock, ids=CountingIds(), telemetry=Notes(), steps={Cause.ZONE_DATA: step})
    with zones.working_with(source):
        service.advance(clock.now() + MINUTE)
        clock.advance(SETTLES_AFTER)
        with engine.client.counted() as bill:
            report = service.advance(clock.now() + MINUTE)
    tally = report.tally
    assert (tally.seen, tally.changed, tally.failed, report.finished) == (250, 0, 0, 1)
    writes = [one for one in bill.requests if one.writes]
    assert {one.table.rpartition("-")[2] for one in writes} == {"retimings"}
    assert bill.writes <= 12
    assert bill.reads / 250 <= READS_PER_SCHEDULE
