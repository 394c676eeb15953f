"""Heartbeat URLs and their pings, as items of the table `heartbeats`."""

from cronfleet.adapters.dynamodb import keys
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.recording import damaged, read, written
from cronfleet.adapters.dynamodb.records import HeartbeatRecord, PingRecord
from cronfleet.domain.heartbeat import Heartbeat, Ping, PingState, heartbeat_name
from cronfleet.domain.instant import SECOND


def heartbeat_item(heartbeat: Heartbeat) -> Item:
    """A URL as an item."""
    return written(
        HeartbeatRecord,
        heartbeat.name,
        keys.HEARTBEAT,
        tenant=heartbeat.tenant,
        schedule_id=heartbeat.schedule_id,
        born_epoch=heartbeat.born_epoch,
        digest=heartbeat.digest,
        made_by=heartbeat.made_by,
        made_at=heartbeat.made_at,
        since=heartbeat.since,
        change_id=heartbeat.change_id,
        minute=heartbeat.minute,
        pings=heartbeat.pings,
    )


def heartbeat_of(item: Item) -> Heartbeat:
    """The URL in `item`; raises `Damaged`."""
    record = read(HeartbeatRecord, item)
    return Heartbeat(
        record.tenant,
        record.schedule_id,
        record.born_epoch,
        record.digest,
        record.made_by,
        record.made_at,
        record.since,
        record.change_id,
        record.minute,
        record.pings,
    )


def ping_item(ping: Ping) -> Item:
    """A ping as an item."""
    return written(
        PingRecord,
        heartbeat_name(ping.tenant, ping.schedule_id),
        keys.ping(ping.at, ping.ping_id),
        tenant=ping.tenant,
        schedule_id=ping.schedule_id,
        state=ping.state.value,
        exit_code=ping.exit_code,
        message=ping.message or None,
        expires_at=-(-ping.expires_at // SECOND),
    )


def ping_of(item: Item) -> Ping:
    """The ping in `item`; raises `Damaged`."""
    record = read(PingRecord, item)
    try:
        at, ping_id = keys.parse_ping(record.sk)
        state = PingState(record.state)
    except ValueError as error:
        raise damaged(item, error) from error
    return Ping(record.tenant, record.schedule_id, ping_id, at, state, record.exit_code, record.message or "")
