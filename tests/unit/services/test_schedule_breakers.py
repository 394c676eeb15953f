"""A schedule whose runs die in a row is paused by the scheduler, tried again, and goes on when it is well."""

from dataclasses import replace

from cronfleet.domain.attempt import Result
from cronfleet.domain.audit import SCHEDULER_ACTOR
from cronfleet.domain.instant import MINUTE
from cronfleet.domain.retry import Retry
from cronfleet.domain.run import Outcome, RunStatus
from cronfleet.domain.schedule import BreakerPolicy, Policies, Status
from cronfleet.services.schedule_breakers import deaths_in_a_row
from tests.support.builders import message
from tests.support.workshop import TIMEOUT_SECONDS, TWO, Workshop

FAILURES, COOLDOWN = 3, 10 * MINUTE


class Ill(Workshop):
    """A schedule with a breaker, whose target fails until it is well."""

    def __init__(self, breaker: BreakerPolicy | None = BreakerPolicy(FAILURES, COOLDOWN // 1_000)) -> None:  # noqa: B008 - a frozen value
        super().__init__(lambda _: Result(Outcome.SUCCEEDED if self.is_well else Outcome.FAILED), retry=Retry(1))
        self.is_well = False
        self.edit(policies=self._with(breaker))
        self.epoch = self.timer().epoch
        self.turn = 0

    def _with(self, breaker: BreakerPolicy | None) -> Policies:
        return replace(self.policies, breaker=breaker, target_breaker=False)

    def run_one(self) -> RunStatus:
        """The next fire, at once; its status."""
        wanted = message(TWO + self.turn * MINUTE, timeout_seconds=TIMEOUT_SECONDS, epoch=self.timer().epoch)
        self.turn += 1
        self.clock.set(max(self.clock.now(), wanted.due_at))
        self.deliver(wanted)
        row = self.row(wanted.key)
        assert row is not None
        return row.status


def test_after_so_many_deaths_in_a_row_the_schedule_is_paused_with_the_reason_and_an_entry() -> None:
    world = Ill()
    for _ in range(FAILURES - 1):
        assert world.run_one() is RunStatus.DEAD
        assert world.timer().status is Status.ACTIVE
    world.run_one()
    timer = world.timer()
    assert timer.status is Status.PAUSED
    assert timer.pause is not None
    assert timer.pause.by == SCHEDULER_ACTOR
    assert timer.pause.reason == "3 runs in a row died; the last: all 1 attempts failed"
    assert timer.pause.until == timer.due_at == world.clock.now() + COOLDOWN
    (entry,) = [one for one in world.store.state.audit.values() if one.action == "pause"]
    assert (entry.actor, entry.reason) == (SCHEDULER_ACTOR, timer.pause.reason)
    assert world.run_one() is RunStatus.SKIPPED


def test_the_first_run_after_the_pause_is_the_probe_and_its_death_pauses_the_schedule_again() -> None:
    world = Ill()
    for _ in range(FAILURES):
        world.run_one()
    world.resume()
    assert world.run_one() is RunStatus.DEAD
    assert world.timer().status is Status.PAUSED
    world.resume()
    world.is_well = True
    assert world.run_one() is RunStatus.SUCCEEDED
    world.is_well = False
    for _ in range(FAILURES - 1):
        world.run_one()
    assert world.timer().status is Status.ACTIVE, "the row was broken"


def test_a_success_reads_and_writes_nothing_and_neither_does_a_death_without_a_breaker() -> None:
    world = Ill()
    world.is_well = True
    world.run_one()
    plain = Ill(None)
    for _ in range(2 * FAILURES):
        plain.run_one()
    assert plain.timer().status is Status.ACTIVE
    assert not [one for one in plain.store.state.audit.values() if one.action == "pause"]


def test_what_was_skipped_between_counts_neither_way() -> None:
    world = Ill()
    for _ in range(2):
        world.run_one()
    rows = list(world.store.list_runs("acme", "nightly", cursor=None, limit=10).items)
    assert deaths_in_a_row(rows, rows[0].key) == 1
    assert deaths_in_a_row([], rows[0].key) == 0
