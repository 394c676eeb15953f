"""Errands in a world of their own: whatever dies on the way, each is carried on until it is done, and then is gone.

    python -m simulator.errands [seeds]

Its doer counts: an errand is done when it was taken so many steps further, and callers ask for more at any time.
"""

import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from cronfleet.domain.errand import LONGEST_BACKOFF, Errand, ErrandKind, new_errand
from cronfleet.domain.instant import Instant
from cronfleet.domain.rate import Rate
from cronfleet.ports.job_store import PutErrand
from simulator import population
from simulator.checkers.violation import Violation
from simulator.faults import MINUTE, SECOND, drawn
from simulator.loop import Process
from simulator.wire import Wire
from simulator.world import START, World

KIND: Final = ErrandKind.NOTICE
ERRANDS: Final = 12
STORM: Final = 40 * MINUTE
CALM: Final = 2 * LONGEST_BACKOFF
"""Then everything must be done: an errand that failed at the end of the storm has waited its longest by then."""

WAKES: Final = 4
"""How often callers ask for more of each."""
MOST_STEPS: Final = 20
STEPS_AT_ONCE: Final = 5
FAILING: Final = 0.05
LONGEST_END: Final = 20 * SECOND


@dataclass
class Book:
    """How many steps of each errand are wanted, and how many were done."""

    wanted: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    visits: int = 0
    failures: int = 0


class Counting:
    """Takes an errand some steps further; now and then it fails, as long as there are faults."""

    def __init__(self, world: "ErrandWorld", process: Process) -> None:
        self._world = world
        self._process = process
        self._wire = Wire(world.weather, process)

    def carry_on(self, tenant: str, errand_id: str, until: Instant) -> Instant | None:
        """See `Doer`."""
        book = self._world.book
        book.visits += 1
        name = f"{tenant}/{errand_id}"
        for _ in range(STEPS_AT_ONCE):
            left = self._wire.call("read", lambda: book.wanted[name] - book.done[name])
            if left <= 0:
                # Time in which a caller may want more of what is about to be retired.
                self._process.sleep(self._world.draws.randint(0, LONGEST_END))
                return None
            self._wire.call("step", partial(book.done.update, [name]))
            if self._world.is_stormy and self._world.draws.random() < FAILING:
                book.failures += 1
                raise ValueError("a doer that fails")
            if self._process.now() >= until:
                return self._process.now()
        return self._process.now() + self._world.draws.randint(0, 90) * SECOND


class ErrandWorld(World):
    """A world in which there is nothing to do but errands."""

    def __init__(self, seed: int) -> None:
        self.draws = random.Random(f"{seed}/errands")
        faults = drawn(random.Random(f"{seed}/plan"), START, START + STORM)
        super().__init__(seed, faults, Rate(100, 100))
        self.book = Book()
        self.doers[KIND] = partial(Counting, self)
        for number in range(ERRANDS):
            tenant = self.draws.choice(population.TENANTS)
            for _ in range(WAKES):
                at = START + self.draws.randint(0, STORM)
                self.loop.at(at, partial(self.want_more, tenant, f"errand-{number}", self.draws.randint(1, MOST_STEPS)))

    @property
    def is_stormy(self) -> bool:
        """Whether there are faults still."""
        return self.loop.now < START + STORM

    def want_more(self, tenant: str, errand_id: str, steps: int) -> None:
        """A caller's transaction: more is wanted, and the errand is due now. What was not taken counts for nothing."""

        def effect(write: PutErrand) -> None:
            self.store.commit([write])
            self.book.wanted[f"{tenant}/{errand_id}"] += steps

        def body(process: Process) -> None:
            before = self.wired(process).get_errand(tenant, KIND, errand_id)
            write = PutErrand(self._woken(before, tenant, errand_id, process.now()), before)
            Wire(self.weather, process).call("commit", lambda: effect(write))

        self.functions.invoke("api", body)

    def _woken(self, before: Errand | None, tenant: str, errand_id: str, now: Instant) -> Errand:
        if before is not None:
            return before.moved(now)
        return new_errand(tenant, KIND, errand_id, now, now=now, shards=self.shards)


def check_errands(world: ErrandWorld) -> Iterator[Violation]:
    """Every step that was wanted was done, and nothing waits any more."""
    for name, wanted in sorted(world.book.wanted.items()):
        if world.book.done[name] < wanted:
            detail = f"{name}: {world.book.done[name]} of {wanted} steps"
            yield Violation(world.loop.now, "an errand was lost", detail)
    for errand in world.store.state.errands.values():
        yield Violation(world.loop.now, "an errand that was done was not retired", repr(errand))


def play(seed: int) -> tuple[ErrandWorld, Violation | None]:
    """One world through its storm and its calm, and what it has broken."""
    world = ErrandWorld(seed)
    world.live_through(STORM, CALM)
    return world, next(check_errands(world), None)


def main(seeds: int) -> int:
    """One line a seed; 1 if any broke its promise."""
    broken = 0
    for seed in range(seeds):
        world, violation = play(seed)
        broken += violation is not None
        book, faults = world.book, sum(world.history.faults.values())
        print(f"seed {seed}: {book.done.total()} of {book.wanted.total()} steps in {book.visits} visits,", end=" ")
        print(f"{book.failures} failures, {faults} faults: {violation or 'holds'}")
    return min(broken, 1)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10))
