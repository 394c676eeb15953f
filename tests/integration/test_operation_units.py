"""What a backfill costs, in units, counted under the real adapter from its pages to the ends of its runs."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from benchmarks.metering.chain import Chain, merged, metered_chain
from cronfleet.domain.backfill import Mode, Order, Subject
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND
from cronfleet.domain.operation import UNITS_PER_RUN, Kind, Operation, Status
from cronfleet.domain.schedule import Timer
from cronfleet.ports.operations import PutOperation
from cronfleet.services.backfill_source import BackfillSource
from cronfleet.services.operation_doer import OperationDoer
from tests.support.settable_clock import NOON
from tests.support.world import Notes

DATES = 45
"""A page."""


@pytest.fixture
def chain() -> Chain:
    return metered_chain()


def asked_for(chain: Chain, mode: Mode) -> Timer:
    """A backfill of the last 45 days of a daily schedule."""
    schedule = chain.add(0, nominal_at=NOON + DAY)
    subject = Subject(schedule.schedule_id, schedule.version, schedule.epoch)
    asked = {
        "from": NOON - DATES * DAY,
        "to": NOON,
        "order": Order.OLDEST,
        "mode": mode,
        "subjects": [subject.record()],
    }
    made = Operation(
        schedule.tenant, "o1", Kind.BACKFILL, asked, "ada", NOON, "made", max_concurrent=DATES, total=DATES
    )
    chain.store.commit([PutOperation(made, None)])
    chain.start_counting()
    return schedule


def carry_on(chain: Chain, schedule: Timer) -> None:
    with chain.as_part("clerk"):
        doer = OperationDoer(
            store=chain.store,
            clock=chain.clock,
            ids=chain.ids,
            telemetry=Notes(),
            sources={Kind.BACKFILL: BackfillSource(chain.store)},
        )
        doer.carry_on(schedule.tenant, "o1", chain.clock.now() + MINUTE)


@contextmanager
def played(chain: Chain, schedule: Timer) -> Iterator[None]:
    """The backfill from its page to its end."""
    carry_on(chain, schedule)
    chain.tick()
    chain.clock.advance(SECOND)
    chain.work()
    chain.clock.advance(HOUR)
    carry_on(chain, schedule)
    found = chain.store.get_operation(schedule.tenant, "o1")
    assert found is not None
    assert (found.status, found.counts) == (Status.FINISHED, {"succeeded": DATES})
    yield


def test_a_run_of_a_backfill_costs_as_many_units_as_the_preview_says(chain: Chain) -> None:
    with played(chain, asked_for(chain, Mode.REDO_ALL)):
        bill = merged(*chain.parts.values()).bill
    clerk, dispatcher, worker = (chain.parts[name].bill.writes / DATES for name in ("clerk", "dispatcher", "worker"))
    assert (round(clerk, 1), round(dispatcher, 1), round(worker, 1)) == (5.4, 2.1, 2.0)
    assert UNITS_PER_RUN - 1 < bill.writes / DATES <= UNITS_PER_RUN


def test_to_look_at_the_history_costs_reads_by_the_page_and_not_by_the_date(chain: Chain) -> None:
    with played(chain, asked_for(chain, Mode.SKIP_SUCCEEDED)):
        skipping = chain.parts["clerk"].bill.reads
    assert skipping / DATES < 1
