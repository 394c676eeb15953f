"""`ShardStore` on DynamoDB."""

from collections.abc import Sequence
from typing import Final

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.claim_batches import claim_together
from cronfleet.adapters.dynamodb.claim_writes import write_of
from cronfleet.adapters.dynamodb.claims import claim_one
from cronfleet.adapters.dynamodb.database import ABSENT, Database, Expression, number, text
from cronfleet.adapters.dynamodb.errors import ConditionFailed, Item
from cronfleet.adapters.dynamodb.items.reasons import reason_json
from cronfleet.adapters.dynamodb.items.shards import batch_item, batch_of, books_item, books_of, lease_of
from cronfleet.adapters.dynamodb.items.timers import due_item_of
from cronfleet.adapters.dynamodb.records import JsonAttribute
from cronfleet.adapters.dynamodb.transactions import timer_condition
from cronfleet.domain.books import Books
from cronfleet.domain.claim import Batch, BatchId, Claim, ClaimOutcome, DueItem, RunTimer, Unreadable
from cronfleet.domain.claiming import Claiming
from cronfleet.domain.hold import Here
from cronfleet.domain.instant import Instant
from cronfleet.domain.lease import ShardLease
from cronfleet.domain.reason import Reason
from cronfleet.domain.schedule import Status, Timer
from cronfleet.ports import cursors
from cronfleet.ports.bound import Kept, bound_item
from cronfleet.ports.job_store import Page

MAX_BATCH_PAGES: Final = 20
"""Pages of the dispatch log that one reading of it takes: each is up to 1 MB, which is some 200 full batches."""

_JSON: Final = JsonAttribute()

_TAKE: Final = Expression(
    "(attribute_not_exists(#slot_at) OR #slot_at < :slot_at) AND (attribute_not_exists(#until) OR #until <= :now)"
    " AND (attribute_not_exists(#shut_rev) OR #shut_rev <= :known OR #shut_in <> :region)",
    "SET #owner = :owner, #until = :until, #slot_at = :slot_at ADD #fence :one",
)
_RAISE: Final = Expression(
    # Of an item that holds nothing else nobody could take the lease.
    "attribute_exists(#owner) AND (attribute_not_exists(#shards) OR #shards < :shards)",
    "SET #shards = :shards",
)
_SHUT: Final = Expression(
    "attribute_not_exists(#shut_rev) OR #shut_rev < :rev OR #shut_in <> :region",
    # To add nothing leaves a number as it is, and makes it where the shard was never served.
    "SET #shut_rev = :rev, #shut_in = :region, #owner = :nobody ADD #fence :raised, #until :nothing, #slot_at :nothing",
)
_MINE: Final = "#owner = :owner AND #fence = :fence"
_ANNOUNCE: Final = Expression(
    # Batches of the log compare as text: a late copy of an older announcement changes nothing, nor does one of the last
    # after the shard was let go of. What is open by now under this very id was announced, and that reply was lost.
    f"{_MINE} AND (attribute_not_exists(#last_batch) OR #last_batch < :batch OR #open_batch = :batch)",
    "SET #open_batch = :batch, #last_batch = :batch, #until = :until REMOVE #last_losers",
)
_RELEASE: Final = Expression(_MINE, "SET #until = :never REMOVE #open_batch, #last_losers")
_RELEASE_WITH_LOSERS: Final = Expression(_MINE, "SET #until = :never, #last_losers = :losers REMOVE #open_batch")
_DEFER: Final = "SET #due_at = :due_at, #reserved_at = :due_at, #deferred = :reason, #rev = :next_rev"
_DEFER_RUN: Final = Expression(
    "#due_at = :was_due_at AND attribute_not_exists(#claim_batch)",
    "SET #due_at = :due_at, #reserved_at = :due_at, #deferred = :reason",
)
_DROP: Final = Expression(
    # Not simply equal: what cannot be read may be due at a fraction of a millisecond.
    "#due_at >= :due_at AND #due_at < :later AND attribute_exists(#due_shard)",
    "SET #status = :parked, #parked = :reason REMOVE #due_shard, #due_at",
)
_SAME_BOOKS: Final = Expression("#rev = :rev")


class DynamoShards:
    """Shard leases, the dispatch log, the due index, claims, the sweeper's books."""

    _kept: Kept
    _claiming: Claiming
    here: Here

    def __init__(self, database: Database) -> None:
        self._database = database

    def skew_ms(self) -> int | None:
        return self._database.skew.skew_ms

    def take_lease(
        self, shard: int, slot_at: Instant, owner: str, until: Instant, now: Instant, *, known: int = 0
    ) -> ShardLease | None:
        values = {
            ":slot_at": number(slot_at),
            ":owner": text(owner),
            ":until": number(until),
            ":now": number(now),
            ":one": number(1),
            ":known": number(known),
            ":region": text(self.here.region),
        }
        place = (schema.SHARDS, keys.shard(shard), keys.LEASE)
        try:
            return lease_of(self._database.update(*place, _TAKE, values, returning=True), shard)
        except ConditionFailed as failed:
            held = None if failed.item is None else lease_of(failed.item, shard)
        # One's own lease under a taking that was refused: it was taken before, and that reply was lost.
        return held if held is not None and (held.owner, held.slot_at) == (owner, slot_at) else None

    def shut(self, shard: int, rev: int, raised_by: int = 1) -> None:
        values = {
            ":rev": number(rev),
            ":region": text(self.here.region),
            ":nobody": text(""),
            ":nothing": number(0),
            ":raised": number(raised_by),
        }
        # Refused where it is shut by this hold already, or by a later one.
        self._changed(schema.SHARDS, (keys.shard(shard), keys.LEASE), _SHUT, values)

    def get_lease(self, shard: int) -> ShardLease | None:
        item = self._database.get(schema.SHARDS, keys.shard(shard), keys.LEASE)
        return None if item is None else lease_of(item, shard)

    def raise_shards(self, shards: int) -> None:
        self._changed(schema.SHARDS, (keys.shard(0), keys.LEASE), _RAISE, {":shards": number(shards)})

    def put_batch(self, batch: Batch) -> None:
        try:
            self._database.put(schema.SHARDS, batch_item(batch), ABSENT)
        except ConditionFailed:
            return  # Its id is its owner's alone, so it is the same batch, and the first reply was lost.

    def get_batch(self, batch_id: BatchId) -> Batch | None:
        item = self._database.get(schema.SHARDS, keys.shard(batch_id.shard), keys.batch(batch_id))
        return None if item is None else batch_of(item, batch_id.shard)

    def announce(self, lease: ShardLease, batch_id: BatchId, until: Instant) -> bool:
        values = {":batch": text(keys.batch(batch_id)), ":until": number(until)}
        return self._under_lease(lease, _ANNOUNCE, values)

    def release(self, lease: ShardLease, losers: frozenset[int]) -> bool:
        values = {":never": number(0)}
        if not losers:
            return self._under_lease(lease, _RELEASE, values)
        values[":losers"] = text(_JSON.serialize(sorted(losers)))
        return self._under_lease(lease, _RELEASE_WITH_LOSERS, values)

    def _under_lease(self, lease: ShardLease, expression: Expression, values: Item) -> bool:
        mine = {":owner": text(lease.owner), ":fence": number(lease.fence)}
        return self._changed(schema.SHARDS, (keys.shard(lease.shard), keys.LEASE), expression, {**mine, **values})

    def _changed(self, table: schema.Table, key: tuple[str, str], expression: Expression, values: Item) -> bool:
        try:
            self._database.update(table, *key, expression, values)
        except ConditionFailed:
            return False
        return True

    def due(self, shard: int, until: Instant, cursor: str | None, limit: int) -> Page[DueItem]:
        items, last = self._database.query(
            schema.SCHEDULES,
            "#due_shard = :shard AND #due_at <= :until",
            {":shard": text(keys.due_shard(shard)), ":until": number(until)},
            limit=limit,
            index=schema.DUE,
            start=None if cursor is None else due_start(shard, cursor),
        )
        more = None if last is None else due_cursor(last)
        return Page([bound_item(due_item_of(item), self._kept.find) for item in items], more)

    def claim(self, batch_id: BatchId, claims: Sequence[Claim]) -> Sequence[ClaimOutcome]:
        batch, now = str(batch_id), self._database.clock.now()
        writes = [write_of(batch, claim, now) for claim in claims]
        if self._claiming is Claiming.BATCHED:
            return claim_together(self._database, batch, writes)
        return [claim_one(self._database, batch, write) for write in writes]

    def defer(self, item: Timer | RunTimer, due_at: Instant, reason: Reason) -> bool:
        change = {":due_at": number(due_at), ":reason": text(_JSON.serialize(reason_json(reason)))}
        try:
            if isinstance(item, RunTimer):
                values = {**change, ":was_due_at": number(item.due_at)}
                place = (keys.schedule(item.key.tenant, item.key.schedule_id), keys.run_timer(item.key, item.attempt))
                self._database.update(schema.SCHEDULES, *place, _DEFER_RUN, values)
            else:
                self._defer_timer(item, change)
        except ConditionFailed as failed:
            return failed.item is not None and _is_deferred(failed.item, item, due_at)
        return True

    def _defer_timer(self, timer: Timer, change: Item) -> None:
        condition, values = timer_condition(timer)
        place = (keys.schedule(timer.tenant, timer.schedule_id), keys.TIMER)
        values = {**values, **change, ":next_rev": number(timer.rev + 1)}
        self._database.update(schema.SCHEDULES, *place, Expression(condition, _DEFER), values)

    def drop_unreadable(self, item: Unreadable, reason: Reason) -> bool:
        values = {
            ":due_at": number(item.due_at),
            ":later": number(item.due_at + 1),
            ":parked": text(Status.PARKED.value),
            ":reason": text(_JSON.serialize(reason_json(reason))),
        }
        return self._changed(schema.SCHEDULES, (item.partition, item.sort), _DROP, values)

    def batches(self, shard: int, after: BatchId | None, through: BatchId, limit: int) -> Sequence[Batch]:
        first = BatchId(shard, 0, 0) if after is None else BatchId(shard, after.fence, after.number + 1)
        if first.order > through.order:
            return []
        values = {
            ":pk": text(keys.shard(shard)),
            ":first": text(keys.batch(first)),
            ":last": text(keys.batch(through)),
        }
        found: list[Batch] = []
        start: Item | None = None
        for _ in range(MAX_BATCH_PAGES):
            items, start = self._database.query(
                schema.SHARDS,
                "#pk = :pk AND #sk BETWEEN :first AND :last",
                values,
                limit=limit - len(found),
                start=start,
                consistent=True,
            )
            found.extend(batch_of(item, shard) for item in items)
            if start is None or len(found) >= limit:
                break
        return found

    def get_books(self, shard: int) -> Books:
        item = self._database.get(schema.SHARDS, keys.shard(shard), keys.BOOKS)
        return Books(shard) if item is None else books_of(item, shard)

    def put_books(self, books: Books) -> bool:
        expression = ABSENT if books.rev == 1 else _SAME_BOOKS
        values = None if books.rev == 1 else {":rev": number(books.rev - 1)}
        try:
            self._database.put(schema.SHARDS, books_item(books), expression, values)
        except ConditionFailed as failed:
            return failed.item is not None and books_of(failed.item, books.shard) == books
        return True


def due_cursor(last: Item) -> str:
    """The cursor behind the entry of the due index that is `last`."""
    return cursors.encode([last["due_at"]["N"], last["pk"]["S"], last["sk"]["S"]])


def due_start(shard: int, cursor: str) -> Item:
    """The entry of the due index that `cursor` stands behind."""
    due_at, partition, sort = cursors.decode(cursor, 3)
    return {
        "due_shard": text(keys.due_shard(shard)),
        "due_at": {"N": due_at},
        "pk": text(partition),
        "sk": text(sort),
    }


def _is_deferred(stored: Item, item: Timer | RunTimer, due_at: Instant) -> bool:
    """Whether what is stored is what this very deferral makes of `item`: then its first reply was lost."""
    if isinstance(item, RunTimer):
        return "claim_batch" not in stored and stored.get("due_at", {}).get("N") == str(due_at)
    found = tuple(stored.get(name, {}).get("N") for name in ("rev", "nominal_at", "due_at"))
    return found == (str(item.rev + 1), str(item.nominal_at), str(due_at))
