"""Oracles for cron. The first walks UTC minute by minute and asks of each minute whether it fires.

Slow on purpose, and shares no code with the product: its own reading of expressions (membership value by value), its
own zone data handling (`ZoneInfo` and `fold`), no segments, no search. What a fixed-time job does in a gap and an
overlap is said here in terms of single minutes. `WallOracle` asks the same of wall-clock times instead of minutes of
UTC, which is a third way again and quick enough for twenty years.
"""

from calendar import monthrange
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import cache, lru_cache
from importlib import resources
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)
_DAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
_MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]


@cache
def zone(name: str) -> ZoneInfo:
    """The zone as the tzdata package has it, never as the host has it."""
    with resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as data:
        return ZoneInfo.from_file(data, key=name)


class Oracle:
    """One expression in one zone; `gap` is skip or after, `overlap` first, second or both, empty for the default.

    An expression of six fields, bare or in `cron(…)`, is read as AWS means it.
    """

    def __init__(self, expression: str, zone_name: str, gap: str = "", overlap: str = "") -> None:
        fields = expression.upper().removeprefix("CRON(").removesuffix(")").replace("?", "*").split()
        self._is_aws = len(fields) == 6
        minute, hour, month_day, month, weekday, year = fields if self._is_aws else [*fields, "*"]
        self._zone = zone(zone_name)
        self._minutes = {value for value in range(60) if _in_list(minute, value, 0, 59)}
        self._hours = {value for value in range(24) if _in_list(hour, value, 0, 23)}
        self._months = {value for value in range(1, 13) if _in_list(month, value, 1, 12)}
        self._month_day, self._weekday, self._year = month_day, weekday, year
        self._both = month_day[0] == "*" or weekday[0] == "*"
        self.fixed_time = minute[0] != "*" and hour[0] != "*"
        self._made_up = (gap or ("skip" if self._is_aws else "after")) == "after"
        self._overlap = overlap or "first"
        self._days: dict[date, bool] = {}

    def fires(self, after: datetime, until: datetime) -> Iterator[datetime]:
        """All fires in `(after, until]`, in UTC; both are whole minutes or later within one."""
        day = after.replace(hour=0, minute=0, second=0, microsecond=0)
        while day <= until:
            for moment, local, skipped in _minutes_of(self._zone, day):
                if after < moment <= until and self._fires_at(local, skipped):
                    yield moment
            day += timedelta(days=1)

    def _fires_at(self, local: datetime, skipped: tuple[datetime, ...]) -> bool:
        if not self.fixed_time:
            return self.matches(local)
        if self.matches(local) and self._counts(local):
            return True
        return self._made_up and any(self.matches(wall) for wall in skipped)

    def _counts(self, local: datetime) -> bool:
        """Whether this pass of a local time is one that the policy wants."""
        if self._overlap == "first":
            return local.fold == 0
        comes_again = local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset()
        return self._overlap == "both" or local.fold == 1 or not comes_again

    def matches(self, wall: datetime) -> bool:
        """Does a clock that shows `wall` show a time that the expression names?"""
        return wall.minute in self._minutes and wall.hour in self._hours and self._day_matches(wall.date())

    def names_day(self, day: date) -> bool:
        """Is there a time on this day that the expression names?"""
        return self._day_matches(day)

    def _day_matches(self, day: date) -> bool:
        known = self._days.get(day)
        if known is None:
            in_month = any(_month_day_matches(item, day) for item in self._month_day.split(","))
            weekday_matches = _aws_weekday_matches if self._is_aws else _weekday_matches
            in_week = any(weekday_matches(item, day) for item in self._weekday.split(","))
            named = (in_month and in_week) if self._both else (in_month or in_week)
            in_year = _in_list(self._year, day.year, 1970, 2199) if self._is_aws else True
            known = self._days[day] = named and in_year and day.month in self._months
        return known


@lru_cache(maxsize=64)
def _minutes_of(place: ZoneInfo, day: datetime) -> list[tuple[datetime, datetime, tuple[datetime, ...]]]:
    """Each minute of a day in UTC: itself, what the clock shows, and what it skipped since the minute before."""
    minutes, before = [], (day - MINUTE).astimezone(place).replace(tzinfo=None, fold=0)
    for n in range(1_440):
        local = (day + n * MINUTE).astimezone(place)
        naive, skipped = local.replace(tzinfo=None, fold=0), []
        while (before := before + MINUTE) < naive:
            skipped.append(before)
        minutes.append((day + n * MINUTE, local, tuple(skipped)))
        before = naive
    return minutes


class WallOracle(Oracle):
    """The same, by asking of each wall-clock time that the expression names how often the zone's clock shows it."""

    def fires(self, after: datetime, until: datetime) -> Iterator[datetime]:
        """All fires in `(after, until]`, in UTC, each once."""
        first, last = after.date() - timedelta(days=2), until.date() + timedelta(days=2)
        days = (first + timedelta(days=n) for n in range((last - first).days))
        times = [(hour, minute) for hour in sorted(self._hours) for minute in sorted(self._minutes)]
        found = {
            moment
            for day in days
            if self._day_matches(day)
            for hour, minute in times
            for moment in self._moments(datetime(day.year, day.month, day.day, hour, minute, tzinfo=self._zone))
            if after < moment <= until
        }
        return iter(sorted(found))

    def _moments(self, wall: datetime) -> list[datetime]:
        """When the clock shows `wall`, as far as it counts, or what stands in for it."""
        first, second = ((wall.replace(fold=fold) - _offset(wall, fold)).replace(tzinfo=UTC) for fold in (0, 1))
        if first == second:
            return [first]
        if first > second:  # skipped: the offset before the gap, fold 0, makes it later than the one after
            return [self._end_of_gap(first)] if self.fixed_time and self._made_up else []
        if not self.fixed_time or self._overlap == "both":
            return [first, second]
        return [first] if self._overlap == "first" else [second]

    def _end_of_gap(self, moment: datetime) -> datetime:
        """Back to the change, minute by minute."""
        offset = moment.astimezone(self._zone).utcoffset()
        while (moment - MINUTE).astimezone(self._zone).utcoffset() == offset:
            moment -= MINUTE
        return moment


def _offset(wall: datetime, fold: int) -> timedelta:
    offset = wall.replace(fold=fold).utcoffset()
    assert offset is not None
    return offset


def _in_list(text: str, value: int, low: int, high: int) -> bool:
    return any(_in_item(item, value, low, high) for item in text.split(","))


def _in_item(item: str, value: int, low: int, high: int) -> bool:
    span, _, step = item.partition("/")
    first, dash, last = span.partition("-")
    if span == "*":
        start, end = low, high
    else:
        start = _number(first)
        end = _number(last) if dash else (high if step else start)
    width = high - low + 1
    distance = (value - start) % width if end < start else value - start
    reach = (end - start) % width if end < start else end - start
    return 0 <= distance <= reach and distance % int(step or 1) == 0


def _number(text: str) -> int:
    if text in _DAYS:
        return _DAYS.index(text)
    return _MONTHS.index(text) + 1 if text in _MONTHS else int(text)


def _month_day_matches(item: str, day: date) -> bool:
    last = monthrange(day.year, day.month)[1]
    if item == "L":
        return day.day == last
    if item.startswith("L-"):
        return day.day == last - int(item[2:])
    if item.endswith("W"):
        target = last if item == "LW" else int(item[:-1])
        return target <= last and day.day == _workday_near(date(day.year, day.month, target))
    return _in_item(item, day.day, 1, 31)


def _workday_near(target: date) -> int:
    for distance in (0, -1, 1, -2, 2):
        candidate = target + timedelta(days=distance)
        if candidate.month == target.month and candidate.isoweekday() <= 5:
            return candidate.day
    raise AssertionError(target)


def _weekday_matches(item: str, day: date) -> bool:
    of_day = day.isoweekday() % 7
    if item.endswith("L"):
        return _number(item[:-1]) % 7 == of_day and day.day + 7 > monthrange(day.year, day.month)[1]
    if "#" in item:
        wanted, _, n = item.partition("#")
        return _number(wanted) % 7 == of_day and (day.day - 1) // 7 + 1 == int(n)
    span, _, step = item.partition("/")
    first, dash, last = span.partition("-")
    if span == "*":
        return of_day % int(step or 1) == 0
    start, end = _number(first), _number(last if dash else first)
    start = 0 if start == 7 and dash else start
    if start == 0 and _number(first) == 7:
        end %= 7
    # Walk from the first day to the last as one would with a finger on a calendar, a Sunday being 7 at the end.
    steps = range(0, (end - start if end >= start else end - start + 7) + 1, int(step or 1))
    return any((start + distance) % 7 == of_day for distance in steps)


def _aws_weekday_matches(item: str, day: date) -> bool:
    """Days count from SUN = 1 to SAT = 7; `L` alone is the last day of the week."""
    of_day = day.isoweekday() % 7 + 1
    if item == "L":
        return of_day == 7
    if item.endswith("L"):
        return _aws_day(item[:-1]) == of_day and (day + timedelta(days=7)).month != day.month
    if "#" in item:
        wanted, _, n = item.partition("#")
        return _aws_day(wanted) == of_day and 7 * int(n) - 7 < day.day <= 7 * int(n)
    if item == "*":
        return True
    first, _, last = item.partition("-")
    start, end = _aws_day(first), _aws_day(last or first)
    return start <= of_day <= end if start <= end else of_day >= start or of_day <= end


def _aws_day(text: str) -> int:
    return _DAYS.index(text) + 1 if text in _DAYS else int(text)


def utc(text: str) -> datetime:
    """`2026-03-08T07:00:00Z` as a datetime."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(UTC)
