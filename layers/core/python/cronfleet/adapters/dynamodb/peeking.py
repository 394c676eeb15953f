"""`PeekStore` on DynamoDB: charged as reading it whole is, and a tenth of the work for whoever reads."""

from collections.abc import Sequence

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.database import Database, number, text
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.items.timers import due_item_of, run_timer_of
from cronfleet.adapters.dynamodb.shards import due_cursor, due_start
from cronfleet.domain.claim import DueItem, RunTimer
from cronfleet.domain.instant import Instant
from cronfleet.domain.run import RunKey
from cronfleet.ports.bound import Kept, bound_item
from cronfleet.ports.page import Page
from cronfleet.ports.peeking import DueKey


class DynamoPeeking:
    """The due index by its keys alone."""

    _kept: Kept

    def __init__(self, database: Database) -> None:
        self._database = database

    def peek(self, shard: int, until: Instant, cursor: str | None, limit: int) -> Page[DueKey]:
        items, last = self._database.query_keys(
            schema.SCHEDULES,
            "#due_shard = :shard AND #due_at <= :until",
            {":shard": text(keys.due_shard(shard)), ":until": number(until)},
            limit=limit,
            index=schema.DUE,
            start=None if cursor is None else due_start(shard, cursor),
        )
        return Page([_key_of(item) for item in items], None if last is None else due_cursor(last))

    def get_due(self, due_keys: Sequence[DueKey]) -> Sequence[DueItem]:
        items = self._database.batch_get(schema.SCHEDULES, [(key.partition, key.sort) for key in due_keys])
        return [bound_item(due_item_of(item), self._kept.find) for item in items if "due_shard" in item]

    def find_run_timer(self, key: RunKey, attempt: int) -> RunTimer | None:
        place = keys.schedule(key.tenant, key.schedule_id), keys.run_timer(key, attempt)
        item = self._database.get(schema.SCHEDULES, *place, consistent=False)
        return None if item is None or "due_shard" not in item else run_timer_of(item)


def _key_of(item: Item) -> DueKey:
    partition, sort = item["pk"]["S"], item["sk"]["S"]
    return DueKey(partition.partition("#")[0], partition, sort)
