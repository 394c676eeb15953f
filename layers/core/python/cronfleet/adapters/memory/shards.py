"""`ShardStore` in memory."""

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from cronfleet.adapters.memory.calendars import find
from cronfleet.adapters.memory.state import State
from cronfleet.adapters.memory.timers import put_run_timer, put_timer, run_timer_key
from cronfleet.adapters.memory.transactions import same_fire
from cronfleet.domain.backlog import first_of
from cronfleet.domain.books import Books
from cronfleet.domain.claim import (
    Batch,
    BatchId,
    Claim,
    ClaimOutcome,
    DueItem,
    RunClaim,
    RunTimer,
    ScheduleClaim,
    Unreadable,
)
from cronfleet.domain.hold import Here
from cronfleet.domain.instant import Instant
from cronfleet.domain.lease import ShardLease
from cronfleet.domain.reason import Reason
from cronfleet.domain.schedule import Status, Timer
from cronfleet.ports.bound import bound_item
from cronfleet.ports.job_store import Page


class MemoryShards:
    """Shard leases, the dispatch log, the due index, claims, the sweeper's books."""

    here: Here

    def __init__(self, state: State) -> None:
        self.state = state

    def skew_ms(self) -> int | None:
        return self.state.skew_ms

    def take_lease(
        self, shard: int, slot_at: Instant, owner: str, until: Instant, now: Instant, *, known: int = 0
    ) -> ShardLease | None:
        held = self.state.leases.get(shard)
        if held is None:
            held = ShardLease(shard, owner, fence=0, until=0, slot_at=-1)
        if slot_at <= held.slot_at or held.until > now or held.is_shut(self.here.region, known):
            # One's own lease under a taking that was refused: it was taken before, and that reply was lost.
            return held if (held.owner, held.slot_at) == (owner, slot_at) else None
        taken = replace(held, owner=owner, fence=held.fence + 1, until=until, slot_at=slot_at)
        self.state.leases[shard] = taken
        return taken

    def shut(self, shard: int, rev: int, raised_by: int = 1) -> None:
        held = self.state.leases.get(shard) or ShardLease(shard, "", fence=0, until=0, slot_at=0)
        if held.shut_rev < rev or held.shut_in != self.here.region:
            shut = replace(held, owner="", fence=held.fence + raised_by, shut_rev=rev, shut_in=self.here.region)
            self.state.leases[shard] = shut

    def get_lease(self, shard: int) -> ShardLease | None:
        return self.state.leases.get(shard)

    def raise_shards(self, shards: int) -> None:
        held = self.state.leases.get(0)
        if held is not None:
            self.state.leases[0] = replace(held, shards=max(held.shards, shards))

    def put_batch(self, batch: Batch) -> None:
        if batch.batch_id not in self.state.batches:
            self.state.batches[batch.batch_id] = batch
            insort(self.state.log.setdefault(batch.batch_id.shard, []), batch.batch_id.order)

    def get_batch(self, batch_id: BatchId) -> Batch | None:
        return self.state.batches.get(batch_id)

    def announce(self, lease: ShardLease, batch_id: BatchId, until: Instant) -> bool:
        held = self._held(lease)
        if held is None:
            return False
        is_newer = held.last_batch is None or held.last_batch.order < batch_id.order
        if not is_newer and held.open_batch != batch_id:
            return False
        opened = replace(held, open_batch=batch_id, last_batch=batch_id, last_losers=frozenset(), until=until)
        self.state.leases[lease.shard] = opened
        return True

    def release(self, lease: ShardLease, losers: frozenset[int]) -> bool:
        held = self._held(lease)
        if held is None:
            return False
        self.state.leases[lease.shard] = replace(held, open_batch=None, last_losers=losers, until=0)
        return True

    def _held(self, lease: ShardLease) -> ShardLease | None:
        held = self.state.leases.get(lease.shard)
        if held is None or (held.owner, held.fence) != (lease.owner, lease.fence):
            return None
        return held

    def due(self, shard: int, until: Instant, cursor: str | None, limit: int) -> Page[DueItem]:
        page = self.state.due_index.page(shard, until, cursor, limit)
        return Page([bound_item(item, partial(find, self.state)) for item in page.items], page.cursor)

    def claim(self, batch_id: BatchId, claims: Sequence[Claim]) -> Sequence[ClaimOutcome]:
        return [self.claim_one(batch_id, claim) for claim in claims]

    def claim_one(self, batch_id: BatchId, claim: Claim) -> ClaimOutcome:
        """One claim on its own condition."""
        if isinstance(claim, RunClaim):
            return self._claim_run(str(batch_id), claim)
        return self._claim_schedule(str(batch_id), claim)

    def _claim_schedule(self, batch: str, claim: ScheduleClaim) -> ClaimOutcome:
        timer = self.state.timers.get((claim.tenant, claim.schedule_id))
        if timer is None:
            return ClaimOutcome.LOST
        stored = (timer.rev, timer.nominal_at, timer.due_at, first_of(timer.backlog))
        if stored != (claim.rev, claim.nominal_at, claim.due_at, claim.backlog_at):
            return ClaimOutcome.WON if timer.claim_batch == batch else ClaimOutcome.LOST
        put_timer(self.state, _advanced(timer, claim, batch))
        return ClaimOutcome.WON

    def _claim_run(self, batch: str, claim: RunClaim) -> ClaimOutcome:
        timer: RunTimer | None = self.state.run_timers.get(run_timer_key(claim.timer.key, claim.timer.attempt))
        if timer is None:
            return ClaimOutcome.LOST
        if timer.claim_batch is not None or timer.due_at != claim.timer.due_at:
            return ClaimOutcome.WON if timer.claim_batch == batch else ClaimOutcome.LOST
        put_run_timer(self.state, replace(timer, claim_batch=batch))
        return ClaimOutcome.WON

    def defer(self, item: Timer | RunTimer, due_at: Instant, reason: Reason) -> bool:
        if isinstance(item, RunTimer):
            return self._defer_run(item, due_at, reason)
        stored = self.state.timers.get((item.tenant, item.schedule_id))
        if stored is None:
            return False
        if not same_fire(stored, item):
            return same_fire(stored, replace(item, rev=item.rev + 1)) and stored.due_at == due_at
        put_timer(self.state, replace(stored, due_at=due_at, reserved_at=due_at, deferred=reason, rev=stored.rev + 1))
        return True

    def _defer_run(self, timer: RunTimer, due_at: Instant, reason: Reason) -> bool:
        stored = self.state.run_timers.get(run_timer_key(timer.key, timer.attempt))
        if stored is None or stored.claim_batch is not None or stored.due_at != timer.due_at:
            return stored is not None and stored.claim_batch is None and stored.due_at == due_at
        put_run_timer(self.state, replace(stored, due_at=due_at, reserved_at=due_at, deferred=reason))
        return True

    def drop_unreadable(self, item: Unreadable, reason: Reason) -> bool:
        key = (item.partition, item.sort)
        held = self.state.damaged.get(key)
        if held is None or held.due_at != item.due_at:
            return False
        self.state.due_index.remove(key)
        del self.state.damaged[key]
        tenant, _, schedule_id = item.partition.partition("#")
        timer = self.state.timers[tenant, schedule_id]
        put_timer(self.state, replace(timer, status=Status.PARKED, parked=reason, due_at=None))
        return True

    def batches(self, shard: int, after: BatchId | None, through: BatchId, limit: int) -> Sequence[Batch]:
        log = self.state.log.get(shard, [])
        start = 0 if after is None else bisect_right(log, after.order)
        ordered = log[start : min(start + limit, bisect_right(log, through.order))]
        return [self.state.batches[BatchId(shard, *order)] for order in ordered]

    def get_books(self, shard: int) -> Books:
        return self.state.books.get(shard, Books(shard))

    def put_books(self, books: Books) -> bool:
        stored = self.get_books(books.shard)
        if stored.rev != books.rev - 1:
            return stored == books
        self.state.books[books.shard] = books
        return True


def _advanced(timer: Timer, claim: ScheduleClaim, batch: str) -> Timer:
    following, due_at = claim.following, claim.wakes_at
    return replace(
        timer,
        status=timer.status if due_at is not None or claim.is_shadow else Status.COMPLETED,
        nominal_at=None if following is None else following.nominal_at,
        due_at=due_at,
        backlog=claim.backlog,
        claim_batch=batch,
        deferred=None if claim.reserved_at is None else claim.deferred or timer.deferred,
        reserved_at=claim.reserved_at,
        zone_data=None if due_at is None else claim.zone_data or timer.zone_data,
    )
