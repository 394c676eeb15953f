"""Readings of the forecast and the walk that makes them, as items of the table `shards`."""

from array import array
from typing import Any

from cronfleet.adapters.dynamodb import keys
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.items.packing import pack, unpack
from cronfleet.adapters.dynamodb.recording import damaged, read, written
from cronfleet.adapters.dynamodb.records import ForecastRecord
from cronfleet.domain.forecast import COUNTER, Counts
from cronfleet.domain.forecast_reading import KEPT, Reading, Walk
from cronfleet.domain.instant import SECOND


def reading_item(reading: Reading) -> Item:
    """A reading as an item."""
    body = [reading.shard, reading.started_at, reading.read_at, _counts_json(reading.counts)]
    sort = keys.WHOLE if reading.shard is None else keys.forecast(reading.shard)
    return _item(sort, body, reading.read_at)


def reading_of(item: Item) -> Reading:
    """The reading in `item`; raises `Damaged`."""
    record = read(ForecastRecord, item)
    try:
        shard, started_at, read_at, counts = unpack(record.body)
        return Reading(shard, started_at, read_at, _counts_of(counts))
    except (ValueError, TypeError, OverflowError) as error:
        raise damaged(item, error) from error


def walk_item(walk: Walk) -> Item:
    """The walk as an item."""
    counts = None if walk.counts is None else _counts_json(walk.counts)
    place = [walk.shard, walk.shard_at, walk.cursor, counts]
    return _item(keys.WALK, [walk.started_at, walk.shards, place, walk.finished_at], walk.started_at, walk.rev)


def walk_of(item: Item) -> Walk:
    """The walk in `item`; raises `Damaged`."""
    record = read(ForecastRecord, item)
    try:
        started_at, shards, (shard, shard_at, cursor, stored), finished_at = unpack(record.body)
        counts = None if stored is None else _counts_of(stored)
        return Walk(started_at, shards, shard, shard_at, cursor, counts, finished_at, record.rev or 0)
    except (ValueError, TypeError, OverflowError) as error:
        raise damaged(item, error) from error


def _item(sort: str, body: list[Any], at: int, rev: int | None = None) -> Item:
    return written(ForecastRecord, keys.FORECAST, sort, body=pack(body), rev=rev, expires_at=(at + KEPT) // SECOND)


def _counts_json(counts: Counts) -> list[Any]:
    return [
        [counts.since, counts.until],
        counts.minutes.tolist(),
        {tenant: hours.tolist() for tenant, hours in counts.tenants.items()},
        [counts.schedules, counts.uncomputable, counts.following],
    ]


def _counts_of(stored: list[Any]) -> Counts:
    (since, until), minutes, tenants, (schedules, uncomputable, following) = stored
    by_tenant = {tenant: array(COUNTER, hours) for tenant, hours in tenants.items()}
    return Counts(since, until, array(COUNTER, minutes), by_tenant, schedules, uncomputable, following)
