"""Peaks: how many of a tenant's fires fall into one second, for whoever is about to change a schedule of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from cronfleet.domain.instant import Instant
from cronfleet.domain.peak import Peak, peak_of
from cronfleet.domain.schedule import Status, Timer
from cronfleet.ports.job_store import JobStore
from cronfleet.services.changing import answer_of

MOST_SCHEDULES: Final = 1_000
"""Other schedules of the tenant, by id, that are looked at."""
_PAGE: Final = 100


@dataclass(frozen=True, slots=True)
class Looked:
    """The fullest second, of how many other schedules; `is_complete`: those are all that are active."""

    peak: Peak | None
    schedules: int
    is_complete: bool


def look(store: JobStore, timer: Timer, now: Instant) -> Looked:
    """The fullest second in which `timer` is due in the next day."""
    others, is_complete = _active(store, timer.tenant)
    return Looked(peak_of(timer, others, now), len(others), is_complete)


def _active(store: JobStore, tenant: str) -> tuple[Sequence[Timer], bool]:
    found: list[Timer] = []
    cursor: str | None = None
    for _ in range(MOST_SCHEDULES // _PAGE):
        ask = partial(store.list_schedules, tenant, prefix="", status=Status.ACTIVE, cursor=cursor, limit=_PAGE)
        page = answer_of(ask)
        keys = [(tenant, one.schedule_id) for one in page.items]
        timers = answer_of(partial(store.get_timers, keys))
        found += [one for one in timers.values() if isinstance(one, Timer) and one.status is Status.ACTIVE]
        cursor = page.cursor
        if cursor is None:
            return found, True
    return found, False
