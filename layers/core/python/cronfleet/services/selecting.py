"""Selecting: the schedules that a selection asks for, page by page."""

from collections.abc import Iterator
from functools import partial
from typing import Final, TypeAlias

from cronfleet.domain.schedule import Definition, Timer
from cronfleet.domain.selection import Selection
from cronfleet.ports import cursors
from cronfleet.ports.job_store import Page, ScheduleStore
from cronfleet.services.changing import answer_of

MAX_LOOKED_THROUGH: Final = 1_000
"""Schedules that one request for a list looks through in search of matches; then it answers with what it has."""
PAGE: Final = 100

Found: TypeAlias = tuple[Timer, Definition]


def find(store: ScheduleStore, tenant: str, selection: Selection, cursor: str | None, limit: int) -> Page[Found]:
    """Up to `limit` schedules that `selection` takes, by id; there may be fewer, and still a cursor."""
    found: list[Found] = []
    left = MAX_LOOKED_THROUGH
    size = PAGE if selection.goes_by_the_definition else limit
    while True:
        page = look(store, tenant, selection, cursor, size)
        for place, one in enumerate(page.items):
            found += [one] if selection.takes(one[0], one[1].spec) else []
            if len(found) == limit:
                is_last = page.cursor is None and place == len(page.items) - 1
                return Page(found, None if is_last else cursors.after_schedule(one[0].schedule_id))
        cursor, left = page.cursor, left - size
        if cursor is None or left <= 0 or not selection.goes_by_the_definition:
            return Page(found, cursor)


def look(store: ScheduleStore, tenant: str, selection: Selection, cursor: str | None, size: int) -> Page[Found]:
    """The next `size` schedules that may be taken: as far as an index can tell, which is a hint."""
    ask = partial(
        store.list_schedules, tenant, prefix=selection.prefix, status=selection.status, cursor=cursor, limit=size
    )
    page = answer_of(ask)
    return Page(answer_of(partial(store.get_schedules, tenant, page.items)), page.cursor)


def everything(store: ScheduleStore, tenant: str, selection: Selection, cursor: str | None) -> Iterator[Page[Found]]:
    """All that may be taken, from `cursor` on; each page's cursor goes on after it."""
    while True:
        page = look(store, tenant, selection, cursor, PAGE)
        yield page
        cursor = page.cursor
        if cursor is None:
            return
