"""The look-ahead: what is due in a shard, read before anything of it is decided, so that no backlog hides anyone else.

A tick reads `MAX_ITEMS` items of the due index before it plans, and plans them together; then it goes on from there,
never back to the start. If by then one tenant has filled a quarter of that, what follows is looked through by its keys
alone, and what others have due there is fetched: their fires go with the first. The index is a hint: an item that moved
while it was read comes once, as it was read last.
"""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Final

from cronfleet.domain.claim import DueItem, RunTimer, Unreadable, tenant_of
from cronfleet.domain.instant import Instant
from cronfleet.ports.job_store import JobStore
from cronfleet.ports.peeking import DueKey
from cronfleet.services.asking import ask

MAX_ITEMS: Final = 2_000
"""Items that are planned together: what a shard can claim in a slot, nearly."""

PAGE_ITEMS: Final = 500
"""Items of one page of the due index; a page of a megabyte holds more."""

SWAMPING: Final = MAX_ITEMS // 4
"""A tenant with so many of the items swamps the shard …"""

MAX_PEEKED: Final = 20_000
"""… and so many keys behind them are looked through for what others have due …"""

MAX_FETCHED: Final = 500
"""… of which so many are fetched."""

PEEK_PAGE: Final = 2_000


class LookAhead:
    """What is due in `shard` up to `until`, some at a time. One for each tick."""

    def __init__(self, store: JobStore, shard: int, until: Instant) -> None:
        self._store = store
        self._shard = shard
        self._until = until
        self._cursor: str | None = None
        self._fetched: set[object] = set()
        self.is_over = False
        """Whether everything that was due has been read."""

    def read(self) -> Sequence[DueItem]:
        """The next items, oldest first, and behind them what others have due past a swamped head.

        Raises `NoAnswer`.
        """
        found: dict[object, DueItem] = {}
        while len(found) < MAX_ITEMS and not self.is_over:
            page = ask(partial(self._store.due, self._shard, self._until, self._cursor, PAGE_ITEMS))
            for item in page.items:
                if _key(item) not in self._fetched:
                    found[_key(item)] = item
            self._cursor = page.cursor
            self.is_over = page.cursor is None
        if not self.is_over:
            self._look_past(found)
        return list(found.values())

    def _look_past(self, found: dict[object, DueItem]) -> None:
        """Add to `found` what is due behind it of tenants that do not swamp the shard."""
        items = Counter(tenant_of(item) for item in found.values())
        swamping = {tenant for tenant, count in items.items() if count >= SWAMPING}
        if not swamping:
            return
        for item in ask(partial(self._store.get_due, self._peeked(swamping))):
            if _key(item) not in self._fetched:
                found[_key(item)] = item
                self._fetched.add(_key(item))

    def _peeked(self, swamping: set[str]) -> list[DueKey]:
        others: list[DueKey] = []
        cursor = self._cursor
        for _ in range(MAX_PEEKED // PEEK_PAGE):
            page = ask(partial(self._store.peek, self._shard, self._until, cursor, PEEK_PAGE))
            others += [key for key in page.items if key.tenant not in swamping]
            cursor = page.cursor
            if cursor is None or len(others) >= MAX_FETCHED:
                break
        return others[:MAX_FETCHED]


def _key(item: DueItem) -> object:
    if isinstance(item, RunTimer):
        return item.key, item.attempt
    if isinstance(item, Unreadable):
        return item.partition, item.sort
    return item.key
