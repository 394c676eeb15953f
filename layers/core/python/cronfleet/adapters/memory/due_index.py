"""The due index in memory, kept apart from the base items so that a simulator can let it lag behind them."""

import base64
import binascii
import json
from bisect import bisect_right, insort
from collections import defaultdict
from typing import TypeAlias

from cronfleet.domain.claim import DueItem
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import Instant
from cronfleet.ports.job_store import Page

ItemKey: TypeAlias = tuple[str, str]
"""Partition and sort key of the base item."""

Entry: TypeAlias = tuple[Instant, ItemKey]


class DueIndex:
    """Per shard, the items that wait, by the time they are due."""

    def __init__(self) -> None:
        self._entries: defaultdict[int, list[Entry]] = defaultdict(list)
        self._items: dict[ItemKey, tuple[int, Instant, DueItem]] = {}

    def put(self, key: ItemKey, shard: int, due_at: Instant, item: DueItem) -> None:
        """Let `item` wait in `shard`; it replaces what waits under its key."""
        self._drop(key)
        self._items[key] = (shard, due_at, item)
        insort(self._entries[shard], (due_at, key))

    def remove(self, key: ItemKey) -> None:
        """Take out what waits under `key`, if anything does."""
        self._drop(key)

    def _drop(self, key: ItemKey) -> None:
        held = self._items.pop(key, None)
        if held is None:
            return
        shard, due_at, _ = held
        entries = self._entries[shard]
        del entries[bisect_right(entries, (due_at, key)) - 1]

    def page(self, shard: int, until: Instant, cursor: str | None, limit: int) -> Page[DueItem]:
        """Up to `limit` items due up to and including `until`, after the entry that `cursor` names."""
        entries = self._entries[shard]
        start = 0 if cursor is None else bisect_right(entries, decode_cursor(cursor))
        chosen = [entry for entry in entries[start : start + limit] if entry[0] <= until]
        items = [self._items[key][2] for _, key in chosen]
        return Page(items, encode_cursor(chosen[-1]) if len(chosen) == limit else None)


def encode_cursor(entry: Entry) -> str:
    """An opaque, URL-safe name of the last entry of a page."""
    due_at, (partition, sort) = entry
    return base64.urlsafe_b64encode(json.dumps([due_at, partition, sort]).encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> Entry:
    """The reverse of `encode_cursor`; raises `Invalid("cursor")` for any other text."""
    try:
        due_at, partition, sort = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        return int(due_at), (str(partition), str(sort))
    except (binascii.Error, ValueError, TypeError) as error:
        raise Invalid("cursor", "is not a cursor of this list; pass the one that the page before gave") from error
