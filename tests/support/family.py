"""Schedules that run after one another, on a memory store: created by the service, dispatched and worked off."""

from collections.abc import Callable

from cronfleet.domain.attempt import Result
from cronfleet.domain.dependency import AfterTrigger, Else, On
from cronfleet.domain.instant import MINUTE, SECOND, Instant
from cronfleet.domain.retry import Retry
from cronfleet.domain.run import Outcome, Run, RunStatus
from cronfleet.domain.schedule import Policies, Spec
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.tenant import Tenant
from cronfleet.domain.trigger import Trigger
from cronfleet.ports.target import Call, Pulse
from cronfleet.services.access import Caller
from cronfleet.services.runs import Runs
from cronfleet.services.schedules import Schedules
from cronfleet.services.worker import Worker
from tests.support.builders import at, cron
from tests.support.faults import Faulty, Hook
from tests.support.world import World

TWO = at("2026-12-01 02:00")
ACME = Caller(Tenant("acme"), "ada", "request-1")
NIGHTLY = cron("0 2 * * *")
TRY_ONCE = Policies(retry=Retry(max_attempts=1))
SUCCESS, FAILURE = Result(Outcome.SUCCEEDED), Result(Outcome.FAILED, "it was to fail")


def after(*parents: str, on: On = On.SUCCESS, within: int = 7_200, otherwise: Else = Else.SKIP) -> AfterTrigger:
    return AfterTrigger(parents, on, within, otherwise)


class Family(World):
    """`results` says what a schedule's target comes to; `called` who was called, in order."""

    def __init__(self, hook: Hook = lambda _when, _name: None) -> None:
        super().__init__(TWO - 10 * MINUTE)
        self.results: dict[str, Result | Callable[[Call], Result]] = {}
        self.called: list[str] = []
        self.faulty = Faulty(self.store, hook)
        self.schedules = Schedules(store=self.store, clock=self.clock, ids=self.ids, shards=1)
        self.runs = Runs(store=self.store, clock=self.clock, ids=self.ids)

    def spec(self, trigger: Trigger, policies: Policies = TRY_ONCE) -> Spec:
        return Spec(trigger, HandlerTarget("billing.nightly"), policies=policies)

    def create(self, schedule_id: str, trigger: Trigger = NIGHTLY, policies: Policies = TRY_ONCE) -> None:
        spec = self.spec(trigger, policies)
        self.schedules.create(ACME, schedule_id, lambda _current, _now: spec)

    def edit(self, schedule_id: str, trigger: Trigger) -> None:
        self.schedules.edit(ACME, schedule_id, lambda _current, _now: self.spec(trigger))

    def call(self, call: Call, pulse: Pulse) -> Result:
        self.called.append(call.key.schedule_id)
        result = self.results.get(call.key.schedule_id, SUCCESS)
        return result if isinstance(result, Result) else result(call)

    def worker(self) -> Worker:
        return Worker(
            store=self.faulty,
            run_queue=self.run_queue,
            targets=self,
            clock=self.clock,
            ids=self.ids,
            telemetry=self.notes,
        )

    def go_to(self, instant: Instant) -> None:
        """Serve every slot until `instant`, and all that it sends."""
        while self.clock.now() < instant:
            self.clock.set(min(instant, self.clock.now() - self.clock.now() % (5 * SECOND) + 5 * SECOND))
            self.turn()

    def turn(self) -> None:
        """One tick, and its messages."""
        self.tick()
        self.work()

    def work(self) -> None:
        """Handle every message that may be received now."""
        for queue in list(self.run_queue.tiers.values()):
            while received := queue.receive():
                for one in received:
                    self.worker().handle(one.body)
                    queue.delete(one.receipt)

    def row(self, schedule_id: str, nominal_at: Instant = TWO, cause: str = "schedule") -> Run | None:
        rows = [run for key, run in self.store.state.runs.items() if key.schedule_id == schedule_id]
        found = [run for run in rows if run.key.nominal_at == nominal_at and run.key.cause == cause]
        assert len(found) <= 1, f"{schedule_id} has {len(found)} rows for one time"
        return found[0] if found else None

    def status(self, schedule_id: str, nominal_at: Instant = TWO) -> RunStatus | None:
        row = self.row(schedule_id, nominal_at)
        return None if row is None else row.status
