"""`DeadLetterStore` on DynamoDB."""

from typing import Final

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.database import ABSENT, Database, Expression, number, text
from cronfleet.adapters.dynamodb.errors import ConditionFailed, Item
from cronfleet.adapters.dynamodb.items.letters import letter_of, unreadable_item, unreadable_of
from cronfleet.domain.dead_letter import Letter
from cronfleet.domain.instant import EARLIEST, LATEST, Instant
from cronfleet.domain.undelivered import UnreadableMessage
from cronfleet.ports import cursors
from cronfleet.ports.dead_letters import Died, SettleUnreadable, after_letter, place_of, tenant_of
from cronfleet.ports.page import Page

_UNSETTLED: Final = Expression("attribute_exists(#pk) AND attribute_not_exists(#settled)")


class DynamoDeadLetters:
    """Dead letters, and messages that nobody can read."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list_letters(
        self, owner: str, died: Died, *, cursor: str | None, limit: int, oldest_first: bool = False
    ) -> Page[Letter]:
        first = EARLIEST if died.from_at is None else died.from_at
        last = LATEST if died.until_at is None else died.until_at - 1
        if first > last:
            return Page([])
        items, following = self._database.query(
            schema.RUNS,
            "#failed_tenant = :owner AND #finished_at BETWEEN :first AND :last",
            {":owner": text(owner), ":first": number(first), ":last": number(last)},
            limit=limit,
            index=schema.DEAD_LETTERS,
            start=None if cursor is None else _place(cursor, owner),
            forward=oldest_first,
        )
        letters = [letter_of(item) for item in items]
        return Page(letters, None if following is None else after_letter(letters[-1]))

    def keep_unreadable(self, message: UnreadableMessage) -> None:
        try:
            self._database.put(schema.SHARDS, unreadable_item(message), ABSENT, None)
        except ConditionFailed:
            return  # It came a second time, because deleting it from its queue had no answer.

    def list_unreadable(self, *, cursor: str | None, limit: int) -> Page[UnreadableMessage]:
        start: Item | None = None
        if cursor is not None:
            (sort,) = cursors.decode(cursor, 1)
            start = {"pk": text(keys.UNREADABLE), "sk": text(sort)}
        items, following = self._database.query(
            schema.SHARDS, "#pk = :pk", {":pk": text(keys.UNREADABLE)}, limit=limit, start=start, forward=False
        )
        rest = None if following is None else cursors.encode([following["sk"]["S"]])
        return Page([unreadable_of(item) for item in items if "settled" not in item], rest)

    def get_unreadable(self, sent_at: Instant, message_id: str) -> UnreadableMessage | None:
        item = self._database.get(schema.SHARDS, keys.UNREADABLE, keys.unreadable(sent_at, message_id))
        return None if item is None else unreadable_of(item)


def parts_of_settling(write: SettleUnreadable) -> tuple[schema.Table, Item, Expression, Item | None]:
    """The table, item and condition of a write."""
    return schema.SHARDS, unreadable_item(write.message), _UNSETTLED, None


def _place(cursor: str, owner: str) -> Item:
    died_at, key = place_of(cursor, tenant_of(owner))
    place = {"pk": text(keys.schedule(key.tenant, key.schedule_id)), "sk": text(keys.run(key))}
    return place | {"failed_tenant": text(owner), "finished_at": number(died_at)}
