"""Letters: the dead letters that a filter means, found by the index, for whoever shows, discards or redrives them."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from cronfleet.domain.dead_letter import Letter, LetterFilter
from cronfleet.domain.freeze import label_hashes
from cronfleet.domain.instant import Instant
from cronfleet.domain.run import RunKey
from cronfleet.ports.dead_letters import Died, after_letter
from cronfleet.ports.job_store import Damaged, JobStore
from cronfleet.services.asking import ask

PAGE: Final = 250
"""Letters per request to the store."""

MAX_SCHEDULES: Final = 2_000
"""Schedules whose labels a process remembers while it looks through letters."""


@dataclass(slots=True)
class Found:
    """The letters found so far; `cursor` goes on after the last one that was looked at, while there may be more."""

    letters: list[Letter] = field(default_factory=list)
    positions: list[str] = field(default_factory=list)
    """Of each the cursor that goes on after it."""
    looked_at: int = 0
    cursor: str | None = None


class Letters:
    """Looks through a tenant's letters. Remembers which schedules have the labels asked for: one for each request."""

    def __init__(self, store: JobStore) -> None:
        self._store = store
        self._labelled: dict[str, bool] = {}

    def find(
        self,
        owner: str,
        asked: LetterFilter,
        *,
        cursor: str | None = None,
        limit: int,
        most: int,
        oldest_first: bool = False,
    ) -> Found:
        """Up to `limit` letters that `asked` means, out of `most` that are looked at. Raises `NoAnswer`.

        `owner` is a tenant, or `redriven_by` one's operation: then what that has redriven is looked through.
        """
        found = Found(cursor=cursor)
        for letter in self._walk(owner, asked, cursor, limit if asked.is_everything else PAGE, oldest_first):
            if len(found.letters) == limit or found.looked_at == most:
                return found
            found.looked_at += 1
            found.cursor = after_letter(letter)
            if asked.takes(letter) and self._has_labels(letter.key, asked.labels):
                found.letters.append(letter)
                found.positions.append(found.cursor)
        return replace(found, cursor=None)

    def _walk(
        self, owner: str, asked: LetterFilter, cursor: str | None, size: int, oldest_first: bool
    ) -> Iterator[Letter]:
        died = Died(asked.from_at, asked.until_at)
        while True:
            # One more than is wanted tells whether there is more.
            limit = min(size, PAGE) + 1
            read = partial(self._store.list_letters, owner, died, limit=limit, oldest_first=oldest_first)
            page = ask(partial(read, cursor=cursor))
            yield from page.items
            cursor = page.cursor
            if cursor is None:
                return

    def _has_labels(self, key: RunKey, labels: tuple[str, ...]) -> bool:
        if not labels:
            return True
        if key.schedule_id not in self._labelled:
            if len(self._labelled) >= MAX_SCHEDULES:
                self._labelled.clear()
            self._labelled[key.schedule_id] = set(labels) <= set(self._labels_of(key))
        return self._labelled[key.schedule_id]

    def _labels_of(self, key: RunKey) -> tuple[str, ...]:
        """A schedule that is gone, or that cannot be read, has no labels."""
        try:
            timer = ask(lambda: self._store.get_timer(key.tenant, key.schedule_id))
        except Damaged:
            return ()
        if timer is None or timer.labels is not None:
            return () if timer is None else timer.labels or ()
        # Older than label hashes in timers.
        definition = ask(lambda: self._store.get_definition(key.tenant, key.schedule_id, timer.version))
        return () if definition is None else label_hashes(definition.spec.labels)


def within(asked: LetterFilter, since: Instant) -> LetterFilter:
    """`asked`, and no letter that died before `since`: what the tenant's retention no longer shows."""
    return replace(asked, from_at=max(since, asked.from_at or since))
