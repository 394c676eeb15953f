"""Operational cases about changes, overlap and manual runs, as docs/guarantees.md lists them by their ids."""

from dataclasses import replace
from typing import Any

import pytest

from cronfleet.adapters.dynamodb.items.runs import run_item
from cronfleet.domain.attempt import Result
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND
from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.reason import Code
from cronfleet.domain.retry import Backoff, BackoffKind, Retry
from cronfleet.domain.run import ROW_LIFE_SECONDS, Outcome, RunKey, RunStatus
from cronfleet.domain.schedule import Policies, Spec, Status
from cronfleet.domain.selection import Selection
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.tenant import Tenant
from cronfleet.domain.trigger import OneShotTrigger
from cronfleet.ports.target import Call
from cronfleet.services.access import Caller
from cronfleet.services.runs import Runs
from cronfleet.services.schedules import Schedules
from cronfleet.services.worker import Worker
from tests.support.builders import at, cron
from tests.support.workshop import Effects, Script, Workshop, succeeds
from tests.support.world import SHARD, World

TWO = at("2026-12-01 02:00")
ACME = Caller(Tenant("acme"), "demo", "request-1")
RIVAL = Caller(Tenant("rival"), "demo", "request-2")
BILLING = HandlerTarget("billing.nightly")


class House(World):
    """A world with callers and workers in it."""

    def __init__(self, script: Script = succeeds) -> None:
        super().__init__(TWO)
        self.targets = Effects(self, script)  # type: ignore[arg-type]  # it needs a clock and a store
        self.schedules = Schedules(store=self.store, clock=self.clock, ids=self.ids, shards=1)
        self.runs = Runs(store=self.store, clock=self.clock, ids=self.ids)

    def create(self, schedule_id: str, spec: Spec, caller: Caller = ACME) -> None:
        self.schedules.create(caller, schedule_id, lambda *_: spec)

    def edit(self, schedule_id: str, **changes: Any) -> None:
        self.schedules.edit(ACME, schedule_id, lambda current, _now: replace(current, **changes))  # type: ignore[type-var]  # there is a current one

    def work(self) -> int:
        """Every message that may be received; how many there were."""
        worker = Worker(
            store=self.store,
            run_queue=self.run_queue,
            targets=self.targets,
            clock=self.clock,
            ids=self.ids,
            telemetry=self.notes,
        )
        received = self.run_queue.tier("standard").receive(10_000)
        for one in received:
            worker.handle(one.body)
            self.run_queue.tier("standard").delete(one.receipt)
        return len(received)

    def live(self, milliseconds: int) -> None:
        """Time passes, with a tick each five seconds."""
        end = self.clock.now() + milliseconds
        while self.clock.now() < end:
            self.tick()
            self.work()
            self.clock.advance(5 * SECOND)

    def row(self, key: RunKey) -> Any:
        row = self.store.get_run(key)
        assert row is not None
        return row

    @property
    def rows(self) -> list[Any]:
        return sorted(self.store.state.runs.values(), key=lambda row: row.key)


SKIP = Misfire(MisfirePolicy.SKIP)
ONCE = Misfire(MisfirePolicy.FIRE_ONCE)


@pytest.mark.parametrize(("stored", "given", "caught_up"), [(SKIP, ONCE, 1), (ONCE, SKIP, 0)])
def test_what_a_resume_is_told_wins_for_that_resume_alone(stored: Misfire, given: Misfire, caught_up: int) -> None:
    """O28: against the schedule's own policy, which stays what it was."""
    house = House()
    house.create("minutely", Spec(cron("* * * * *"), BILLING, policies=Policies(misfire=stored)))
    house.schedules.pause(ACME, "minutely", reason="")
    house.clock.advance(HOUR)
    house.schedules.resume(ACME, "minutely", missed=given)
    house.live(10 * SECOND)
    late = [one for one in house.targets.made if one.key.nominal_at <= TWO + HOUR]
    assert len(late) == caught_up
    assert house.timer("minutely").misfire == stored


def test_an_edit_is_seen_by_every_reader_at_once_and_a_version_says_so() -> None:
    """O36."""
    house = House()
    house.create("nightly", Spec(cron("0 3 * * *"), BILLING))
    house.edit("nightly", trigger=cron("0 4 * * *"))
    four = TWO + 2 * HOUR
    (listed,) = house.schedules.list(ACME, Selection(), cursor=None, limit=10).items
    (waiting,) = house.store.due(SHARD, four, None, 10).items
    (fire, *_) = house.schedules.fires(ACME, "nightly", from_at=None, to_at=None, limit=1)
    assert (house.timer().nominal_at, fire.nominal_at) == (four, four)
    assert (waiting.nominal_at, waiting.version, house.timer().version) == (four, 2, 2)  # type: ignore[union-attr]  # a schedule's timer
    assert listed == house.schedules.get(ACME, "nightly").form
    house.live(3 * HOUR)
    assert [one.key.nominal_at for one in house.targets.made] == [four]


def test_of_a_thousand_queued_runs_none_starts_after_its_schedule_was_paused_or_cancelled() -> None:
    """O38: half of each; every one says in the ledger why it did not run."""
    house = House()
    names = [f"job-{number:03}" for number in range(1_000)]
    for name in names:
        house.create(name, Spec(cron("0 2 * * *"), BILLING))
    house.clock.set(TWO + DAY)
    house.tick()
    for number, name in enumerate(names):
        if number % 2:
            house.schedules.pause(ACME, name, reason="a freeze")
        else:
            house.schedules.delete(ACME, name)
    assert house.work() == len(names)
    assert not house.targets.made
    statuses = [(row.status, row.reason.code) for row in house.rows]
    assert statuses.count((RunStatus.SKIPPED, Code.PAUSED)) == 500
    assert statuses.count((RunStatus.CANCELLED, Code.CANCELLED)) == 500


def fails(_call: Call) -> Result:
    return Result(Outcome.FAILED, "no")


@pytest.mark.parametrize(
    ("script", "late", "status"),
    [(succeeds, 0, RunStatus.SUCCEEDED), (fails, 0, RunStatus.DEAD), (succeeds, HOUR, RunStatus.MISSED)],
    ids=["success", "final failure", "missed"],
)
def test_a_one_shot_is_over_after_its_time_whatever_came_of_it(script: Script, late: int, status: RunStatus) -> None:
    """O41: its schedule is completed, waits for nothing, and its row stays as long as rows do."""
    house = House(script)
    once = OneShotTrigger(TWO + MINUTE, "2026-12-01T02:01:00Z", None)
    house.create("once", Spec(once, BILLING, policies=Policies(misfire=SKIP, retry=Retry(max_attempts=1))))
    house.clock.advance(MINUTE + late)
    house.live(MINUTE)
    held = house.timer("once")
    assert (held.status, held.nominal_at, held.due_at) == (Status.COMPLETED, None, None)
    assert not house.store.due(SHARD, TWO + 400 * DAY, None, 10).items
    (row,) = house.rows
    assert row.status is status
    written_at = house.clock.now()
    assert int(run_item(row, written_at)["expires_at"]["N"]) == written_at // SECOND + ROW_LIFE_SECONDS


def test_a_retry_that_waits_across_the_next_nominal_is_a_run_of_its_own() -> None:
    """O46: under `allow` both run, each under its own id; the retry never counts as the next nominal."""

    def fails_at_two(call: Call) -> Result:
        first = call.key.nominal_at == TWO + HOUR and call.attempt == 1
        return Result(Outcome.FAILED, "no") if first else Result(Outcome.SUCCEEDED)

    house = House(fails_at_two)
    retry = Retry(max_attempts=2, backoff=Backoff(BackoffKind.FIXED, base_seconds=90 * 60, max_seconds=DAY // SECOND))
    house.create("hourly", Spec(cron("0 * * * *"), BILLING, policies=Policies(retry=retry)))
    house.live(3 * HOUR)
    made = [(one.key.nominal_at, one.attempt) for one in house.targets.made]
    three, four = TWO + HOUR, TWO + 2 * HOUR
    assert made == [(three, 1), (four, 1), (three, 2)]


def test_under_skip_a_nominal_that_a_retry_waits_across_is_skipped_with_the_run_in_its_way() -> None:
    """O46."""

    def fails_first(call: Call) -> Result:
        return Result(Outcome.FAILED, "no") if call.attempt == 1 else Result(Outcome.SUCCEEDED)

    house = House(fails_first)
    retry = Retry(max_attempts=2, backoff=Backoff(BackoffKind.FIXED, base_seconds=90 * 60, max_seconds=DAY // SECOND))
    house.create("hourly", Spec(cron("0 * * * *"), BILLING, policies=Policies(retry=retry, overlap=Overlap.SKIP)))
    house.live(3 * HOUR - 5 * MINUTE)
    first, second = house.rows
    assert (first.status, first.attempt) == (RunStatus.SUCCEEDED, 2)
    assert (second.status, second.reason.code) == (RunStatus.SKIPPED, Code.OVERLAP)
    assert second.reason.detail["run_id"] == first.key.run_id


def test_a_run_now_beside_a_run_that_must_be_alone_is_skipped_with_that_reason_and_audited() -> None:
    """O50."""
    shop = Workshop(overlap=Overlap.SKIP)
    runs = Runs(store=shop.store, clock=shop.clock, ids=shop.ids)
    asked: list[str] = []

    def asks_for_another(_call: Call) -> Result:
        asked.append(str(runs.run_now(ACME, "nightly").form["run_id"]))
        shop.wake_timers()
        return Result(Outcome.SUCCEEDED)

    shop.targets.script = asks_for_another
    shop.deliver()
    manual = shop.row(RunKey.parse(asked[0]))
    assert len(shop.targets.made) == 1
    assert manual is not None
    assert manual.reason is not None
    assert (manual.status, manual.reason.code) == (RunStatus.SKIPPED, Code.OVERLAP)
    assert [entry.action for entry in shop.store.state.audit.values()] == ["run"]


def test_equal_names_and_times_of_two_tenants_are_two_runs() -> None:
    """O55."""
    house = House()
    for caller in (ACME, RIVAL):
        house.create("nightly", Spec(cron("0 3 * * *"), BILLING), caller)
    house.live(HOUR + MINUTE)
    assert {one.key for one in house.targets.made} == {
        RunKey(tenant, "nightly", 1, TWO + HOUR) for tenant in ("acme", "rival")
    }


def test_a_cron_moved_to_earlier_today_does_not_fire_today() -> None:
    """O33: nor does a changed payload move the next time."""
    house = House()
    policies = Policies(misfire=ONCE)
    house.create("daily", Spec(cron("0 15 * * *"), BILLING, policies=policies))
    house.clock.set(at("2026-12-01 12:00"))
    house.edit("daily", payload={"for": "some"})
    assert house.timer("daily").nominal_at == at("2026-12-01 15:00")
    house.edit("daily", trigger=cron("0 9 * * *"))
    house.live(6 * HOUR)
    assert not house.targets.made
    assert house.timer("daily").nominal_at == at("2026-12-02 09:00")


@pytest.mark.parametrize("seconds_before", [20, 11, 10, 2, 1])
def test_a_time_that_is_moved_shortly_before_it_comes_fires_under_the_new_one_alone(seconds_before: int) -> None:
    """O35: whether a dispatcher had claimed it already (it looks ten seconds ahead) or not."""
    house = House()
    house.create("daily", Spec(cron("0 3 * * *"), BILLING))
    house.clock.set(TWO + HOUR - seconds_before * SECOND)
    house.tick()
    house.edit("daily", trigger=cron("0 4 * * *"))
    house.live(2 * HOUR)
    assert [one.key.nominal_at for one in house.targets.made] == [TWO + 2 * HOUR]
