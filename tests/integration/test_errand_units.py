"""What an errand costs, in units, counted under the real adapter; a tick without errands pays nothing for them."""

import pytest

from cronfleet.domain.errand import ERRAND_LEASE, Errand, ErrandKind, new_errand
from cronfleet.domain.instant import HOUR, SECOND
from cronfleet.ports.errands import PutErrand
from cronfleet.services.clerk import Clerk
from cronfleet.services.errands import Errands
from tests.support.settable_clock import NOON
from tests.support.stores import Engine, metered_engine
from tests.support.world import MemoryErrandQueue, Notes

OPERATION = ErrandKind.OPERATION


class Says:
    """A doer that reads and writes nothing."""

    def __init__(self, wakes_at: int | None) -> None:
        self.wakes_at = wakes_at

    def carry_on(self, _tenant: str, _errand_id: str, _until: int) -> int | None:
        return self.wakes_at


@pytest.fixture
def engine() -> Engine:
    return metered_engine()


def taken(engine: Engine, queue: MemoryErrandQueue) -> Errand:
    errand = new_errand("acme", OPERATION, "b1", NOON, now=NOON, shards=1)
    engine.store.commit([PutErrand(errand)])
    with engine.client.counted() as bill:
        assert Errands(engine.store, queue, engine.clock).send_due([errand], NOON, NOON + SECOND) == 1
    assert (bill.writes, bill.reads) == (3.0, 0.0), "the item, and its place in the due index out and in"
    return errand.moved(NOON + ERRAND_LEASE)


A_LOOK_AT_THE_HOLD = 0.5
"""A clerk that is called anew looks whether its installation is held; at most once a second."""


@pytest.mark.parametrize(("wakes_at", "writes"), [(NOON + HOUR, 3.0), (None, 2.0)])
def test_a_visit_of_the_clerk_reads_a_unit_and_the_hold_and_writes_three_or_two_for_the_last(
    engine: Engine, wakes_at: int | None, writes: float
) -> None:
    queue = MemoryErrandQueue(engine.clock)
    taken(engine, queue)
    (message,) = queue.queue.bodies()
    clerk = Clerk(store=engine.store, clock=engine.clock, telemetry=Notes(), errands={OPERATION: Says(wakes_at)})
    with engine.client.counted() as bill:
        clerk.handle(message, NOON + HOUR)
    assert (bill.writes, bill.reads) == (writes, 1.0 + A_LOOK_AT_THE_HOLD)


def test_a_stale_message_costs_one_read_and_the_look_at_the_hold(engine: Engine) -> None:
    queue = MemoryErrandQueue(engine.clock)
    engine.store.move_errand(taken(engine, queue), NOON + HOUR)
    (message,) = queue.queue.bodies()
    clerk = Clerk(store=engine.store, clock=engine.clock, telemetry=Notes(), errands={OPERATION: Says(None)})
    with engine.client.counted() as bill:
        clerk.handle(message, NOON + HOUR)
    assert (bill.writes, bill.reads) == (0.0, 1.0 + A_LOOK_AT_THE_HOLD)


def test_without_errands_nothing_is_read_written_or_sent(engine: Engine) -> None:
    queue = MemoryErrandQueue(engine.clock)
    with engine.client.counted() as bill:
        assert Errands(engine.store, queue, engine.clock).send_due([], NOON, NOON + SECOND) == 0
    assert bill.requests == []
    assert len(queue.queue) == 0
