"""What dead letters cost, in units, counted under the real adapter: a death, a redrive with its letter, a discard."""

from dataclasses import replace

import pytest

from benchmarks.metering.chain import Chain, merged, metered_chain
from cronfleet.domain.attempt import Result, decide_finish
from cronfleet.domain.dead_letter import settled
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND
from cronfleet.domain.operation import Kind, Operation, Status
from cronfleet.domain.redrive import MAX_PAGE, AskedRedrive
from cronfleet.domain.retry import Retry
from cronfleet.domain.run import Attempt, Outcome, Run, RunKey, RunStatus
from cronfleet.domain.schedule import Timer
from cronfleet.domain.settlement import How
from cronfleet.ports.operations import PutOperation
from cronfleet.services.operation_doer import OperationDoer
from cronfleet.services.redrive_source import RedriveSource
from cronfleet.services.redrives import UNITS_PER_LETTER
from tests.support.settable_clock import NOON
from tests.support.world import Notes


@pytest.fixture
def chain() -> Chain:
    return metered_chain()


def running(schedule: Timer, number: int) -> Run:
    at = NOON - DAY + number * MINUTE
    row = Run(RunKey(schedule.tenant, schedule.schedule_id, schedule.epoch, at), RunStatus.RUNNING, at, "standard")
    return replace(row, version=schedule.version, fence=1, attempts=(Attempt(1, 1, "0" * 26, at),), lease_until=at)


def died(row: Run) -> Run:
    failed = Result(Outcome.FAILED, "HTTP 503: upstream 10.0.0.7 took 1200 ms")
    return decide_finish(row, failed, Retry(1), row.due_at + SECOND, "webhook")


def test_a_run_that_dies_pays_one_unit_for_its_place_in_the_index_and_one_that_succeeds_none(chain: Chain) -> None:
    schedule = chain.add(0, nominal_at=NOON + DAY)
    rows = [running(schedule, number) for number in (0, 1)]
    for row in rows:
        chain.store.insert_run(row)
    chain.start_counting()
    with chain.as_part("lived"):
        chain.store.replace_run(decide_finish(rows[0], Result(Outcome.SUCCEEDED), Retry(1), NOON))
    with chain.as_part("died"):
        chain.store.replace_run(died(rows[1]))
    assert (chain.parts["lived"].bill.writes, chain.parts["died"].bill.writes) == (1.0, 2.0)


def test_a_letter_that_is_settled_pays_one_unit_for_leaving_the_index(chain: Chain) -> None:
    schedule = chain.add(0, nominal_at=NOON + DAY)
    row = died(running(schedule, 0))
    chain.store.insert_run(row)
    chain.start_counting()
    with chain.as_part("settled"):
        chain.store.replace_run(settled(row, How.DISCARDED, "key-1", NOON, reason="paid by hand"))
    assert chain.parts["settled"].bill.writes == 2.0


def test_a_redriven_letter_costs_as_many_units_as_the_preview_says(chain: Chain) -> None:
    schedule = chain.add(0, nominal_at=NOON + DAY)
    for number in range(MAX_PAGE):
        chain.store.insert_run(died(running(schedule, number)))
    asked = AskedRedrive().record()
    made = Operation(schedule.tenant, "o1", Kind.REDRIVE, asked, "ada", NOON, "made", max_concurrent=MAX_PAGE)
    chain.store.commit([PutOperation(made, None)])
    chain.start_counting()

    def carry_on() -> None:
        with chain.as_part("clerk"):
            doer = OperationDoer(
                store=chain.store,
                clock=chain.clock,
                ids=chain.ids,
                telemetry=Notes(),
                sources={Kind.REDRIVE: RedriveSource(chain.store)},
            )
            doer.carry_on(schedule.tenant, "o1", chain.clock.now() + MINUTE)

    carry_on()
    chain.tick()
    chain.clock.advance(SECOND)
    chain.work()
    chain.clock.advance(HOUR)
    carry_on()
    found = chain.store.get_operation(schedule.tenant, "o1")
    assert found is not None
    assert (found.status, found.counts) == (Status.FINISHED, {"succeeded": MAX_PAGE})
    units = merged(*chain.parts.values()).bill.writes / MAX_PAGE
    # What the operation itself takes is shared by a page; the preview counts in whole units, and never too few.
    assert round(units, 2) == 13.64
    assert UNITS_PER_LETTER == 14
