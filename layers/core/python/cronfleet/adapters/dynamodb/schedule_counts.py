"""`ScheduleCountStore` on DynamoDB: sixteen items a tenant, in the table `tenants`."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.database import Database, Expression, number, text
from cronfleet.adapters.dynamodb.errors import ConditionFailed
from cronfleet.domain.schedule_count import SLICES, changed_slices
from cronfleet.ports.schedule_counts import CountSchedules, Full, ScheduleCount

_AS_READ: Final = Expression("#count = :count")
_NONE_YET: Final = Expression("attribute_not_exists(#pk) OR #count = :count")
_IS_OPEN: Final = Expression("attribute_not_exists(#is_complete)")


class DynamoScheduleCounts:
    """The counts of tenants' schedules."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get_schedule_count(self, tenant: str) -> ScheduleCount:
        counts, progress = _read(self._database, tenant)
        cursor = progress.get("cursor", {}).get("S")
        return ScheduleCount(sum(counts), "is_complete" in progress, cursor)

    def put_count_progress(self, tenant: str, cursor: str | None) -> None:
        place = {"pk": text(keys.tenant(tenant)), "sk": text(keys.SCHEDULE_COUNT)}
        said = {"is_complete": number(1)} if cursor is None else {"cursor": text(cursor)}
        try:
            self._database.put(schema.TENANTS, {**place, **said}, _IS_OPEN)
        except ConditionFailed:
            return  # Somebody else came to the end before.


def count_actions(database: Database, write: CountSchedules, draw: int) -> tuple[Sequence[dict[str, Any]], Full | None]:
    """The actions that do `write` as things stand, and what forbids it.

    Where it is forbidden the one action fails all the same: a repeat of what was done before its reply was lost is
    recognised by the other writes of its transaction.
    """
    counts, _ = _read(database, write.tenant)
    changed = changed_slices(counts, write.by, write.limit, draw)
    if changed is None and write.limit is not None:
        return [_put(database, write.tenant, 0, -1, counts[0])], Full(sum(counts), write.limit)
    return [_put(database, write.tenant, one, counts[one], after) for one, after in (changed or {}).items()], None


def _read(database: Database, tenant: str) -> tuple[list[int], Mapping[str, Any]]:
    items, _ = database.query(
        schema.TENANTS,
        "#pk = :tenant AND begins_with(#sk, :count)",
        {":tenant": text(keys.tenant(tenant)), ":count": text(keys.SCHEDULE_COUNT)},
        limit=SLICES + 1,
        consistent=True,
    )
    found = {item["sk"]["S"]: item for item in items}
    slices = [found.get(keys.schedule_count(one), {}) for one in range(SLICES)]
    return [int(item.get("count", {"N": "0"})["N"]) for item in slices], found.get(keys.SCHEDULE_COUNT, {})


def _put(database: Database, tenant: str, one: int, before: int, after: int) -> dict[str, Any]:
    item = {"pk": text(keys.tenant(tenant)), "sk": text(keys.schedule_count(one)), "count": number(after)}
    expression = _AS_READ if before else _NONE_YET
    request = expression.request({":count": number(before)})
    return {"Put": {"TableName": database.name(schema.TENANTS), "Item": item, **request}}
