"""The population: ten million schedules in arrays of numbers, some twenty bytes each.

What a schedule has of its own stands in the arrays; its name, tenant, trigger and all else follow from its number and
are made when somebody reads it. Instants are whole seconds after the population's beginning.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.scale.mix import EVERY_SECONDS, Lines, Shares
from cronfleet.domain.instant import MINUTE, SECOND, Instant, to_text
from cronfleet.domain.misfire import Misfire
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.schedule import Status, Timer
from cronfleet.domain.tenant import Tenant
from cronfleet.domain.trigger import IntervalTrigger, OneShotTrigger, Trigger
from cronfleet.domain.zone_stamp import stamp

NEVER: Final = np.iinfo(np.int32).max
"""Not in the minutes that are watched."""

SCHEDULES_OF_A_TENANT: Final = 1_000
"""On average; sizes are spread log-normally, none beyond what the standard tier allows, some five times the mean."""
LARGEST_TENANT: Final = 10_000
PRIORITY_SHARE: Final = 0.2
"""Of tenants."""
TIERS: Final = ("standard", "priority")

_MISFIRE: Final = Misfire()


@dataclass(slots=True)
class Population:
    """All schedules. `trigger` counts the cron lines, then the intervals, then the one-shots."""

    lines: Lines
    begins_at: Instant
    minutes: int
    trigger: NDArray[np.uint16]
    phase: NDArray[np.uint16]
    """Of an interval the second of its first fire, of a one-shot that of its only one."""
    tenant: NDArray[np.uint16]
    shard: NDArray[np.uint16]
    nominal: NDArray[np.int32]
    due: NDArray[np.int32]
    rev: NDArray[np.uint16]
    claimed_by: NDArray[np.int32]
    """The batch of the last claim: its fence and number in one."""
    tenants: list[Tenant]
    stamps: list[object]

    def __len__(self) -> int:
        return len(self.trigger)

    @property
    def nbytes(self) -> int:
        """What the arrays take."""
        held = (self.trigger, self.phase, self.tenant, self.shard, self.nominal, self.due, self.rev, self.claimed_by)
        return sum(one.nbytes for one in held)

    def trigger_of(self, number: int) -> Trigger:
        """The trigger that a schedule follows."""
        kind = int(self.trigger[number])
        lines = self.lines.triggers
        if kind < len(lines):
            return lines[kind]
        at = self.begins_at + int(self.phase[number]) * SECOND
        if kind < len(lines) + len(EVERY_SECONDS):
            return IntervalTrigger(EVERY_SECONDS[kind - len(lines)], at)
        return OneShotTrigger(at, to_text(at), None)

    def timer(self, number: int, nominal: int, due: int, reserved: int | None) -> Timer:
        """The timer as the index shows it, where it waits for this nominal and is due then."""
        kind, tenant = int(self.trigger[number]), self.tenants[self.tenant[number]]
        begin = self.begins_at
        return Timer(
            tenant.tenant_id,
            name_of(number),
            tenant.tier,
            int(self.shard[number]),
            Status.ACTIVE,
            self.trigger_of(number),
            _MISFIRE,
            Overlap.ALLOW,
            jitter_seconds=0,
            timeout_seconds=60,
            version=1,
            epoch=1,
            epoch_starts=(),
            born_epoch=0,
            rev=int(self.rev[number]),
            nominal_at=begin + nominal * SECOND,
            due_at=begin + due * SECOND,
            reserved_at=None if reserved is None else begin + reserved * SECOND,
            zone_data=self.stamps[kind] if kind < len(self.stamps) else None,  # type: ignore[arg-type]  # stamps or None
            labels=(),
            is_counted=True,
        )


def name_of(number: int) -> str:
    """The id of a schedule."""
    return f"job-{number:08d}"


def number_of(schedule_id: str) -> int:
    """The reverse."""
    return int(schedule_id[4:])


def _tenants(count: int, rng: np.random.Generator) -> tuple[list[Tenant], NDArray[np.float64]]:
    """Tenants, and what part of all schedules each has."""
    sizes = np.minimum(rng.lognormal(0.0, 1.2, count), LARGEST_TENANT / SCHEDULES_OF_A_TENANT)
    is_priority = rng.random(count) < PRIORITY_SHARE
    tenants = [Tenant(f"tenant-{place:05d}", TIERS[int(one)], rev=1) for place, one in enumerate(is_priority)]
    return tenants, sizes / sizes.sum()


def made(lines: Lines, shares: Shares, begins_at: Instant, minutes: int, shards: int, seed: int) -> Population:
    """A population of `shares`, in an order that tells nothing; shards are drawn evenly, as the hash of ids is."""
    rng = np.random.default_rng(seed)
    counts = np.concatenate([shares.cron, shares.intervals, [shares.one_shots]])
    trigger = np.repeat(np.arange(len(counts), dtype=np.uint16), counts)
    rng.shuffle(trigger)
    total = len(trigger)
    tenants, sizes = _tenants(min(60_000, max(20, total // SCHEDULES_OF_A_TENANT)), rng)
    phase = _phases(trigger, len(lines.triggers), minutes, rng)
    due = _first_due(lines, trigger, phase, minutes)
    return Population(
        lines,
        begins_at,
        minutes,
        trigger,
        phase,
        np.searchsorted(np.cumsum(sizes)[:-1], rng.random(total, dtype=np.float32)).astype(np.uint16),
        rng.integers(0, shards, total, dtype=np.uint16),
        due.copy(),
        due,
        np.ones(total, dtype=np.uint16),
        np.zeros(total, dtype=np.int32),
        tenants,
        [stamp(one, begins_at) for one in lines.triggers],
    )


def _phases(trigger: NDArray[np.uint16], crons: int, minutes: int, rng: np.random.Generator) -> NDArray[np.uint16]:
    """A second for each interval and one-shot: evenly drawn."""
    spans = np.concatenate([np.zeros(crons), EVERY_SECONDS, [60 * minutes]])
    phase = np.zeros(len(trigger), dtype=np.uint16)
    own = np.flatnonzero(trigger >= crons)
    phase[own] = (rng.random(len(own)) * spans[trigger[own]]).astype(np.uint16)
    return phase


def _first_due(lines: Lines, trigger: NDArray[np.uint16], phase: NDArray[np.uint16], minutes: int) -> NDArray[np.int32]:
    """When each is due first in the minutes that are watched, by the oracle's list; `NEVER` if it is not."""
    crons = len(lines.triggers)
    first = np.array([60 * found[0] if found else NEVER for found in lines.minutes], dtype=np.int32)
    rest = len(EVERY_SECONDS) + 1
    due = np.concatenate([first, np.full(rest, NEVER, dtype=np.int32)])[trigger]
    own = np.flatnonzero(trigger >= crons)
    due[own] = phase[own]
    due[due >= 60 * minutes] = NEVER
    return due


def expected(population: Population) -> NDArray[np.int64]:
    """Every fire that has to come, as `number << 32 | second of its nominal`, sorted; the product has no part in it."""
    found = list(_expected(population))
    return np.sort(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)


def _expected(population: Population) -> Iterator[NDArray[np.int64]]:
    crons, end = len(population.lines.triggers), 60 * population.minutes
    awake = np.flatnonzero(population.due < NEVER).astype(np.int64)
    kinds = population.trigger[awake]
    order = np.argsort(kinds, kind="stable")
    bounds = np.searchsorted(kinds[order], np.arange(crons + len(EVERY_SECONDS) + 2))
    for kind in range(crons + len(EVERY_SECONDS) + 1):
        own = awake[order[bounds[kind] : bounds[kind + 1]]]
        if kind < crons:
            for minute in population.lines.minutes[kind]:
                yield own << 32 | 60 * minute
            continue
        phase = population.phase[own].astype(np.int64)
        every = EVERY_SECONDS[kind - crons] if kind < crons + len(EVERY_SECONDS) else end
        for turn in range(-(-end // every)):
            at = phase + turn * every
            yield (own << 32 | at)[at < end]


def minute_text(population: Population, minute: int) -> str:
    """The minute as the clock shows it."""
    return to_text(population.begins_at + minute * MINUTE)[11:16]
