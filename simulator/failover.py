"""A fail-over: the first region dies, or is cut off and lives on; the second, which stood by on copies, takes over.

    python -m simulator.failover --seed 0 --seeds 20

The production services run in both regions. Every item that one writes comes to the other after a lag of its own, in
no order, the last writer winning; what had not come when the regions were cut off from each other never comes, or comes
long after. An operator fences the first region and releases the second. Then nothing may be lost: each nominal time of
each schedule has an entry in the ledger of the second. What runs twice is counted, and each must have a reason: it was
under way when the regions were cut off, or had ended so shortly before that the second could not know.
"""

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Any, Final

from cronfleet.domain.hold import Here, Mode
from cronfleet.domain.rate import Rate
from cronfleet.domain.role import Role
from cronfleet.domain.tenant import Tenant
from cronfleet.services.access import Caller
from cronfleet.services.holds import Holds
from cronfleet.services.retiming import Retimings
from cronfleet.services.sweeper import Sweeper
from simulator import population
from simulator.checkers.ledger import check_ledger
from simulator.checkers.statuses import TERMINAL
from simulator.checkers.violation import Violation
from simulator.failover_plan import SOUND, Outcome, Planted, drawn_plan
from simulator.failover_report import lines, summary
from simulator.faults import MINUTE, NONE, SECOND
from simulator.loop import Loop, Process
from simulator.replication import Replication, Side
from simulator.strands import Strands
from simulator.world import START, World

FIRST: Final = "eu-west-1"
SECOND_REGION: Final = "eu-central-1"
ADMIN: Final = Caller(Tenant("acme"), "operator", "request", role=Role.PLATFORM_ADMIN)

SCHEDULES: Final = 30
CHANGES: Final = 60
SHARDS: Final = 4
RATE: Final = Rate(100, 2_500)

DRAINS_WITHIN: Final = 6 * MINUTE
"""Longer than any attempt takes."""

ENTRY_TOO_MANY: Final = "a fire has more than one entry"
_TWICE: Final = re.compile(r"\('(.+)', '(.+)'\) epoch (\d+) nominal (\d+)")

CALM_STEP: Final = 5 * MINUTE
LONGEST_CALM: Final = 6 * 60 * MINUTE
PLANTED_CALM: Final = 30 * MINUTE


class Region(World):
    """One region: the whole installation, without the seals of the audit log and the deletion of tenants."""

    def __init__(self, seed: int, loop: Loop, here: Here, planted: Planted) -> None:
        super().__init__(seed, NONE, RATE, shards=SHARDS, loop=loop, here=here)
        self.is_alive = True
        self._planted = planted

    def _sweep(self, process: Process) -> None:
        Sweeper(
            store=self.wired(process),
            run_queue=self._run_queue(process, of_sweeper=True),
            dispatcher=self._dispatcher(process),
            side_by_side=Strands(process, self.weather),
            clock=process,
            telemetry=self.notes,
            shards=self.shards,
            retimings=self._retimings(process),
        ).sweep(process.now() + 100_000)

    def _retimings(self, process: Process) -> Retimings:
        made = super()._retimings(process)
        if not self._planted.mends:
            made._steps = {}  # noqa: SLF001 - so that nobody carries the job on
        return made

    def operate(self, deed: Any) -> None:
        """An operator's request at this region's API."""

        def body(process: Process) -> Any:
            return deed(Holds(store=self.wired(process), clock=process, ids=self.ids, shards=self.shards))

        self.functions.invoke("api", body)

    def purge(self) -> None:
        """Empty the queues."""
        for queue in (self.ticks, self.runs, self.errands, self.yielding):
            queue._free = 0  # noqa: SLF001 - what is under way in it comes to nobody any more
        self._open_queues()

    def die(self) -> None:
        """Everything stops where it stands, and nothing is invoked any more."""
        self.is_alive = False
        self.functions.invoke = lambda *_, **__: None  # type: ignore[method-assign] # there is nobody left to
        self.functions.deployment = lambda _: None  # what was about to be invoked does nothing
        for process in list(self.functions.running.values()):
            process.kill()


class Failover:
    """Two regions, and what happens to them."""

    def __init__(self, seed: int, planted: Planted = SOUND, schedules: int = SCHEDULES) -> None:
        self.seed = seed
        self.schedules = schedules
        self.planted = planted
        rng = random.Random(f"{seed}/failover")
        self.plan = drawn_plan(rng)
        self.loop = Loop(START)
        self.replication = Replication(self.loop, random.Random(f"{seed}/replication"), self.plan.lag)
        self.first = Region(seed, self.loop, Here(FIRST), planted)
        standby = "second" if planted.is_held else ""
        self.second = Region(seed + 1_000_000, self.loop, Here(SECOND_REGION, standby), planted)
        self.second.ids, self.second.failing = self.first.ids, self.first.failing
        self.sides = [self.replication.attach(name, one.store.state) for name, one in self._regions()]
        self._populate(rng)
        self._direct()

    def _regions(self) -> Iterator[tuple[str, Region]]:
        yield from ((FIRST, self.first), (SECOND_REGION, self.second))

    def _populate(self, rng: random.Random) -> None:
        """Schedules of every kind, and callers who change what they say, until the first region is gone."""
        names = [(rng.choice(population.TENANTS), f"job-{number:04}") for number in range(self.schedules)]
        for tenant, name in names:
            at = START + rng.randint(0, MINUTE)
            spec = population.drawn_spec(rng, at)
            self.loop.at(at, partial(self.first.ask, tenant, name, "create", population.create(spec)))
        for number in range(CHANGES):
            since = START + 2 * MINUTE if number % 2 else self.plan.cut_at - 20 * SECOND
            at = rng.randint(since, self.plan.cut_at)
            tenant, name = rng.choice(names)
            change = population.run_now() if number % 3 == 0 else population.describe(f"edit {number}")
            action = "run" if number % 3 == 0 else "edit"
            self.loop.at(at, partial(self.first.ask, tenant, name, action, change))

    def _direct(self) -> None:
        plan, loop = self.plan, self.loop
        loop.at(plan.cut_at, self._cut)
        loop.at(plan.fenced_at, self._fence)
        loop.at(plan.released_at, self._release)
        if plan.heals_at is not None:
            loop.at(plan.heals_at, self.replication.heal)
            loop.at(plan.heals_at + MINUTE, self._mend)

    def _cut(self) -> None:
        self.replication.cut()
        self.in_flight = {key.run_id for key, row in self.first.rows.items() if row.status.value not in TERMINAL}
        if not self.plan.lives_on:
            self.first.die()

    def _fence(self) -> None:
        if not self.first.is_alive:
            return
        if self.plan.is_revoked:
            self.first.die()
        else:
            self.first.operate(lambda holds: holds.hold(ADMIN, Mode.STANDBY, reason="fenced"))

    def _release(self) -> None:
        self.standby_wrote = self.sides[1].writes
        self.second.operate(lambda holds: holds.release(ADMIN, reason=f"{FIRST} is gone"))
        # In the end targets mend as well: what waits for a breaker would go on for hours.
        self.first.failing = self.second.failing = 0.0

    def _mend(self) -> None:
        """What had not come has come: what it brings into the second region's tables is looked at as well."""
        self.second.operate(lambda holds: holds.mend(ADMIN, reason=f"{FIRST} is back"))

    def play(self, longest_calm: int = LONGEST_CALM) -> Outcome:
        """From the beginning until the second region has come to rest, or that has taken too long."""
        self.loop.run_until(self.plan.released_at + MINUTE)
        after = max(self.plan.released_at, self.plan.heals_at or 0) + 10 * MINUTE
        while self.loop.now < after + longest_calm:
            self.loop.run_until(self.loop.now + CALM_STEP)
            if self.loop.now >= after and not self._is_unsettled(self.loop.now - 15 * MINUTE):
                break
        outcome = Verdict(self).outcome()
        if outcome.violation is None and self.first.is_alive and self.plan.heals_at is not None:
            outcome.violation = next(self.go_back(), None)
            outcome.went_back = True
        return outcome

    def go_back(self) -> Iterator[Violation]:
        """The first region, which lives and is held, takes over again as planned; what is wrong with that."""
        self.second.operate(lambda holds: holds.hold(ADMIN, Mode.DRAIN, reason="going back"))
        self.loop.run_until(self.loop.now + DRAINS_WITHIN)
        self.second.operate(lambda holds: holds.hold(ADMIN, Mode.STANDBY, reason="going back"))
        self.first.purge()
        self.loop.run_until(self.loop.now + 2 * MINUTE)
        back_at = self.loop.now
        ended = {run_id for _, run_id, status, _ in self.second.history.row_writes if status in TERMINAL}
        self.first.operate(lambda holds: holds.release(ADMIN, reason="back"))
        self.loop.run_until(back_at + 40 * MINUTE)
        for call in self.first.history.calls:
            if call.began_at >= back_at and call.run_id in ended:
                yield Violation(call.began_at, "a run ran again after a planned fail-back", call.run_id)
        yield from lost(
            self.first, self.loop.now - 15 * MINUTE, {*self._written(self.first), *self._written(self.second)}
        )

    def _written(self, region: Region) -> set[str]:
        return {run_id for _, run_id, _, _ in region.history.row_writes}

    def _is_unsettled(self, before: int) -> bool:
        state = self.second.store.state
        if any(timer.backlog is not None for timer in state.timers.values()):
            return True
        return any(
            row.status.value not in TERMINAL and row.key.nominal_at <= before for row in self.second.rows.values()
        )


def lost(region: Region, until: int, written: Collection[str]) -> Iterator[Violation]:
    """What a region's ledger lacks by then, or has twice although no row is one of another's, who wrote `written`."""
    for violation in check_ledger(region, until):
        if not _has_both(violation, region, written):
            yield violation
    for key, row in region.rows.items():
        if row.status.value not in TERMINAL and key.nominal_at <= until:
            yield Violation(key.nominal_at, "a run never ended", f"{key.run_id}: {row.status}")


def _has_both(violation: Violation, region: Region, written: Collection[str]) -> bool:
    """Whether a fire has an entry too many because both regions wrote one: the first that it ran, and the second, whose
    copy of its timer was older than that, that it was missed.
    """
    found = _TWICE.search(violation.detail) if violation.promise == ENTRY_TOO_MANY else None
    if found is None:
        return False
    tenant, name, epoch, nominal = found.groups()
    rows = [row for row in region.rows.values() if row.stands_for(int(nominal))]
    place = (tenant, name, int(epoch))
    own = [row for row in rows if (row.key.tenant, row.key.schedule_id, row.key.epoch) == place]
    return any(row.key.run_id in written for row in own)


class Verdict:
    """What is wrong with a fail-over, and what it cost."""

    def __init__(self, failover: Failover) -> None:
        self._it = failover
        self._plan = failover.plan
        self._first, self._second = failover.first, failover.second
        self._copy: Side = failover.sides[1]
        self._keys = {key.run_id: key for key in (*self._first.rows, *self._second.rows)}
        self._written = {run_id for _, run_id, _, _ in self._first.history.row_writes}
        self._cut_short = {call.run_id for call in self._first.history.calls if call.is_cut_short}
        self._ended = self._ends()
        self.recorded_twice = 0

    def outcome(self) -> Outcome:
        """Everything, counted; the first violation of a promise."""
        doubles, wrongs = self._doubles()
        counts = self._second.history.counts
        return Outcome(
            self._it.seed,
            self._plan,
            fires=len(self._second.rows),
            violation=next(iter([*self._standby(), *wrongs, *self._lost()]), None),
            doubles=doubles,
            bound=len(self._explained()),
            mended=Counter({name: counts[name] for name in ("fires_mended", "runs_mended") if counts[name]}),
            changes=self._changes(),
            damage=self._damage(),
            takes_over_ms=self._takes_over(),
        )

    def _ends(self) -> dict[str, int]:
        """When the first region wrote the end of each run that it ended."""
        ended: dict[str, int] = {}
        for at, run_id, status, _ in self._first.history.row_writes:
            if status in TERMINAL:
                ended.setdefault(run_id, at)
        return ended

    def _explained(self) -> set[str]:
        """The runs that may run twice: under way at the cut or claimed later, or ended and not yet known to be."""
        known = {run_id for run_id in self._ended if self._knew_of(run_id, self._plan.released_at)}
        return {call.run_id for call in self._first.history.calls} - known

    def _knew_of(self, run_id: str, at: int) -> bool:
        """Whether the run's end in the first region had come to the second by then."""
        wrote = self._ended.get(run_id)
        if wrote is None:
            return False
        arrivals = self._arrivals_of(run_id)
        return any(written >= wrote and came <= at for written, came in arrivals)

    def _arrivals_of(self, run_id: str) -> Sequence[tuple[int, int]]:
        key = self._keys.get(run_id)
        return () if key is None else self._copy.arrivals.get(("runs", key), ())

    def _doubles(self) -> tuple[Counter[str], list[Violation]]:
        """Runs that ran in both regions, by why; and those for which there is no reason."""
        counted, wrongs = Counter[str](), list[Violation]()
        called = {call.run_id: call for call in reversed(self._first.history.calls)}
        seen = set[str]()
        for call in self._second.history.calls:
            before = called.get(call.run_id)
            if before is None or call.run_id in seen:
                continue
            wrote = self._ended.get(call.run_id)
            arrivals = self._arrivals_of(call.run_id)
            if wrote is not None and any(at >= wrote and came < call.row_started_at for at, came in arrivals):
                text = f"{call.run_id} ended at {wrote}, which the second region knew, and ran there at {call.began_at}"
                wrongs.append(Violation(call.began_at, "a run that was known to be over ran again", text))
            if wrote is None and call.run_id not in self._cut_short:
                continue  # An earlier attempt, which failed and was known to have: this is the next.
            seen.add(call.run_id)
            counted[self._why(before.began_at, wrote)] += 1
        return counted, wrongs

    def _why(self, began_at: int, ended_at: int | None) -> str:
        if began_at > self._plan.cut_at:
            return "ran in the first after the cut"
        if ended_at is None or ended_at > self._plan.cut_at:
            return "under way at the cut"
        return "ended before the cut, and not known"

    def _standby(self) -> Iterator[Violation]:
        """Before its release a standby starts nothing, and writes nothing."""
        for call in self._second.history.calls:
            if call.began_at < self._plan.released_at:
                yield Violation(call.began_at, "a standby ran something before it was released", call.run_id)
        if self._it.standby_wrote:
            yield Violation(self._plan.released_at, "a standby wrote", f"{self._it.standby_wrote} items")

    def _lost(self) -> Iterator[Violation]:
        until = self._it.loop.now - 15 * MINUTE
        yield from lost(self._second, until, self._written)
        both = (violation for violation in check_ledger(self._second, until))
        self.recorded_twice = sum(violation.promise == ENTRY_TOO_MANY for violation in both)

    def _changes(self) -> Counter[str]:
        """Of what the first region's callers were told was done, how much is there."""
        found = Counter[str]()
        there = {entry.request_id for entry in self._second.store.state.audit.values()}
        for request in self._first.history.requests:
            if request.answer == "accepted":
                found["kept" if request.request_id in there else "lost"] += 1
        return found

    def _damage(self) -> Counter[str]:
        state, found = self._second.store.state, Counter[str]()
        entries = Counter((entry.tenant, entry.subject, entry.link.seq) for entry in state.audit.values() if entry.link)
        for (tenant, subject), head in state.audit_heads.items():
            found["chains without their last entry"] += (tenant, subject, head.seq) not in entries
        found["places in a chain taken twice"] += sum(number - 1 for number in entries.values())
        found["fires recorded twice"] += self.recorded_twice
        versions = {key for key, _ in state.definitions}
        said = [((timer.tenant, timer.schedule_id), timer.version) for timer in state.timers.values()]
        found["timers without their definition"] += sum(version not in state.definitions for version in said)
        found["definitions without a timer"] += len(versions - set(state.timers))
        return +found

    def _takes_over(self) -> int:
        began = [call.began_at for call in self._second.history.calls if call.began_at >= self._plan.released_at]
        return min(began) - self._plan.released_at if began else 0


PLANTS: Final = {
    "standby-not-held": Planted(is_held=False),
    "not-mended": Planted(mends=False),
}


def play(seed: int, planted: Planted = SOUND, schedules: int = SCHEDULES) -> Outcome:
    """One fail-over. With a fault in it many a world never comes to rest: it is judged as it is then."""
    return Failover(seed, planted, schedules).play(LONGEST_CALM if planted == SOUND else PLANTED_CALM)


def main(arguments: Sequence[str]) -> int:
    """0 when nothing was lost (or the planted fault was found), 1 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m simulator.failover", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds (default 1)")
    parser.add_argument("--planted", choices=sorted(PLANTS), help="plant this fault; 0 only if it is found")
    options = parser.parse_args(arguments)
    planted = PLANTS.get(options.planted or "", SOUND)
    outcomes = []
    for seed in range(options.seed, options.seed + options.seeds):
        outcomes.append(play(seed, planted))
        print("\n".join(lines(outcomes[-1])), flush=True)
    broken = sum(one.violation is not None for one in outcomes)
    if len(outcomes) > 1:
        print("\n".join(summary(outcomes)))
    return int(broken > 0) if options.planted is None else int(broken == 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
