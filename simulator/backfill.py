"""A backfill of very many dates beside live traffic: what it costs that, and whether each date runs exactly once.

    python -m simulator.backfill                     10,000 dates beside 20 tenants, its own live schedules included
    python -m simulator.backfill --dates 1000 --kill-every 7

The production services run in virtual time, without faults but those asked for, once without the backfill and once with
it. The same call is made three times. With `--kill-every` every clerk, dispatcher and worker of that second dies, again
and again. It exits 0 when the live fires' 99th percentile of lag moved by less than half a second, every date ran
exactly once, and the repeated calls created nothing.
"""

import argparse
import sys
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from cronfleet.domain.backfill import Mode
from cronfleet.domain.errand import ErrandKind
from cronfleet.domain.operation import Kind
from cronfleet.domain.tenant import Tenant
from cronfleet.domain.trigger import IntervalTrigger
from cronfleet.services.access import Caller
from cronfleet.services.backfill_source import BackfillSource
from cronfleet.services.backfills import AskedBackfill, Backfills
from cronfleet.services.operation_doer import OperationDoer
from simulator.faults import MINUTE, SECOND
from simulator.loop import Process
from simulator.noisy import NoisyWorld, percentile
from simulator.world import START

DATES: Final = 10_000
TENANTS: Final = 20
EACH: Final = 10
"""Live schedules of each tenant, which fire once a minute; the one with the backfill has as many."""
SHARDS: Final = 8
WORKERS: Final = 50

ASKED_AT: Final = START + 3 * MINUTE
"""By then ticks come every five seconds; what is due before is not counted."""
WATCHED: Final = 5 * MINUTE
"""How long live fires are counted at least."""
STEP: Final = MINUTE
LONGEST: Final = 240 * MINUTE
KILLED_FOR: Final = 5 * MINUTE
LIMIT: Final = SECOND // 2
"""Milliseconds that the live fires' p99 may move."""
CONCURRENT: Final = 200

ACME: Final = "acme"
NAME: Final = "past"
HELD, BROKEN = 0, 1


@dataclass(frozen=True)
class Outcome:
    """What came of one world: lags of live fires in milliseconds, sorted; how often which date ran."""

    live: list[int]
    ran: Counter[str]
    operations: int
    rows: int
    status: str
    counts: dict[str, int]
    answers: Counter[str]
    seconds: int
    killed: int

    @property
    def p99(self) -> int:
        """The 99th percentile of the live fires' lag."""
        return percentile(self.live, 99)


class BackfillWorld(NoisyWorld):
    """A world with a clerk that carries operations on."""

    def __init__(self, seed: int, shards: int, workers: int) -> None:
        super().__init__(seed, shards, workers)
        self.doers[ErrandKind.OPERATION] = self._doer
        self.answers: Counter[str] = Counter()
        self.killed = 0

    def _doer(self, process: Process) -> OperationDoer:
        store = self.wired(process)
        sources: dict[Kind, Any] = {Kind.BACKFILL: BackfillSource(store)}
        return OperationDoer(store=store, clock=process, ids=self.ids, telemetry=self._notes, sources=sources)

    def backfill(self, dates: int) -> None:
        """Ask for it, as a caller does."""
        asked = AskedBackfill(
            ASKED_AT - (dates + 1) * MINUTE,
            ASKED_AT - MINUTE,
            NAME,
            mode=Mode.REDO_ALL,
            max_concurrent=CONCURRENT,
        )
        caller = Caller(Tenant(ACME, quotas=(("backfill_fires", dates),)), "key", self.ids.unique())

        def body(process: Process) -> None:
            service = Backfills(store=self.wired(process), clock=process, ids=self.ids, shards=self.shards)
            answer = service.create(caller, asked)
            self.answers["created" if answer.created else "there already"] += 1

        self.functions.invoke("api", body)

    def kill_some(self, every: int, until: int) -> None:
        """Every process of this moment that is not a caller's dies."""
        for name, process in list(self.functions.running.items()):
            if name.partition("-")[0] in ("clerk", "dispatcher", "worker"):
                process.kill()
                self.killed += 1
        if self.loop.now < until:
            self.loop.after(every * SECOND, partial(self.kill_some, every, until))


def play(seed: int, dates: int, shards: int = SHARDS, workers: int = WORKERS, kill_every: int = 0) -> Outcome:
    """One world until the backfill is over, and at least five minutes after it was asked for."""
    world = BackfillWorld(seed, shards, workers)
    quotas = (("backfill_fires", max(1, dates)),)
    world.store.state.tenants[ACME] = Tenant(ACME, quotas=quotas, rev=1)
    for number in range(TENANTS):
        for each in range(EACH):
            anchor = START + (number * EACH + each) * 7 % 60 * SECOND
            world.add(ACME if not number else f"tenant-{number:02}", f"each-{each}", IntervalTrigger(60, anchor))
    world.add(ACME, NAME, IntervalTrigger(60, START))
    if dates:
        for delay in (0, 200, 30_000):
            world.loop.at(ASKED_AT + delay, partial(world.backfill, dates))
    if kill_every:
        world.loop.at(ASKED_AT + SECOND, partial(world.kill_some, kill_every, ASKED_AT + KILLED_FOR))
    end = ASKED_AT + WATCHED
    world.loop.run_until(end)
    while dates and not _is_over(world) and end < START + LONGEST:
        end += STEP
        world.loop.run_until(end)
    return _outcome(world)


def _is_over(world: BackfillWorld) -> bool:
    return all(one.is_over for one in world.store.state.operations.values())


def _outcome(world: BackfillWorld) -> Outcome:
    first = [call for call in world.history.calls if call.attempt == 1 and call.due_at >= ASKED_AT]
    operation = next(iter(world.store.state.operations.values()), None)
    rows = [key for key in world.rows if key.cause.startswith("backfill-")]
    ended = ASKED_AT if operation is None or operation.ended_at is None else operation.ended_at
    # Of runs that were begun anew after a death, one effect is what counts: a receipt keeps it to one.
    ran = Counter({run_id: count for run_id, count in world.history.effects.items() if "~backfill-" in run_id})
    return Outcome(
        sorted(call.row_started_at - call.due_at for call in first if call.scheduled),
        ran,
        len(world.store.state.operations),
        len(rows),
        "" if operation is None else operation.status.value,
        {} if operation is None else dict(operation.counts),
        world.answers,
        (ended - ASKED_AT) // SECOND,
        world.killed,
    )


def broken(without: Outcome, beside: Outcome, dates: int, *, lag: bool = True) -> list[str]:
    """Which of the promises does not hold; with processes killed on purpose, nothing is promised of `lag`."""
    found = []
    moved = beside.p99 - without.p99
    if lag and moved >= LIMIT:
        found.append(f"the live fires' p99 lag moved by {moved} ms")
    if len(beside.ran) != dates or set(beside.ran.values()) - {1} or beside.rows != dates:
        most = max(beside.ran.values(), default=0)
        found.append(f"{len(beside.ran)} of {dates} dates ran in {beside.rows} rows, one of them {most} times")
    if beside.operations != 1 or beside.answers["created"] > 1:
        found.append(f"three calls made {beside.operations} backfills")
    if beside.status != "finished" or sum(beside.counts.values()) != dates:
        found.append(f"the backfill is {beside.status or 'not there'} and counts {beside.counts}")
    return found


def main() -> int:
    """Print the figures; 0 when the promises hold."""
    parser = argparse.ArgumentParser(prog="python -m simulator.backfill", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dates", type=int, default=DATES)
    parser.add_argument("--shards", type=int, default=SHARDS)
    parser.add_argument("--kill-every", type=int, default=0, help="seconds; 0: nobody is killed")
    options = parser.parse_args()
    without = play(options.seed, 0, options.shards)
    beside = play(options.seed, options.dates, options.shards, kill_every=options.kill_every)
    for name, outcome in (("without", without), ("beside", beside)):
        lags = ", ".join(f"p{percent} {percentile(outcome.live, percent)} ms" for percent in (50, 99))
        print(f"{name} the backfill: {len(outcome.live):,} live fires, lag {lags}")
    print(
        f"the backfill: {len(beside.ran):,} of {options.dates:,} dates ran, the most often one "
        f"{max(beside.ran.values(), default=0)} time; {beside.status} after {beside.seconds:,} s; calls: "
        f"{dict(beside.answers)}; killed: {beside.killed}"
    )
    found = broken(without, beside, options.dates, lag=not options.kill_every)
    print("; ".join(found) if found else "the promises hold")
    return BROKEN if found else HELD


if __name__ == "__main__":
    sys.exit(main())
