"""Tripped: the schedules of a tenant that their own breaker has paused, found among those that are paused."""

from functools import partial
from typing import Final

from cronfleet.domain.audit import SCHEDULER_ACTOR
from cronfleet.domain.schedule import Status, Timer
from cronfleet.ports.job_store import JobStore
from cronfleet.ports.page import Page
from cronfleet.services.changing import answer_of

MAX_PAGES: Final = 5
"""Pages of paused schedules that one answer looks through; it may be short, and goes on with its cursor."""


def is_tripped(timer: Timer) -> bool:
    """Whether its own breaker has paused the schedule, and not a person."""
    return timer.status is Status.PAUSED and timer.pause is not None and timer.pause.by == SCHEDULER_ACTOR


def tripped(store: JobStore, tenant: str, *, cursor: str | None, limit: int) -> Page[Timer]:
    """A page of them by id."""
    found: list[Timer] = []
    for _ in range(MAX_PAGES):
        read = partial(store.list_schedules, tenant, prefix="", status=Status.PAUSED)
        page = answer_of(partial(read, cursor=cursor, limit=limit - len(found)))
        keys = [(tenant, one.schedule_id) for one in page.items]
        timers = answer_of(partial(store.get_timers, keys)) if keys else {}
        kept = [timers[key] for key in keys if key in timers]
        found += [one for one in kept if isinstance(one, Timer) and is_tripped(one)]
        cursor = page.cursor
        if cursor is None or len(found) >= limit:
            break
    return Page(found, cursor)
