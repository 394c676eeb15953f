"""When a cron expression fires: a search among wall-clock times, mapped to UTC segment by segment.

The rule (Debian's cron, `docs/decisions/0001-cron-and-zones.md`): a wildcard job fires at every real minute that
matches. A fixed-time job whose time falls into a gap fires once at the first instant after it, or not at all; in an
overlap it fires in the first pass, the second or both: `domain/clock_policy.py`. Seconds in here are those of
`domain/zones.py`.
"""

from bisect import bisect_left, bisect_right
from calendar import isleap, monthrange
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from functools import cache, lru_cache
from itertools import product
from typing import TYPE_CHECKING, Final

from cronfleet.domain import aws_dialect, cron_grammar
from cronfleet.domain.clock_policy import Gap, Repeat
from cronfleet.domain.cron_grammar import CronFields, DayRule, Dialect
from cronfleet.domain.errors import Invalid
from cronfleet.domain.zones import DAY_SECONDS, LATEST_SECOND, LOOK_BACK_SECONDS, Segment, Zone

if TYPE_CHECKING:
    from croniter import croniter

    from cronfleet.domain.trigger import CronTrigger

EXPRESSIONS_KEPT: Final = 4096
DAY_RULES_KEPT: Final = 256

LAST_LISTED_CHANGE: Final = 3_786_912_000
"""2090-01-01T00:00:00Z. No zone file lists a change after that (a test counts it): from there on a zone either keeps
one offset or follows a yearly rule.
"""
PERIOD_SECONDS: Final = 42 * 366 * DAY_SECONDS
"""In so long a time every kind of year (its length, the weekday it begins on) comes, even around 2100: what does not
fire in it, with no more than a yearly rule for the clock, never does.
"""

_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_FIRST_DAY: Final = date.min.toordinal() - _EPOCH_DAY
_LAST_DAY: Final = date.max.toordinal() - _EPOCH_DAY
_EPOCH_WEEKDAY: Final = 3
"""1970-01-01 was a Thursday, if Monday is 0."""
_LENGTHS: Final = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class Cron:
    """A parsed expression; get it from `parse`."""

    __slots__ = ("_days", "_every_day", "_hours", "_minutes", "_months", "_years", "fields", "fixed_time")

    def __init__(self, fields: CronFields) -> None:
        self.fields = fields
        self.fixed_time = fields.fixed_time
        self._minutes = fields.minutes
        self._hours = fields.hours
        self._months = frozenset(fields.months)
        self._days = day_search(fields.days)
        self._years = fields.years or ()
        self._every_day = fields.days.is_every_day and len(fields.months) == 12 and not self._years

    def next_wall(self, wall: int) -> int | None:
        """The first matching wall second that is not before `wall`; None after the year 9999."""
        day, rest = divmod(wall, DAY_SECONDS)
        found = self._next_day(day)
        if found == day:
            minute = self._next_minute(-(-rest // 60))
            if minute is not None:
                return day * DAY_SECONDS + minute * 60
            found = self._next_day(day + 1)
        return None if found is None else found * DAY_SECONDS + self._hours[0] * 3600 + self._minutes[0] * 60

    def _next_minute(self, minute: int) -> int | None:
        """The first matching minute of a day that is not before `minute`."""
        hour, rest = divmod(minute, 60)
        at = bisect_left(self._hours, hour)
        if at == len(self._hours):
            return None
        if self._hours[at] == hour:
            later = bisect_left(self._minutes, rest)
            if later < len(self._minutes):
                return hour * 60 + self._minutes[later]
            at += 1
        return self._hours[at] * 60 + self._minutes[0] if at < len(self._hours) else None

    def _next_day(self, day: int) -> int | None:
        """The first matching day (counted from the epoch) that is not before `day`."""
        if day > _LAST_DAY:
            return None
        day = max(day, _FIRST_DAY)
        if self._every_day:
            return day
        start = date.fromordinal(day + _EPOCH_DAY)
        year, month, month_day = start.year, start.month, start.day
        first = day - month_day + 1
        while year <= date.max.year:
            if self._years and year not in self._years:
                year, month, month_day = self._year_after(year), 1, 1
                first = date(year, 1, 1).toordinal() - _EPOCH_DAY if year <= date.max.year else first
                continue
            length = 29 if month == 2 and isleap(year) else _LENGTHS[month]
            if month in self._months:
                found = self._days.first_from(month_day, length, (first + _EPOCH_WEEKDAY) % 7)
                if found:
                    return first + found - 1
            first, month_day = first + length, 1
            year, month = (year, month + 1) if month < 12 else (year + 1, 1)
        return None

    def _year_after(self, year: int) -> int:
        """The first named year that is later; past all years if there is none."""
        at = bisect_right(self._years, year)
        return self._years[at] if at < len(self._years) else date.max.year + 1


class MonthDays:
    """The matching days of a month. Months come in 28 shapes only (four lengths, seven weekdays to begin on), so what
    was once worked out is kept by shape and serves every year and every expression with the same day rule.

    Where plain numbers in both day fields have a say, croniter searches. What one field decides alone needs no search,
    and what croniter cannot say (`L-3`, `LW`, several `W`, `#` under either-or) is resolved here.
    """

    __slots__ = ("_bits", "_croniter", "_found", "_rule")

    def __init__(self, rule: DayRule) -> None:
        self._rule = rule
        self._bits: dict[tuple[int, int], int] = {}
        """By (length, first weekday), the days as bits: bit n is day n."""
        self._found: dict[tuple[int, int, int], int] = {}
        """By (day, length, first weekday), what croniter found."""
        self._croniter: croniter | None = None

    def first_from(self, day: int, length: int, first_weekday: int) -> int:
        """The first matching day that is not before `day`, or 0, in a month of `length` days whose first day is
        `first_weekday` (Monday is 0).
        """
        if self._rule.is_plain and self._rule.has_two_fields:
            key = (day, length, first_weekday)
            found = self._found.get(key)
            if found is None:
                found = self._found[key] = self._ask_croniter(*key)
            return found
        later = self._days(length, first_weekday) >> day
        return day + (later & -later).bit_length() - 1 if later else 0

    def _days(self, length: int, first_weekday: int) -> int:
        shape = (length, first_weekday)
        days = self._bits.get(shape)
        if days is None:
            days = self._bits[shape] = sum(1 << day for day in days_of_shape(self._rule, *shape))
        return days

    def _ask_croniter(self, day: int, length: int, first_weekday: int) -> int:
        year, month = _month_of_shape(length, first_weekday)
        before = datetime(year, month, day) - timedelta(minutes=1)  # noqa: DTZ001 - a wall-clock time, without a zone
        if self._croniter is None:
            self._croniter = _croniter(self._rule, before)
        found: datetime = self._croniter.get_next(datetime, before)
        return found.day if (found.year, found.month) == (year, month) else 0


def days_of_shape(rule: DayRule, length: int, first_weekday: int) -> set[int]:
    """The days that `rule` names in a month of `length` days whose first day is `first_weekday` (Monday is 0)."""
    by_weekday: dict[int, list[int]] = {weekday: [] for weekday in range(7)}  # Sunday is 0
    for day in range(1, length + 1):
        by_weekday[(first_weekday + day) % 7].append(day)
    month_days = {day for day in rule.month_days if day <= length}
    month_days |= {length - before for before in rule.from_last if before < length}
    month_days |= {_nearest_workday(day or length, length, first_weekday) for day in rule.nearest if day <= length}
    weekdays = {day for weekday in rule.weekdays for day in by_weekday[weekday]}
    # LAST is 0, so that its slice begins at -1.
    weekdays |= {day for weekday, n in rule.nth for day in by_weekday[weekday][n - 1 :][:1]}
    return month_days & weekdays if rule.both else month_days | weekdays


def _nearest_workday(day: int, length: int, first_weekday: int) -> int:
    """Monday to Friday nearest to `day`, never in another month."""
    weekday = (first_weekday + day - 1) % 7
    if weekday == 5:
        return day - 1 if day > 1 else day + 2
    if weekday == 6:
        return day + 1 if day < length else day - 2
    return day


@lru_cache(maxsize=EXPRESSIONS_KEPT)
def parse(expression: str, dialect: Dialect = Dialect.CRON) -> Cron:
    """The expression, ready to search; `Invalid("cron", …)` if it is none, or names no day that ever exists."""
    fields = aws_dialect.expand(expression) if dialect is Dialect.AWS else cron_grammar.expand(expression)
    if not _can_fire(fields):
        raise Invalid(
            "cron", f"`{cron_grammar.normalise(expression)}` can never fire: no month it names has such a day"
        )
    return Cron(fields)


def fields_of(trigger: "CronTrigger") -> CronFields:
    """What the expression of `trigger` expands to; `Invalid("cron", …)` if it is none."""
    return parse(trigger.expression, trigger.dialect).fields


def next_fire(cron: Cron, zone: Zone, after: int, gap: Gap = Gap.AFTER, repeat: Repeat = Repeat.FIRST) -> int | None:
    """The first UTC second later than `after` at which `cron` fires in `zone`; None for never again.

    `gap` and `repeat` count for a fixed-time job alone.
    """
    second = after + 1
    # Named years end by themselves, and may lie far ahead.
    horizon = LATEST_SECOND if cron.fields.years else max(after, LAST_LISTED_CHANGE) + PERIOD_SECONDS
    is_made_up, is_first, is_second = _choices(cron, gap, repeat)
    while second < horizon and (segment := zone.segment_at(second)) is not None:
        wall = second + segment.offset
        end = segment.end + segment.offset
        if is_made_up and second == segment.start and _matches_in_gap(cron, segment):
            return second
        if is_first:
            wall = max(wall, segment.reached)
        found = cron.next_wall(wall)
        if found is not None and found < (segment.returns if is_second else end):
            return found - segment.offset
        second = segment.end
        # An overlap may show the segment's last hours again, so far is safe only if more than those were searched.
        if end - wall > LOOK_BACK_SECONDS:
            if found is None:
                return None
            second = max(second, found - LOOK_BACK_SECONDS)
    return None


def _choices(cron: Cron, gap: Gap, repeat: Repeat) -> tuple[bool, bool, bool]:
    """Whether a gap is made up for, and whether only the first or only the second pass of an overlap counts."""
    return (
        cron.fixed_time and gap is Gap.AFTER,
        cron.fixed_time and repeat is Repeat.FIRST,
        cron.fixed_time and repeat is Repeat.SECOND,
    )


def _matches_in_gap(cron: Cron, segment: Segment) -> bool:
    back = segment.start + segment.offset
    if segment.reached >= back:
        return False
    skipped = cron.next_wall(segment.reached)
    return skipped is not None and skipped < back


def _can_fire(fields: CronFields) -> bool:
    return any(days_of_shape(fields.days, *shape) for shape in _shapes(fields))


def _shapes(fields: CronFields) -> Iterator[tuple[int, int]]:
    """The months that `fields` name, as (length, first weekday)."""
    if fields.years is None:
        # In the 400 years after which the calendar repeats, each month begins on each weekday, 29 days long ones too.
        lengths = {_LENGTHS[month] for month in fields.months} | ({29} if 2 in fields.months else set())
        yield from product(lengths, range(7))
        return
    for year, month in product(fields.years, fields.months):
        weekday, length = monthrange(year, month)
        yield length, weekday


@lru_cache(maxsize=DAY_RULES_KEPT)
def day_search(rule: DayRule) -> MonthDays:
    """The one search for this day rule, shared by all expressions that have it."""
    return MonthDays(rule)


def _croniter(rule: DayRule, start: datetime) -> "croniter":
    from croniter import croniter  # noqa: PLC0415 - 50 ms that a function which needs no such search never pays

    month_days, weekdays = (",".join(map(str, numbers)) for numbers in (rule.month_days, rule.weekdays))
    return croniter(f"0 0 {month_days} * {weekdays}", start, day_or=not rule.both)


@cache
def _month_of_shape(length: int, first_weekday: int) -> tuple[int, int]:
    """A month of this shape, as (year, month); the 28 years from 2000 hold one of each."""
    months = ((year, month) for year in range(2000, 2028) for month in (1, 2, 4))
    return next(month for month in months if monthrange(*month) == (first_weekday, length))
