"""Calendars: named, versioned sets of dates, and what a schedule makes of them.

Dates have no zone: a schedule's own zone says when one begins. In here a day is counted from 1970-01-01, which is 0.
A version never changes; whoever holds (tenant, name, version) holds its content for good.
"""

import re
from bisect import bisect_right
from calendar import monthrange
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from functools import lru_cache
from typing import Final

from cronfleet.domain.errors import CronfleetError, Invalid
from cronfleet.domain.instant import Instant

NAME_PATTERN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")
"""Shorter than other ids: the name stands in the timer, which every claim pays for."""

MAX_ENTRIES: Final = 2_000
"""Stretches of dates that one calendar lists."""
MAX_LISTED_DAYS: Final = 5_000
"""Holidays and extra working days, counted day by day."""
MAX_TEXT_BYTES: Final = 200_000
"""All labels together; the whole has to fit into one stored item."""
MAX_LABEL: Final = 100
_EPOCH: Final = date(1970, 1, 1).toordinal()
FIRST_DAY: Final = 0
LAST_DAY: Final = date(2199, 12, 31).toordinal() - _EPOCH
"""The dates that a calendar may list."""
LAST_DAY_OF_ALL: Final = date.max.toordinal() - _EPOCH
"""9999-12-31."""
RUNS_OUT_DAYS: Final = 90
"""How long before its end a calendar is said to run out."""
MAX_NTH: Final = 23
"""No month has more business days."""
CALENDARS_KEPT: Final = 256
"""Contents that one process keeps; each is a few hundred bytes to some hundred kilobytes."""

WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


class Unbound(CronfleetError):
    """A trigger was asked for a time while the content of its calendar was not at hand: a mistake of ours."""


class DateKind(StrEnum):
    """What a listed date is."""

    HOLIDAY = "holiday"
    """No business day."""
    WORKDAY = "workday"
    """A business day, though it falls on a weekend or a holiday."""
    FREEZE = "freeze"
    """Nothing fires, whatever day it is; nothing is moved because of it."""


class Mode(StrEnum):
    """What a schedule makes of its calendar."""

    EXCLUDE = "exclude"
    """Not on the holidays that the calendar lists; its weekends are left to the expression."""
    BUSINESS_DAYS = "business_days"
    """Only on business days: neither weekend nor holiday."""
    ROLL_FORWARD = "roll_forward"
    """Instead of on another day, on the next business day."""
    ROLL_BACK = "roll_back"
    """Instead of on another day, on the last business day before."""
    NTH_BUSINESS_DAY = "nth_business_day"
    """On the nth business day of each month that the expression names; -1 is the last."""


@dataclass(frozen=True, slots=True, order=True)
class Dates:
    """A stretch of days, both ends included."""

    first: int
    last: int
    kind: DateKind
    label: str = ""


@dataclass(frozen=True, slots=True)
class Calendar:
    """One immutable version. `weekend` counts Monday as 0; `covers_until` is the last day that it claims to know."""

    tenant: str
    name: str
    version: int
    weekend: frozenset[int]
    dates: tuple[Dates, ...]
    covers_until: int
    description: str = ""
    author: str = ""
    created_at: Instant = 0
    reason: str = ""

    def __hash__(self) -> int:
        # The content may be long, and does not change under one name and version.
        return hash((self.tenant, self.name, self.version))

    def says_the_same(self, other: "Calendar") -> bool:
        """Whether both have one content, whoever made them when."""
        return _content(self) == _content(other)


def _content(calendar: Calendar) -> tuple[object, ...]:
    return calendar.weekend, calendar.dates, calendar.covers_until, calendar.description


@dataclass(frozen=True, slots=True)
class CalendarHead:
    """What stands first of a calendar: its newest version. Deleted, it stays, so that versions go on if it returns."""

    tenant: str
    name: str
    version: int
    covers_until: int
    description: str
    updated_at: Instant
    change_id: str
    is_deleted: bool = False


@dataclass(frozen=True, slots=True)
class Missing:
    """In place of a calendar whose content cannot be read: the schedule that needs it is parked."""

    why: str


@dataclass(frozen=True, slots=True)
class CalendarRule:
    """How a trigger uses a calendar.

    `version` 0 stands for the newest, until it is saved. Unless `pinned`, an update of the calendar moves it on.
    `days` is the content, which the store hands out with the rule; it is not part of what the rule says.
    """

    name: str
    version: int
    mode: Mode
    nth: int = 0
    pinned: bool = False
    days: Calendar | Missing | None = field(default=None, compare=False, repr=False)

    @property
    def content(self) -> Calendar:
        """The calendar itself; `Invalid` where it cannot be read, `Unbound` where nobody has tried to."""
        if isinstance(self.days, Calendar):
            return self.days
        if isinstance(self.days, Missing):
            raise Invalid("calendar", f"version {self.version} of calendar {self.name!r} {self.days.why}")
        raise Unbound(f"calendar {self.name!r}, version {self.version}, was not read together with its schedule")


# --- days -------------------------------------------------------------------------------------------------------


def day_of(text: object, name: str) -> int:
    """The day of ISO text such as `2026-12-25`; `Invalid(name, …)` for anything else, and outside 1970 to 2199."""
    try:
        # The standard library also takes 20261225 and 2026-W52-5.
        day = to_day(date.fromisoformat(text)) if isinstance(text, str) and len(text) == len("2026-12-25") else None
    except ValueError:
        day = None
    if day is None:
        raise Invalid(name, f"{text!r:.40} is no date; write one such as 2026-12-25")
    if not FIRST_DAY <= day <= LAST_DAY:
        raise Invalid(name, f"{text} is not in the years 1970 to 2199")
    return day


def to_day(value: date) -> int:
    """A date as a day."""
    return value.toordinal() - _EPOCH


def to_date(day: int) -> date:
    """A day as a date."""
    return date.fromordinal(day + _EPOCH)


def day_text(day: int) -> str:
    """`2026-12-25`."""
    return to_date(day).isoformat()


def weekday_of(day: int) -> int:
    """Monday is 0."""
    return (day + 3) % 7


class BusinessDays:
    """A calendar made ready for questions; get it from `days_of`."""

    __slots__ = ("_freezes", "_frozen_from", "_holidays", "_weekend", "_workdays", "covers_until", "last_listed")

    def __init__(self, calendar: Calendar) -> None:
        self._weekend = calendar.weekend
        self._holidays = _by_day(calendar.dates, DateKind.HOLIDAY)
        self._workdays = _by_day(calendar.dates, DateKind.WORKDAY)
        self._freezes = _merged(one for one in calendar.dates if one.kind is DateKind.FREEZE)
        self._frozen_from = [one.first for one in self._freezes]
        self.covers_until = calendar.covers_until
        self.last_listed = max((one.last for one in calendar.dates), default=FIRST_DAY)

    def is_business(self, day: int) -> bool:
        """Whether `day` is a business day, frozen or not."""
        return day in self._workdays or (day not in self._holidays and weekday_of(day) not in self._weekend)

    def is_holiday(self, day: int) -> bool:
        """Whether `day` is listed as a holiday, and not as a working day as well."""
        return day in self._holidays and day not in self._workdays

    def next_business(self, day: int) -> int | None:
        """The first business day that is not before `day`; None after the year 9999."""
        while not self.is_business(day):
            day += 1
        return day if day <= LAST_DAY_OF_ALL else None

    def last_business(self, day: int) -> int:
        """The last business day that is not after `day`."""
        while not self.is_business(day):
            day -= 1
        return day

    def nth_business(self, year: int, month: int, nth: int) -> int | None:
        """The nth business day of a month, from its end where `nth` is negative; None where it has not as many."""
        first = to_day(date(year, month, 1))
        days = range(first, first + monthrange(year, month)[1])
        left = abs(nth)
        for day in days if nth > 0 else reversed(days):
            if self.is_business(day):
                left -= 1
                if not left:
                    return day
        return None

    def number_of(self, day: int) -> tuple[int, int]:
        """Which business day of its month `day` is, and which from the end (-1 is the last)."""
        this = to_date(day)
        first = to_day(this.replace(day=1))
        end = first + monthrange(this.year, this.month)[1]
        before = sum(self.is_business(one) for one in range(first, day + 1))
        return before, -sum(self.is_business(one) for one in range(day, end))

    def freeze_at(self, day: int) -> Dates | None:
        """The freeze that `day` lies in."""
        at = bisect_right(self._frozen_from, day) - 1
        return self._freezes[at] if at >= 0 and day <= self._freezes[at].last else None

    def thawed(self, day: int) -> int:
        """The first day that is not before `day` and not frozen."""
        freeze = self.freeze_at(day)
        while freeze is not None:
            day = freeze.last + 1
            freeze = self.freeze_at(day)
        return day

    def why_closed(self, day: int) -> tuple[str, str]:
        """What kind of a day `day` is that is no business day, and its label."""
        holiday = self._holidays.get(day)
        if holiday is not None and day not in self._workdays:
            return DateKind.HOLIDAY.value, holiday.label
        return "weekend", WEEKDAYS[weekday_of(day)].capitalize()


def _by_day(dates: Iterable[Dates], kind: DateKind) -> dict[int, Dates]:
    return {day: one for one in dates if one.kind is kind for day in range(one.first, one.last + 1)}


def _merged(freezes: Iterable[Dates]) -> list[Dates]:
    """Without overlaps, by their first days; what overlaps is cut, so that each day keeps the label it began with."""
    made: list[Dates] = []
    for one in sorted(freezes):
        first = max(one.first, made[-1].last + 1) if made else one.first
        if first <= one.last:
            made.append(Dates(first, one.last, one.kind, one.label))
    return made


@lru_cache(maxsize=CALENDARS_KEPT)
def days_of(calendar: Calendar) -> BusinessDays:
    """`calendar`, ready for questions."""
    return BusinessDays(calendar)
