"""Dead letters as the index shows them, and unreadable messages, as items."""

from typing import Final

from cronfleet.adapters.dynamodb import keys
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.items.reasons import reason_of
from cronfleet.adapters.dynamodb.items.runs import settlement_json, settlement_of, signature_of_json
from cronfleet.adapters.dynamodb.recording import damaged, read, written
from cronfleet.adapters.dynamodb.records import LetterRecord, UnreadableRecord
from cronfleet.domain.dead_letter import Letter
from cronfleet.domain.instant import SECOND
from cronfleet.domain.run import ROW_LIFE_SECONDS, RunStatus
from cronfleet.domain.signature import signature_of
from cronfleet.domain.undelivered import Delivery, UnreadableMessage

_KEPT: Final = ROW_LIFE_SECONDS


def letter_of(item: Item) -> Letter:
    """The letter in an item of the index; raises `Damaged`."""
    record = read(LetterRecord, item)
    try:
        reason = reason_of(record.reason)
        # Rows that died before signatures were computed have none.
        bare = signature_of(record.status, None if reason is None else reason.text)
        return Letter(
            keys.parse_run(record.pk, record.sk),
            RunStatus(record.status),
            record.finished_at,
            record.expires_at * SECOND,
            signature_of_json(record.signature) or bare,
            reason,
        )
    except (ValueError, KeyError, TypeError) as error:
        raise damaged(item, error) from error


def unreadable_item(message: UnreadableMessage) -> Item:
    """An unreadable message as an item."""
    delivery = message.delivery
    return written(
        UnreadableRecord,
        keys.UNREADABLE,
        keys.unreadable(delivery.sent_at, delivery.message_id),
        queue=delivery.queue,
        body=message.body,
        why=message.why,
        receives=delivery.receives,
        sent_at=delivery.sent_at,
        came_at=message.came_at,
        expires_at=message.came_at // SECOND + _KEPT,
        settled=settlement_json(message.settled),
    )


def unreadable_of(item: Item) -> UnreadableMessage:
    """The reverse of `unreadable_item`; raises `Damaged`."""
    record = read(UnreadableRecord, item)
    _, _, message_id = record.sk.partition("#")
    delivery = Delivery(record.queue, message_id, record.receives, record.sent_at)
    settled = None if record.settled is None else settlement_of(record.settled)
    return UnreadableMessage(delivery, record.body, record.why, record.came_at, settled)
