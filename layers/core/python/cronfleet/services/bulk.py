"""Bulk: one change of many schedules, chosen by their labels. Each is a change of its own, with its own audit item."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from cronfleet.domain.errors import CronfleetError
from cronfleet.domain.imported import OFF, OFF_LABEL
from cronfleet.domain.instant import Instant
from cronfleet.domain.schedule import Definition, Status, Timer
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import Page, ScheduleStore
from cronfleet.services.access import Caller
from cronfleet.services.changing import Conditions, answer_of
from cronfleet.services.schedules import Schedules

MAX_SCANNED: Final = 2_000
"""Held schedules that one request looks at; then its answer has a cursor."""
MAX_RESUMED: Final = 100
"""Schedules that one request turns on."""
_PAGE: Final = 50


@dataclass(frozen=True, slots=True)
class Choice:
    """Which held schedules: those that have all of `labels`. What was off in the old system stays out, unless asked."""

    labels: Mapping[str, str]
    include_off: bool = False

    def takes(self, labels: Mapping[str, str]) -> bool:
        """Whether a schedule with `labels` is one of them, be it off or not."""
        return all(labels.get(name) == value for name, value in self.labels.items())

    def leaves_out(self, labels: Mapping[str, str]) -> bool:
        """Whether it is left out because it was off."""
        return not self.include_off and labels.get(OFF_LABEL) == OFF and OFF_LABEL not in self.labels


@dataclass(slots=True)
class Report:
    """What was looked at, and what became of it."""

    scanned: int = 0
    off: int = 0
    matched: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    cursor: str | None = None


class Bulk:
    """The service behind /v1/bulk."""

    def __init__(self, *, schedules: Schedules, store: ScheduleStore, clock: Clock) -> None:
        self._schedules = schedules
        self._store = store
        self._clock = clock

    def resume(
        self,
        caller: Caller,
        choice: Choice,
        *,
        dry_run: bool,
        limit: int,
        cursor: str | None,
        reason: str,
        deadline_at: Instant,
    ) -> Report:
        """Turn held schedules on, by id, up to `limit` of them; a dry run counts and turns none on."""
        report = Report(cursor=cursor)
        while report.scanned < MAX_SCANNED and (dry_run or len(report.matched) < limit):
            most = _PAGE if dry_run else min(_PAGE, limit - len(report.matched))
            page = self._held(caller, report.cursor, most)
            for timer, definition in page.items:
                self._take(caller, choice, timer, definition, report, reason, dry_run=dry_run)
            report.cursor = page.cursor
            if page.cursor is None or self._clock.now() >= deadline_at:
                break
        return report

    def _held(self, caller: Caller, cursor: str | None, most: int) -> Page[tuple[Timer, Definition]]:
        tenant = caller.tenant.tenant_id
        ask = partial(self._store.list_schedules, tenant, prefix="", status=Status.HELD, cursor=cursor, limit=most)
        page = answer_of(ask)
        found = answer_of(partial(self._store.get_schedules, tenant, page.items))
        # The index is a hint: what was just turned on may still stand there as held.
        return Page([pair for pair in found if pair[0].status is Status.HELD], page.cursor)

    def _take(
        self,
        caller: Caller,
        choice: Choice,
        timer: Timer,
        definition: Definition,
        report: Report,
        reason: str,
        *,
        dry_run: bool,
    ) -> None:
        report.scanned += 1
        labels = definition.spec.labels
        if not choice.takes(labels):
            return
        if choice.leaves_out(labels):
            report.off += 1
            return
        report.matched.append(timer.schedule_id)
        if dry_run:
            return
        try:
            conditions = Conditions(if_match=(timer.etag,))
            self._schedules.resume(caller, timer.schedule_id, reason=reason, conditions=conditions)
        except CronfleetError as error:
            report.failed[timer.schedule_id] = str(error)
