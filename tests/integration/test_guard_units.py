"""What gates with lines, and breakers, cost where they are used: in units, counted under the real adapter."""

from typing import Any

from benchmarks.metering.dynamodb import Bill
from cronfleet.adapters.memory.queues import MemoryRunQueue
from cronfleet.domain.attempt import Result
from cronfleet.domain.breaker import FAILURES, SUSPECTED
from cronfleet.domain.gate import GateName
from cronfleet.domain.instant import DAY, SECOND
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.retry import Retry
from cronfleet.domain.run import Outcome, RunMessage, RunStatus
from cronfleet.domain.schedule import Policies
from cronfleet.ports.job_store import CreateTimer, InsertDefinition
from cronfleet.services.worker import Worker
from tests.support.builders import cron, definition, message, timer
from tests.support.settable_clock import NOON, CountingIds
from tests.support.stores import Engine, metered_engine
from tests.support.world import Notes

TRIGGER = cron("0 12 * * *")


class Yard:
    """A warm worker on a store that counts, and a target that fails if it is to."""

    def __init__(self) -> None:
        self.engine: Engine = metered_engine()
        self.fails = False
        ids: Any = CountingIds()
        self.worker = Worker(
            store=self.engine.store,
            run_queue=MemoryRunQueue(self.engine.clock),
            targets=self,
            clock=self.engine.clock,
            ids=ids,
            telemetry=Notes(),
        )
        self.engine.clock.set(NOON)
        self.deliver(self.due("warm"))

    def call(self, *_: object) -> Result:
        return Result(Outcome.FAILED if self.fails else Outcome.SUCCEEDED, "no" if self.fails else None)

    def due(self, name: str, overlap: Overlap = Overlap.ALLOW, key: str = "", turn: int = 0) -> RunMessage:
        policies = Policies(overlap=overlap, concurrency_key=key, retry=Retry(1))
        if self.engine.store.get_timer("acme", name) is None:
            waits = timer(TRIGGER, NOON + DAY, schedule_id=name, overlap=overlap, concurrency_key=key)
            self.engine.store.commit(
                [CreateTimer(waits), InsertDefinition(definition(TRIGGER, name, policies=policies))]
            )
        return message(NOON + turn * SECOND, schedule_id=name)

    def deliver(self, wanted: RunMessage) -> Bill:
        """What a worker is charged for a message."""
        bill: Bill
        with self.engine.client.counted() as bill:
            self.worker.handle(wanted)
        return bill

    def status(self, wanted: RunMessage) -> RunStatus:
        row = self.engine.store.get_run(wanted.key)
        assert row is not None
        return row.status


def beyond(bill: Bill, ordinary: Bill) -> tuple[float, float]:
    """Write and read units more than an ordinary run."""
    return bill.writes - ordinary.writes, bill.reads - ordinary.reads


def test_skip_costs_two_writes_and_a_gate_at_which_runs_may_wait_a_write_and_a_read_more() -> None:
    yard = Yard()
    ordinary = yard.deliver(yard.due("plain"))
    assert (ordinary.writes, ordinary.reads) == (2.0, 1.5)
    assert beyond(yard.deliver(yard.due("skips", Overlap.SKIP)), ordinary) == (2.0, 0.0)
    for name, overlap, key in (
        ("buffers", Overlap.BUFFER_ONE, ""),
        ("cancels", Overlap.CANCEL_OTHER, ""),
        ("waits", Overlap.ALLOW, "key"),
        ("skips-too", Overlap.SKIP, "key-2"),
    ):
        # One to enter; the end and the gate are one transaction, charged twice.
        assert beyond(yard.deliver(yard.due(name, overlap, key)), ordinary) == (4.0, 2.0), name


def test_to_wait_costs_its_start_its_row_and_timer_and_its_place() -> None:
    yard = Yard()
    store = yard.engine.store
    first, second = yard.due("buffers", Overlap.BUFFER_ONE), yard.due("buffers", Overlap.BUFFER_ONE, turn=1)
    call = yard.call
    waited: list[Bill] = []

    def meanwhile(*_: object) -> Result:
        yard.engine.clock.advance(SECOND)
        yard.call = call  # type: ignore[method-assign]  # only the first call is one in which another comes
        waited.append(yard.deliver(second))
        return Result(Outcome.SUCCEEDED)

    yard.call = meanwhile  # type: ignore[method-assign]  # as above
    yard.deliver(first)
    assert yard.status(second) is RunStatus.WAITING
    assert [one.run_id for one in store.get_gate(GateName("acme", "buffers")).line] == [second.key.run_id]
    # Its start; its row and its timer, in one transaction; its place.
    assert waited[0].writes == 7.0


def test_a_success_costs_nothing_for_breakers_and_a_failure_a_read_and_a_write() -> None:
    yard = Yard()
    ordinary = yard.deliver(yard.due("well"))
    assert not [one for one in ordinary.requests if "breaker" in one.table]
    yard.fails = True
    counting = [one for one in yard.deliver(yard.due("ill")).requests if "breaker" in one.table]
    assert (sum(one.writes for one in counting), sum(one.reads for one in counting)) == (1.0, 1.0)
    for number in range(FAILURES):
        yard.deliver(yard.due(f"ill-{number}"))
    held = yard.deliver(yard.due("held"))
    assert yard.status(yard.due("held")) is RunStatus.WAITING
    # Its start, then its row and its timer in one transaction: nothing is read of the breaker.
    assert held.writes == 6.0
    assert held.reads - ordinary.reads <= 1.0


def test_of_a_suspected_target_one_success_costs_as_much_as_a_failure_and_its_notice() -> None:
    yard = Yard()
    yard.fails = True
    for number in range(SUSPECTED):
        yard.deliver(yard.due(f"ill-{number}"))
    yard.fails = False
    yard.engine.clock.advance(SECOND)
    yard.deliver(yard.due("first"))
    ordinary = yard.deliver(yard.due("second"))
    assert ordinary.writes == 2.0
