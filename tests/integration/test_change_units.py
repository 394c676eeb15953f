"""What changes through the API cost in units, one by one and in bulk, and what it costs to try them first."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from cronfleet.domain.instant import HOUR
from cronfleet.domain.schedule import Spec
from cronfleet.domain.selection import Selection
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.tenant import Tenant
from cronfleet.services.access import Caller
from cronfleet.services.bulk import Asked, Bulk
from cronfleet.services.bulk_deeds import Cancelling, Deed, Labelling, Pausing
from cronfleet.services.schedules import Schedules
from cronfleet.services.versions import Versions
from tests.support import stores
from tests.support.builders import cron, every
from tests.support.settable_clock import NOON, CountingIds

ACME = Caller(Tenant("acme"), "demo", "request-1")
PLAIN = Spec(every(60), HandlerTarget("billing.nightly"), labels={"team": "billing"})
RETIMED = replace(PLAIN, trigger=cron("0 2 * * *"))
MANY = 100

WRITES_PER_CHANGE = 16
"""A transaction pays twice: the timer and what it moves in the index, the version, the audit entry and its chain."""
READS_PER_SCHEDULE_LOOKED_AT = 1.1
"""Eventually consistent: its timer, its definition, its share of a page of the list."""
READS_PER_TIMER_LOOKED_AT = 0.6


class Metered:
    """A hundred schedules, and services on top of a store that counts."""

    def __init__(self) -> None:
        self.engine = stores.metered_engine()
        ids = CountingIds()
        named: dict[str, Any] = {"store": self.engine.store, "clock": self.engine.clock, "ids": ids}
        self.schedules = Schedules(**named, shards=1)
        self.bulk = Bulk(schedules=self.schedules, **named)
        self.versions = Versions(store=self.engine.store, clock=self.engine.clock)
        for number in range(MANY):
            self.schedules.create(ACME, f"job-{number:03}", lambda *_: PLAIN)

    def units(self, act: Callable[[], object]) -> tuple[float, float]:
        """Write and read units."""
        with self.engine.client.counted() as bill:
            act()
        return bill.writes, bill.reads


@pytest.fixture(scope="module")
def metered() -> Metered:
    return Metered()


def edit(metered: Metered, spec: Spec) -> tuple[float, float]:
    return metered.units(lambda: metered.schedules.edit(ACME, "job-000", lambda *_: spec))


def test_a_rollback_costs_a_read_more_than_an_edit(metered: Metered) -> None:
    writes, reads = edit(metered, RETIMED)
    back = metered.units(lambda: metered.schedules.roll_back(ACME, "job-000", 1, lambda *_: None))
    assert writes <= WRITES_PER_CHANGE
    assert back[0] == writes
    assert reads < back[1] <= reads + 1


def test_a_try_writes_nothing_and_reads_the_timers_of_the_tenant_where_fires_are_gained(metered: Metered) -> None:
    tried = metered.schedules.tried()
    rarer, more = replace(RETIMED, trigger=cron("0 2 * * *")), replace(RETIMED, trigger=every(30))
    writes, reads = metered.units(lambda: tried.edit(ACME, "job-001", lambda *_: rarer))
    assert (writes, reads <= 12) == (0, True)
    writes, reads = metered.units(lambda: tried.edit(ACME, "job-001", lambda *_: more))
    assert writes == 0
    assert reads <= 12 + MANY * READS_PER_TIMER_LOOKED_AT


def test_a_page_of_versions_costs_a_read_of_the_timer_and_one_of_the_page(metered: Metered) -> None:
    edit(metered, replace(PLAIN, owner="billing"))
    ask = metered.units(lambda: metered.versions.list(ACME, "job-000", cursor=None, limit=50))
    assert ask <= (0, 3)


@pytest.mark.parametrize("deed", [Pausing(), Labelling({"stage": "prod"}), Cancelling()], ids=lambda deed: deed.word)
def test_a_bulk_costs_what_its_changes_cost_and_a_unit_for_each_schedule_that_it_looks_at(deed: Deed) -> None:
    metered = Metered()
    asked = Asked(Selection(labels=PLAIN.labels), True, 500, None, "", NOON + HOUR)
    counted = metered.units(lambda: metered.bulk.carry_out(ACME, deed, asked))
    assert counted[0] == 0
    assert counted[1] / MANY <= READS_PER_SCHEDULE_LOOKED_AT
    writes, _ = metered.units(lambda: metered.bulk.carry_out(ACME, deed, replace(asked, dry_run=False)))
    assert writes / MANY <= WRITES_PER_CHANGE
