"""Quiet hours: when a channel is not told at once; what comes up meanwhile is told in one summary afterwards."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cronfleet.domain import zones
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import SECOND, Instant, to_datetime
from cronfleet.domain.zones import DAY_SECONDS

DAY_MINUTES: Final = 24 * 60
WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

_TIME: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d)", re.ASCII)
_FIRST_WEEKDAY: Final = 3
"""1970-01-01 was a Thursday; Monday is 0."""
_MOST_STRETCHES: Final = 9
"""One stretch of quiet may run into the next: the end of a week of them, and of the night after it, is looked for."""


def parse_time_of_day(text: object, field: str) -> int:
    """`06:00` as minutes since midnight."""
    match = _TIME.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise Invalid(field, f"{text!r} is no time of day; write it like 06:00 or 22:30, from 00:00 to 23:59")
    return int(match[1]) * 60 + int(match[2])


def time_of_day(minutes: int) -> str:
    """The reverse of `parse_time_of_day`."""
    return f"{minutes // 60:02}:{minutes % 60:02}"


def local_text(instant: Instant, timezone: str) -> str:
    """What a clock on the wall in `timezone` shows: `2026-12-01 07:30 Asia/Kolkata`."""
    wall = zones.load(timezone).wall_at(instant // SECOND)
    return f"{to_datetime(wall * SECOND):%Y-%m-%d %H:%M} {timezone}"


def next_time_of_day(after: Instant, minutes: int, timezone: str) -> Instant:
    """The first instant later than `after` at which a clock in `timezone` shows that time of day.

    Where the clock skips it, the first instant after the gap; where it shows it twice, the first.
    """
    zone = zones.load(timezone)
    today = zone.wall_at(after // SECOND) // DAY_SECONDS
    for day in range(today - 1, today + 3):
        found = zone.first_instant(day * DAY_SECONDS + minutes * 60)
        if found is not None and found * SECOND > after:
            return found * SECOND
    raise Invalid("timezone", f"{timezone} shows no {time_of_day(minutes)} within two days")


@dataclass(frozen=True, slots=True)
class QuietHours:
    """From `start` to `end` (minutes of the day; an end not later than the start is on the next day) on `days`.

    A night belongs to the day that it begins on. `days` are numbers, 0 is Monday; empty: every day.
    """

    start: int
    end: int
    timezone: str
    days: tuple[int, ...] = ()

    def until(self, now: Instant) -> Instant | None:
        """When the quiet ends that there is at `now`; `None`: there is none."""
        end: Instant | None = None
        for _ in range(_MOST_STRETCHES):
            found = self._stretch_end(now if end is None else end)
            if found is None:
                break
            end = found
        return end

    def _stretch_end(self, at: Instant) -> Instant | None:
        zone = zones.load(self.timezone)
        today = zone.wall_at(at // SECOND) // DAY_SECONDS
        length = ((self.end - self.start - 1) % DAY_MINUTES + 1) * 60
        for day in (today - 1, today):
            if self.days and (day + _FIRST_WEEKDAY) % 7 not in self.days:
                continue
            begins = day * DAY_SECONDS + self.start * 60
            start, stop = zone.first_instant(begins), zone.first_instant(begins + length)
            if start is not None and stop is not None and start * SECOND <= at < stop * SECOND:
                return stop * SECOND
        return None


def parse_quiet_hours(start: str, end: str, timezone: str, days: Sequence[str] = ()) -> QuietHours:
    """Reads the API's form; raises `Invalid` under the field's own name."""
    zones.load(timezone)
    unknown = [day for day in days if day not in WEEKDAYS]
    if unknown:
        raise Invalid("days", f"{unknown[0]!r} is no day; write {', '.join(WEEKDAYS)}")
    numbers = tuple(sorted({WEEKDAYS.index(day) for day in days}))
    return QuietHours(parse_time_of_day(start, "start"), parse_time_of_day(end, "end"), timezone, numbers)
