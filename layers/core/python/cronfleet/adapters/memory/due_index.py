"""The due index in memory, kept apart from the base items so that a simulator can let it lag behind them."""

from bisect import bisect_right, insort
from collections import defaultdict
from typing import TypeAlias

from cronfleet.domain.claim import DueItem
from cronfleet.domain.instant import Instant
from cronfleet.ports import cursors
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
        # Not `remove`: an index that lags overrides that, and a `put` must not wait for it.
        held = self._items.pop(key, None)
        if held is None:
            return
        shard, due_at, _ = held
        entries = self._entries[shard]
        del entries[bisect_right(entries, (due_at, key)) - 1]

    def page(self, shard: int, until: Instant, cursor: str | None, limit: int) -> Page[DueItem]:
        """Up to `limit` items due up to and including `until`, after the entry that `cursor` names."""
        found = self.keys(shard, until, cursor, limit)
        return Page([self._items[key][2] for key in found.items], found.cursor)

    def keys(self, shard: int, until: Instant, cursor: str | None, limit: int) -> Page[ItemKey]:
        """The same by their keys."""
        entries = self._entries[shard]
        start = 0 if cursor is None else bisect_right(entries, _entry_of(cursor))
        chosen = [entry for entry in entries[start : start + limit] if entry[0] <= until]
        return Page([key for _, key in chosen], _cursor_of(chosen[-1]) if len(chosen) == limit else None)

    def get(self, key: ItemKey) -> DueItem | None:
        """What waits under `key`, if anything does."""
        held = self._items.get(key)
        return None if held is None else held[2]


def _cursor_of(entry: Entry) -> str:
    due_at, (partition, sort) = entry
    return cursors.encode([str(due_at), partition, sort])


def _entry_of(cursor: str) -> Entry:
    due_at, partition, sort = cursors.decode(cursor, 3)
    try:
        return int(due_at), (partition, sort)
    except ValueError as error:
        raise cursors.foreign() from error
