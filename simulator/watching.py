"""Watched jobs in a stormy world: what breaks is told once, and ends once, whatever dies on the way.

    python -m simulator.watching [seeds]

The jobs run elsewhere and ping. Of each it is drawn whether it pings every fire, none, or all but one: so it is known
without any look how many incidents there must be, and how each must stand in the end.
"""

import random
import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Final

from cronfleet.domain.attempt import Result
from cronfleet.domain.change import created, put_on_hold
from cronfleet.domain.channel import Channel, SlackAddress
from cronfleet.domain.errand import ErrandKind, new_errand
from cronfleet.domain.heartbeat import Ping
from cronfleet.domain.incident import Incident
from cronfleet.domain.instant import MINUTE, SECOND, Instant
from cronfleet.domain.message import Message
from cronfleet.domain.objective import Objectives
from cronfleet.domain.rate import Rate
from cronfleet.domain.run import Outcome
from cronfleet.domain.schedule import Hold, Spec
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.tenant import Tenant
from cronfleet.domain.trigger import IntervalTrigger
from cronfleet.ports.alerts import PutAlert
from cronfleet.ports.errands import PutErrand
from cronfleet.ports.job_store import CreateTimer, InsertDefinition, InsertPing
from cronfleet.services.incidents import Incidents
from cronfleet.services.noticing import Noticing
from cronfleet.services.watching import Watching
from simulator import population
from simulator.checkers.violation import Violation
from simulator.faults import drawn
from simulator.loop import Process
from simulator.world import START, World

TENANT: Final = population.TENANTS[0]
JOBS: Final = 9
FIRES: Final = 8
EVERY: Final = 10 * MINUTE
STORM: Final = FIRES * EVERY
CALM: Final = 2 * 60 * MINUTE
"""By then everything has been looked at and told."""

MISSED: Final = 3
"""The fire that one job in three does not ping for; every third pings none."""
KINDS: Final = ("all", "none", "all_but_one")


class Keeping:
    """A courier that keeps what it is told."""

    def __init__(self, told: Counter[str]) -> None:
        self._told = told

    def deliver(self, channel: Channel, message: Message, deadline_at: Instant) -> Result:  # noqa: ARG002 - it is there at once
        """Note it."""
        self._told[message.notice_id] += 1
        return Result(Outcome.SUCCEEDED)


class WatchedWorld(World):
    """A world in which jobs run elsewhere, and are watched."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, drawn(random.Random(f"{seed}/plan"), START, START + STORM), Rate(100, 100))
        self.told: Counter[str] = Counter()
        self.doers[ErrandKind.WATCH] = self._watching
        self.doers[ErrandKind.NOTICE] = self._noticing
        self.store.commit([PutAlert(Channel(TENANT, "night", SlackAddress(url="https://chat"), is_default=True))])
        for number in range(JOBS):
            self._add(number)

    def _incidents(self, process: Process) -> Incidents:
        return Incidents(store=self.wired(process), clock=process, ids=self.ids, shards=self.shards)

    def _watching(self, process: Process) -> Watching:
        incidents = self._incidents(process)
        return Watching(store=self.wired(process), clock=process, incidents=incidents, telemetry=self._notes)

    def _noticing(self, process: Process) -> Noticing:
        return Noticing(
            store=self.wired(process),
            courier=Keeping(self.told),
            clock=process,
            telemetry=self._notes,
            shards=self.shards,
        )

    def _add(self, number: int) -> None:
        """A held schedule whose job pings from elsewhere, and its watch."""
        name, kind = f"job-{number}", KINDS[number % len(KINDS)]
        spec = Spec(
            IntervalTrigger(EVERY // SECOND, START),
            HandlerTarget("elsewhere"),
            objectives=Objectives(ping_within_seconds=120),
        )
        timer, definition = created(
            spec,
            tenant=Tenant(TENANT),
            schedule_id=name,
            shards=self.shards,
            now=START,
            change_id=name,
            author="ada",
            tombstone=None,
        )
        held = put_on_hold(timer, Hold("ada", START))
        errand = new_errand(TENANT, ErrandKind.WATCH, name, START, now=START, shards=self.shards)
        self.store.commit([CreateTimer(held), InsertDefinition(definition), PutErrand(errand)])
        fires = (STORM + CALM) // EVERY
        for fire in range(1, fires + 1):
            if kind == "all" or (kind == "all_but_one" and fire != MISSED):
                at = START + fire * EVERY + 30 * SECOND
                ping = Ping(TENANT, name, f"{name}-{fire}", at)
                self.loop.at(at, partial(self.store.commit, [InsertPing(ping)]))


def check_watched(world: WatchedWorld) -> Iterator[Violation]:
    """Each job has exactly the incidents that its pings call for, and each edge was told."""
    now = world.loop.now
    wanted = {"all": [], "none": ["open"], "all_but_one": ["healed"]}
    found = [one for one in world.store.state.alerts.values() if isinstance(one, Incident)]
    for number in range(JOBS):
        name, kind = f"job-{number}", KINDS[number % len(KINDS)]
        statuses = [one.status.value for one in found if one.schedule_id == name]
        if statuses != wanted[kind]:
            yield Violation(now, "a broken objective was not told exactly once", f"{name} ({kind}): {statuses}")
    edges = sum(1 + (not one.is_open) for one in found)
    if len(world.told) != edges:
        yield Violation(now, "an edge was not told, or under two ids", f"{len(world.told)} of {edges}")


def play(seed: int) -> tuple[WatchedWorld, Violation | None]:
    """One world through its storm and its calm, and what it has broken."""
    world = WatchedWorld(seed)
    world.live_through(STORM, CALM)
    return world, next(check_watched(world), None)


def main(seeds: int) -> int:
    """One line a seed; 1 if any broke its promise."""
    broken = 0
    for seed in range(seeds):
        world, violation = play(seed)
        print(
            f"seed {seed}: {len(world.told)} edges told, {sum(world.told.values())} deliveries, {violation or 'kept'}"
        )
        broken += violation is not None
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5))
