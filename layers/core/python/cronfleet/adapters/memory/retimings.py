"""`RetimingStore` in memory."""

from collections.abc import Mapping, Sequence
from functools import partial

from cronfleet.adapters.memory.calendars import find
from cronfleet.adapters.memory.state import State
from cronfleet.adapters.memory.timers import timer_key
from cronfleet.domain.claim import Unreadable
from cronfleet.domain.retiming import Retiming
from cronfleet.domain.schedule import Status, Timer
from cronfleet.domain.zone_release import ZoneRelease
from cronfleet.ports import cursors
from cronfleet.ports.bound import bound_timer
from cronfleet.ports.job_store import Page, ScheduleKey


class MemoryRetimings:
    """Jobs that look at schedules again, the zone release in force, and the way through all schedules."""

    def __init__(self, state: State) -> None:
        self.state = state

    def open_retimings(self, limit: int) -> Sequence[Retiming]:
        return [job for _, job in sorted(self.state.open_retimings.items())][:limit]

    def finished_retimings(self, limit: int) -> Sequence[Retiming]:
        ended = sorted(self.state.finished_retimings.values(), key=lambda job: (job.finished_at or 0, job.job_id))
        return ended[::-1][:limit]

    def put_retiming(self, job: Retiming) -> bool:
        stored = self.state.open_retimings.get(job.job_id)
        if stored is None or stored.rev != job.rev - 1:
            return job in (stored, self.state.finished_retimings.get(job.job_id))
        if job.is_open:
            self.state.open_retimings[job.job_id] = job
        else:
            del self.state.open_retimings[job.job_id]
            self.state.finished_retimings[job.job_id] = job
        return True

    def get_zone_release(self) -> ZoneRelease | None:
        return self.state.zone_release

    def list_everywhere(self, cursor: str | None, limit: int) -> Page[ScheduleKey]:
        after = ("", "") if cursor is None else tuple(cursors.decode(cursor, 2))
        found = sorted(key for key, timer in self.state.timers.items() if timer.status is not Status.CANCELLED)
        later = [key for key in found if key > after]
        more = len(later) > limit
        return Page(later[:limit], cursors.encode(later[limit - 1]) if more else None)

    def get_timers(self, keys: Sequence[ScheduleKey]) -> Mapping[ScheduleKey, Timer | Unreadable]:
        found: dict[ScheduleKey, Timer | Unreadable] = {}
        for key in keys:
            item = self.state.damaged.get(timer_key(*key)) or self.state.timers.get(key)
            if item is not None:
                found[key] = bound_timer(item, partial(find, self.state)) if isinstance(item, Timer) else item
        return found
