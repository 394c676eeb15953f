"""The source of re-runs: rows of the history that a filter takes, schedule after schedule, newest first.

A filter that names a failure signature and no schedule takes dead letters instead: `services/signature_source.py`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from cronfleet.domain.backfill import subjects_of
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import Instant
from cronfleet.domain.operation import Operation, rerun_key
from cronfleet.domain.reason import Reason
from cronfleet.domain.rerun import RunFilter, is_by_signature
from cronfleet.domain.run import Run, RunKey
from cronfleet.ports.job_store import JobStore
from cronfleet.services.asking import ask
from cronfleet.services.letter_walk import is_past, is_place
from cronfleet.services.operation_sources import Drawn, Making, Named, Names, remade
from cronfleet.services.signature_source import SignatureSource

PAGE: Final = 100
MAX_PAGES: Final = 20
"""Pages of history that one step reads: where nothing matches, the next step goes on from there."""


@dataclass(frozen=True, slots=True)
class _Place:
    """How far the history of a subject was read: down to the row of `run_id`, or not at all."""

    subject: int
    run_id: str = ""

    def __str__(self) -> str:
        return f"{self.subject}.{self.run_id}"

    @classmethod
    def parse(cls, text: str) -> "_Place":
        subject, _, run_id = text.partition(".")
        return cls(int(subject or 0), run_id)


class RerunSource:
    """Goes through the rows that a filter takes."""

    def __init__(self, store: JobStore) -> None:
        self._store = store
        self._letters = SignatureSource(store)

    def names(self, operation: Operation, cursor: str, limit: int) -> Names:
        """The next rows after `cursor` that the filter takes; there may be fewer than `limit`, and still more."""
        if is_by_signature(operation.asked):
            return self._letters.names(operation, cursor, limit)
        wanted = RunFilter.of(operation.asked, operation.created_at)
        items: list[Named] = []
        position = cursor
        for place, row in self._walk(operation, _Place.parse(cursor)):
            position = str(place)
            if row is None or not wanted.takes(row):
                continue
            items.append(Named(position, rerun_key(row.key, operation.operation_id), row))
            if len(items) == limit:
                return Names(items, is_last=False, position=position)
        is_last = _Place.parse(position).subject >= len(operation.asked["subjects"])
        return Names(items, is_last, position)

    def draw(self, operation: Operation, runs: int, now: Instant) -> Drawn:
        """The next rows as runs; passed over where the schedule, or the version that is to be the same, is gone."""
        if is_by_signature(operation.asked):
            return self._letters.draw(operation, runs, now)
        found = self.names(operation, operation.cursor, runs)
        making = Making(self._store, operation, now)
        making.know([named.key.schedule_id for named in found.items])
        return Drawn([remade(making, named, operation) for named in found.items], found.is_last, found.position)

    def is_position(self, operation: Operation, text: str) -> bool:
        """Whether `text` names a row of the operation's schedules."""
        if is_by_signature(operation.asked):
            return is_place(operation, text)
        subjects = subjects_of(operation.asked)
        try:
            place = _Place.parse(text)
            key = RunKey.parse(place.run_id) if place.run_id else None
        except (ValueError, Invalid):
            return False
        if not 0 <= place.subject <= len(subjects):
            return False
        return key is None or (key.tenant, key.schedule_id) == (
            operation.tenant,
            subjects[place.subject].schedule_id if place.subject < len(subjects) else "",
        )

    def has_passed(self, operation: Operation, named: Named) -> bool:
        """Whether the row stands no further on than where the operation is."""
        if is_by_signature(operation.asked):
            return is_past(operation, named.position)
        if operation.is_drawn or not operation.cursor:
            return operation.is_drawn
        here, there = _Place.parse(operation.cursor), _Place.parse(named.position)
        if here.subject != there.subject or not here.run_id:
            return there.subject < here.subject
        return RunKey.parse(there.run_id) >= RunKey.parse(here.run_id)

    def reason_to_stop(self, operation: Operation) -> Reason | None:  # noqa: ARG002 - a re-run goes on
        """Runs that fail again do not stop a re-run."""
        return None

    def _walk(self, operation: Operation, start: _Place) -> Iterator[tuple[_Place, Run | None]]:
        """Every row with the place behind it, and a place without a row where a schedule's history is at its end."""
        subjects, pages = subjects_of(operation.asked), 0
        place = start
        while place.subject < len(subjects) and pages < MAX_PAGES:
            page = self._page(operation.tenant, subjects[place.subject].schedule_id, place)
            pages += 1
            for row in page:
                place = _Place(place.subject, row.key.run_id)
                yield place, row
            if not page:
                place = _Place(place.subject + 1)
                yield place, None

    def _page(self, tenant: str, schedule_id: str, place: _Place) -> list[Run]:
        """The rows after `place`; empty at the end. Those of one nominal time stand in the order of their causes."""
        after = RunKey.parse(place.run_id) if place.run_id else None
        through = None if after is None else (after.epoch, after.nominal_at)
        cursor: str | None = None
        read = partial(self._store.list_runs, tenant, schedule_id, limit=PAGE)
        for _ in range(MAX_PAGES):
            page = ask(partial(read, cursor=cursor, through=None if cursor else through))
            rows = [row for row in page.items if after is None or row.key < after]
            if rows or page.cursor is None:
                return rows
            cursor = page.cursor
        return []
