"""What an execution costs, in units, counted under the real adapter: its hand-over, a look at it, an hour."""

from dataclasses import replace
from typing import Any

import pytest

from benchmarks.metering.chain import Chain, metered_chain
from cronfleet.adapters.sqs.messages import decode_errand
from cronfleet.domain.errand import ErrandKind
from cronfleet.domain.instant import HOUR, MINUTE, SECOND
from cronfleet.domain.run import RunStatus
from cronfleet.domain.schedule import Policies, Spec
from cronfleet.ports.job_store import CreateTimer, InsertDefinition
from cronfleet.services.clerk import Clerk
from cronfleet.services.following import Following
from cronfleet.services.handing_over import Elsewhere
from cronfleet.services.worker import Worker
from tests.support.builders import cron, definition, timer
from tests.support.elsewhere import MACHINE, Cloud
from tests.support.settable_clock import NOON


class Followed:
    """A metered chain with one schedule that starts executions of so many hours, a worker and a clerk."""

    def __init__(self, hours: int) -> None:
        self.chain: Chain = metered_chain()
        chain = self.chain
        self.cloud = Cloud(chain.clock.now, lasts=lambda _: hours * HOUR // SECOND)
        trigger = cron("0 12 * * *", "UTC")
        described = definition(trigger, "nightly")
        spec: Spec = replace(described.spec, target=MACHINE, policies=Policies(timeout_seconds=100_000))
        waiting = timer(trigger, NOON, schedule_id="nightly", timeout_seconds=spec.attempt_seconds)
        chain.store.commit([CreateTimer(waiting), InsertDefinition(replace(described, spec=spec))])
        common: dict[str, Any] = chain._common
        chain.worker = Worker(ids=chain.ids, targets=chain.targets, elsewhere=Elsewhere(self.cloud, shards=1), **common)
        following = Following(
            store=chain.store,
            executions=self.cloud,
            clock=chain.clock,
            ids=chain.ids,
            telemetry=common["telemetry"],
        )
        doers = {ErrandKind.EXECUTION: following}
        self.clerk = Clerk(store=chain.store, clock=chain.clock, telemetry=common["telemetry"], errands=doers)
        chain.start_counting()
        chain.tick()
        chain.work()

    def errand(self) -> Any:
        [run] = self.chain.store.list_runs("acme", "nightly", cursor=None, limit=1).items
        return run, self.chain.store.get_errand("acme", ErrandKind.EXECUTION, run.key.run_id)

    def follow(self) -> None:
        """Let the errand come due, be taken and be carried on."""
        _, errand = self.errand()
        self.chain.clock.set(max(self.chain.clock.now(), errand.due_at))
        self.chain.tick("taking")
        with self.chain.as_part("clerk"):
            received = self.chain.sqs.receive("errands")
            assert received is not None
            self.clerk.handle(decode_errand(received.body), self.chain.clock.now() + MINUTE)
            self.chain.sqs.delete("errands", received)


@pytest.fixture(scope="module")
def hours() -> tuple[Followed, list[int], list[int]]:
    """An execution of two hours, with the looks at it and the write units for each hour."""
    followed = Followed(2)
    looks, units = [], []
    for hour in (1, 2):
        followed.chain.parts.pop("clerk", None)
        followed.chain.parts.pop("taking", None)
        before = len(followed.cloud.looks)
        while followed.errand()[1].due_at < NOON + hour * HOUR:
            followed.follow()
        looks.append(len(followed.cloud.looks) - before)
        units.append(round(followed.chain.parts["clerk"].bill.writes))
    return followed, looks, units


def test_a_hand_over_costs_five_units_more_than_an_ordinary_start(hours: Any) -> None:
    worker = hours[0].chain.parts["worker"].bill
    # The row is put (1); in a transaction the row again (2), and the errand (2) with its place in the due index (1).
    assert worker.writes == 6.0


def test_a_look_writes_nothing_but_when_the_next_one_comes() -> None:
    followed = Followed(1)
    followed.follow()
    bill = followed.chain.parts["clerk"].bill
    # Read are the errand, the row and the definition; written is the errand, and its place in the due index.
    assert (bill.writes, bill.reads) == (3.0, 3.0)


def test_a_watched_hour_costs_some_twenty_looks_and_then_a_dozen(hours: Any) -> None:
    _, looks, units = hours
    assert looks == [27, 12]
    assert units == [3 * 27, 3 * 12]


def test_the_end_costs_its_row_its_log_and_the_errand_that_goes() -> None:
    followed = Followed(0)
    followed.follow()
    bill = followed.chain.parts["clerk"].bill
    # The row (1), what it said (1), the errand and its place in the index (2); the timer and the noticeboard are read.
    assert (bill.writes, bill.reads) == (4.0, 5.0)
    run, errand = followed.errand()
    assert (run.status, errand) == (RunStatus.SUCCEEDED, None)
