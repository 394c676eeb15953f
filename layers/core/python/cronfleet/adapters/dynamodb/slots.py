"""`SlotStore` on DynamoDB."""

from collections.abc import Sequence
from typing import Final

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.database import ABSENT, Database, Expression, number, text
from cronfleet.adapters.dynamodb.errors import ConditionFailed, Item
from cronfleet.adapters.dynamodb.items.slots import slot_item, slot_of
from cronfleet.domain.instant import Instant
from cronfleet.domain.slot import MAX_SLOTS, Slot

MAX_SLOT_PAGES: Final = 4
"""Pages of a tenant's slots: a thousand take a fifth of one."""

_AS_READ: Final = Expression("#fence = :fence AND #until = :until")
_RELEASE: Final = Expression(
    "#fence = :fence AND #holder = :holder", "SET #until = :free, #held_ms = :now - #taken_at REMOVE #holder"
)


class DynamoSlots:
    """How many runs of a tenant go on at once."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get_slots(self, tenant: str) -> Sequence[Slot]:
        found: list[Slot] = []
        start: Item | None = None
        for _ in range(MAX_SLOT_PAGES):
            items, start = self._database.query(
                schema.SLOTS,
                "#pk = :tenant AND begins_with(#sk, :slots)",
                {":tenant": text(tenant), ":slots": text(keys.SLOTS)},
                limit=MAX_SLOTS,
                start=start,
                consistent=True,
            )
            found += map(slot_of, items)
            if start is None:
                break
        return found

    def take_slot(self, slot: Slot, before: Slot) -> Slot:
        condition = _AS_READ if before.fence else ABSENT
        values = {":fence": number(before.fence), ":until": number(before.until)} if before.fence else None
        try:
            self._database.put(schema.SLOTS, slot_item(slot), condition, values)
        except ConditionFailed as failed:
            return before if failed.item is None else slot_of(failed.item)
        return slot

    def release_slot(self, tenant: str, slot_number: int, fence: int, holder: str, now: Instant) -> bool:
        values = {":fence": number(fence), ":holder": text(holder), ":free": number(0), ":now": number(now)}
        try:
            self._database.update(schema.SLOTS, tenant, keys.slot(slot_number), _RELEASE, values)
        except ConditionFailed:
            return False
        return True
