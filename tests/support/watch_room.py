"""A room to watch schedules in: a store, a clock, a courier that keeps what it is told, and whoever dies at a write."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cronfleet.domain.attempt import Result
from cronfleet.domain.channel import Channel, SlackAddress
from cronfleet.domain.errand import Errand, ErrandKind
from cronfleet.domain.incident import Incident, IncidentStatus
from cronfleet.domain.instant import HOUR, Instant
from cronfleet.domain.message import Message
from cronfleet.domain.objective import Objectives
from cronfleet.domain.run import Attempt, Outcome, Run, RunKey, RunStatus
from cronfleet.domain.schedule import Timer
from cronfleet.ports.alerts import PutAlert
from cronfleet.ports.job_store import InsertRun
from cronfleet.services.incidents import Incidents
from cronfleet.services.noticing import Noticing
from cronfleet.services.watching import Watching
from tests.support.builders import definition
from tests.support.world import World

CHANNEL = Channel("acme", "night", SlackAddress(url="https://chat.example.com/hook"), is_default=True)
SHARDS = 1


@dataclass
class KeepingCourier:
    """Delivers into a list; what `answers` holds first comes before success."""

    delivered: list[tuple[str, Message]] = field(default_factory=list)
    answers: list[Result] = field(default_factory=list)

    def deliver(self, channel: Channel, message: Message, deadline_at: Instant) -> Result:
        if self.answers:
            return self.answers.pop(0)
        self.delivered.append((channel.name, message))
        return Result(Outcome.SUCCEEDED)

    @property
    def titles(self) -> list[str]:
        return [message.title for _, message in self.delivered]


class WatchRoom(World):
    """A world with a clerk in it that watches and tells."""

    def __init__(self, now: Instant, *channels: Channel) -> None:
        super().__init__(now)
        self.courier = KeepingCourier()
        self.store.commit([PutAlert(one) for one in channels or (CHANNEL,)])

    def incidents(self, store: Any = None) -> Incidents:
        return Incidents(store=store or self.store, clock=self.clock, ids=self.ids, shards=SHARDS)

    def watching(self, store: Any = None) -> Watching:
        store = store or self.store
        return Watching(store=store, clock=self.clock, incidents=self.incidents(store), telemetry=self.notes)

    def noticing(self, store: Any = None) -> Noticing:
        return Noticing(
            store=store or self.store,
            courier=self.courier,
            clock=self.clock,
            telemetry=self.notes,
            shards=SHARDS,
        )

    def watched(self, timer: Timer, objectives: Objectives | None) -> Timer:
        """Store a schedule of which something is expected."""
        described = definition(timer.trigger, timer.schedule_id, objectives=objectives)
        return self.add(replace(timer, is_watched=True), replace(described, created_at=self.clock.now()))

    def look(self, schedule_id: str = "nightly", store: Any = None) -> Instant | None:
        return self.watching(store).carry_on("acme", schedule_id, self.clock.now() + HOUR)

    def ran(self, timer: Timer, nominal_at: Instant, status: RunStatus, **changes: Any) -> Run:
        """Put a row into the ledger: by default one that ended ten seconds after it was due."""
        cause = changes.pop("cause", "schedule")
        key = RunKey(timer.tenant, timer.schedule_id, timer.epoch, nominal_at, cause)
        began_at = changes.pop("began_at", nominal_at + 1_000)
        ended_at = changes.pop("ended_at", nominal_at + 10_000)
        outcome = Outcome.SUCCEEDED if status is RunStatus.SUCCEEDED else Outcome.FAILED
        attempt = Attempt(1, 1, "w", began_at, ended_at, None if ended_at is None else outcome)
        attempts = () if began_at is None else (attempt,)
        run = Run(key, status, nominal_at, "standard", attempts=attempts, finished_at=ended_at, started_at=began_at)
        run = replace(run, **changes)
        self.store.commit([InsertRun(run)])
        return run

    def errands(self) -> Sequence[Errand]:
        return [one for one in self.store.state.errands.values() if one.kind is ErrandKind.NOTICE]

    def tell(self) -> None:
        """Carry every notice on that is due now, as a clerk would."""
        for errand in sorted(self.errands(), key=lambda one: one.key):
            if errand.due_at > self.clock.now():
                continue
            next_at = self.noticing().carry_on(errand.tenant, errand.errand_id, self.clock.now() + HOUR)
            if next_at is None:
                self.store.retire_errand(errand)
            else:
                self.store.move_errand(errand, next_at)

    def all_incidents(self, tenant: str = "acme") -> list[Incident]:
        return list(self.store.list_incidents(tenant, cursor=None, limit=100).items)[::-1]

    @property
    def open_incidents(self) -> list[Incident]:
        return [one for one in self.all_incidents() if one.status is IncidentStatus.OPEN]
