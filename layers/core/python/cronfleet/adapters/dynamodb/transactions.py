"""Transactions: the writes of the port as actions of one TransactWriteItems."""

import hashlib
import json
from collections.abc import Mapping, Sequence, Set
from typing import Any, Final, assert_never

from cronfleet.adapters.dynamodb import schema
from cronfleet.adapters.dynamodb.alerts import parts_of_alert
from cronfleet.adapters.dynamodb.chains import grow
from cronfleet.adapters.dynamodb.database import ABSENT, Database, Expression, number, text
from cronfleet.adapters.dynamodb.dead_letters import parts_of_settling
from cronfleet.adapters.dynamodb.deletions import parts_of_deletion
from cronfleet.adapters.dynamodb.dependencies import dependency_of, parts_of_dependency
from cronfleet.adapters.dynamodb.errands import parts_of_errand
from cronfleet.adapters.dynamodb.errors import Cancelled, Crossed, Item
from cronfleet.adapters.dynamodb.freezes import parts_of_freezes, stored_freezes
from cronfleet.adapters.dynamodb.gates import parts_of_gates, read_of_gates
from cronfleet.adapters.dynamodb.items.alerts import alert_of
from cronfleet.adapters.dynamodb.items.api_keys import api_key_of, parts_of_key
from cronfleet.adapters.dynamodb.items.audit import audit_item, audit_of
from cronfleet.adapters.dynamodb.items.calendars import calendar_item, calendar_of, head_item, head_of
from cronfleet.adapters.dynamodb.items.definitions import definition_item, definition_of
from cronfleet.adapters.dynamodb.items.deletions import deletion_of
from cronfleet.adapters.dynamodb.items.errands import errand_of
from cronfleet.adapters.dynamodb.items.heartbeats import heartbeat_item, heartbeat_of, ping_item, ping_of
from cronfleet.adapters.dynamodb.items.letters import unreadable_of
from cronfleet.adapters.dynamodb.items.operations import operation_of
from cronfleet.adapters.dynamodb.items.retimings import (
    release_item,
    release_of,
    retiming_item,
    retiming_of,
)
from cronfleet.adapters.dynamodb.items.runs import run_item, run_of
from cronfleet.adapters.dynamodb.items.tenants import idempotency_item, idempotency_of, tenant_item, tenant_of
from cronfleet.adapters.dynamodb.items.timers import run_timer_item, run_timer_of, timer_item, timer_of
from cronfleet.adapters.dynamodb.operations import parts_of_operation
from cronfleet.adapters.dynamodb.schedule_counts import count_actions
from cronfleet.domain.backlog import first_of
from cronfleet.domain.instant import Instant
from cronfleet.domain.schedule import Timer
from cronfleet.domain.tenant import Tenant
from cronfleet.domain.zone_release import ZoneRelease
from cronfleet.ports.gates import GuardWrite
from cronfleet.ports.job_store import (
    CheckCalendar,
    CountSchedules,
    CreateTimer,
    Fixed,
    InsertAudit,
    InsertCalendar,
    InsertDefinition,
    InsertDeletion,
    InsertIdempotency,
    InsertPing,
    InsertRetiming,
    InsertRun,
    InsertRunTimer,
    ListApiKey,
    NoAnswer,
    Put,
    PutAlert,
    PutApiKey,
    PutCalendarHead,
    PutDependants,
    PutDependencyMark,
    PutErrand,
    PutFreezeDirectory,
    PutFreezeList,
    PutHeartbeat,
    PutOperation,
    PutSheet,
    PutSwitch,
    PutTenant,
    PutZoneRelease,
    Refused,
    ReplaceRun,
    SettleUnreadable,
    UpdateTimer,
    Write,
)
from cronfleet.ports.own_writes import proves_commit
from cronfleet.ports.schedule_counts import Full

MAX_WRITES: Final = 100
"""Actions per TransactWriteItems."""
MAX_TURNS: Final = 8
"""How often a count that met others is tried in another slice, and entries are put behind what others have added."""
SLICE_BITS: Final = 4
_TOKEN_BYTES: Final = 16

SAME_FIRE: Final = "#rev = :rev AND #nominal_at = :nominal_at"
"""The condition of every write to a timer but a claim …"""
SAME_REST: Final = "#rev = :rev AND attribute_not_exists(#nominal_at)"
"""… and its form for a timer that waited for no regular fire when it was read."""
SAME_BACKLOG: Final = "#backlog_at = :backlog_at"
"""What is asked besides of a timer that has something to catch up: claims move that on as well."""

SAME_REV: Final = Expression("#rev = :rev")
# A retired timer makes room: an attempt that was put off comes again under its number.
_NONE_WAITS: Final = Expression("attribute_not_exists(#pk) OR attribute_exists(#claim_batch)")
_ANYTHING: Final = Expression("attribute_exists(#pk) OR attribute_not_exists(#pk)")
_SAME_CHANGE: Final = Expression("#change_id = :change_id")
_IS_NEWEST: Final = Expression("#version = :version AND attribute_not_exists(#is_deleted)")
_WITHOUT_REV: Final = Expression("attribute_exists(#pk) AND attribute_not_exists(#rev)")
_NONE_LIVES: Final = Expression("attribute_not_exists(#pk) OR #expires_at_ms <= :now")


def commit(database: Database, writes: Sequence[Write]) -> None:
    """Do all writes or none; see `ScheduleStore.commit`.

    A count has no item of its own: where others count at the same time, it is tried in another slice. Audit entries
    follow on the ends of their chains: where others have moved those on meanwhile, they are read again.
    """
    _refuse_too_many(len(writes))
    now = database.clock.now()
    actions: list[Sequence[Any]] = [
        () if isinstance(write, CountSchedules) else (_action(database, write, now),) for write in writes
    ]
    counts = {place: write for place, write in enumerate(writes) if isinstance(write, CountSchedules)}
    entries = {place: write.entry for place, write in enumerate(writes) if isinstance(write, InsertAudit)}
    draw = int(token_of(actions), 16) if counts else 0
    heads = len(writes)
    for turn in range(MAX_TURNS):
        full: dict[int, Full] = {}
        for place, write in counts.items():
            actions[place], stands = count_actions(database, write, draw >> turn * SLICE_BITS)
            full |= {} if stands is None else {place: stands}
        grown = grow(database, list(entries.values()))
        for place, entry in zip(entries, grown.entries, strict=True):
            actions[place] = (_action(database, InsertAudit(entry), now),)
        met = _transact(database, writes, [*actions, grown.moves], full)
        if not met:
            return
        if not met <= (counts.keys() - full.keys()) | {heads}:
            break
        database.pause(turn)
    raise NoAnswer("others wrote at the same time")


def _refuse_too_many(actions: int) -> None:
    if actions > MAX_WRITES:
        raise ValueError(f"{actions} writes in one transaction: DynamoDB takes {MAX_WRITES}")


def _transact(
    database: Database, writes: Sequence[Write], actions: Sequence[Sequence[Any]], full: Mapping[int, Full]
) -> Set[int]:
    """Nothing once all is done; else the writes that met others', to be tried again. Raises `Refused`.

    What stands in `actions` after those of the `writes` moves the ends of chains on.
    """
    flat = [action for some in actions for action in some]
    owners = [place for place, some in enumerate(actions) for _ in some]
    _refuse_too_many(len(flat))
    try:
        database.transact(flat, token_of(flat))
    except Crossed as crossed:
        return {owners[place] for place in crossed.places}
    except Cancelled as cancelled:
        found = {owners[place]: item for place, item in cancelled.failed.items()}
        ours = {place: item for place, item in found.items() if place < len(writes)}
        stored = {place: _stored(writes[place], item) for place, item in ours.items()} | dict(full)
        if any(proves_commit(writes[place], value) for place, value in stored.items()):
            return frozenset()
        lasting = [place for place in stored if place in full or not isinstance(writes[place], CountSchedules)]
        if lasting:
            first = min(lasting)
            raise Refused(first, stored[first]) from None
        return found.keys()
    return frozenset()


def token_of(actions: Sequence[Any]) -> str:
    """The same for the same transaction, so that DynamoDB knows a repeat whose first reply was lost."""
    content = json.dumps(actions, sort_keys=True, default=str).encode()
    return hashlib.blake2b(content, digest_size=_TOKEN_BYTES).hexdigest()


def timer_condition(timer: Timer) -> tuple[str, Item]:
    """The condition of every write to a timer but a claim, with its values: it is as it was read."""
    return place_condition(timer.rev, timer.nominal_at, first_of(timer.backlog))


def place_condition(rev: int, nominal_at: Instant | None, backlog_at: Instant | None) -> tuple[str, Item]:
    """The condition that a timer stands where it stood, with its values.

    One without a backlog needs no more: what begins one moves `nominal_at`, or raises `rev`.
    """
    condition, values = SAME_REST, {":rev": number(rev)}
    if nominal_at is not None:
        condition, values = SAME_FIRE, values | {":nominal_at": number(nominal_at)}
    if backlog_at is not None:
        condition, values = f"{condition} AND {SAME_BACKLOG}", values | {":backlog_at": number(backlog_at)}
    return condition, values


def _action(database: Database, write: Fixed, now: Instant) -> dict[str, Any]:
    if isinstance(write, CheckCalendar):
        key = {"pk": text(write.tenant), "sk": text(write.name)}
        request = _IS_NEWEST.request({":version": number(write.version)})
        return {"ConditionCheck": {"TableName": database.name(schema.CALENDARS), "Key": key, **request}}
    return {"Put": _put(database, write, now)}


def _put(database: Database, write: Put | GuardWrite, now: Instant) -> dict[str, Any]:
    parts = parts_of_gates(write, now) if isinstance(write, GuardWrite) else _parts(write, now)
    table, item, expression, values = parts
    return {"TableName": database.name(table), "Item": item, **expression.request(values)}


def _parts(write: Put, now: Instant) -> tuple[schema.Table, Item, Expression, Item | None]:
    match write:
        case CreateTimer() | UpdateTimer() | InsertDefinition() | InsertRun() | ReplaceRun() | InsertRunTimer():
            return _parts_of_schedules(write, now)
        case InsertAudit(entry):
            return schema.AUDIT, audit_item(entry), ABSENT, None
        case PutHeartbeat() | InsertPing():
            return _parts_of_heartbeats(write)
        case PutTenant(tenant, before):
            return schema.TENANTS, tenant_item(tenant), *_same_tenant(before)
        case PutFreezeDirectory() | PutFreezeList() | PutSheet() | PutSwitch():
            return parts_of_freezes(write)
        case PutApiKey() | ListApiKey():
            return schema.TENANTS, *parts_of_key(write)
        case InsertDeletion() | PutDependants() | PutDependencyMark():
            return parts_of_deletion(write) if isinstance(write, InsertDeletion) else parts_of_dependency(write)
        case PutOperation() | PutAlert() | PutErrand() | SettleUnreadable():
            return _parts_of_work(write, now)
        case InsertIdempotency() | InsertRetiming() | PutZoneRelease() | PutCalendarHead() | InsertCalendar():
            return _parts_beside_schedules(write, now)
    assert_never(write)


def _parts_of_schedules(
    write: CreateTimer | UpdateTimer | InsertDefinition | InsertRun | ReplaceRun | InsertRunTimer, now: Instant
) -> tuple[schema.Table, Item, Expression, Item | None]:
    match write:
        case CreateTimer(timer):
            return schema.SCHEDULES, timer_item(timer), ABSENT, None
        case UpdateTimer(timer, before):
            condition, values = timer_condition(before)
            return schema.SCHEDULES, timer_item(timer), Expression(condition), values
        case InsertDefinition(definition):
            return schema.SCHEDULES, definition_item(definition), ABSENT, None
        case InsertRun(run):
            return schema.RUNS, run_item(run, now), ABSENT, None
        case ReplaceRun(run):
            return schema.RUNS, run_item(run, now), SAME_REV, {":rev": number(run.rev - 1)}
        case InsertRunTimer(timer, replaces):
            return schema.SCHEDULES, run_timer_item(timer), _ANYTHING if replaces else _NONE_WAITS, None
    assert_never(write)


def _parts_of_work(
    write: PutOperation | PutAlert | PutErrand | SettleUnreadable, now: Instant
) -> tuple[schema.Table, Item, Expression, Item | None]:
    match write:
        case PutOperation():
            return parts_of_operation(write)
        case PutAlert():
            return parts_of_alert(write, now)
        case PutErrand():
            return parts_of_errand(write)
        case SettleUnreadable():
            return parts_of_settling(write)
    assert_never(write)


def _parts_beside_schedules(
    write: InsertIdempotency | InsertRetiming | PutZoneRelease | PutCalendarHead | InsertCalendar, now: Instant
) -> tuple[schema.Table, Item, Expression, Item | None]:
    match write:
        case InsertIdempotency(record):
            return schema.TENANTS, idempotency_item(record), _NONE_LIVES, {":now": number(now)}
        case InsertRetiming(job):
            return schema.RETIMINGS, retiming_item(job), ABSENT, None
        case PutZoneRelease(release):
            return schema.RETIMINGS, release_item(release), *_same_release(release)
        case PutCalendarHead(head, before):
            if before is None:
                return schema.CALENDARS, head_item(head), ABSENT, None
            return schema.CALENDARS, head_item(head), _SAME_CHANGE, {":change_id": text(before.change_id)}
        case InsertCalendar(calendar):
            return schema.CALENDARS, calendar_item(calendar), ABSENT, None
    assert_never(write)


def _parts_of_heartbeats(write: PutHeartbeat | InsertPing) -> tuple[schema.Table, Item, Expression, Item | None]:
    match write:
        case PutHeartbeat(heartbeat, before):
            if before is None:
                return schema.HEARTBEATS, heartbeat_item(heartbeat), ABSENT, None
            values = {":change_id": text(before.change_id)}
            return schema.HEARTBEATS, heartbeat_item(heartbeat), _SAME_CHANGE, values
        case InsertPing(ping):
            return schema.HEARTBEATS, ping_item(ping), ABSENT, None
    assert_never(write)


def _same_release(release: ZoneRelease) -> tuple[Expression, Item | None]:
    known = release.rev - 1
    return (SAME_REV, {":rev": number(known)}) if known else (ABSENT, None)


def _same_tenant(before: Tenant | None) -> tuple[Expression, Item | None]:
    if before is None:
        return ABSENT, None
    # A record that is older than revisions has none.
    return (SAME_REV, {":rev": number(before.rev)}) if before.rev else (_WITHOUT_REV, None)


def _stored(write: Write, item: Item | None) -> Any:
    if item is None or isinstance(write, CountSchedules):
        return None
    return read_of_gates(write, item) if isinstance(write, GuardWrite) else _read(write, item)


def _read(write: Put | CheckCalendar, item: Item) -> Any:
    match write:
        case CreateTimer() | UpdateTimer() | InsertDefinition() | InsertRun() | ReplaceRun() | InsertRunTimer():
            return _read_of_schedules(write, item)
        case InsertAudit():
            return audit_of(item)
        case InsertIdempotency():
            return idempotency_of(item)
        case InsertRetiming() | PutZoneRelease():
            return retiming_of(item) if isinstance(write, InsertRetiming) else release_of(item)
        case PutHeartbeat() | InsertPing():
            return heartbeat_of(item) if isinstance(write, PutHeartbeat) else ping_of(item)
        case PutOperation() | PutAlert() | PutErrand() | SettleUnreadable():
            return _read_of_work(write, item)
        case PutDependants() | PutDependencyMark():
            return dependency_of(write, item)
        case (
            PutTenant()
            | PutFreezeDirectory()
            | PutFreezeList()
            | PutSheet()
            | PutSwitch()
            | PutApiKey()
            | ListApiKey()
            | InsertDeletion()
        ):
            return _read_of_tenants(write, item)
        case PutCalendarHead() | CheckCalendar() | InsertCalendar():
            return calendar_of(item) if isinstance(write, InsertCalendar) else head_of(item)
    assert_never(write)


def _read_of_work(write: PutOperation | PutAlert | PutErrand | SettleUnreadable, item: Item) -> Any:
    match write:
        case PutOperation():
            return operation_of(item)
        case PutAlert():
            return alert_of(item)
        case PutErrand():
            return errand_of(item)
        case SettleUnreadable():
            return unreadable_of(item)
    assert_never(write)


def _read_of_tenants(
    write: (
        PutTenant | PutFreezeDirectory | PutFreezeList | PutSheet | PutSwitch | PutApiKey | ListApiKey | InsertDeletion
    ),
    item: Item,
) -> Any:
    match write:
        case PutTenant():
            return tenant_of(item)
        case PutFreezeDirectory() | PutFreezeList() | PutSheet() | PutSwitch():
            return stored_freezes(write, item)
        case PutApiKey() | ListApiKey():
            return api_key_of(item) if isinstance(write, PutApiKey) else None
        case InsertDeletion():
            return deletion_of(item)
    assert_never(write)


def _read_of_schedules(
    write: CreateTimer | UpdateTimer | InsertDefinition | InsertRun | ReplaceRun | InsertRunTimer, item: Item
) -> Any:
    match write:
        case CreateTimer() | UpdateTimer():
            return timer_of(item)
        case InsertDefinition():
            return definition_of(item)
        case InsertRun() | ReplaceRun():
            return run_of(item)
        case InsertRunTimer():
            return run_timer_of(item)
    assert_never(write)
