"""Leases, batches of the dispatch log and the sweeper's books, as items of the table `shards`."""

from dataclasses import replace
from typing import Any, Final

from cronfleet.adapters.dynamodb import keys
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.items.backlogs import backlog_json, backlog_of, late_json, late_of
from cronfleet.adapters.dynamodb.items.packing import pack, unpack
from cronfleet.adapters.dynamodb.items.reasons import reason_json, reason_of
from cronfleet.adapters.dynamodb.recording import damaged, read, written
from cronfleet.adapters.dynamodb.records import BatchRecord, BooksRecord, LeaseRecord
from cronfleet.domain.books import Books, Owed
from cronfleet.domain.claim import (
    Batch,
    BatchId,
    Claim,
    Fire,
    RunClaim,
    RunTimer,
    ScheduleClaim,
    SkippedRange,
    TimerKind,
)
from cronfleet.domain.instant import DAY, SECOND, Instant
from cronfleet.domain.late import Cause, Late
from cronfleet.domain.lease import ShardLease
from cronfleet.domain.run import RunKey
from cronfleet.domain.slot import SlotLease
from cronfleet.domain.trace import read_traceparent
from cronfleet.domain.zone_stamp import ZoneStamp

_CLAIM_FIELDS: Final = 11
"""What a schedule's claim stores in any case, after its kind."""
_OLD_SKIPPED: Final = ("first", "last", "why")

BATCH_LIFE: Final = 20 * DAY
"""Longer than any message may live, so that the sweeper always finds what a message came from."""

_HELD: Final = "h"
"""What stands behind a fire that a hold made late."""
_SCHEDULE: Final = "s"
_RUN: Final = "r"
_SLOTTED: Final = "h"
"""What stands before the slots of a claim and the claim."""


def lease_of(item: Item, shard: int) -> ShardLease:
    """The lease in `item`; raises `Damaged`."""
    record = read(LeaseRecord, item)
    return ShardLease(
        shard,
        record.owner,
        record.fence,
        record.until,
        record.slot_at,
        open_batch=_batch_id(shard, record.open_batch),
        last_batch=_batch_id(shard, record.last_batch),
        last_losers=frozenset(record.last_losers or ()),
        shards=record.shards or 0,
        shut_rev=record.shut_rev or 0,
        shut_in=record.shut_in or "",
    )


def _batch_id(shard: int, sort: str | None) -> BatchId | None:
    return None if sort is None else keys.parse_batch(shard, sort)


def batch_item(batch: Batch) -> Item:
    """A batch as an item."""
    return written(
        BatchRecord,
        keys.shard(batch.batch_id.shard),
        keys.batch(batch.batch_id),
        previous=None if batch.previous is None else keys.batch(batch.previous),
        previous_losers=sorted(batch.previous_losers) or None,
        claimed_at=batch.claimed_at,
        claims=pack([_claim_json(claim) for claim in batch.claims]),
        expires_at=(batch.claimed_at + BATCH_LIFE) // SECOND,
    )


def batch_of(item: Item, shard: int) -> Batch:
    """The batch in `item`; raises `Damaged`."""
    record = read(BatchRecord, item)
    try:
        return Batch(
            keys.parse_batch(shard, record.sk),
            _batch_id(shard, record.previous),
            record.claimed_at,
            tuple(_claim_of(stored, shard) for stored in unpack(record.claims)),
            frozenset(record.previous_losers or ()),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise damaged(item, error) from error


def _claim_json(claim: Claim) -> list[Any]:
    if isinstance(claim, RunClaim):
        stored, slots = _run_claim_json(claim.timer), [claim.slot] if claim.slot else []
    else:
        stored, slots = _schedule_claim_json(claim), [*claim.slots]
    return [_SLOTTED, [[slot.number, slot.fence, slot.until] for slot in slots], stored] if slots else stored


def _claim_of(stored: list[Any], shard: int) -> Claim:
    kind, *fields = stored
    if kind == _SLOTTED:
        slots, claim = tuple(SlotLease(*slot) for slot in fields[0]), _claim_of(fields[1], shard)
        return replace(claim, slot=slots[0]) if isinstance(claim, RunClaim) else replace(claim, slots=slots)
    if kind == _RUN:
        return _run_claim_of(fields, shard)
    if kind == _SCHEDULE:
        return _schedule_claim_of(fields)
    raise ValueError(f"claim of unknown kind {kind!r}")


def _schedule_claim_json(claim: ScheduleClaim) -> list[Any]:
    """Positions, not names, and instants as distances from `due_at`: a batch pays for its size.

    What only missed time has comes at the end, and ordinary claims do without.
    """
    base = claim.due_at
    stored = [
        _SCHEDULE,
        claim.tenant,
        claim.schedule_id,
        claim.tier,
        claim.rev,
        claim.epoch,
        claim.version,
        claim.timeout_seconds,
        base,
        None if claim.nominal_at is None else claim.nominal_at - base,
        [_fire_json(fire, base) for fire in claim.fires],
        claim.following and _following_json(claim.following, claim.zone_data, base),
    ]
    reserved = _reserved_json(claim, base)
    if not claim.skipped and not claim.caught_up and claim.backlog_at is None and claim.backlog is None:
        return [*stored, None, reserved] if reserved else stored
    lates = list(dict.fromkeys(fire.late for fire in claim.caught_up))
    missed = [
        [[one.first_at - base, one.last_at - base, reason_json(one.reason)] for one in claim.skipped],
        [late_json(late, base) for late in lates],
        [[one.nominal_at - base, one.due_at - base, lates.index(one.late)] for one in claim.caught_up],
        None if claim.backlog_at is None else claim.backlog_at - base,
        None if claim.backlog is None else [claim.backlog.next_at - base, backlog_json(claim.backlog)],
    ]
    return [*stored, missed, reserved] if reserved else [*stored, missed]


def _reserved_json(claim: ScheduleClaim, base: Instant) -> list[Any] | None:
    if claim.reserved_at is None:
        return None
    place = claim.reserved_at - base
    return [place] if claim.deferred is None else [place, reason_json(claim.deferred)]


def _fire_json(fire: Fire, base: Instant) -> list[Any]:
    """Of a deferred fire also when it had been due, and of one that a hold made late when that was noticed."""
    stored = [fire.nominal_at - base, fire.due_at - base]
    if fire.late is None:
        return stored
    is_held = fire.late.cause is Cause.HOLD
    return [*stored, fire.late.noticed_at - base, *([_HELD] if is_held else [])]


def _schedule_claim_of(fields: list[Any]) -> ScheduleClaim:
    fields = _of_today(fields)
    tenant, schedule_id, tier, rev, epoch, version, timeout_seconds, base, nominal, fires, following, *rest = fields
    skipped, lates, caught_up, backlog_at, backlog = (rest[0] if rest else None) or ([], [], [], None, None)
    reserved_at, deferred = (*(rest[1] if len(rest) > 1 else [None]), None)[:2]
    return ScheduleClaim(
        tenant,
        schedule_id,
        tier,
        rev,
        epoch,
        version,
        timeout_seconds,
        None if nominal is None else base + nominal,
        base,
        tuple(_fire_of(fire, base) for fire in fires),
        tuple(_skipped_of(one, base) for one in skipped),
        None if following is None else _fire_of(following[:2], base),
        ZoneStamp.parse(following[2]) if following and len(following) > 2 else None,
        None if backlog_at is None else base + backlog_at,
        tuple(_caught_up_of(one, lates, base) for one in caught_up),
        None if backlog is None else backlog_of(backlog[1], base + backlog[0]),
        None if reserved_at is None else base + reserved_at,
        reason_of(deferred),
    )


def _of_today(fields: list[Any]) -> list[Any]:
    """A claim as it is stored today. The first ones counted from `nominal_at`, and knew one skipped range, no backlog.

    `due_at` stood in the place of `nominal_at`, and both were distances from the other. Today a `nominal_at` that is
    later than `due_at` has a backlog before it, and says so at the end.
    """
    *head, base, distance, fires, following = fields[:_CLAIM_FIELDS]
    missed = fields[_CLAIM_FIELDS:]
    is_old = len(missed[0] or ()) == len(_OLD_SKIPPED) if missed else bool(distance) and distance > 0
    if not is_old:
        return fields
    moved = [[one - distance for one in fire] for fire in fires]
    skipped = [[first - distance, last - distance, why] for first, last, why in missed]
    rest = [[skipped, [], [], None, None]] if skipped else []
    follows = following and [one - distance for one in following]
    return [*head, base + distance, -distance, moved, follows, *rest]


def _following_json(fire: Fire, zone_data: ZoneStamp | None, base: Instant) -> list[Any]:
    stored: list[Any] = [fire.nominal_at - base, fire.due_at - base]
    return stored if zone_data is None else [*stored, str(zone_data)]


def _fire_of(stored: list[Any], base: Instant) -> Fire:
    nominal, due = base + stored[0], base + stored[1]
    if len(stored) == len(("nominal", "due")):
        return Fire(nominal, due)
    cause = Cause.HOLD if stored[-1] == _HELD else Cause.RATE
    return Fire(nominal, due, Late(cause, nominal, nominal, base + stored[2]))


def _caught_up_of(stored: list[int], lates: list[list[Any]], base: Instant) -> Fire:
    nominal, due, why = stored
    return Fire(base + nominal, base + due, late_of(lates[why], base))


def _skipped_of(stored: list[Any], base: Instant) -> SkippedRange:
    first, last, why = stored
    reason = reason_of(why)
    if reason is None:
        raise ValueError("a skipped range without a reason")
    return SkippedRange(base + first, base + last, reason)


def _run_claim_json(timer: RunTimer) -> list[Any]:
    key = timer.key
    stored: list[Any] = [
        _RUN,
        [key.tenant, key.schedule_id, key.epoch, key.nominal_at, key.cause],
        timer.kind.value,
        timer.attempt,
        timer.due_at,
        timer.tier,
        timer.version,
        timer.timeout_seconds,
    ]
    if timer.trace is not None:
        return [*stored, timer.reserved_at, timer.trace.traceparent]
    return stored if timer.reserved_at is None else [*stored, timer.reserved_at]


def _run_claim_of(fields: list[Any], shard: int) -> RunClaim:
    key, kind, attempt, due_at, tier, version, timeout_seconds, *rest = fields
    timer = RunTimer(RunKey(*key), TimerKind(kind), attempt, due_at, tier, shard, version, timeout_seconds)
    reserved_at, trace = (*rest, None, None)[:2]
    return RunClaim(replace(timer, reserved_at=reserved_at, trace=read_traceparent(trace)))


def books_item(books: Books) -> Item:
    """The books as an item."""
    return written(
        BooksRecord,
        keys.shard(books.shard),
        keys.BOOKS,
        rev=books.rev,
        closed_through=None if books.closed_through is None else keys.batch(books.closed_through),
        owed=pack({batch: _owed_json(owed) for batch, owed in books.open.items()}),
    )


def books_of(item: Item, shard: int) -> Books:
    """The books in `item`; raises `Damaged`."""
    record = read(BooksRecord, item)
    try:
        owed = {batch: _owed_of(stored) for batch, stored in unpack(record.owed).items()}
        return Books(shard, record.rev, _batch_id(shard, record.closed_through), owed)
    except (ValueError, KeyError, TypeError) as error:
        raise damaged(item, error) from error


def _owed_json(owed: Owed) -> list[Any]:
    return [owed.positions, owed.resend_at, owed.resends, *([owed.sent] if owed.sent else [])]


def _owed_of(stored: list[Any]) -> Owed:
    positions, resend_at, resends, *sent = stored
    return Owed(tuple(positions), resend_at, resends, tuple(sent[0]) if sent else ())
