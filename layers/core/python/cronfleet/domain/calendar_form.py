"""Calendars and their use in triggers, in the forms in which callers write them and the job store keeps them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain
from typing import Any, Final

from cronfleet.domain.calendar import (
    LAST_DAY,
    MAX_ENTRIES,
    MAX_LABEL,
    MAX_LISTED_DAYS,
    MAX_NTH,
    MAX_TEXT_BYTES,
    NAME_PATTERN,
    WEEKDAYS,
    Calendar,
    CalendarRule,
    DateKind,
    Dates,
    Mode,
    day_of,
    day_text,
)
from cronfleet.domain.errors import Invalid

NAME_IN_WORDS: Final = "1 to 32 letters, digits, dots, dashes and underscores, a letter or digit first"
DEFAULT_WEEKEND: Final = ("saturday", "sunday")
LISTS: Final[Mapping[str, DateKind]] = {
    "holidays": DateKind.HOLIDAY,
    "workdays": DateKind.WORKDAY,
    "freezes": DateKind.FREEZE,
}
"""The lists of a calendar, by their names in its form."""
CONTENT: Final = (*LISTS, "weekend", "covers_until", "description")
"""The fields of a calendar's form that say what it is."""

_RULE: Final = ("name", "mode", "nth", "version", "pinned")
_ENTRY: Final = ("date", "from", "to", "label")
_CODES: Final[Mapping[Mode, str]] = {
    Mode.EXCLUDE: "e",
    Mode.BUSINESS_DAYS: "b",
    Mode.ROLL_FORWARD: "f",
    Mode.ROLL_BACK: "k",
    Mode.NTH_BUSINESS_DAY: "n",
}
_MODES: Final = {code: mode for mode, code in _CODES.items()}


# --- a trigger's rule --------------------------------------------------------------------------------------------


def parse_rule(value: object) -> CalendarRule:
    """The rule of `{"name", "mode"[, "nth", "version", "pinned"]}`; `Invalid` names the field below `calendar`."""
    if not isinstance(value, Mapping):
        raise Invalid("calendar", 'is no object; write {"name": "…", "mode": "exclude"}')
    for name in value:
        if name not in _RULE:
            raise Invalid(f"calendar.{str(name)[:64]}", f"is no field of a calendar here; known are {', '.join(_RULE)}")
    pinned = value.get("pinned", False)
    if not isinstance(pinned, bool):
        raise Invalid("calendar.pinned", "must be true or false")
    version = _number(value.get("version", 0), "version")
    if version < 0 or (version == 0 and "version" in value):
        raise Invalid("calendar.version", "must be 1 or more; leave it out for the newest")
    return CalendarRule(name_of(value.get("name"), "calendar.name"), version, _mode(value), _nth(value), pinned)


def name_of(value: object, field: str) -> str:
    """A calendar's name; raises `Invalid`."""
    if value is None:
        raise Invalid(field, "is missing; write the name of a calendar")
    if not isinstance(value, str) or not NAME_PATTERN.fullmatch(value):
        raise Invalid(field, f"{value!r:.80} is no name of a calendar: write {NAME_IN_WORDS}")
    return value


def _mode(value: Mapping[str, object]) -> Mode:
    known = ", ".join(Mode)
    if "mode" not in value:
        raise Invalid("calendar.mode", f"is missing; write one of {known}")
    try:
        return Mode(str(value["mode"]))
    except ValueError:
        raise Invalid("calendar.mode", f"{value['mode']!r:.40} is none of {known}") from None


def _nth(value: Mapping[str, object]) -> int:
    nth = _number(value.get("nth", 0), "nth")
    if "nth" in value and not 1 <= abs(nth) <= MAX_NTH:
        raise Invalid("calendar.nth", f"is not in 1 to {MAX_NTH} or -1 to -{MAX_NTH}; -1 is the last business day")
    return nth


def _number(value: object, field: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise Invalid(f"calendar.{field}", "must be a whole number")
    return value


def describe_rule(rule: CalendarRule) -> dict[str, Any]:
    """The form as `parse_rule` reads it; defaults left out."""
    form: dict[str, Any] = {"name": rule.name, "mode": rule.mode.value}
    if rule.nth:
        form["nth"] = rule.nth
    if rule.version:
        form["version"] = rule.version
    if rule.pinned:
        form["pinned"] = True
    return form


def rule_record(rule: CalendarRule) -> list[str | int]:
    """`[name, version, mode[, nth[, 1 where it is pinned]]]`: every claim pays for its length."""
    made: list[str | int] = [rule.name, rule.version, _CODES[rule.mode]]
    if rule.nth or rule.pinned:
        made.append(rule.nth)
    return [*made, 1] if rule.pinned else made


def rule_of_record(stored: object) -> CalendarRule:
    """The reverse of `rule_record`; `Invalid` for anything else."""
    if not isinstance(stored, Sequence) or not 3 <= len(stored) <= 5:
        raise Invalid("calendar", "the stored calendar is damaged")
    name, version, mode, *more = stored
    numbers = [int(one) if isinstance(one, Decimal) else one for one in (version, *more)]
    if not isinstance(name, str) or mode not in _MODES or not all(isinstance(one, int) for one in numbers):
        raise Invalid("calendar", "the stored calendar is damaged")
    return CalendarRule(name, numbers[0], _MODES[mode], numbers[1] if more else 0, len(more) > 1)


def inline(value: object) -> tuple[dict[str, object], Calendar]:
    """What a trigger says of its calendar, and the calendar itself, of one object that holds both: for a look ahead
    that asks no store. `Invalid` names the field below `calendar`.
    """
    if not isinstance(value, Mapping):
        raise Invalid("calendar", 'is no object; write {"mode": "exclude", "holidays": ["2026-12-25"]}')
    if not any(field in value for field in CONTENT):
        raise Invalid("calendar", f"is only named, and no store is asked here; write what it holds: {', '.join(LISTS)}")
    use = {name: one for name, one in value.items() if name not in CONTENT}
    try:
        content = parse_content({name: value[name] for name in CONTENT if name in value})
    except Invalid as error:
        raise error.under("calendar") from error
    use = {"name": "inline", **use, "version": 1}
    return use, content.of("", str(use["name"]), 1)


# --- a calendar --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Content:
    """What a calendar says, whoever it belongs to."""

    weekend: frozenset[int]
    dates: tuple[Dates, ...]
    covers_until: int
    description: str

    def of(self, tenant: str, name: str, version: int, **made: Any) -> Calendar:
        """The version of a calendar that has this content; `made` says by whom, when and why."""
        return Calendar(tenant, name, version, self.weekend, self.dates, self.covers_until, self.description, **made)


def parse_content(form: Mapping[str, Any], more: Sequence[Dates] = (), *, covers_until: int | None = None) -> Content:
    """The content of a calendar's form, with `more` dates read elsewhere; `Invalid` names the field.

    `covers_until`: what the calendar is known to cover where the form does not say; else its last listed date.
    """
    listed = (entry for name, kind in LISTS.items() for entry in _entries(form.get(name), name, kind))
    dates = tuple(sorted({*chain(listed, more)}))
    _check_size(dates)
    last = max((one.last for one in dates), default=LAST_DAY)
    written = form.get("covers_until")
    covers = (last if covers_until is None else covers_until) if written is None else day_of(written, "covers_until")
    return Content(_weekend(form.get("weekend")), dates, covers, str(form.get("description") or ""))


def _entries(value: object, name: str, kind: DateKind) -> Iterator[Dates]:
    if value is None:
        return
    if not isinstance(value, list):
        raise Invalid(name, 'must be an array of dates, such as ["2026-12-25"]')
    for place, one in enumerate(value):
        yield _entry(one, f"{name}.{place}", kind)


def _entry(value: object, where: str, kind: DateKind) -> Dates:
    if isinstance(value, str):
        day = day_of(value, where)
        return Dates(day, day, kind)
    if not isinstance(value, Mapping):
        raise Invalid(where, 'must be a date such as "2026-12-25", or {"from": …, "to": …, "label": …}')
    for field in value:
        if field not in _ENTRY:
            raise Invalid(f"{where}.{str(field)[:64]}", f"is no field of a date; known are {', '.join(_ENTRY)}")
    if ("date" in value) == ("from" in value or "to" in value):
        raise Invalid(where, "has either date, or from and to (both included)")
    first = day_of(value.get("date", value.get("from")), f"{where}.{'date' if 'date' in value else 'from'}")
    last = first if "date" in value else day_of(value.get("to"), f"{where}.to")
    if last < first:
        raise Invalid(f"{where}.to", f"{day_text(last)} lies before {day_text(first)}")
    return Dates(first, last, kind, label_of(value.get("label", ""), f"{where}.label"))


def label_of(value: object, where: str) -> str:
    """A label; raises `Invalid`."""
    if not isinstance(value, str) or len(value) > MAX_LABEL or not value.isprintable():
        raise Invalid(where, f"must be one line of at most {MAX_LABEL} characters")
    return value


def _weekend(value: object) -> frozenset[int]:
    names = DEFAULT_WEEKEND if value is None else value
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise Invalid("weekend", 'must be an array of weekdays, such as ["saturday", "sunday"]; [] for none')
    found = [next((day for day in WEEKDAYS if name.lower() in (day, day[:3])), None) for name in names]
    for name, day in zip(names, found, strict=True):
        if day is None:
            raise Invalid("weekend", f"{name!r:.40} is no weekday; write {', '.join(WEEKDAYS)}")
    days = frozenset(WEEKDAYS.index(day) for day in found if day is not None)
    if len(days) == len(WEEKDAYS):
        raise Invalid("weekend", "leaves no business day in the week; leave one out")
    return days


def _check_size(dates: Sequence[Dates]) -> None:
    if len(dates) > MAX_ENTRIES:
        raise Invalid("holidays", f"with workdays and freezes has {len(dates)} entries; {MAX_ENTRIES} are allowed")
    days = sum(one.last - one.first + 1 for one in dates if one.kind is not DateKind.FREEZE)
    if days > MAX_LISTED_DAYS:
        raise Invalid("holidays", f"with workdays covers {days} days; {MAX_LISTED_DAYS} are allowed")
    size = sum(len(one.label.encode()) for one in dates)
    if size > MAX_TEXT_BYTES:
        raise Invalid("holidays", f"has labels of {size} bytes together; {MAX_TEXT_BYTES} are allowed")


def content_form(calendar: Calendar | Content) -> dict[str, Any]:
    """What a caller writes to get this content."""
    form: dict[str, Any] = {
        "description": calendar.description,
        "weekend": [WEEKDAYS[day] for day in sorted(calendar.weekend)],
        "covers_until": day_text(calendar.covers_until),
    }
    for name, kind in LISTS.items():
        form[name] = [entry_form(one) for one in calendar.dates if one.kind is kind]
    return form


def entry_form(entry: Dates) -> dict[str, str]:
    """A listed stretch of dates; one day is a `date`."""
    if entry.first == entry.last:
        form = {"date": day_text(entry.first)}
    else:
        form = {"from": day_text(entry.first), "to": day_text(entry.last)}
    return form | ({"label": entry.label} if entry.label else {})


# --- as stored ---------------------------------------------------------------------------------------------------

_KINDS: Final = {DateKind.HOLIDAY: "h", DateKind.WORKDAY: "w", DateKind.FREEZE: "f"}
_KIND_OF: Final = {code: kind for kind, code in _KINDS.items()}


def content_record(calendar: Calendar) -> dict[str, Any]:
    """The content as JSON: days as numbers, kinds as letters."""
    return {
        "weekend": sorted(calendar.weekend),
        "dates": [[one.first, one.last - one.first, _KINDS[one.kind], one.label] for one in calendar.dates],
        "covers_until": calendar.covers_until,
        "description": calendar.description,
    }


def content_of(stored: Mapping[str, Any]) -> Content:
    """The reverse of `content_record`; raises `ValueError`, `KeyError`, `TypeError` for anything else."""
    dates = tuple(Dates(first, first + length, _KIND_OF[kind], label) for first, length, kind, label in stored["dates"])
    return Content(frozenset(stored["weekend"]), dates, stored["covers_until"], stored["description"])
