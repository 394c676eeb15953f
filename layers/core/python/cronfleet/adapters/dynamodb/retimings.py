"""`RetimingStore` on DynamoDB."""

from collections.abc import Mapping, Sequence
from typing import Final

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.database import ABSENT, Database, Expression, number, text
from cronfleet.adapters.dynamodb.errors import Cancelled, ConditionFailed, Item
from cronfleet.adapters.dynamodb.items.retimings import (
    ZONE_RELEASE,
    finished_place,
    release_of,
    retiming_item,
    retiming_of,
)
from cronfleet.adapters.dynamodb.items.timers import timer_of
from cronfleet.adapters.dynamodb.transactions import token_of
from cronfleet.domain.claim import Unreadable
from cronfleet.domain.retiming import Retiming
from cronfleet.domain.schedule import Timer
from cronfleet.domain.zone_release import ZoneRelease
from cronfleet.ports import cursors
from cronfleet.ports.bound import Kept, bound_timer
from cronfleet.ports.job_store import Damaged, Page, ScheduleKey

_SAME_REV: Final = Expression("#rev = :rev")


class DynamoRetimings:
    """Jobs that look at schedules again, the zone release in force, and the way through all schedules."""

    _kept: Kept

    def __init__(self, database: Database) -> None:
        self._database = database

    def open_retimings(self, limit: int) -> Sequence[Retiming]:
        return self._jobs(keys.OPEN_RETIMINGS, limit, forward=True)

    def finished_retimings(self, limit: int) -> Sequence[Retiming]:
        return self._jobs(keys.FINISHED_RETIMINGS, limit, forward=False)

    def _jobs(self, partition: str, limit: int, *, forward: bool) -> Sequence[Retiming]:
        items, _ = self._database.query(
            schema.RETIMINGS,
            "#pk = :pk",
            {":pk": text(partition)},
            limit=limit,
            forward=forward,
            consistent=forward,
        )
        return [retiming_of(item) for item in items]

    def put_retiming(self, job: Retiming) -> bool:
        values = {":rev": number(job.rev - 1)}
        try:
            if job.is_open:
                self._database.put(schema.RETIMINGS, retiming_item(job), _SAME_REV, values)
            else:
                self._finish(job, values)
        except ConditionFailed as failed:
            return failed.item is not None and retiming_of(failed.item) == job
        except Cancelled:
            stored = self._database.get(schema.RETIMINGS, *finished_place(job))
            return stored is not None and retiming_of(stored) == job
        return True

    def _finish(self, job: Retiming, values: Item) -> None:
        """Move it from the open jobs to the finished ones, in one transaction."""
        name = self._database.name(schema.RETIMINGS)
        place = {"pk": text(keys.OPEN_RETIMINGS), "sk": text(job.job_id)}
        actions = [
            {"Delete": {"TableName": name, "Key": place, **_SAME_REV.request(values)}},
            {"Put": {"TableName": name, "Item": retiming_item(job), **ABSENT.request()}},
        ]
        self._database.transact(actions, token_of(actions))

    def get_zone_release(self) -> ZoneRelease | None:
        item = self._database.get(schema.RETIMINGS, *ZONE_RELEASE)
        return None if item is None else release_of(item)

    def list_everywhere(self, cursor: str | None, limit: int) -> Page[ScheduleKey]:
        start = None if cursor is None else _place(*cursors.decode(cursor, 2))
        items, last = self._database.scan(schema.SCHEDULES, schema.BY_TENANT, limit=limit, start=start)
        found = [_key_of(item) for item in items]
        return Page(found, None if last is None else cursors.encode(_key_of(last)))

    def get_timers(self, wanted: Sequence[ScheduleKey]) -> Mapping[ScheduleKey, Timer | Unreadable]:
        places = [(keys.schedule(*key), keys.TIMER) for key in wanted]
        items = self._database.batch_get(schema.SCHEDULES, places)
        return {keys.parse_schedule(item["pk"]["S"]): self._timer_or_not(item) for item in items}

    def _timer_or_not(self, item: Item) -> Timer | Unreadable:
        try:
            return bound_timer(timer_of(item), self._kept.find)
        except Damaged as error:
            return Unreadable(error.partition, error.sort, due_at=0, why=str(error))


def _key_of(item: Item) -> ScheduleKey:
    return item["list_tenant"]["S"], item["schedule_id"]["S"]


def _place(tenant: str, schedule_id: str) -> Item:
    """Where a schedule stands in the index by tenant, as DynamoDB wants it to go on from."""
    return {
        "list_tenant": text(tenant),
        "schedule_id": text(schedule_id),
        "pk": text(keys.schedule(tenant, schedule_id)),
        "sk": text(keys.TIMER),
    }
