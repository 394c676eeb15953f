"""A noisy neighbour: one tenant with very many fires due at one second, beside quiet ones; what that costs the quiet.

    python -m simulator.noisy                        100,000 fires beside 99 tenants on 64 shards: takes minutes
    python -m simulator.noisy --fires 5000 --shards 4

The production services run in virtual time, without faults, once without the noisy tenant's fires and once with them.
It exits 0 when the quiet tenants' 99th percentile of lag moved by less than a second, each of the noisy tenant's fires
ran, and each was deferred once at most.
"""

import argparse
import sys
from collections import Counter
from dataclasses import dataclass
from typing import Final

from cronfleet.adapters.memory.timers import put_timer
from cronfleet.domain.change import created
from cronfleet.domain.quota import STANDARD
from cronfleet.domain.rate import Rate
from cronfleet.domain.schedule import Policies, Spec
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.tenant import Tenant
from cronfleet.domain.trigger import IntervalTrigger, OneShotTrigger, Trigger
from simulator.faults import MINUTE, NONE, SECOND
from simulator.jobs import Jobs
from simulator.world import START, World

FIRES: Final = 100_000
QUIET: Final = 99
SHARDS: Final = 64
WORKERS: Final = 500
"""As a tier has them on AWS (`infra/config/triggers.py`)."""

AT_ONCE: Final = 5
"""Schedules of each quiet tenant that are due in the noisy one's second …"""
EACH: Final = 5
"""… and as many that fire once a minute."""

DUE_AT: Final = START + 5 * MINUTE
SETTLED_AT: Final = START + 3 * MINUTE
"""By then ticks come every five seconds; what is due before is not counted."""
WATCHED: Final = 10 * MINUTE
"""How long after the crowded second the quiet tenants' fires are counted."""
STEP: Final = MINUTE
LONGEST: Final = 240 * MINUTE
LIMIT: Final = SECOND
"""Milliseconds that the quiet tenants' p99 may move."""

STANDARD_RATE: Final = Rate(STANDARD.fires_per_second, STANDARD.burst)
NOISY: Final = "noisy"
HELD, BROKEN = 0, 1


@dataclass(frozen=True)
class Outcome:
    """What came of one world: lags in milliseconds, sorted; how often which run of the noisy tenant ran or waited."""

    quiet: list[int]
    noisy: list[int]
    ran: Counter[str]
    deferred: Counter[str]
    minutes: int

    @property
    def p99(self) -> int:
        """The 99th percentile of the quiet tenants' lag."""
        return percentile(self.quiet, 99)


def percentile(ordered: list[int], percent: int) -> int:
    """Of sorted values, the one that so many percent do not pass."""
    return ordered[(len(ordered) * percent - 1) // 100] if ordered else 0


class _QuickJobs(Jobs):
    """Jobs of a fifth of a second, none of which fails or hangs."""

    def _work(self) -> int:
        return self._rng.randint(100, 300)


class NoisyWorld(World):
    """A world of many shards and workers, whose schedules are there from the beginning."""

    def __init__(self, seed: int, shards: int, workers: int) -> None:
        super().__init__(seed, NONE, Rate(100, 2_500), shards)
        self.failing = 0.0
        self._jobs = _QuickJobs
        self.runs = self._queue(
            "worker",
            self._work,
            visibility_seconds=5_400,
            concurrency=workers,
            group=lambda message: message.key.tenant,
        )

    def add(self, tenant: str, name: str, trigger: Trigger) -> None:
        """A schedule as the API would have stored it."""
        spec = Spec(trigger, HandlerTarget("sim.job"), policies=Policies(timeout_seconds=60))
        timer, definition = created(
            spec,
            tenant=Tenant(tenant),
            schedule_id=name,
            shards=self.shards,
            now=START,
            change_id=name,
            author="simulator",
            tombstone=None,
        )
        state = self.store.state
        put_timer(state, timer)
        state.definitions[(tenant, name), definition.version] = definition


def play(seed: int, fires: int, quiet: int, shards: int, rate: Rate = STANDARD_RATE) -> Outcome:
    """One world until each of the noisy tenant's `fires` has run, and at least ten minutes past the crowded second."""
    world = NoisyWorld(seed, shards, WORKERS)
    quotas = (("burst", rate.burst), ("fires_per_second", rate.per_second))
    world.store.state.tenants[NOISY] = Tenant(NOISY, quotas=quotas, rev=1)
    for number in range(quiet):
        for each in range(AT_ONCE):
            world.add(f"quiet-{number:02}", f"once-{each}", OneShotTrigger(DUE_AT, str(DUE_AT), None))
        for each in range(EACH):
            anchor = START + (number * EACH + each) * 7 % 60 * SECOND
            world.add(f"quiet-{number:02}", f"each-{each}", IntervalTrigger(60, anchor))
    for number in range(fires):
        world.add(NOISY, f"job-{number:06}", OneShotTrigger(DUE_AT, str(DUE_AT), None))
    end = DUE_AT + WATCHED + MINUTE
    world.loop.run_until(end)
    while _ran(world).total() < fires and end < START + LONGEST:
        end += STEP
        world.loop.run_until(end)
    first = [call for call in world.history.calls if call.attempt == 1 and call.due_at >= SETTLED_AT]
    quiet_calls = [call for call in first if call.tenant != NOISY and call.due_at < DUE_AT + WATCHED]
    return Outcome(
        sorted(call.row_started_at - call.due_at for call in quiet_calls),
        sorted(call.row_started_at - call.due_at for call in first if call.tenant == NOISY),
        _ran(world),
        Counter(one.fire for one in world.history.deferrals.values() if one.fire.startswith(f"{NOISY}~")),
        (end - DUE_AT) // MINUTE,
    )


def _ran(world: World) -> Counter[str]:
    return Counter(call.schedule_id for call in world.history.calls if call.tenant == NOISY)


def compared(seed: int, fires: int, quiet: int, shards: int) -> tuple[Outcome, Outcome]:
    """The same world without the noisy tenant's fires, and with them."""
    without = play(seed, 0, quiet, shards)
    return without, play(seed, fires, quiet, shards)


def broken(without: Outcome, beside: Outcome, fires: int) -> list[str]:
    """Which of the promises does not hold."""
    found = []
    moved = beside.p99 - without.p99
    if moved >= LIMIT:
        found.append(f"the quiet tenants' p99 lag moved by {moved} ms")
    if len(beside.ran) != fires or set(beside.ran.values()) - {1}:
        found.append(f"{len(beside.ran)} of {fires} fires ran, one of them {max(beside.ran.values(), default=0)} times")
    if set(beside.deferred.values()) - {1}:
        found.append(f"a fire was deferred {max(beside.deferred.values())} times")
    return found


def main() -> int:
    """Print the figures; 0 when the promises hold."""
    parser = argparse.ArgumentParser(prog="python -m simulator.noisy", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fires", type=int, default=FIRES, help="due at one second, of one tenant")
    parser.add_argument("--quiet", type=int, default=QUIET, help="tenants beside it")
    parser.add_argument("--shards", type=int, default=SHARDS)
    options = parser.parse_args()
    without, beside = compared(options.seed, options.fires, options.quiet, options.shards)
    for name, outcome in (("without", without), ("beside", beside)):
        lags = ", ".join(f"p{percent} {percentile(outcome.quiet, percent)} ms" for percent in (50, 99))
        print(f"{name} the noisy tenant: {len(outcome.quiet):,} fires of {options.quiet} quiet ones, lag {lags}")
    allowed = f"{STANDARD.fires_per_second} a second, {STANDARD.burst:,} at once"
    print(
        f"the noisy tenant: {len(beside.ran):,} of {options.fires:,} fires ran, {len(beside.deferred):,} of them "
        f"deferred, within {beside.minutes} minutes ({allowed}); "
        f"lag from its place p99 {percentile(beside.noisy, 99)} ms"
    )
    found = broken(without, beside, options.fires)
    print("; ".join(found) if found else "the promises hold")
    return BROKEN if found else HELD


if __name__ == "__main__":
    sys.exit(main())
