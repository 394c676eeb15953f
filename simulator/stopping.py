"""A stopped shard: its ticks are lost for minutes, and the incident names exactly those whose fires came due, once.

    python -m simulator.stopping [seeds]

Whom it harmed is taken from the rows: when each fire was due, and when it was claimed, which a dispatcher that is there
does ahead of its time. A fire that a sweep can see wait for long must be named, and none that never waited.
"""

import random
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Final

from cronfleet.domain.change import created
from cronfleet.domain.incident import PLATFORM, Incident
from cronfleet.domain.instant import HOUR, MINUTE, SECOND
from cronfleet.domain.rate import Rate
from cronfleet.domain.retry import Retry
from cronfleet.domain.schedule import Policies, Spec
from cronfleet.domain.shard import shard_of
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.tenant import Tenant
from cronfleet.domain.trigger import IntervalTrigger
from cronfleet.ports.job_store import CreateTimer, InsertDefinition
from cronfleet.ports.queues import Tick
from cronfleet.services.incidents import Incidents
from cronfleet.services.self_watch import SelfWatch
from cronfleet.services.shard_watch import ShardWatch
from cronfleet.services.sweeper import Sweeper
from simulator import population
from simulator.checkers.violation import Violation
from simulator.faults import NONE, Faults
from simulator.loop import Process
from simulator.strands import Strands
from simulator.world import START, World

STOPPED: Final = 1
"""The shard whose ticks are lost …"""
STOPS_AT: Final = START + 10 * MINUTE
"""… from here …"""
GOES_ON_AT: Final = STOPS_AT + 7 * MINUTE + 20 * SECOND
"""… until here."""
ENDS_AT: Final = START + 30 * MINUTE

SCHEDULES: Final = 30
PERIODS: Final = (MINUTE, 5 * MINUTE, HOUR)

WAITS: Final = 40 * SECOND
"""A fire that has waited for so long when a sweep begins is late by any clock, and so is its shard stopped."""
ONCE: Final = Retry(max_attempts=1)
"""A second attempt that comes due would be named as well, and its row no longer says when its fire was claimed."""


class StoppingWorld(World):
    """A world in which one shard's ticks are lost for a while, and the sweeper watches."""

    def __init__(self, seed: int, faults: Faults = NONE) -> None:
        super().__init__(seed, faults, Rate(100, 100))
        self.failing = 0.0
        self.sweeps: list[int] = []
        """When each sweep began."""
        draws = random.Random(f"{seed}/stopping")
        for number in range(SCHEDULES):
            self._add(f"job-{number:02}", draws.choice(PERIODS), draws)

    def _add(self, name: str, period: int, draws: random.Random) -> None:
        tenant = draws.choice(population.TENANTS)
        trigger = IntervalTrigger(period // SECOND, START + draws.randrange(0, period, SECOND))
        timer, definition = created(
            Spec(trigger, HandlerTarget("sim.job"), policies=Policies(retry=ONCE)),
            tenant=Tenant(tenant),
            schedule_id=name,
            shards=self.shards,
            now=START,
            change_id=name,
            author="ada",
            tombstone=None,
        )
        self.store.commit([CreateTimer(timer), InsertDefinition(definition)])

    def _dispatch(self, process: Process, tick: Tick) -> None:
        if tick.shard == STOPPED and STOPS_AT <= self.loop.now < GOES_ON_AT:
            return
        super()._dispatch(process, tick)

    def _sweep(self, process: Process) -> None:
        self.sweeps.append(self.loop.now)
        store = self.wired(process)
        incidents = Incidents(store=store, clock=process, ids=self.ids, shards=self.shards)
        Sweeper(
            store=store,
            run_queue=self._run_queue(process, of_sweeper=True),
            dispatcher=self._dispatcher(process),
            side_by_side=Strands(process, self.weather),
            clock=process,
            telemetry=self.notes,
            shards=self.shards,
            shard_watch=ShardWatch(store=store, incidents=incidents),
            self_watch=SelfWatch(store=store, incidents=incidents),
        ).sweep(process.now() + 100_000)


def check_stopped(world: StoppingWorld) -> Iterator[Violation]:
    """Each concerned has one incident, healed once the ticks are back, that names exactly its own."""
    now = world.loop.now
    must, may = _harmed(world)
    # A world begins without ticks too, until its ticker is first invoked: that is another incident.
    alerts = world.store.state.alerts.values()
    found = [one for one in alerts if isinstance(one, Incident) and one.opened_at >= STOPS_AT]
    told = Counter(one.tenant for one in found)
    for tenant in (*population.TENANTS, PLATFORM):
        own = f"{tenant}/"
        mine = {name for name in must if tenant == PLATFORM or name.startswith(own)}
        if told[tenant] > 1 or (mine and not told[tenant]):
            yield Violation(now, "a stopped shard was not told exactly once", f"{tenant}: {told[tenant]}")
    for one in found:
        prefix = "" if one.tenant == PLATFORM else f"{one.tenant}/"
        names = {prefix + name for name in one.broken.schedules}
        missing = {name for name in must if name.startswith(prefix)} - names
        if missing or names - may:
            yield Violation(now, "other schedules were named than were harmed", f"{missing} not, {names - may} too")
        if one.is_open or (one.ended_at or 0) < GOES_ON_AT:
            yield Violation(now, "an incident did not end when ticks were back", f"{one.tenant}: {one.ended_at}")


def _harmed(world: StoppingWorld) -> tuple[set[str], set[str]]:
    """Those of which a sweep could see a fire wait for long, and those of which one waited at all."""
    must: set[str] = set()
    may: set[str] = set()
    for key, row in world.rows.items():
        if shard_of(key.tenant, key.schedule_id, world.shards) != STOPPED or not STOPS_AT <= row.due_at <= GOES_ON_AT:
            continue
        name, claimed_at = f"{key.tenant}/{key.schedule_id}", row.claimed_at or row.due_at
        may |= {name} if claimed_at > row.due_at else set()
        must |= {name for at in world.sweeps if row.due_at + WAITS < at < min(claimed_at, GOES_ON_AT)}
    return must, may


def play(seed: int, faults: Faults = NONE) -> tuple[StoppingWorld, Violation | None]:
    """One world from before its shard stops until long after, and what it has broken."""
    world = StoppingWorld(seed, faults)
    world.loop.run_until(ENDS_AT)
    return world, next(check_stopped(world), None)


def main(seeds: int) -> int:
    """One line a seed; 1 if any broke its promise."""
    broken = 0
    for seed in range(seeds):
        world, violation = play(seed)
        must, may = _harmed(world)
        print(f"seed {seed}: {len(must)} to {len(may)} of {SCHEDULES} schedules harmed, {violation or 'told once'}")
        broken += violation is not None
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5))
