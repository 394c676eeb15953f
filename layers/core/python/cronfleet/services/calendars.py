"""Calendars: what callers do with them. Versions never change; a new one starts the retiming of all who follow."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias

from cronfleet.domain.audit import subject
from cronfleet.domain.calendar import Calendar, CalendarHead, day_text
from cronfleet.domain.calendar_adoption import Adoption, adopted
from cronfleet.domain.calendar_change import (
    CHANGED_DAYS,
    Changed,
    changed,
    follows,
    rule_of,
    runs_out,
    today_of,
)
from cronfleet.domain.calendar_form import Content, content_form
from cronfleet.domain.errors import Conflict, CronfleetError, NotFound, Stale
from cronfleet.domain.form import Form
from cronfleet.domain.instant import Instant, to_text
from cronfleet.domain.retiming import for_calendar
from cronfleet.domain.trigger import Trigger
from cronfleet.domain.warning import WarningCode
from cronfleet.ports import cursors
from cronfleet.ports.clock import Clock, Ids
from cronfleet.ports.job_store import (
    InsertCalendar,
    InsertRetiming,
    JobStore,
    Page,
    PutCalendarHead,
    Write,
)
from cronfleet.services.access import Caller
from cronfleet.services.calendar_binding import bound_trigger
from cronfleet.services.changing import NO_CONDITIONS, Answer, Changing, Conditions, Draft, answer_of, audit

MAX_LOOKED_AT: Final = 200
"""Schedules that a changed calendar is tried on before it is stored; the retiming goes to all."""
FOLLOWING_PAGE: Final = 100
MAX_NAMED: Final = 20
"""Schedules that are named as users of a calendar which therefore cannot be deleted."""
MAX_FOLLOWING_PAGES: Final = 10
MAX_VERSIONS_PAGE: Final = 20

CALENDAR: Final = "calendar"
"""The kind of subject that a calendar's changes are filed under."""

ContentMaker: TypeAlias = Callable[[Instant], Content]
"""Makes the wanted content at a time; raises `Invalid`."""


class Calendars:
    """The service behind /v1/calendars."""

    def __init__(self, *, store: JobStore, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        self._changing = Changing(store, clock)

    # --- reading -----------------------------------------------------------------------------------------------

    def get(self, caller: Caller, name: str, version: int | None = None) -> Answer:
        """The newest version, or `version`; of a deleted calendar only the versions are still there."""
        head = self._head(caller, name)
        if head is None or (version is None and head.is_deleted):
            raise NotFound("calendar", name)
        calendar = self._version(caller, name, head.version if version is None else version)
        if calendar is None:
            raise NotFound("calendar", f"{name} version {version or head.version}")
        return Answer(self._form(calendar), _etag(head) if version is None else "")

    def bound(self, caller: Caller, trigger: Trigger) -> Trigger:
        """`trigger` with its calendar's content, for one that is only looked at; `Invalid` where there is none."""
        rule = rule_of(trigger)
        return trigger if rule is None else bound_trigger(self._store, caller.tenant.tenant_id, trigger, rule)[0]

    def list(self, caller: Caller, *, cursor: str | None, limit: int) -> Page[Form]:
        """A tenant's calendars by name."""
        read = partial(self._store.list_calendars, caller.tenant.tenant_id, cursor=cursor, limit=limit)
        page = answer_of(read)
        return Page([_listed(head) for head in page.items], page.cursor)

    def versions(self, caller: Caller, name: str, *, cursor: str | None, limit: int) -> Page[Form]:
        """A calendar's versions, newest first: by whom, when and why; also of a deleted one."""
        head = self._head(caller, name)
        if head is None:
            raise NotFound("calendar", name)
        newest = head.version if cursor is None else _decoded(cursor, name)
        last = max(1, newest - min(limit, MAX_VERSIONS_PAGE) + 1)
        numbers = range(newest, last - 1, -1)
        found = [one for number in numbers if (one := self._version(caller, name, number)) is not None]
        following = cursors.encode([name, str(last - 1)]) if last > 1 else None
        return Page([_made(calendar) for calendar in found], following)

    def _head(self, caller: Caller, name: str) -> CalendarHead | None:
        return answer_of(lambda: self._store.get_calendar_head(caller.tenant.tenant_id, name))

    def _version(self, caller: Caller, name: str, version: int) -> Calendar | None:
        return answer_of(lambda: self._store.get_calendar(caller.tenant.tenant_id, name, version))

    def _form(self, calendar: Calendar) -> Form:
        said = runs_out(calendar.covers_until, self._clock.now())
        code, text = WarningCode.CALENDAR_RUNS_OUT.value, f"calendar {calendar.name!r}: {said}"
        warnings = [] if said is None else [{"code": code, "text": text}]
        return {**_made(calendar), **content_form(calendar), "warnings": warnings}

    # --- changing ----------------------------------------------------------------------------------------------

    def put(
        self,
        caller: Caller,
        name: str,
        make: ContentMaker,
        conditions: Conditions = NO_CONDITIONS,
        *,
        reason: str = "",
        dry_run: bool = False,
    ) -> Answer:
        """A new version, unless it says what the newest says; with `dry_run` only what it would change."""

        def decide(now: Instant) -> Draft:
            head = self._head(caller, name)
            live = None if head is None or head.is_deleted else head
            _check(conditions, live)
            newest = None if live is None else self._version(caller, name, live.version)
            made = {"author": caller.actor, "created_at": now, "reason": reason}
            content = make(now)
            calendar = content.of(caller.tenant.tenant_id, name, head.version + 1 if head else 1, **made)
            if newest is not None and live is not None and newest.says_the_same(calendar):
                nothing = self._changes(newest, now)
                return Draft((), Answer({**self._form(newest), "changes": nothing}, _etag(live)))
            form = {**self._form(calendar), "changes": self._changes(calendar, now)}
            if dry_run:
                return Draft((), Answer(form))
            after = self._head_of(calendar, now)
            writes = self._writes(caller, head, after, calendar, now)
            return Draft(writes, Answer(form, _etag(after), created=live is None))

        return self._changing.change(caller, None, decide)

    def _head_of(self, calendar: Calendar, now: Instant) -> CalendarHead:
        return CalendarHead(
            calendar.tenant,
            calendar.name,
            calendar.version,
            calendar.covers_until,
            calendar.description,
            now,
            self._ids.unique(),
        )

    def _writes(
        self, caller: Caller, before: CalendarHead | None, after: CalendarHead, calendar: Calendar, now: Instant
    ) -> Sequence[Write]:
        said = {"before": None if before is None else _listed(before), "after": _listed(after)}
        entry = audit(
            caller, after.change_id, now, "put_calendar", subject(CALENDAR, after.name), **said, reason=calendar.reason
        )
        writes: list[Write] = [PutCalendarHead(after, before), InsertCalendar(calendar), entry]
        if before is not None:
            writes.append(InsertRetiming(for_calendar(after.tenant, after.name, after.version, now)))
        return writes

    def adopt(
        self,
        caller: Caller,
        name: str,
        contents: Mapping[int, Content],
        *,
        replace: bool,
        reason: str = "",
        dry_run: bool = False,
    ) -> Answer:
        """Versions that come from another tenant, of which the one of the highest number is to be the newest.

        Numbers are kept where nothing else stands under them. A calendar that is there and says something else stays
        as it is unless `replace`. The answer: `outcome`, `version` (the newest now), and `numbers`, by which each
        version can be used here; one that is missing there cannot.
        """

        def decide(now: Instant) -> Draft:
            head = self._head(caller, name)
            made = {"author": caller.actor, "created_at": now, "reason": reason}
            wanted = {n: contents[n].of(caller.tenant.tenant_id, name, n, **made) for n in sorted(contents)}
            adoption = adopted(wanted, head, partial(self._version, caller, name), may_replace=replace)
            form: Form = {
                "name": name,
                "outcome": adoption.outcome,
                "version": adoption.newest,
                "numbers": {str(n): number for n, number in adoption.numbers.items()},
            }
            writes = () if dry_run else self._adopting(caller, head, adoption, now, reason)
            return Draft(writes, Answer(form))

        return self._changing.change(caller, None, decide)

    def _adopting(
        self, caller: Caller, head: CalendarHead | None, adoption: Adoption, now: Instant, reason: str
    ) -> Sequence[Write]:
        older: Sequence[Write] = [InsertCalendar(calendar) for calendar in adoption.older]
        if adoption.top is not None:
            after = self._head_of(adoption.top, now)
            return [*self._writes(caller, head, after, adoption.top, now), *older]
        if not older or head is None:
            return []
        said = {"before": _listed(head), "after": _listed(head), "reason": reason}
        entry = audit(
            caller, self._ids.unique(), now, "adopt_calendar_versions", subject("calendar", head.name), **said
        )
        return [*older, entry]

    def delete(self, caller: Caller, name: str, conditions: Conditions = NO_CONDITIONS, reason: str = "") -> None:
        """No schedule can use it from now on; its versions stay for the history. `Conflict` while one uses it."""

        def decide(now: Instant) -> Draft:
            head = self._head(caller, name)
            if head is None or head.is_deleted:
                raise NotFound("calendar", name)
            _check(conditions, head)
            self._refuse_if_used(caller, name)
            after = CalendarHead(
                head.tenant,
                name,
                head.version,
                head.covers_until,
                head.description,
                now,
                self._ids.unique(),
                is_deleted=True,
            )
            said = {"before": _listed(head), "after": None, "reason": reason}
            entry = audit(caller, after.change_id, now, "delete_calendar", subject(CALENDAR, name), **said)
            return Draft((PutCalendarHead(after, head), entry), Answer({}))

        self._changing.change(caller, None, decide)

    def _refuse_if_used(self, caller: Caller, name: str) -> None:
        page = answer_of(
            lambda: self._store.list_following(caller.tenant.tenant_id, name, cursor=None, limit=MAX_NAMED + 1)
        )
        users = [one.schedule_id for one in page.items]
        if users:
            more = " and more" if len(users) > MAX_NAMED or page.cursor else ""
            raise Conflict(
                f"calendar {name!r} is used by {', '.join(users[:MAX_NAMED])}{more}; give them another trigger first"
            )

    # --- what a version changes ----------------------------------------------------------------------------------

    def _changes(self, calendar: Calendar, now: Instant) -> Form:
        """Which schedules fire on other dates under `calendar`, of the first `MAX_LOOKED_AT` that follow it."""
        today, looked_at, cut = today_of(now), 0, False
        found: list[Form] = []
        for schedule_id, trigger in self._following(calendar):
            if looked_at == MAX_LOOKED_AT:
                cut = True
                break
            looked_at += 1
            following = follows(trigger, calendar.name, calendar.version)
            if following is None:
                continue
            try:
                difference = changed(following, calendar, today)
            except CronfleetError as error:
                found.append(_changed_form(schedule_id, following, Changed((), ()), str(error)))
                continue
            if not difference.is_nothing:
                found.append(_changed_form(schedule_id, following, difference))
        return {
            "from": day_text(today),
            "until": day_text(today + CHANGED_DAYS),
            "schedules": found,
            "looked_at": looked_at,
            "truncated": cut,
        }

    def _following(self, calendar: Calendar) -> Iterator[tuple[str, Trigger]]:
        cursor: str | None = None
        for _ in range(MAX_FOLLOWING_PAGES):
            read = partial(self._store.list_following, calendar.tenant, calendar.name)
            page = answer_of(partial(read, cursor=cursor, limit=FOLLOWING_PAGE))
            for timer, _definition in answer_of(partial(self._store.get_schedules, calendar.tenant, page.items)):
                yield timer.schedule_id, timer.trigger
            cursor = page.cursor
            if cursor is None:
                return


def _changed_form(schedule_id: str, trigger: Trigger, difference: Changed, error: str | None = None) -> Form:
    rule = rule_of(trigger)
    return {
        "schedule_id": schedule_id,
        "mode": None if rule is None else rule.mode.value,
        "removed": [day_text(day) for day in difference.removed],
        "added": [day_text(day) for day in difference.added],
        "truncated": difference.is_cut,
        "error": error,
    }


def _check(conditions: Conditions, head: CalendarHead | None) -> None:
    if not conditions.if_match:
        return
    current = "none: there is no such calendar" if head is None else _etag(head)
    if head is None or ("*" not in conditions.if_match and current not in conditions.if_match):
        raise Stale(conditions.if_match, current, "calendar")


def _etag(head: CalendarHead) -> str:
    return f'"{head.version}-{head.change_id}"'


def _listed(head: CalendarHead) -> Form:
    return {
        "name": head.name,
        "version": head.version,
        "description": head.description,
        "covers_until": day_text(head.covers_until),
        "updated_at": to_text(head.updated_at),
    }


def _made(calendar: Calendar) -> Form:
    return {
        "name": calendar.name,
        "version": calendar.version,
        "covers_until": day_text(calendar.covers_until),
        "author": calendar.author,
        "created_at": to_text(calendar.created_at),
        "reason": calendar.reason,
    }


def _decoded(cursor: str, name: str) -> int:
    owner, number = cursors.decode(cursor, 2)
    if owner != name or not number.isdecimal():
        raise cursors.foreign()
    return int(number)
