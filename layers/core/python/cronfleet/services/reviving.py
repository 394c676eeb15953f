"""Reviving: what runs again, when a pause ends, of the fires that were claimed when it came."""

from collections.abc import Iterator
from typing import Final

from cronfleet.domain.dependency import AfterTrigger
from cronfleet.domain.held_claims import revived
from cronfleet.domain.left_behind import MAX_FIRES_PER_CHANGE
from cronfleet.domain.misfire import Misfire
from cronfleet.domain.schedule import Status, Timer
from cronfleet.ports.job_store import InsertRun, InsertRunTimer, RunStore, Write

REFUSED_ROWS: Final = 100
"""Newest rows of the history that are looked through for fires that were claimed when the pause came: more than a
claim ahead holds.
"""


def revivals(store: RunStore, before: Timer, after: Timer, catch_up: Misfire) -> Iterator[Write]:
    """The writes that belong to the end of a pause, `before` → `after`. Reads: raises `NoAnswer`, to be asked again."""
    if before.status is not Status.PAUSED or not catch_up.wanted or isinstance(before.trigger, AfterTrigger):
        return  # What parents name ended with them, and goes no further when they are over.
    page = store.list_runs(before.tenant, before.schedule_id, cursor=None, limit=REFUSED_ROWS)
    for run, run_timer in revived(before, after, page.items, catch_up, limit=MAX_FIRES_PER_CHANGE):
        yield InsertRun(run)
        yield InsertRunTimer(run_timer)
