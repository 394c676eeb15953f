"""The look-ahead: what is due in a shard, read before anything of it is decided, so that no backlog hides anyone else.

A tick reads `MAX_ITEMS` items of the due index before it plans, and plans them together; then it goes on from there,
never back to the start. The index is a hint: an item that moved while it was read comes once, as it was read last.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

from cronfleet.domain.claim import DueItem, RunTimer, Unreadable
from cronfleet.domain.instant import Instant
from cronfleet.ports.job_store import JobStore
from cronfleet.services.asking import ask

MAX_ITEMS: Final = 2_000
"""Items that are planned together: what a shard can claim in a slot, nearly."""

PAGE_ITEMS: Final = 500
"""Items of one page of the due index; a page of a megabyte holds more."""


class LookAhead:
    """What is due in `shard` up to `until`, some at a time. One for each tick."""

    def __init__(self, store: JobStore, shard: int, until: Instant) -> None:
        self._store = store
        self._shard = shard
        self._until = until
        self._cursor: str | None = None
        self.is_over = False
        """Whether everything that was due has been read."""

    def read(self) -> Sequence[DueItem]:
        """The next items, oldest first. Raises `NoAnswer`."""
        found: dict[object, DueItem] = {}
        while len(found) < MAX_ITEMS and not self.is_over:
            page = ask(partial(self._store.due, self._shard, self._until, self._cursor, PAGE_ITEMS))
            for item in page.items:
                found[_key(item)] = item
            self._cursor = page.cursor
            self.is_over = page.cursor is None
        return list(found.values())


def _key(item: DueItem) -> object:
    if isinstance(item, RunTimer):
        return item.key, item.attempt
    if isinstance(item, Unreadable):
        return item.partition, item.sort
    return item.key
