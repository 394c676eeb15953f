"""Attempt logs, as items of the table `attempts`.

The lines are packed: logs repeat themselves, and a write is charged for each kilobyte.
"""

import json
import zlib
from typing import Any, Final

from cronfleet.adapters.dynamodb import keys
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.recording import damaged, read, written
from cronfleet.adapters.dynamodb.records import AttemptLogRecord
from cronfleet.domain.attempt_log import AttemptLog, LogLine, LogPlace
from cronfleet.domain.instant import DAY, SECOND, Instant
from cronfleet.domain.run import RunKey

_MAX_UNPACKED: Final = 256 * 1024
"""More than the longest tail can be, escapes and all."""


def attempt_log_item(log: AttemptLog, now: Instant) -> Item:
    """A log written at `now` as an item."""
    place = log.place
    return written(
        AttemptLogRecord,
        keys.schedule(log.key.tenant, log.key.schedule_id),
        keys.attempt(log.key, log.attempt),
        kept_at=log.kept_at,
        lines=_packed(log),
        is_cut=None if log.is_whole else True,
        place=None if place is None else [place.region, place.group, place.stream, place.request_id],
        kept_days=log.kept_days,
        expires_at=(now + log.kept_days * DAY) // SECOND,
    )


def attempt_log_of(item: Item, key: RunKey, attempt: int) -> AttemptLog:
    """The log in `item`; raises `Damaged`."""
    record = read(AttemptLogRecord, item)
    try:
        return AttemptLog(
            key,
            attempt,
            record.kept_at,
            tuple(LogLine(*line) for line in _unpacked(record.lines)),
            not record.is_cut,
            None if record.place is None else LogPlace(*record.place),
            record.kept_days,
        )
    except (ValueError, TypeError, zlib.error) as error:
        raise damaged(item, error) from error


def _packed(log: AttemptLog) -> bytes:
    lines = [[line.at, line.level, line.text] for line in log.lines]
    # Escaped: a line may hold half of a surrogate pair, which no encoding can carry.
    return zlib.compress(json.dumps(lines, separators=(",", ":")).encode())


def _unpacked(packed: bytes) -> list[list[Any]]:
    unpacking = zlib.decompressobj()
    text = unpacking.decompress(packed, _MAX_UNPACKED)
    lines = json.loads(text)
    if not isinstance(lines, list):
        raise TypeError("the lines are no list")
    return lines
