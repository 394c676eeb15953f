"""What a tenant owns, as the tables hold it: found by its keys, for whoever is to remove it.

The place of a thing is its table, partition and sort key.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.database import Database, text
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.schema import Table
from cronfleet.domain.deletion import Kind, Owned, Stage
from cronfleet.domain.heartbeat import heartbeat_name
from cronfleet.domain.rate import line_of_key, line_of_slots, line_of_tenant
from cronfleet.domain.schedule import Change
from cronfleet.ports import cursors
from cronfleet.ports.deletions import Found

MAX_PAGES: Final = 20
"""Pages that one look for a stage's things reads; then it says where to go on."""
_PAGE: Final = 100
_WALKED: Final = 1_000


class Look:
    """One method a stage, each as `DeletionStore.owned`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of_keys(self, tenant: str, cursor: str | None, limit: int) -> Found:  # noqa: ARG002 - it begins at the start
        partition = keys.tenant(tenant)
        listed = self._items(schema.TENANTS, partition, max(1, limit // 3), prefix=keys.LISTED_KEY)
        found: list[Owned] = []
        for item in listed:
            key_id = item["sk"]["S"].removeprefix(keys.LISTED_KEY)
            found.append(_owned(Kind.API_KEYS, schema.TENANTS, keys.api_key(key_id), keys.API_KEY))
            line = keys.line(line_of_key(key_id))
            if self._database.get(schema.TENANTS, line, keys.LINE) is not None:
                found.append(_owned(Kind.LINES, schema.TENANTS, line, keys.LINE))
            # Last: while the list names it, the key is found again.
            found.append(_owned(Kind.KEY_LISTINGS, schema.TENANTS, partition, item["sk"]["S"]))
        return Found(found, None)

    def named(self, tenant: str, cursor: str | None, limit: int) -> Found:
        """What is left of the schedules that the audit log names: every one was created once, deleted ones too."""
        start = None if cursor is None else _place(tenant, *cursors.decode(cursor, 1))
        for _ in range(MAX_PAGES):
            items, last = self._page(schema.AUDIT, tenant, _PAGE, start=start)
            ids = [_created(item) for item in items]
            found = self._of_schedules(tenant, dict.fromkeys(filter(None, ids)), limit)
            if found or last is None:
                return Found(found, cursor if found else None)
            start, cursor = last, cursors.encode([last["sk"]["S"]])
        return Found([], cursor)

    def listed(self, tenant: str, cursor: str | None, limit: int) -> Found:
        start = None if cursor is None else _after_timer(tenant, cursors.decode(cursor, 1)[0])
        for _ in range(MAX_PAGES):
            items, last = self._database.query(
                schema.SCHEDULES,
                "#list_tenant = :tenant",
                {":tenant": text(tenant)},
                limit=_PAGE,
                index=schema.BY_TENANT,
                start=start,
            )
            found = self._of_schedules(tenant, [item["schedule_id"]["S"] for item in items], limit)
            if found or last is None:
                return Found(found, cursor if found else None)
            start, cursor = last, cursors.encode([last["schedule_id"]["S"]])
        return Found([], cursor)

    def _of_schedules(self, tenant: str, schedule_ids: Iterable[str], limit: int) -> list[Owned]:
        found: list[Owned] = []
        for schedule_id in schedule_ids:
            for owned in self._of_schedule(tenant, schedule_id, limit):
                found.append(owned)
                if len(found) >= limit:
                    return found
        return found

    def _of_schedule(self, tenant: str, schedule_id: str, limit: int) -> Iterator[Owned]:
        """All that is a schedule's own; its timer last, since that is what the index by tenant lists it by."""
        partition = keys.schedule(tenant, schedule_id)
        for table, kind in _BESIDE_TIMERS:
            for item in self._items(table, partition, limit):
                yield _owned(kind, table, partition, item["sk"]["S"])
        name = heartbeat_name(tenant, schedule_id)
        for item in self._items(schema.HEARTBEATS, name, limit):
            kind = Kind.HEARTBEATS if item["sk"]["S"] == keys.HEARTBEAT else Kind.PINGS
            yield _owned(kind, schema.HEARTBEATS, name, item["sk"]["S"])
        sorts = [item["sk"]["S"] for item in self._items(schema.SCHEDULES, partition, limit)]
        for sort in sorted(sorts, key=lambda one: one == keys.TIMER):
            yield _owned(_kind_of(sort), schema.SCHEDULES, partition, sort)

    def calendars(self, tenant: str, cursor: str | None, limit: int) -> Found:  # noqa: ARG002 - it begins at the start
        found: list[Owned] = []
        for head in self._items(schema.CALENDARS, tenant, _PAGE):
            partition = keys.calendar(tenant, head["sk"]["S"])
            versions = self._items(schema.CALENDARS, partition, limit)
            found += [_owned(Kind.CALENDAR_VERSIONS, schema.CALENDARS, partition, one["sk"]["S"]) for one in versions]
            if len(versions) == limit:
                break  # The head stays until the last of its versions is found.
            found.append(_owned(Kind.CALENDARS, schema.CALENDARS, tenant, head["sk"]["S"]))
            if len(found) >= limit:
                break
        return Found(found, None)

    def jobs(self, tenant: str, cursor: str | None, limit: int) -> Found:
        errands = self._errands(tenant, limit) if cursor is None else []
        if errands:
            return Found(errands, None)
        operations = self._items(schema.OPERATIONS, tenant, limit) if cursor is None else []
        if operations:
            own = [_owned(Kind.OPERATIONS, schema.OPERATIONS, tenant, one["sk"]["S"]) for one in operations]
            return Found(own, None)
        alerts = self._items(schema.ALERTS, tenant, limit) if cursor is None else []
        if alerts:
            return Found([_owned(Kind.ALERTS, schema.ALERTS, tenant, one["sk"]["S"]) for one in alerts], None)
        opened, start = (keys.OPEN_RETIMINGS, None) if cursor is None else _job_start(cursor)
        for _ in range(MAX_PAGES):
            items, last = self._page(schema.RETIMINGS, opened, _PAGE, start=start)
            mine = [one for one in items if one.get("tenant", {}).get("S") == tenant][:limit]
            if mine:
                own = [_owned(Kind.RETIMINGS, schema.RETIMINGS, opened, one["sk"]["S"]) for one in mine]
                return Found(own, cursor)
            if last is None and opened == keys.FINISHED_RETIMINGS:
                return Found([], None)
            opened, start = (opened, last) if last is not None else (keys.FINISHED_RETIMINGS, None)
            cursor = cursors.encode([opened, start["sk"]["S"] if start else ""])
        return Found([], cursor)

    def _errands(self, tenant: str, limit: int) -> list[Owned]:
        """The first of a tenant's errands, partition by partition."""
        for number in range(keys.ERRAND_SLICES):
            partition = keys.errands(tenant, number)
            items = self._items(schema.SCHEDULES, partition, limit)
            if items:
                return [_owned(Kind.ERRANDS, schema.SCHEDULES, partition, one["sk"]["S"]) for one in items]
        return []

    def counts(self, tenant: str, cursor: str | None, limit: int) -> Found:
        """Slots by their partition; then whatever is the tenant's in the table of tenants, which is walked whole: keys
        of the first release are in no list, and lines only have names.
        """
        for table, kind in ((schema.SLOTS, Kind.SLOTS), (schema.BREAKERS, Kind.BREAKERS)) if cursor is None else ():
            items = self._items(table, tenant, limit)
            if items:
                return Found([_owned(kind, table, tenant, one["sk"]["S"]) for one in items], None)
        start = None if cursor is None else _place(*cursors.decode(cursor, 2))
        for _ in range(MAX_PAGES):
            items, last = self._database.walk(schema.TENANTS, limit=_WALKED, start=start)
            found = [owned for item in items if (owned := _in_tenants(item, tenant)) is not None]
            if found or last is None:
                return Found(found[:limit], cursor if found else None)
            start, cursor = last, cursors.encode([last["pk"]["S"], last["sk"]["S"]])
        return Found([], cursor)

    def audit(self, tenant: str, cursor: str | None, limit: int) -> Found:  # noqa: ARG002 - it begins at the start
        """Ends and seals of chains first: what is gone is sealed no more."""
        for table, kind in ((schema.CHAINS, Kind.AUDIT_CHAINS), (schema.AUDIT, Kind.AUDIT_ENTRIES)):
            items = self._items(table, tenant, limit)
            if items:
                return Found([_owned(kind, table, tenant, one["sk"]["S"]) for one in items], None)
        return Found([], None)

    # --- reading -----------------------------------------------------------------------------------------------

    def _items(self, table: Table, partition: str, limit: int, prefix: str = "") -> Sequence[Item]:
        """The first items of a partition, strongly."""
        found: list[Item] = []
        start: Item | None = None
        for _ in range(MAX_PAGES):
            items, start = self._page(table, partition, limit - len(found), start=start, prefix=prefix)
            found += items
            if start is None or len(found) >= limit:
                break
        return found

    def _page(
        self, table: Table, partition: str, limit: int, *, start: Item | None, prefix: str = ""
    ) -> tuple[Sequence[Item], Item | None]:
        condition, values = "#pk = :pk", {":pk": text(partition)}
        if prefix:
            condition, values = f"{condition} AND begins_with(#sk, :prefix)", {**values, ":prefix": text(prefix)}
        return self._database.query(table, condition, values, limit=limit, start=start, consistent=True)


_BESIDE_TIMERS: Final = (
    (schema.RUNS, Kind.RUNS),
    (schema.ATTEMPTS, Kind.ATTEMPT_LOGS),
    (schema.RECEIPTS, Kind.RECEIPTS),
)
"""What has the partition of a schedule in a table of its own."""

LOOKS: Final[Mapping[Stage, Callable[[Look, str, str | None, int], Found]]] = {
    Stage.KEYS: Look.of_keys,
    Stage.SCHEDULES: Look.named,
    Stage.LISTED: Look.listed,
    Stage.AGAIN: Look.named,
    Stage.CALENDARS: Look.calendars,
    Stage.JOBS: Look.jobs,
    Stage.COUNTS: Look.counts,
    Stage.AUDIT: Look.audit,
}


def _owned(kind: Kind, table: Table, partition: str, sort: str) -> Owned:
    return Owned(kind, (table.name, partition, sort))


def _kind_of(sort: str) -> Kind:
    if keys.is_run_timer(sort):
        return Kind.RUN_TIMERS
    return {keys.TIMER: Kind.SCHEDULES, keys.GATE: Kind.GATES, keys.DEPENDANTS: Kind.DEPENDANTS}.get(
        sort, Kind.VERSIONS
    )


def _created(item: Item) -> str | None:
    """The schedule whose creation an audit entry tells of."""
    subject, is_creation = item.get("subject", {}).get("S", ""), item.get("action", {}).get("S") == Change.CREATE
    # Entries of the first release name the schedule alone.
    name = subject.removeprefix("schedule:") if subject else item.get("schedule_id", {}).get("S", "")
    return name if is_creation and name else None


def _in_tenants(item: Item, tenant: str) -> Owned | None:
    """What an item of the table `tenants` is to the tenant; `None`: another's, or what stays of it."""
    partition, sort = item["pk"]["S"], item["sk"]["S"]
    kind: Kind | None = None
    if partition == keys.tenant(tenant):
        kind = None if sort in (keys.TENANT, keys.DELETION) else Kind.COUNTERS
        kind = Kind.KEY_LISTINGS if sort.startswith(keys.LISTED_KEY) else kind
    elif partition == keys.idempotency(tenant):
        kind = Kind.ANSWERS
    elif partition == keys.freezes(tenant):
        kind = Kind.FREEZE_LISTS
    elif sort == keys.API_KEY and item.get("tenant", {}).get("S") == tenant:
        kind = Kind.API_KEYS
    elif partition in (keys.line(line_of_tenant(tenant)), keys.line(line_of_slots(tenant))):
        kind = Kind.LINES
    return None if kind is None else _owned(kind, schema.TENANTS, partition, sort)


def _place(partition: str, sort: str) -> Item:
    return {"pk": text(partition), "sk": text(sort)}


def _after_timer(tenant: str, schedule_id: str) -> Item:
    place = _place(keys.schedule(tenant, schedule_id), keys.TIMER)
    return {"list_tenant": text(tenant), "schedule_id": text(schedule_id), **place}


def _job_start(cursor: str) -> tuple[str, Item | None]:
    partition, sort = cursors.decode(cursor, 2)
    return partition, _place(partition, sort) if sort else None
