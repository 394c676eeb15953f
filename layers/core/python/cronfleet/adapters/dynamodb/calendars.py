"""`CalendarStore` on DynamoDB."""

from typing import Final

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.database import Database, text
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.items.calendars import calendar_of, head_of
from cronfleet.domain.calendar import NAME_PATTERN, Calendar, CalendarHead
from cronfleet.domain.schedule import Status
from cronfleet.domain.tenant import ID_PATTERN
from cronfleet.ports import cursors
from cronfleet.ports.bound import Kept
from cronfleet.ports.job_store import Damaged, Listed, Page

MAX_PAGE: Final = 100


class DynamoCalendars:
    """Calendars, and who uses them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept = Kept(self._read)

    def get_calendar_head(self, tenant: str, name: str) -> CalendarHead | None:
        item = self._database.get(schema.CALENDARS, tenant, name)
        return None if item is None else head_of(item)

    def get_calendar(self, tenant: str, name: str, version: int) -> Calendar | None:
        return self._kept.get(tenant, name, version)

    def _read(self, tenant: str, name: str, version: int) -> Calendar | None:
        place = (schema.CALENDARS, keys.calendar(tenant, name), keys.version(version))
        # It never changes, so a copy that has it is right; only "not there" may be news that has not arrived yet.
        item = self._database.get(*place, consistent=False) or self._database.get(*place)
        try:
            return None if item is None else calendar_of(item)
        except Damaged:
            # Whoever needs it is parked, and says which one it is; nobody else is kept from anything.
            return None

    def list_calendars(self, tenant: str, *, cursor: str | None, limit: int) -> Page[CalendarHead]:
        start = None if cursor is None else _after_head(tenant, cursor)
        items, last = self._database.query(
            schema.CALENDARS, "#pk = :tenant", {":tenant": text(tenant)}, limit=limit, start=start
        )
        heads = [head for head in map(head_of, items) if not head.is_deleted]
        return Page(heads, None if last is None else cursors.encode([last["sk"]["S"]]))

    def list_following(self, tenant: str, name: str, *, cursor: str | None, limit: int) -> Page[Listed]:
        start = None if cursor is None else _after_timer(tenant, name, cursor)
        items, last = self._database.query(
            schema.SCHEDULES,
            "#list_tenant = :tenant AND #calendar = :name",
            {":tenant": text(tenant), ":name": text(name)},
            limit=min(limit, MAX_PAGE),
            index=schema.BY_CALENDAR,
            start=start,
        )
        timers = [(item["pk"]["S"], keys.TIMER) for item in items]
        found = {item["pk"]["S"]: item for item in self._database.batch_get(schema.SCHEDULES, timers)}
        listed = [_listed_of(found[pk]) for pk, _ in timers if pk in found]
        live = [one for one in listed if one.status is not Status.CANCELLED]
        more = None if last is None else cursors.encode([keys.parse_schedule(last["pk"]["S"])[1]])
        return Page(live, more)


def _listed_of(item: Item) -> Listed:
    return Listed(item["schedule_id"]["S"], Status(item["status"]["S"]), int(item["version"]["N"]))


def _after_head(tenant: str, cursor: str) -> Item:
    (name,) = cursors.decode(cursor, 1)
    if not NAME_PATTERN.fullmatch(name):
        raise cursors.foreign()
    return {"pk": text(tenant), "sk": text(name)}


def _after_timer(tenant: str, name: str, cursor: str) -> Item:
    (schedule_id,) = cursors.decode(cursor, 1)
    if not ID_PATTERN.fullmatch(schedule_id):
        raise cursors.foreign()
    return {
        "list_tenant": text(tenant),
        "calendar": text(name),
        "pk": text(keys.schedule(tenant, schedule_id)),
        "sk": text(keys.TIMER),
    }
