"""Calendar files: the dates in an iCalendar file (RFC 5545), as people export them from their calendars.

The libraries `icalendar` and `recurring-ical-events` read and expand; here is what bounds them, and what an event comes
to: the dates that it touches, both ends included. They are loaded when the first file comes: few requests have one.
"""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from datetime import time as time_of_day
from typing import TYPE_CHECKING, Any, Final, NoReturn

from cronfleet.domain.calendar import LAST_DAY, MAX_ENTRIES, MAX_LABEL, DateKind, Dates, to_date, to_day
from cronfleet.domain.errors import Invalid

if TYPE_CHECKING:
    from icalendar import Component

MAX_EVENTS: Final = 2_000
YEARS_BACK: Final = 1
YEARS_AHEAD: Final = 10
"""What recurs is expanded from the beginning of the year so many years back to the end of that so many ahead."""
MAX_EVENT_DAYS: Final = 366
EXPANSION_SECONDS: Final = 5.0
"""A rule that names nothing is searched for to the year 9999; whoever sends many of them waits no longer than this."""

FIELD: Final = "ical"
_FREQUENCIES: Final = ("YEARLY", "MONTHLY", "WEEKLY", "DAILY")
_WITH_DAYS: Final = frozenset({"FREQ", "INTERVAL", "COUNT", "UNTIL", "BYDAY", "WKST"})
"""What a rule by weeks or days may hold: with more, it may name nothing for thousands of years."""
_TIMES: Final = ("BYHOUR", "BYMINUTE", "BYSECOND")
_BEGIN_EVENT: Final = re.compile(r"BEGIN:VEVENT\s*", re.IGNORECASE)
_BEGIN: Final = re.compile(r"BEGIN:VCALENDAR\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CalendarFile:
    """What a file holds. `covers_until` is the last day that it can be said to know, None where it names no date."""

    dates: tuple[Dates, ...]
    covers_until: int | None


@dataclass(frozen=True, slots=True)
class _Event:
    """One VEVENT, and where it stands in the file."""

    component: Any
    number: int
    line: int

    def refuse(self, reason: str) -> NoReturn:
        name = _label(self.component)
        shown = f", `{name}`" if name else ""
        raise Invalid(FIELD, f"event {self.number} (line {self.line}{shown}): {reason}")


def read_calendar_file(text: str, kind: DateKind, today: int) -> CalendarFile:
    """The dates of an iCalendar file as dates of `kind`; `Invalid("ical", …)` names the line or the event."""
    components = _components(text.removeprefix("\ufeff"))
    this_year = to_date(today).year
    first, last = date(this_year - YEARS_BACK, 1, 1), date(this_year + YEARS_AHEAD, 12, 31)
    found: set[Dates] = set()
    finite: set[int] = set()
    deadline = time.monotonic() + EXPANSION_SECONDS
    for group in _groups(components):
        is_endless = any(_is_endless(event.component) for event in group)
        for dates in _occurrences(group, kind, first, last):
            found.add(dates)
            if not is_endless:
                finite.add(dates.last)
            if len(found) > MAX_ENTRIES:
                group[0].refuse(f"the file names more than {MAX_ENTRIES} dates from {first} to {last}")
        if time.monotonic() > deadline:
            group[0].refuse("the file's rules take too long to expand; write the dates out, or simpler rules")
    return CalendarFile(tuple(sorted(found)), _covers_until(found, finite, today, to_day(last)))


def _covers_until(found: set[Dates], finite: set[int], today: int, last: int) -> int | None:
    """What is listed date by date runs out first; what recurs for ever is known as far as it was expanded."""
    listed = max(finite, default=None)
    if listed is not None and (listed >= today or len(finite) == len(found)):
        return listed
    return last if found else None


# --- reading -----------------------------------------------------------------------------------------------------


def _components(text: str) -> list[_Event]:
    lines = text.splitlines()
    begins = [number for number, line in enumerate(lines, 1) if _BEGIN_EVENT.fullmatch(line)]
    if len(begins) > MAX_EVENTS:
        raise Invalid(FIELD, f"has {len(begins)} events; {MAX_EVENTS} are allowed")
    calendars = _parsed(text, lines)
    if len(calendars) < sum(bool(_BEGIN.fullmatch(line)) for line in lines) or not calendars:
        raise Invalid(FIELD, "is no whole iCalendar file: it has no BEGIN:VCALENDAR, or ends before its END:VCALENDAR")
    found = [event for calendar in calendars for event in calendar.walk("VEVENT")]
    if len(found) != len(begins):
        raise Invalid(FIELD, f"has {len(begins)} lines BEGIN:VEVENT, but only {len(found)} events that end")
    events = [_Event(event, number, line) for number, (event, line) in enumerate(zip(found, begins, strict=True), 1)]
    for event in events:
        _check(event)
    return [event for event in events if str(event.component.get("STATUS", "")).upper() != "CANCELLED"]


def _parsed(text: str, lines: Sequence[str]) -> "list[Component]":
    from icalendar import Calendar  # noqa: PLC0415 - see the module's docstring

    try:
        return [one for one in Calendar.from_ical(text, multiple=True) if one.name == "VCALENDAR"]
    except (ValueError, IndexError, KeyError, TypeError) as error:
        raise Invalid(FIELD, _where(str(error), lines)) from error


def _where(message: str, lines: Sequence[str]) -> str:
    """What the library said, with the number of the line that it quotes."""
    quoted = re.search(r"'(.*)'", message)
    number = next((n for n, line in enumerate(lines, 1) if quoted and line and line == quoted[1]), None)
    place = f"line {number}: " if number else ""
    return f"is no iCalendar file: {place}{message[:200]}"


def _check(event: _Event) -> None:
    for name, why in event.component.errors:
        event.refuse(f"its {name or 'content'} cannot be read: {why}")
    if "DTSTART" not in event.component:
        event.refuse("has no DTSTART")
    try:
        start = event.component["DTSTART"].dt
    except (ValueError, AttributeError) as error:
        event.refuse(f"its DTSTART cannot be read: {error}")
    rules = event.component.get("RRULE", [])
    for rule in rules if isinstance(rules, list) else [rules]:
        _check_rule(event, rule, start.year)
    if "EXRULE" in event.component:
        event.refuse("has an EXRULE, which RFC 5545 has done away with; write EXDATE")


def _check_rule(event: _Event, rule: Any, start_year: int) -> None:
    parts = {str(name).upper() for name in rule}
    frequency = str((rule.get("FREQ") or [""])[0]).upper()
    if frequency not in _FREQUENCIES:
        event.refuse(f"recurs {frequency or 'without FREQ'}; a calendar of dates takes {', '.join(_FREQUENCIES)}")
    if parts & set(_TIMES):
        event.refuse(f"recurs by {', '.join(sorted(parts & set(_TIMES)))}; a calendar of dates has no times")
    if frequency in ("WEEKLY", "DAILY"):
        if parts - _WITH_DAYS:
            event.refuse(f"recurs {frequency} by {', '.join(sorted(parts - _WITH_DAYS))}; write YEARLY or MONTHLY")
        if start_year < 1970:
            event.refuse(f"recurs {frequency} since before 1970; begin later")


def _is_endless(component: Any) -> bool:
    rules = component.get("RRULE", [])
    return any(not ({"UNTIL", "COUNT"} & set(rule)) for rule in (rules if isinstance(rules, list) else [rules]))


def _groups(events: Sequence[_Event]) -> list[list[_Event]]:
    """Events of one UID together: one may change what another, which recurs, is on some day."""
    groups: dict[str, list[_Event]] = {}
    for event in events:
        uid = str(event.component.get("UID", ""))
        groups.setdefault(uid or f"\n{event.number}", []).append(event)
    return list(groups.values())


# --- expanding ---------------------------------------------------------------------------------------------------


def _occurrences(group: Sequence[_Event], kind: DateKind, first: date, last: date) -> Iterator[Dates]:
    import recurring_ical_events  # noqa: PLC0415 - see the module's docstring
    from icalendar import Calendar  # noqa: PLC0415 - as above

    calendar = Calendar()
    for event in group:
        calendar.add_component(event.component)
    try:
        found = recurring_ical_events.of(calendar).between(first, last + timedelta(days=1))
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError) as error:
        group[0].refuse(f"cannot be expanded: {str(error)[:200]}")
    taken_out = {day for event in group for day in _excluded_days(event.component)}
    for component in found:
        dates = _dates(group[0], component, kind)
        if dates.first not in taken_out and dates.first <= to_day(last) and dates.last >= to_day(first):
            yield dates


def _excluded_days(component: Any) -> Iterator[int]:
    """The days that an all-day event excludes by times, as some programs write them; the library does not read that."""
    if isinstance(component["DTSTART"].dt, datetime):
        return
    excluded = component.get("EXDATE", [])
    for one in excluded if isinstance(excluded, list) else [excluded]:
        yield from (to_day(each.dt.date()) for each in one.dts if isinstance(each.dt, datetime))


def _dates(event: _Event, component: Any, kind: DateKind) -> Dates:
    start = component["DTSTART"].dt
    end = component["DTEND"].dt if "DTEND" in component else start
    first, after = to_day(_date_of(start)), to_day(_date_of(end))
    # An end is not included: midnight, as a date or a time, belongs to the day before.
    ends_at_midnight = not isinstance(end, datetime) or end.time() == time_of_day()
    last = max(first, after - 1 if ends_at_midnight else after)
    if last - first >= MAX_EVENT_DAYS:
        event.refuse(f"is {last - first + 1} days long; {MAX_EVENT_DAYS} are allowed")
    if not 0 <= first <= last <= LAST_DAY:
        event.refuse("lies outside the years 1970 to 2199")
    return Dates(first, last, kind, _label(component))


def _date_of(moment: date | datetime) -> date:
    """The date that the event itself names, in the zone that it is written in."""
    return moment.date() if isinstance(moment, datetime) else moment


def _label(component: Any) -> str:
    text = " ".join(str(component.get("SUMMARY", "")).split())
    printable = "".join(character for character in text if character.isprintable())
    return printable if len(printable) <= MAX_LABEL else f"{printable[: MAX_LABEL - 1]}…"
