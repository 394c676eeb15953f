"""`ScheduleStore` on DynamoDB."""

from collections.abc import Iterator, Sequence
from typing import Final

from cronfleet.adapters.dynamodb import keys, schema, transactions
from cronfleet.adapters.dynamodb.database import Database, text
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.items.definitions import definition_of
from cronfleet.adapters.dynamodb.items.tenants import idempotency_of
from cronfleet.adapters.dynamodb.items.timers import timer_of
from cronfleet.domain.schedule import Definition, Status, Timer
from cronfleet.domain.tenant import ID_PATTERN
from cronfleet.ports import cursors
from cronfleet.ports.bound import Kept, bound_definition, bound_timer
from cronfleet.ports.job_store import IdempotencyRecord, Listed, Page, Write

MAX_LIST_PAGES: Final = 20
"""Pages of the index that one list reads in search of matches; then it answers with what it has, and a cursor."""
MIN_LIST_PAGE: Final = 100


class DynamoSchedules:
    """Timers, definitions, lists, and the one transaction."""

    _kept: Kept

    def __init__(self, database: Database) -> None:
        self._database = database

    def get_timer(self, tenant: str, schedule_id: str) -> Timer | None:
        item = self._database.get(schema.SCHEDULES, keys.schedule(tenant, schedule_id), keys.TIMER)
        return None if item is None else bound_timer(timer_of(item), self._kept.find)

    def get_definition(self, tenant: str, schedule_id: str, version: int) -> Definition | None:
        place = (schema.SCHEDULES, keys.schedule(tenant, schedule_id), keys.version(version))
        # It never changes, so a copy that has it is right; only "not there" may be news that has not arrived yet.
        item = self._database.get(*place, consistent=False) or self._database.get(*place)
        return None if item is None else bound_definition(definition_of(item), self._kept.find)

    def get_schedules(self, tenant: str, listed: Sequence[Listed]) -> Sequence[tuple[Timer, Definition]]:
        wanted = [
            (keys.schedule(tenant, one.schedule_id), sort)
            for one in listed
            for sort in (keys.TIMER, keys.version(one.version))
        ]
        items = {
            (item["pk"]["S"], item["sk"]["S"]): item for item in self._database.batch_get(schema.SCHEDULES, wanted)
        }
        timers = [items.get((keys.schedule(tenant, one.schedule_id), keys.TIMER)) for one in listed]
        live = [bound_timer(timer_of(item), self._kept.find) for item in timers if item is not None]
        found = ((timer, self._definition(timer, items)) for timer in live if timer.status is not Status.CANCELLED)
        return [(timer, definition) for timer, definition in found if definition is not None]

    def _definition(self, timer: Timer, items: dict[tuple[str, str], Item]) -> Definition | None:
        item = items.get((keys.schedule(timer.tenant, timer.schedule_id), keys.version(timer.version)))
        if item is not None:
            return bound_definition(definition_of(item), self._kept.find)
        return self.get_definition(timer.tenant, timer.schedule_id, timer.version)

    def list_schedules(
        self, tenant: str, *, prefix: str, status: Status | None, cursor: str | None, limit: int
    ) -> Page[Listed]:
        found: list[Listed] = []
        last: Listed | None = None
        for one in self._listed(tenant, prefix, _after(tenant, prefix, cursor), limit):
            if one is None:
                return Page(found, None if last is None else cursors.after_schedule(last.schedule_id))
            if status in (None, one.status):
                if len(found) == limit:
                    return Page(found, cursors.after_schedule(found[-1].schedule_id))
                found.append(one)
            last = one
        return Page(found)

    def _listed(self, tenant: str, prefix: str, start: Item | None, limit: int) -> Iterator[Listed | None]:
        """Every schedule of the list in order; ends with `None` when the list goes on past the last page read."""
        condition = "#list_tenant = :tenant" + (" AND begins_with(#schedule_id, :prefix)" if prefix else "")
        values = {":tenant": text(tenant)} | ({":prefix": text(prefix)} if prefix else {})
        for _ in range(MAX_LIST_PAGES):
            items, start = self._database.query(
                schema.SCHEDULES,
                condition,
                values,
                limit=max(limit + 1, MIN_LIST_PAGE),
                index=schema.BY_TENANT,
                start=start,
            )
            yield from map(_listed_of, items)
            if start is None:
                return
        yield None

    def commit(self, writes: Sequence[Write]) -> None:
        transactions.commit(self._database, writes)

    def find_idempotency(self, tenant: str, key: str) -> IdempotencyRecord | None:
        item = self._database.get(schema.TENANTS, keys.idempotency(tenant), key)
        record = None if item is None else idempotency_of(item)
        # The table forgets days after a record has expired.
        return None if record is None or record.expires_at <= self._database.clock.now() else record


def _listed_of(item: Item) -> Listed:
    return Listed(item["schedule_id"]["S"], Status(item["status"]["S"]), int(item["version"]["N"]))


def _after(tenant: str, prefix: str, cursor: str | None) -> Item | None:
    if cursor is None:
        return None
    (schedule_id,) = cursors.decode(cursor, 1)
    if not ID_PATTERN.fullmatch(schedule_id) or not schedule_id.startswith(prefix):
        raise cursors.foreign()
    return {
        "list_tenant": text(tenant),
        "schedule_id": text(schedule_id),
        "pk": text(keys.schedule(tenant, schedule_id)),
        "sk": text(keys.TIMER),
    }
