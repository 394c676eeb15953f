"""Transfer: a tenant's schedules and calendars as a document, and such a document applied to a tenant."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from json import dumps
from typing import Final

from cronfleet.domain.calendar import Calendar
from cronfleet.domain.calendar_change import rule_of
from cronfleet.domain.calendar_form import Content
from cronfleet.domain.errors import CronfleetError
from cronfleet.domain.form import Form
from cronfleet.domain.instant import Instant, to_text
from cronfleet.domain.schedule import Definition, Timer
from cronfleet.domain.tenant_document import FORMAT, calendar_entry, schedule_entry
from cronfleet.ports import cursors
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import Damaged, JobStore, Listed
from cronfleet.services.access import Caller
from cronfleet.services.calendars import Calendars
from cronfleet.services.changing import answer_of
from cronfleet.services.imports import Mode

MAX_SCHEDULES: Final = 1_000
"""Schedules of one document; what is more comes with the next."""
MAX_BYTES: Final = 2 * 1024 * 1024
"""About what a document may have; a function answers with six megabytes at most."""

_SCHEDULES_PER_READ: Final = 20
"""Of the largest that there are, so many overrun `MAX_BYTES` by less than its half."""
_CALENDARS_PER_READ: Final = 5

MAX_READS: Final = 200
"""Pages that one document reads of each; then it is handed out as far as it is."""

_CALENDARS: Final = "calendars"
_SCHEDULES: Final = "schedules"


@dataclass(slots=True)
class _Draft:
    """The document that is being filled."""

    schedules: list[Form] = field(default_factory=list)
    unreadable: list[Form] = field(default_factory=list)
    calendars: dict[str, dict[int, Calendar]] = field(default_factory=dict)
    bytes: int = 0

    def is_full(self) -> bool:
        return self.bytes >= MAX_BYTES or len(self.schedules) + len(self.unreadable) >= MAX_SCHEDULES

    def add(self, entry: Form) -> None:
        self.schedules.append(entry)
        self.bytes += len(dumps(entry))

    def add_calendar(self, calendar: Calendar) -> None:
        versions = self.calendars.setdefault(calendar.name, {})
        if calendar.version not in versions:
            versions[calendar.version] = calendar
            self.bytes += len(dumps(calendar_entry(calendar.name, {calendar.version: calendar})))


@dataclass(frozen=True, slots=True)
class AppliedCalendar:
    """What became of a calendar; `numbers` says under which number each of its versions can be used."""

    name: str
    outcome: str
    version: int | None = None
    numbers: Mapping[int, int] = field(default_factory=dict)
    reason: str = ""


class Transfer:
    """The service behind GET /v1/tenants/{id}/export and POST /v1/imports/cronfleet; schedules go through imports."""

    def __init__(self, *, store: JobStore, calendars: Calendars, clock: Clock) -> None:
        self._store = store
        self._calendars = calendars
        self._clock = clock

    # --- out -----------------------------------------------------------------------------------------------------

    def export(self, caller: Caller, *, cursor: str | None, deadline_at: Instant) -> Form:
        """A document, with a `cursor` for the next while there is more. Each can be applied by itself, in their order.

        The first ones have all calendars as they stand; each has the versions that its own schedules are pinned to.
        """
        tenant, draft = caller.tenant.tenant_id, _Draft()
        part, place = (_CALENDARS, "") if cursor is None else _place_of(cursor)
        if part == _CALENDARS:
            following = self._take_calendars(tenant, place or None, draft, deadline_at)
            part, place = (_SCHEDULES, "") if following is None else (_CALENDARS, following)
        more: str | None = cursors.encode([part, place])
        if part == _SCHEDULES and not draft.is_full():
            following = self._take_schedules(tenant, place or None, draft, deadline_at)
            more = None if following is None else cursors.encode([_SCHEDULES, following])
        return {
            "format": FORMAT,
            "tenant": tenant,
            "exported_at": to_text(self._clock.now()),
            "calendars": [calendar_entry(name, versions) for name, versions in sorted(draft.calendars.items())],
            "schedules": draft.schedules,
            "unreadable": draft.unreadable,
            "cursor": more,
        }

    def _take_calendars(self, tenant: str, cursor: str | None, draft: _Draft, deadline_at: Instant) -> str | None:
        """All that fit, and where the next document goes on; `None` when none is left."""
        for _ in range(MAX_READS):
            page = answer_of(partial(self._store.list_calendars, tenant, cursor=cursor, limit=_CALENDARS_PER_READ))
            for head in page.items:
                self._take_version(tenant, head.name, head.version, draft)
            cursor = page.cursor
            if cursor is None or draft.is_full() or self._clock.now() >= deadline_at:
                break
        return cursor

    def _take_schedules(self, tenant: str, cursor: str | None, draft: _Draft, deadline_at: Instant) -> str | None:
        for _ in range(MAX_READS):
            read = partial(self._store.list_schedules, tenant, prefix="", status=None)
            page = answer_of(partial(read, cursor=cursor, limit=_SCHEDULES_PER_READ))
            for timer, definition in self._read(tenant, page.items, draft):
                draft.add(schedule_entry(timer, definition))
                self._take_pinned(definition, draft)
            cursor = page.cursor
            if cursor is None or draft.is_full() or self._clock.now() >= deadline_at:
                break
        return cursor

    def _read(self, tenant: str, listed: Sequence[Listed], draft: _Draft) -> Sequence[tuple[Timer, Definition]]:
        """The schedules; one that cannot be read is named, and keeps nobody else from being exported."""
        try:
            return answer_of(partial(self._store.get_schedules, tenant, listed))
        except Damaged as error:
            if len(listed) == 1:
                draft.unreadable.append({"id": listed[0].schedule_id, "reason": str(error)})
                return []
            return [pair for one in listed for pair in self._read(tenant, [one], draft)]

    def _take_pinned(self, definition: Definition, draft: _Draft) -> None:
        rule = rule_of(definition.spec.trigger)
        if rule is not None and rule.pinned:
            head = answer_of(lambda: self._store.get_calendar_head(definition.tenant, rule.name))
            for version in (rule.version, *(() if head is None else (head.version,))):
                self._take_version(definition.tenant, rule.name, version, draft)

    def _take_version(self, tenant: str, name: str, version: int, draft: _Draft) -> None:
        if version in draft.calendars.get(name, {}):
            return
        calendar = answer_of(lambda: self._store.get_calendar(tenant, name, version))
        if calendar is not None:
            draft.add_calendar(calendar)

    # --- in ------------------------------------------------------------------------------------------------------

    def apply_calendars(
        self, caller: Caller, calendars: Mapping[str, Mapping[int, Content]], mode: Mode
    ) -> list[AppliedCalendar]:
        """What became of each. One that fails costs the others nothing; the schedules that use it will say so."""
        return [self._adopted(caller, name, contents, mode) for name, contents in sorted(calendars.items())]

    def _adopted(self, caller: Caller, name: str, contents: Mapping[int, Content], mode: Mode) -> AppliedCalendar:
        if self._clock.now() >= mode.deadline_at:
            return AppliedCalendar(name, "pending")
        try:
            said = self._calendars.adopt(
                caller, name, contents, replace=mode.replace, reason=mode.reason, dry_run=mode.dry_run
            ).form
        except CronfleetError as error:
            return AppliedCalendar(name, "failed", reason=str(error))
        numbers = {int(number): here for number, here in said["numbers"].items()}
        return AppliedCalendar(name, said["outcome"], said["version"], numbers)


def _place_of(cursor: str) -> tuple[str, str]:
    part, place = cursors.decode(cursor, 2)
    if part not in (_CALENDARS, _SCHEDULES):
        raise cursors.foreign()
    return part, place
