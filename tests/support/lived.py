"""A world that lives: every service runs as AWS would drive it, callers change one schedule, and things go wrong."""

from dataclasses import replace
from typing import Any

from cronfleet.domain.attempt import Result
from cronfleet.domain.errors import CronfleetError
from cronfleet.domain.instant import MINUTE, SECOND, Instant
from cronfleet.domain.lease import SLOT, slot_of
from cronfleet.domain.misfire import NONE_AFTER_PAUSE, Misfire, MisfirePolicy
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.rate import MICROSECONDS, Rate, line_of_tenant
from cronfleet.domain.retry import Backoff, BackoffKind, Retry
from cronfleet.domain.run import Outcome, RunMessage
from cronfleet.domain.schedule import Policies, Spec
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.target import Call, Pulse
from cronfleet.services.access import Caller
from cronfleet.services.ledger import Ledger
from cronfleet.services.runs import Runs
from cronfleet.services.schedules import Schedules
from cronfleet.services.worker import Worker
from tests.support.builders import every
from tests.support.world import World

ACME = Caller(Tenant("acme"), "ada", "request-1")
ID = "nightly"
SHARDS = 64
RATE = Rate(per_second=20, burst=20)
"""Too little for a shard of so many to let anything through by itself."""
ONE_RETRY = Retry(max_attempts=2, backoff=Backoff(BackoffKind.FIXED, base_seconds=20))


class LivedWorld(World):
    """One schedule called `nightly`, its callers, workers, sweeper and ledger, on the memory store.

    `fails` makes every target call fail; `dies` makes every worker stop in the middle of its call.
    """

    def __init__(self, now: Instant) -> None:
        super().__init__(now)
        self.schedules = Schedules(store=self.store, clock=self.clock, ids=self.ids, shards=1)
        self.runs = Runs(store=self.store, clock=self.clock, ids=self.ids)
        self.ledger = Ledger(store=self.store, clock=self.clock)
        self.fails = False
        self.dies = False
        self.allow(RATE.per_second, RATE.burst)
        self.worker = Worker(
            store=self.store,
            run_queue=self.run_queue,
            targets=self,  # type: ignore[arg-type] # it is one: see `call`
            clock=self.clock,
            ids=self.ids,
            telemetry=self.notes,
        )

    def call(self, _: Call, _pulse: Pulse) -> Result:
        if self.dies:
            raise WorkerDied
        return Result(Outcome.FAILED, "it was to fail") if self.fails else Result(Outcome.SUCCEEDED)

    # --- time --------------------------------------------------------------------------------------------------

    def live(self, seconds: int) -> None:
        """Let time pass slot by slot: ticks, messages, and each minute a sweep."""
        end = self.clock.now() + seconds * SECOND
        while self.clock.now() < end:
            self.step(min(slot_of(self.clock.now()) + SLOT, end))

    def step(self, following: Instant) -> None:
        is_new_minute = following // MINUTE != self.clock.now() // MINUTE
        self.clock.set(following)
        self.tick(shards=SHARDS)
        if is_new_minute:
            self.sweep()
        self.deliver()

    def deliver(self) -> None:
        for queue in self.run_queue.tiers.values():
            for _ in range(100):
                received = queue.receive(10)
                if not received:
                    break
                for one in received:
                    if self.handle(one.body):
                        queue.delete(one.receipt)

    def handle(self, message: RunMessage) -> bool:
        """One invocation of a worker; whether its message is done with."""
        try:
            self.worker.handle(message)
        except WorkerDied:
            return False
        return True

    def outage(self, seconds: int) -> None:
        """Nothing runs but the clock."""
        self.clock.advance(seconds * SECOND)

    def crowd(self, seconds: int) -> None:
        """Other schedules of the tenant take its places for so long."""
        pace = RATE.pace(SHARDS)
        now = self.clock.now()
        self.store.draw(line_of_tenant("acme"), seconds * SECOND * MICROSECONDS, floor=pace.ceiling(now))

    def lose_messages(self) -> None:
        for queue in self.run_queue.tiers.values():
            queue.lose(lambda _: True)

    # --- callers -----------------------------------------------------------------------------------------------

    def put(self, spec: Spec, reason: str = "") -> None:
        self.schedules.put(ACME, ID, lambda _current, _now: spec, reason=reason)

    def try_to(self, change: Any) -> bool:
        """Make a change that the schedule's state may refuse; whether it was made."""
        try:
            change()
        except CronfleetError:
            return False
        return True

    # --- what is asked -----------------------------------------------------------------------------------------

    def explain(self, at: Instant) -> dict[str, Any]:
        return self.ledger.explain(ACME, ID, at)

    def entries(self, from_at: Instant, to_at: Instant, limit: int = 50) -> list[dict[str, Any]]:
        """Every entry of the stretch, page by page."""
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        for _ in range(10_000):
            page = self.ledger.entries(ACME, ID, from_at=from_at, to_at=to_at, cursor=cursor, limit=limit)
            assert len(page.items) <= limit
            found += page.items
            cursor = page.cursor
            if cursor is None:
                return found
        raise AssertionError("the pages never end")


class WorkerDied(BaseException):
    """The worker's process is gone; its message comes again."""


def spec(seconds: int, **changes: Any) -> Spec:
    """A schedule that fires every so many seconds, counted from the epoch."""
    policies = Policies(
        misfire=changes.pop("misfire", Misfire(MisfirePolicy.FIRE_ONCE, grace_seconds=60)),
        overlap=changes.pop("overlap", Overlap.ALLOW),
        jitter_seconds=changes.pop("jitter_seconds", 0),
        retry=changes.pop("retry", ONE_RETRY),
        timeout_seconds=changes.pop("timeout_seconds", 30),
        after_pause=changes.pop("after_pause", NONE_AFTER_PAUSE),
    )
    return replace(Spec(every(seconds), HandlerTarget("billing.nightly"), policies=policies), **changes)
