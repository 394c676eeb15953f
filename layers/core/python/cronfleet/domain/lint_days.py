"""Checks of the day fields: either or both, and dates that never or seldom come."""

from calendar import monthrange
from collections.abc import Iterator
from itertools import islice
from typing import Final

from cronfleet.domain.cron import days_of_shape
from cronfleet.domain.cron_grammar import DayRule
from cronfleet.domain.cron_words import (
    MONTHS,
    listed,
    month_day_words,
    restricts_month_days,
    restricts_weekdays,
    weekday_words,
)
from cronfleet.domain.lint_cron import CronLook, date_of
from cronfleet.domain.warning import Warning, WarningCode  # noqa: A004 - the word that callers see

LONGEST: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
"""The most days that each month ever has."""
MONTHS_SHOWN: Final = 2
LOOK_AHEAD_MONTHS: Final = 12 * 9
"""Eight years may lie between two leap days."""


def day_fields(look: CronLook) -> Iterator[Warning]:
    """Both day fields given: either one is enough, unless one begins with `*`."""
    days = look.fields.days
    if days.both:
        if _restricts_both(days):
            yield Warning(WarningCode.DAY_BOTH, _both(look, days))
    else:
        yield Warning(WarningCode.DAY_EITHER, _every_day(days) if days.is_every_day else _either(look, days))


def _restricts_both(days: DayRule) -> bool:
    return restricts_month_days(days) and restricts_weekdays(days)


def _both(look: CronLook, days: DayRule) -> str:
    return (
        "One of the two day fields begins with `*`, so both must match, the day of month "
        f"({month_day_words(days)}) and the day of week ({weekday_words(days)}); next on {look.next_days}. "
        "To let either one be enough, write its numbers out without `*`"
    )


def _every_day(days: DayRule) -> str:
    full, other = ("day of week", "day of month") if restricts_month_days(days) else ("day of month", "day of week")
    return (
        f"Day of month and day of week are both given, and either one is enough. The {full} names every day, so the "
        f"{other} decides nothing; write `*` for the {full} if the {other} is to decide"
    )


def _either(look: CronLook, days: DayRule) -> str:
    return (
        f"Day of month and day of week are both given, and either one is enough: it fires on {month_day_words(days)} "
        f"of the month, and on {weekday_words(days)} too, whatever the date; next on {look.next_days}. {_meant(days)}"
    )


def _meant(days: DayRule) -> str:
    """For a week of the month and one weekday: the nth such day, probably."""
    first = days.month_days[0] if days.month_days else 0
    is_week = first % 7 == 1 and first <= 22 and days.month_days == tuple(range(first, first + 7))
    if not (is_week and len(days.weekdays) == 1 and days.is_plain):
        return "For only one of them, write `*` for the other"
    name, n = weekday_words(days), first // 7 + 1
    return (
        f"For the {name} of that week alone, write `*` for the day of month and `{name[:3].upper()}#{n}` for the other"
    )


def dates(look: CronLook) -> Iterator[Warning]:
    """Dates that never or seldom come, and months that are left out."""
    fields = look.fields
    if len(fields.months) < 12:
        yield from _never(look)
    if not (fields.days.both and _restricts_both(fields.days)):
        yield from _leap_day(look)
        yield from _fifth(look)
    yield from _skipped(look)


def _never(look: CronLook) -> Iterator[Warning]:
    """Numbers that are written for themselves: what a step comes by is no date that was meant."""
    months = look.fields.months
    missing = [f"{day} {MONTHS[month - 1]}" for month in months for day in _written(look) if day > LONGEST[month - 1]]
    for before in look.fields.days.from_last:
        missing += [f"`L-{before}` in {MONTHS[month - 1]}" for month in months if before >= LONGEST[month - 1]]
    if missing:
        last = "weekday of each month write `LW`" if "W" in look.texts[2].upper() else "day of each month write `L`"
        which = "is no date of any year" if len(missing) == 1 else "are no dates of any year"
        yield Warning(
            WarningCode.DATE_NEVER,
            f"{listed(missing)} {which}, so nothing fires for {'it' if len(missing) == 1 else 'them'}; "
            f"for the last {last}",
        )


def _written(look: CronLook) -> list[int]:
    """The days of the month that stand there as numbers (`30`, `30W`), or in a range from 29 on."""
    found = set()
    for item in look.texts[2].upper().split(","):
        first, _, last = item.removesuffix("W").partition("-")
        if first.isdigit() and ((last.isdigit() and int(first) >= 29) or not last):
            found |= set(range(int(first), int(last or first) + 1))
    return sorted(found)


def _leap_day(look: CronLook) -> Iterator[Warning]:
    days = look.fields.days
    if look.fields.months == (2,) and not restricts_weekdays(days) and not days_in_month_of(days, 28):
        yield Warning(
            WarningCode.DATE_SELDOM,
            f"Only leap years have 29 February; next on {look.next_days}. For the last day of every February write `L`",
        )


def _fifth(look: CronLook) -> Iterator[Warning]:
    """Only a fifth weekday, and nothing else that every month has."""
    days = look.fields.days
    if days.nth and all(n == 5 for _, n in days.nth) and not days.weekdays and not restricts_month_days(days):
        fifth = weekday_words(days).replace("the fifth", "a fifth")
        yield Warning(
            WarningCode.DATE_SELDOM,
            f"Not every month has {fifth}: four or five a year have each, nothing fires in the others; "
            f"next on {look.next_days}. For the last one of each month write `L` instead of `#5`",
        )


def days_in_month_of(days: DayRule, length: int) -> bool:
    """Whether some month of this length has a day that the rule names."""
    return any(days_of_shape(days, length, weekday) for weekday in range(7))


def _skipped(look: CronLook) -> Iterator[Warning]:
    """Day 29, 30 or 31 as a number of its own: months that do not have it are left out."""
    months = look.fields.months
    ends = _ends_of_month(look)
    if len(months) < 12:
        ends = [day for day in ends if day == 29]  # what a named month never has is said as such
    if not ends or months == (2,):
        return
    short = [month for month in months if ends[-1] > _shortest(month)]
    if short:
        names = listed(MONTHS[month - 1] + " (but in leap years)" * (ends[-1] == 29) for month in short)
        ahead = listed(islice(_months_without(look, ends[-1]), MONTHS_SHOWN))
        last = "LW" if "W" in look.texts[2].upper() else "L"
        before = ends[-1] - 1
        what = f"`L-{before}`" if before in look.fields.days.from_last else f"day {ends[-1]}"
        yield Warning(
            WarningCode.MONTHS_SKIPPED,
            f"Not every month has {ends[-1]} days: {what} is left out in {names}; next in {ahead}. "
            f"For the last {'weekday' if last == 'LW' else 'day'} of each month write `{last}`",
        )


def _shortest(month: int) -> int:
    return 28 if month == 2 else LONGEST[month - 1]


def _ends_of_month(look: CronLook) -> list[int]:
    """29, 30 and 31 where they are written by themselves: a range or a step that comes by means no month's end."""
    numbers = _written(look)
    if 28 in numbers:
        return []
    numbers += [before + 1 for before in look.fields.days.from_last]  # `L-30` needs a month of 31 days
    return sorted(number for number in numbers if number >= 29)


def _months_without(look: CronLook, day: int) -> Iterator[str]:
    """The next months among those named that do not have this day."""
    start = date_of(look.wall(look.after))
    first = start.year * 12 + start.month - 1
    for number in range(first, first + LOOK_AHEAD_MONTHS):
        year, month = divmod(number, 12)
        if month + 1 in look.fields.months and day > monthrange(year, month + 1)[1]:
            yield f"{MONTHS[month]} {year}"
