"""Moments and durations as users write them: RFC 3339 (`2026-12-01T02:00:00+05:30`) and `10s`, `5m`, `1h`, `1d`."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import LATEST, SECOND, Instant, from_datetime

OLDEST: Final[Instant] = from_datetime(datetime.min.replace(tzinfo=UTC))
"""0001-01-01T00:00:00Z: the first instant that text can name."""

LONGEST_MOMENT: Final = 64
"""Characters."""
SHORTEST_INTERVAL_SECONDS: Final = 1
LONGEST_INTERVAL_SECONDS: Final = 366 * 86_400

_UNITS: Final = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_DURATION: Final = re.compile(r"(\d{1,9})([smhd])", re.ASCII)
_MOMENT: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(?:([Zz])|([+-])(\d\d):?(\d\d))?", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment as written, on the writer's clock: whole seconds since 1970-01-01T00:00, and the milliseconds (rounded
    down) that come on top. `is_whole` says that there was no fraction; `offset_seconds` is None where none was written.
    """

    wall_seconds: int
    milliseconds: int
    is_whole: bool
    offset_seconds: int | None

    def rounded_up(self) -> "Moment":
        """The first whole second that is not before this moment: never early."""
        return Moment(self.wall_seconds + (not self.is_whole), 0, True, self.offset_seconds)

    def instant(self, field: str) -> Instant:
        """The exact instant; `Invalid(field, …)` without an offset."""
        if self.offset_seconds is None:
            raise Invalid(field, "has no offset; end it with Z for UTC, or an offset such as +05:30")
        instant = (self.wall_seconds - self.offset_seconds) * SECOND + self.milliseconds
        if not OLDEST <= instant < LATEST + SECOND:
            raise Invalid(field, "lies outside the years 1 to 9999 in UTC")
        return instant


def parse_moment(text: object, field: str) -> Moment:
    """Reads RFC 3339 text, with or without an offset; seconds may be left out, and 24:00 is the next day's midnight."""
    if not isinstance(text, str):
        raise Invalid(field, f"must be RFC 3339 text such as 2026-12-01T02:00:00+05:30, not {type(text).__name__}")
    match = _MOMENT.fullmatch(text) if len(text) <= LONGEST_MOMENT else None
    if match is None:
        shown = repr(text[:LONGEST_MOMENT])
        raise Invalid(
            field, f"{shown} is not RFC 3339; write it like 2026-12-01T02:00:00+05:30 or 2026-12-01T02:00:00Z"
        )
    year, month, day, hour, minute, second, fraction = match.groups()[:7]
    midnight = _midnight(text, field, int(year), int(month), int(day))
    seconds = _seconds_of_day(text, field, int(hour), int(minute), int(second or 0))
    milliseconds = int((fraction or "0").ljust(3, "0")[:3])
    is_whole = not (fraction or "").strip("0")
    if seconds == 86_400 and not is_whole:
        raise Invalid(field, f"{text!r} is no time of day: after 24:00:00 comes 00:00:00 of the next day")
    return Moment(midnight + seconds, milliseconds, is_whole, _offset(text, field, match))


def parse_interval(
    text: object, shortest: int = SHORTEST_INTERVAL_SECONDS, longest: int = LONGEST_INTERVAL_SECONDS
) -> int:
    """`10s`, `5m`, `1h`, `1d` as seconds, of which there must be `shortest` to `longest`."""
    if not isinstance(text, str):
        raise Invalid("every", f"must be text such as 10s, 5m, 1h or 1d, not {type(text).__name__}")
    match = _DURATION.fullmatch(text)
    if match is None:
        raise Invalid(
            "every", f"{text[:LONGEST_MOMENT]!r} is no interval; write a whole number and s, m, h or d: 10s, 5m, 1h, 1d"
        )
    seconds = int(match[1]) * _UNITS[match[2]]
    if not shortest <= seconds <= longest:
        raise Invalid("every", f"{text} is not between {interval_text(shortest)} and {interval_text(longest)}")
    return seconds


def interval_text(seconds: int) -> str:
    """The shortest form of an interval: 5400 is `90m`."""
    unit = next(name for name, size in _UNITS.items() if seconds % size == 0)
    return f"{seconds // _UNITS[unit]}{unit}"


def _midnight(text: str, field: str, year: int, month: int, day: int) -> int:
    try:
        return from_datetime(datetime(year, month, day, tzinfo=UTC)) // SECOND
    except ValueError:
        raise Invalid(field, f"{text!r} names no date of the calendar") from None


def _seconds_of_day(text: str, field: str, hour: int, minute: int, second: int) -> int:
    seconds = hour * 3_600 + minute * 60 + second
    if minute > 59 or second > 59 or seconds > 86_400:
        leap = "; a leap second cannot be scheduled, write the second before or after" if second == 60 else ""
        raise Invalid(field, f"{text!r} names no time of day{leap}")
    return seconds


def _offset(text: str, field: str, match: re.Match[str]) -> int | None:
    if match[8]:
        return 0
    if not match[9]:
        return None
    hours, minutes = int(match[10]), int(match[11])
    if hours > 23 or minutes > 59:
        raise Invalid(field, f"{text!r} has an offset that is no time of day; write it like +05:30")
    return (hours * 3_600 + minutes * 60) * (-1 if match[9] == "-" else 1)
