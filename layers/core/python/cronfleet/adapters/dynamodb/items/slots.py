"""Slots, as items of the table `slots`."""

from typing import Final

from cronfleet.adapters.dynamodb import keys
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.recording import damaged, read, written
from cronfleet.adapters.dynamodb.tenant_records import SlotRecord
from cronfleet.domain.instant import DAY, SECOND
from cronfleet.domain.slot import Slot

SLOT_LIFE: Final = 30 * DAY
"""How long a slot that nobody takes is kept: longer than any message that may still name it."""


def slot_item(slot: Slot) -> Item:
    """A slot as an item; it expires long after it was last taken."""
    return written(
        SlotRecord,
        slot.tenant,
        keys.slot(slot.number),
        fence=slot.fence,
        holder=slot.holder or None,
        taken_at=slot.taken_at,
        until=slot.until,
        held_ms=slot.held_ms,
        expires_at=(max(slot.taken_at, slot.until) + SLOT_LIFE) // SECOND,
    )


def slot_of(item: Item) -> Slot:
    """The slot in `item`; raises `Damaged`."""
    record = read(SlotRecord, item)
    try:
        return Slot(
            record.pk,
            keys.parse_slot(record.sk),
            record.fence,
            record.holder or "",
            record.taken_at,
            record.until,
            # By the clocks of two processes: it may seem to have ended before it began.
            None if record.held_ms is None else max(0, record.held_ms),
        )
    except ValueError as error:
        raise damaged(item, error) from error
