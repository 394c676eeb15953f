"""Bulk: one change of many schedules. Each is a change of its own, with its own audit entry, which names the bulk."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from cronfleet.domain.errors import ClockSkewed, Conflict, CronfleetError, Invalid, Miscounted
from cronfleet.domain.instant import Instant
from cronfleet.domain.schedule import TRANSITIONS, Definition, Status, Timer
from cronfleet.domain.selection import Selection
from cronfleet.ports import cursors
from cronfleet.ports.clock import Clock, Ids
from cronfleet.ports.job_store import Page, ScheduleStore
from cronfleet.services.access import Caller
from cronfleet.services.bulk_deeds import Deed
from cronfleet.services.changing import Conditions
from cronfleet.services.schedules import Schedules
from cronfleet.services.selecting import Found, everything

MAX_SCANNED: Final = 20_000
"""Schedules that one request looks at; then its answer has a cursor."""
MAX_CHANGED: Final = 500
"""Schedules that one request changes."""
_BULK_ID: Final = re.compile(r"[A-Za-z0-9-]{1,64}")
"""It comes back from the caller, inside a cursor, and stands in audit entries."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Which schedules, and how far one request goes.

    `expected` is how many there are to be, all in all: with another number nothing is changed. After `deadline_at`
    nothing more is begun.
    """

    selection: Selection
    dry_run: bool
    limit: int
    cursor: str | None
    reason: str
    deadline_at: Instant
    expected: int | None = None


@dataclass(slots=True)
class Report:
    """What was looked at, and what became of it. `left_out`: matched, and not meant unless asked for."""

    bulk_id: str
    scanned: int = 0
    left_out: int = 0
    changed: int = 0
    unchanged: int = 0
    matched: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    cursor: str | None = None


class Bulk:
    """The service behind /v1/bulk."""

    def __init__(self, *, schedules: Schedules, store: ScheduleStore, clock: Clock, ids: Ids) -> None:
        self._schedules = schedules
        self._store = store
        self._clock = clock
        self._ids = ids

    def carry_out(self, caller: Caller, deed: Deed, asked: Asked) -> Report:
        """Do `deed` to the schedules asked for, by id, up to `limit` of them; a dry run counts and does nothing.

        `Miscounted` when there are not as many as expected; whoever goes on by a cursor has been counted before.
        `ClockSkewed` when this process's clock is off.
        """
        _check_status(deed, asked.selection.status)
        bulk_id, start = self._begun(asked.cursor)
        if asked.expected is not None and asked.cursor is None and not asked.dry_run:
            self._check_count(caller, deed, asked, asked.expected)
        report = Report(bulk_id)
        for page in self._pages(caller, asked, start, report):
            for timer, definition in page.items:
                if not asked.dry_run and self._is_enough(report, asked):
                    return report
                self._take(caller, deed, asked, timer, definition, report)
                report.cursor = cursors.encode([bulk_id, timer.schedule_id])
        return report

    def _is_enough(self, report: Report, asked: Asked) -> bool:
        return len(report.matched) == asked.limit or self._clock.now() >= asked.deadline_at

    def _begun(self, cursor: str | None) -> tuple[str, str | None]:
        """The bulk's id, and the cursor of the list to go on from."""
        if cursor is None:
            return self._ids.unique(), None
        bulk_id, schedule_id = cursors.decode(cursor, 2)
        if not _BULK_ID.fullmatch(bulk_id):
            raise cursors.foreign()
        return bulk_id, cursors.after_schedule(schedule_id)

    def _check_count(self, caller: Caller, deed: Deed, asked: Asked, expected: int) -> None:
        counted = Report("")
        for page in self._pages(caller, asked, None, counted):
            for timer, definition in page.items:
                _judge(deed, asked.selection, timer, definition, counted)
        if counted.cursor is not None:
            raise Conflict(
                f"there are more schedules than can be counted at a time ({counted.scanned:,}); ask for fewer of them, "
                "by prefix, or leave expected out"
            )
        if len(counted.matched) != expected:
            raise Miscounted(expected, len(counted.matched))

    def _pages(self, caller: Caller, asked: Asked, start: str | None, report: Report) -> Iterator[Page[Found]]:
        """What may be taken, while there is room and time; at the end of all of it the report's cursor is `None`."""
        for page in everything(self._store, caller.tenant.tenant_id, asked.selection, start):
            yield page
            if page.cursor is None:
                report.cursor = None
                return
            if report.scanned >= MAX_SCANNED or self._clock.now() >= asked.deadline_at:
                report.cursor = report.cursor or cursors.encode([report.bulk_id, *cursors.decode(page.cursor, 1)])
                return

    def _take(
        self, caller: Caller, deed: Deed, asked: Asked, timer: Timer, definition: Definition, report: Report
    ) -> None:
        if not _judge(deed, asked.selection, timer, definition, report) or asked.dry_run:
            return
        named = f"bulk {report.bulk_id}"
        reason = f"{asked.reason} ({named})" if asked.reason else named
        try:
            conditions = Conditions(if_match=(timer.etag,))
            is_changed = deed.do(self._schedules, caller, timer.schedule_id, conditions, reason)
        except ClockSkewed:
            raise  # It is not this schedule's: none can be changed until the clock is right.
        except CronfleetError as error:
            report.failed[timer.schedule_id] = str(error)
        else:
            report.changed += is_changed
            report.unchanged += not is_changed


def _judge(deed: Deed, selection: Selection, timer: Timer, definition: Definition, report: Report) -> bool:
    """Whether the schedule is one of those that are meant; notes it in `report`."""
    report.scanned += 1
    spec = definition.spec
    if not selection.takes(timer, spec) or (selection.status is None and timer.status not in deed.usual):
        return False
    if deed.leaves_out(spec.labels, selection):
        report.left_out += 1
        return False
    report.matched.append(timer.schedule_id)
    return True


def _check_status(deed: Deed, status: Status | None) -> None:
    """Raises `Invalid` for a status in which no schedule takes this change."""
    if status is not None and (status, deed.change) not in TRANSITIONS:
        possible: Sequence[str] = [one.value for one in Status if (one, deed.change) in TRANSITIONS]
        raise Invalid("filter.status", f"is {status.value}, and {deed.word} takes {', '.join(possible)}")
