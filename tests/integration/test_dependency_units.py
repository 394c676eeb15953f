"""What a dependency costs, in units, counted under the real adapter: nothing for a schedule that nobody runs after."""

import pytest

from benchmarks.metering.chain import Chain, merged, metered_chain
from cronfleet.domain.dependency import AfterTrigger
from cronfleet.domain.instant import SECOND
from cronfleet.domain.lease import SLOT
from cronfleet.domain.schedule import Spec
from cronfleet.domain.target import HandlerTarget
from cronfleet.services.schedules import Schedules


def fired(dependants: int, parents: int = 1) -> Chain:
    """A chain that has worked off its parents and all that runs after them."""
    chain = metered_chain()
    waiting = [chain.add(number) for number in range(parents)]
    schedules = Schedules(store=chain.store, clock=chain.clock, ids=chain.ids, shards=1)
    chain.clock.advance(-60 * SECOND)
    trigger = AfterTrigger(tuple(one.schedule_id for one in waiting))
    for number in range(dependants):
        spec = Spec(trigger, HandlerTarget("billing.nightly"))
        schedules.create(chain.caller(waiting[0]), f"report-{number}", lambda _current, _now, spec=spec: spec)
    chain.clock.advance(60 * SECOND)
    chain.start_counting()
    chain.tick("parents")
    chain.work()
    chain.parts["parents' workers"] = chain.parts.pop("worker")
    chain.clock.advance(SLOT)
    chain.tick("dependants")
    chain.work()
    return chain


def units(chain: Chain) -> tuple[float, float]:
    """Written and read, of everything together."""
    total = merged(*chain.parts.values()).bill
    return total.writes, total.reads


def test_a_schedule_that_nobody_runs_after_pays_nothing() -> None:
    worker = fired(0).parts["parents' workers"].bill
    assert worker.writes == 2.0, "start and finish"
    assert worker.reads <= 2.5, "timer, definition, and once a second what holds for all"


@pytest.mark.parametrize("dependants", [1, 3, 40])
def test_a_parent_pays_for_each_that_runs_after_it(dependants: int) -> None:
    alone, with_dependants = (fired(number).parts["parents' workers"].bill for number in (0, dependants))
    # At the beginning a row (2 units in a transaction) and its timer with a place in the index (3); at the end the row
    # again (2) and its timer, moved (4). The parent's own end is in that transaction: one unit more.
    assert with_dependants.writes - alone.writes == 1 + 11 * dependants
    # Twice: the list, and of each its timer and its row.
    assert with_dependants.reads - alone.reads == 2 * (1 + 2 * dependants)


def test_a_run_that_follows_costs_little_more_than_one_that_was_asked_for() -> None:
    chain = fired(1)
    assert chain.parts["worker"].bill.writes == 3.0, "a row that is found there, start and finish"
    assert chain.parts["dependants"].bill.writes <= 6.0


def test_in_a_join_each_parent_writes_its_end_into_one_row() -> None:
    one, two = (fired(1, parents).parts["parents' workers"].bill for parents in (1, 2))
    # The second parent finds the row: it puts none, and its own end costs as that of the first, timer apart.
    assert two.writes - one.writes == 2 + 1 + 2
