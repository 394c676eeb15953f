"""An expression under a calendar: the same times of day, on the days that the calendar makes of the named ones.

A calendar moves or takes away days before the clock of any zone has its say. So a moved fire keeps its wall-clock
time, meets a regular fire of that day in one, and gaps and overlaps of the clock are as they are for any other day.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from cronfleet.domain import cron
from cronfleet.domain.calendar import (
    LAST_DAY_OF_ALL,
    MAX_NTH,
    BusinessDays,
    Calendar,
    CalendarRule,
    DateKind,
    Mode,
    days_of,
    to_date,
)
from cronfleet.domain.cron import EXPRESSIONS_KEPT, Cron
from cronfleet.domain.cron_grammar import CronFields, Dialect
from cronfleet.domain.errors import Invalid

if TYPE_CHECKING:
    from cronfleet.domain.trigger import CronTrigger

SEARCH_DAYS: Final = 60 * 366
"""How far past a calendar's last listed date a named day is looked for: from then on only weekends count, and every
year that there can be, by its length and first weekday, comes within that.
"""
DAYS_KEPT: Final = 4_096
"""Answers that one calendared expression keeps."""


class CalendaredCron(Cron):
    """A parsed expression whose days a calendar has changed; get it from `search_of`."""

    __slots__ = ("_calendar", "_found", "_mode", "_nth")

    def __init__(self, fields: CronFields, calendar: Calendar, mode: Mode, nth: int) -> None:
        super().__init__(fields)
        self._calendar = days_of(calendar)
        self._mode = mode
        self._nth = nth
        self._found: dict[int, int | None] = {}

    @property
    def calendar(self) -> BusinessDays:
        """The calendar, ready for questions."""
        return self._calendar

    def days(self, first: int, last: int) -> list[int]:
        """The named days from `first` to `last`, both included."""
        made: list[int] = []
        day = self._next_day(first)
        while day is not None and day <= last:
            made.append(day)
            day = self._next_day(day + 1)
        return made

    def plain_day(self, day: int) -> int | None:
        """The first day that is not before `day` and that the expression names by itself."""
        return super()._next_day(day)

    def origins(self, day: int) -> list[int]:
        """The days that the expression names by itself and the calendar takes to `day`; a month's first for the nth."""
        match self._mode:
            case Mode.NTH_BUSINESS_DAY:
                return [day - to_date(day).day + 1]
            case Mode.ROLL_FORWARD:
                return self._plain_days(self._calendar.last_business(day - 1) + 1, day)
            case Mode.ROLL_BACK:
                following = self._calendar.next_business(day + 1)
                return self._plain_days(day, LAST_DAY_OF_ALL if following is None else following - 1)
        return [day]

    def _plain_days(self, first: int, last: int) -> list[int]:
        found, day = list[int](), self.plain_day(first)
        while day is not None and day <= last:
            found.append(day)
            day = self.plain_day(day + 1)
        return found

    def _next_day(self, day: int) -> int | None:
        if day not in self._found:
            if len(self._found) >= DAYS_KEPT:
                self._found.clear()
            self._found[day] = self._search(day)
        return self._found[day]

    def _search(self, day: int) -> int | None:
        limit = max(day, self._calendar.last_listed) + SEARCH_DAYS
        found = self._unfrozen(day, limit)
        while found is not None:
            thawed = self._calendar.thawed(found)
            if thawed == found:
                return found
            found = self._unfrozen(thawed, limit)
        return None

    def _unfrozen(self, day: int, limit: int) -> int | None:
        """The first day that is not before `day` and named before freezes are taken away."""
        match self._mode:
            case Mode.NTH_BUSINESS_DAY:
                return self._nth_from(day, limit)
            case Mode.ROLL_FORWARD:
                first = self._calendar.next_business(day)
                return None if first is None else self._rolled_onto(first)
            case Mode.ROLL_BACK:
                first = self._calendar.next_business(day)
                named = None if first is None else self.plain_day(first)
                return None if named is None else self._calendar.last_business(named)
        found = self.plain_day(day)
        while found is not None and self._is_taken(found):
            found = None if found > limit else self.plain_day(found + 1)
        return found

    def _is_taken(self, day: int) -> bool:
        if self._mode is Mode.BUSINESS_DAYS:
            return not self._calendar.is_business(day)
        return self._calendar.is_holiday(day)

    def _rolled_onto(self, business_day: int) -> int | None:
        """The first business day from `business_day` on that a named day rolls forward to."""
        named = self.plain_day(self._calendar.last_business(business_day - 1) + 1)
        return None if named is None else self._calendar.next_business(named)

    def _nth_from(self, day: int, limit: int) -> int | None:
        this = to_date(day)
        year, month = this.year, this.month
        last_year = max(to_date(limit).year if limit < LAST_DAY_OF_ALL else 9_999, *self._years[-1:], 0)
        while year <= last_year:
            if month in self._months and (not self._years or year in self._years):
                found = self._calendar.nth_business(year, month, self._nth)
                if found is not None and found >= day:
                    return found
            year, month = (year, month + 1) if month < 12 else (year + 1, 1)
        return None

    # --- why a day that the expression names is not named -------------------------------------------------------

    def fate_of(self, day: int) -> "Fate | None":
        """What the calendar did to `day`, which the expression names by itself; None where it is named all the same."""
        if self._next_day(day) == day:
            return None
        calendar = self._calendar
        freeze = calendar.freeze_at(day)
        if self._mode is Mode.NTH_BUSINESS_DAY:
            this = to_date(day)
            chosen = calendar.nth_business(this.year, this.month, self._nth)
            if freeze is not None and chosen == day:
                return Fate(DateKind.FREEZE.value, freeze.label)
            if not calendar.is_business(day):
                return Fate(*calendar.why_closed(day))
            return Fate("business_day", "", number=calendar.number_of(day)[0 if self._nth > 0 else 1], chosen=chosen)
        if calendar.is_business(day) or self._mode is Mode.EXCLUDE:
            # Of a frozen holiday that nothing moves, the freeze is the reason that holds whatever the mode.
            return Fate(DateKind.FREEZE.value, freeze.label) if freeze else Fate(*calendar.why_closed(day))
        kind, label = calendar.why_closed(day)
        if self._mode is Mode.BUSINESS_DAYS:
            return Fate(kind, label)
        forward = self._mode is Mode.ROLL_FORWARD
        target = calendar.next_business(day) if forward else calendar.last_business(day)
        blocked = None if target is None else calendar.freeze_at(target)
        return Fate(kind, label, target=target, blocked_by=blocked.label or "freeze" if blocked else None)


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a day: what kind it is, its label, and where its fire went.

    `target` is the day that it rolled to, `blocked_by` the label of a freeze which that lies in. `number` says which
    business day of its month a day is that is not the nth one, `chosen` which day is.
    """

    kind: str
    label: str
    target: int | None = None
    blocked_by: str | None = None
    number: int | None = None
    chosen: int | None = None


def search_of(trigger: "CronTrigger") -> Cron:
    """The expression of `trigger`, ready to search, under its calendar if it has one.

    `Invalid` for no expression, or a calendar whose content cannot be read; `Unbound` where that was not looked for.
    """
    rule = trigger.calendar
    if rule is None:
        return cron.parse(trigger.expression, trigger.dialect)
    return _search(trigger.expression, trigger.dialect, rule.content, rule.mode, rule.nth)


@lru_cache(maxsize=EXPRESSIONS_KEPT)
def _search(expression: str, dialect: Dialect, content: Calendar, mode: Mode, nth: int) -> CalendaredCron:
    return CalendaredCron(cron.parse(expression, dialect).fields, content, mode, nth)


def check(rule: CalendarRule, fields: CronFields) -> None:
    """Whether `rule` fits an expression; raises `Invalid`."""
    if rule.mode is not Mode.NTH_BUSINESS_DAY:
        if rule.nth:
            raise Invalid("calendar.nth", f"goes with nth_business_day, not with {rule.mode}; leave it out")
        return
    if not rule.nth:
        raise Invalid("calendar.nth", "is missing; write which business day: 1 is the first of the month, -1 its last")
    if abs(rule.nth) > MAX_NTH:
        raise Invalid("calendar.nth", f"is not in 1 to {MAX_NTH} or -1 to -{MAX_NTH}")
    if not fields.days.is_every_day:
        raise Invalid(
            "calendar.mode",
            "nth_business_day names the day by itself; write * for day of month and day of week, as in `0 9 * * *`",
        )
