"""Lint: a tenant's schedules looked over, page by page, and the minutes in which many of them fire."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cronfleet.domain.instant import DAY, MINUTE, Instant
from cronfleet.domain.lint import Lint, WarningCode
from cronfleet.domain.outlook import fires_of
from cronfleet.domain.schedule import Status, Timer
from cronfleet.domain.schedule_answer import lint_of
from cronfleet.domain.trigger import UNCOMPUTABLE
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import ScheduleStore
from cronfleet.services.access import Caller
from cronfleet.services.changing import answer_of
from cronfleet.services.lineage import parents_warnings

LIST_PAGE: Final = 100
MOST_SCHEDULES_COUNTED: Final = 1_000
"""Whose fires one question about crowded minutes counts."""
MOST_FIRES_COUNTED: Final = 96
"""Of a schedule in a day: one every quarter of an hour. What fires more often shares every minute anyway."""
MINUTES_SHOWN: Final = 20
IDS_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class Linted:
    """A schedule and what it was found to say."""

    timer: Timer
    lint: Lint


@dataclass(frozen=True, slots=True)
class LintPage:
    """The schedules of a page that have warnings; `looked_at` counts the others too."""

    found: Sequence[Linted]
    looked_at: int
    cursor: str | None


@dataclass(frozen=True, slots=True)
class CrowdedMinute:
    """A minute, how many schedules are due in it, and the ids of the first of them."""

    minute_at: Instant
    schedules: int
    ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class Crowding:
    """The most crowded minutes of the next day. `is_complete`: every active schedule was counted."""

    minutes: Sequence[CrowdedMinute]
    frequent: int
    looked_at: int
    is_complete: bool


class LintService:
    """The service behind /v1/lint."""

    def __init__(self, *, store: ScheduleStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def page(self, caller: Caller, *, code: WarningCode | None, cursor: str | None, limit: int) -> LintPage:
        """Look over the next `limit` schedules by id; those with warnings, or with one of this `code`."""
        timers, following = self._timers(caller, None, cursor, limit)
        now = self._clock.now()
        looked = [Linted(timer, self._lint_of(timer, now)) for timer in timers if timer.status is not Status.COMPLETED]
        found = [one for one in looked if any(code in (None, warning.code) for warning in one.lint.warnings)]
        return LintPage(found, len(looked), following)

    def _lint_of(self, timer: Timer, now: Instant) -> Lint:
        lint = lint_of(timer, now)
        more = parents_warnings(self._store, timer, now)
        return replace(lint, warnings=(*lint.warnings, *more)) if more else lint

    def crowding(self, caller: Caller) -> Crowding:
        """Count the active schedules that are due in each minute of the next 24 hours, after jitter."""
        now = self._clock.now()
        by_minute: defaultdict[Instant, list[str]] = defaultdict(list)
        looked_at = frequent = 0
        following: str | None = None
        for timers, following in self._active_pages(caller):  # noqa: B007 - the last one tells whether there are more
            looked_at += len(timers)
            for timer in timers:
                minutes = _due_minutes(timer, now)
                frequent += minutes is None
                for minute_at in minutes or ():
                    by_minute[minute_at].append(timer.schedule_id)
        shared = [(minute_at, ids) for minute_at, ids in by_minute.items() if len(ids) > 1]
        shared.sort(key=lambda one: (-len(one[1]), one[0]))
        minutes_shown = [CrowdedMinute(at, len(ids), ids[:IDS_SHOWN]) for at, ids in shared[:MINUTES_SHOWN]]
        return Crowding(minutes_shown, frequent, looked_at, following is None)

    def _active_pages(self, caller: Caller) -> Iterator[tuple[Sequence[Timer], str | None]]:
        cursor: str | None = None
        for _ in range(MOST_SCHEDULES_COUNTED // LIST_PAGE):
            timers, cursor = self._timers(caller, Status.ACTIVE, cursor, LIST_PAGE)
            yield timers, cursor
            if cursor is None:
                return

    def _timers(
        self, caller: Caller, status: Status | None, cursor: str | None, limit: int
    ) -> tuple[Sequence[Timer], str | None]:
        tenant = caller.tenant.tenant_id
        page = answer_of(
            lambda: self._store.list_schedules(tenant, prefix="", status=status, cursor=cursor, limit=limit)
        )
        pairs = answer_of(lambda: self._store.get_schedules(tenant, page.items))
        # The index is a hint: a schedule that was just paused may still stand there as active.
        return [timer for timer, _ in pairs if status in (None, timer.status)], page.cursor


def _due_minutes(timer: Timer, now: Instant) -> set[Instant] | None:
    """The minutes of the next day in which `timer` is due; `None` for one that fires too often to be counted."""
    try:
        found = fires_of(timer, now, now + DAY, MOST_FIRES_COUNTED + 1)
    except UNCOMPUTABLE:
        return set()  # it fires nothing: the scheduler parks it
    if len(found) > MOST_FIRES_COUNTED:
        return None
    return {fire.due_at - fire.due_at % MINUTE for fire in found}
