"""The job store over a population: the product's own in memory, but for timers, the due index and the dispatch log."""

from collections.abc import Callable, Sequence
from typing import Final

from benchmarks.scale.capacity import Meter
from benchmarks.scale.due_index import CompactIndex
from benchmarks.scale.population import NEVER, Population, number_of
from cronfleet.adapters.memory.job_store import MemoryJobStore
from cronfleet.domain.claim import Batch, BatchId, Claim, ClaimOutcome, DueItem, RunTimer, ScheduleClaim
from cronfleet.domain.instant import SECOND, Instant
from cronfleet.domain.reason import Reason
from cronfleet.domain.schedule import Timer
from cronfleet.ports.clock import Clock
from cronfleet.ports.page import Page
from cronfleet.ports.peeking import DueKey

Later = Callable[[int, Callable[[], None]], None]
"""Does something when the index has heard of a write to the schedule of this number."""

BATCHES_KEPT: Final = 3
"""Of each shard: only the open one is ever read again here, since nothing sweeps."""

_NUMBERS: Final = 4_096
"""More batches than a tick ever writes."""


class CompactStore(MemoryJobStore):
    """`JobStore`, as far as dispatch needs it."""

    def __init__(self, clock: Clock, population: Population, index: CompactIndex, meter: Meter, later: Later) -> None:
        super().__init__(clock)
        self.state.tenants = {one.tenant_id: one for one in population.tenants}
        self.population = population
        self.index = index
        self.meter = meter
        self.deferrals = 0
        self._later = later
        self._clock = clock
        self._log: dict[int, dict[BatchId, Batch]] = {}

    # --- the dispatch log ----------------------------------------------------------------------------------------

    def put_batch(self, batch: Batch) -> None:
        own = self._log.setdefault(batch.batch_id.shard, {})
        own.setdefault(batch.batch_id, batch)
        while len(own) > BATCHES_KEPT:
            del own[next(iter(own))]

    def get_batch(self, batch_id: BatchId) -> Batch | None:
        return self._log.get(batch_id.shard, {}).get(batch_id)

    # --- the due index -------------------------------------------------------------------------------------------

    def _second(self, instant: Instant) -> int:
        return (instant - self.population.begins_at) // SECOND

    def due(self, shard: int, until: Instant, cursor: str | None, limit: int) -> Page[DueItem]:
        found = self.index.page(shard, self._second(until), cursor, limit)
        return Page(found.items, found.cursor)

    def peek(self, shard: int, until: Instant, cursor: str | None, limit: int) -> Page[DueKey]:
        found = self.index.keys(shard, self._second(until), cursor, limit)
        tenants, owners = self.population.tenants, self.population.tenant
        keys = [DueKey(tenants[owners[one]].tenant_id, f"{one}#{nominal}", f"{at}") for at, one, nominal in found.items]
        return Page(keys, found.cursor)

    def get_due(self, keys: Sequence[DueKey]) -> Sequence[DueItem]:
        found: list[DueItem] = []
        for key in keys:
            number, nominal = map(int, key.partition.split("#"))
            if self.population.due[number] == int(key.sort):
                found.append(self.population.timer(number, nominal, int(key.sort), self.index.reserved.get(number)))
        return found

    def get_timer(self, tenant: str, schedule_id: str) -> Timer | None:  # noqa: ARG002 - the id tells it all
        number, population = number_of(schedule_id), self.population
        return population.timer(number, int(population.nominal[number]), int(population.due[number]), None)

    # --- claims and deferrals ------------------------------------------------------------------------------------

    def claim(self, batch_id: BatchId, claims: Sequence[Claim]) -> Sequence[ClaimOutcome]:
        return [self.claim_one(batch_id, claim) for claim in claims]

    def claim_one(self, batch_id: BatchId, claim: Claim) -> ClaimOutcome:
        if not isinstance(claim, ScheduleClaim):
            return super().claim_one(batch_id, claim)
        population, number = self.population, number_of(claim.schedule_id)
        wakes_at = claim.wakes_at
        base, now = number % self.meter.base_partitions, self._clock.now()
        batch = batch_id.fence * _NUMBERS + batch_id.number
        due, nominal = int(population.due[number]), int(population.nominal[number])
        nominal_at = None if claim.nominal_at is None else self._second(claim.nominal_at)
        stands = (int(population.rev[number]), nominal, due) == (claim.rev, nominal_at, self._second(claim.due_at))
        # A condition that fails is charged to the table, and leaves the index as it is.
        moved = 0 if not stands else 1 if wakes_at is None else 2
        if not self.meter.takes(batch_id.shard, base, moved, now):
            return ClaimOutcome.UNANSWERED
        if not stands:
            return ClaimOutcome.WON if population.claimed_by[number] == batch else ClaimOutcome.LOST
        population.claimed_by[number] = batch
        if claim.reserved_at is None:
            self.index.reserved.pop(number, None)
        else:
            self.index.reserved[number] = self._second(claim.reserved_at)
        following = NEVER if claim.following is None else self._clipped(claim.following.nominal_at)
        self._move(number, due, NEVER if wakes_at is None else self._clipped(wakes_at), following)
        return ClaimOutcome.WON

    def _clipped(self, instant: Instant) -> int:
        return min(self._second(instant), NEVER)

    def _move(self, number: int, before: int, due: int, nominal: int) -> None:
        population, shard = self.population, int(self.population.shard[number])
        population.due[number], population.nominal[number] = due, nominal
        self._later(number, lambda: self.index.move(number, shard, before, due, nominal))

    def defer(self, item: Timer | RunTimer, due_at: Instant, reason: Reason) -> bool:
        if isinstance(item, RunTimer):
            return super().defer(item, due_at, reason)
        population, number = self.population, number_of(item.schedule_id)
        before, nominal = int(population.due[number]), int(population.nominal[number])
        nominal_at = None if item.nominal_at is None else self._second(item.nominal_at)
        if (int(population.rev[number]), nominal) != (item.rev, nominal_at):
            return False
        population.rev[number] += 1
        self.deferrals += 1
        place = self._second(due_at)
        self.index.reserved[number] = place
        self._move(number, before, place, nominal)
        return True
