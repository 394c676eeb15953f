"""Words: what a trigger says, in plain English, exactly enough to work out its fires from them.

Built from the expanded numbers and never from the text, so that two expressions with the same words have the same
fires: a reader that shares no code with this module proves it (`tests/support/word_reader.py`). The manner tells what
happens when the clocks change: "At …" and "Every hour from … to …" are fixed-time jobs; "Every …" with any other step,
"of every hour" and "whenever the clock shows it" are wildcard jobs, which follow the real clock (`docs/warnings.md`).
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Final

from cronfleet.domain import zones
from cronfleet.domain.calendar import CalendarRule, Mode
from cronfleet.domain.clock_policy import Gap, Repeat
from cronfleet.domain.cron import fields_of
from cronfleet.domain.cron_grammar import CronFields, DayRule
from cronfleet.domain.cron_items import LAST
from cronfleet.domain.dependency import AfterTrigger, after_words
from cronfleet.domain.instant import SECOND, Instant, to_datetime, to_text
from cronfleet.domain.trigger import CronTrigger, IntervalTrigger, OneShotTrigger, Trigger

MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
WEEKDAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
ORDINALS: Final = ("last", "first", "second", "third", "fourth", "fifth")
"""By the number after `#`; 0 is the last one."""

MOST_TIMES_LISTED: Final = 6
MOST_HOURS_LISTED: Final = 12
"""With one minute only."""
FEWEST_IN_STEPS: Final = 5
"""Numbers in equal steps are listed one by one while they are fewer."""
FEWEST_IN_RANGE: Final = 3

_MODES: Final = {
    Mode.EXCLUDE: "not on the holidays of",
    Mode.BUSINESS_DAYS: "only on the business days of",
    Mode.ROLL_FORWARD: "moved on from any other day to the next business day of",
    Mode.ROLL_BACK: "moved back from any other day to the last business day of",
    Mode.NTH_BUSINESS_DAY: "business days by",
}
_REPEATS: Final = {
    Repeat.FIRST: "",
    Repeat.SECOND: "; a time that comes twice fires the second time",
    Repeat.BOTH: "; a time that comes twice fires both times",
}
_UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def words(trigger: Trigger) -> str:
    """The trigger in plain English; raises what `UNCOMPUTABLE` names for one that no longer computes."""
    match trigger:
        case CronTrigger():
            return _cron_words(trigger)
        case IntervalTrigger(every_seconds, anchor_at):
            return f"Every {duration_words(every_seconds)}, counted from {to_text(anchor_at)}"
        case OneShotTrigger(at, _, timezone):
            return f"Once, {moment_words(at, timezone or 'UTC')}" + (f" ({to_text(at)})" if timezone else "")
        case AfterTrigger(within_seconds=seconds):
            return after_words(trigger, duration_words(seconds))


def moment_words(at: Instant, timezone: str) -> str:
    """`on Tuesday 1 December 2026 at 02:00 in Asia/Kolkata`; seconds only where there are any."""
    second = at // SECOND
    segment = zones.load(timezone).segment_at(second)
    try:
        local = to_datetime(at) + timedelta(seconds=segment.offset if segment else 0)
    except OverflowError:  # the zone's clock has left the years 1 to 9999
        return f"at {to_text(at)} in {timezone}"
    clock = local.strftime("%H:%M:%S" if local.second else "%H:%M")
    weekday = WEEKDAYS[local.isoweekday() % 7]
    return f"on {weekday} {local.day} {MONTHS[local.month - 1]} {local.year} at {clock} in {timezone}"


def duration_words(seconds: int) -> str:
    """`hour`, `90 minutes`: in the largest unit that divides it, without a number where that is one."""
    size, name = next((size, name) for size, name in _UNITS if seconds % size == 0)
    return name if seconds == size else f"{seconds // size} {name}s"


def _cron_words(trigger: CronTrigger) -> str:
    fields = fields_of(trigger)
    rule = trigger.calendar
    over_midnight = rule is None and _names_all_days(fields)
    said = time_words(fields.minutes, fields.hours, fields.fixed_time, over_midnight=over_midnight)
    by_number = rule is not None and rule.mode is Mode.NTH_BUSINESS_DAY
    said += _business_day_words(rule.nth, fields.months) if rule and by_number else _day_words(fields)
    if fields.years is not None:
        said += f", in {_listed_numbers(fields.years)}"
    policy = "" if never_changes(trigger.timezone) or not fields.fixed_time else _policy_words(trigger)
    return f"{said}, in {trigger.timezone}{calendar_words(rule) if rule else ''}{policy}"


def _business_day_words(nth: int, months: Sequence[int]) -> str:
    which = {-1: "last", 1: "first"}.get(nth) or ordinal(abs(nth)) + (" last" if nth < 0 else "")
    return f" on the {which} business day of {_month_words(months) or 'the month'}"


def calendar_words(rule: CalendarRule) -> str:
    """What the calendar does to the days; whatever it is, nothing fires in a freeze of the calendar."""
    version = f" (version {rule.version})" if rule.version else ""  # 0 is the newest, until it is saved
    return f"; {_MODES[rule.mode]} calendar {rule.name}{version}"


def never_changes(timezone: str) -> bool:
    """Whether the zone's very name is that of a fixed offset."""
    return timezone in ("UTC", "GMT") or timezone.startswith("Etc/")


def _policy_words(trigger: CronTrigger) -> str:
    """What a fixed-time job does where the clock changes, unless it is the usual: after a gap, once in an overlap."""
    gap = "; a time that the clock skips is left out" if trigger.gap_policy is Gap.SKIP else ""
    return gap + _REPEATS[trigger.repeat_policy]


# --- times of day ----------------------------------------------------------------------------------------------


def time_words(minutes: Sequence[int], hours: Sequence[int], fixed_time: bool, *, over_midnight: bool = False) -> str:
    """The times of day at which a job fires, beginning with a capital.

    `over_midnight`: a stretch of hours may be told over the end of the day, since no day is left out.
    """
    through = over_midnight and _over_midnight(minutes, hours, fixed_time)
    return through or (_fixed_words(minutes, hours) if fixed_time else _wildcard_words(minutes, hours))


def _over_midnight(minutes: Sequence[int], hours: Sequence[int], fixed_time: bool) -> str:
    """`Every hour from 22:00 through midnight to 02:00`; empty for anything else than one such stretch."""
    turned = _turned(hours, 24)
    if turned is hours or (fixed_time and (len(minutes) > 1 or len(hours) <= FEWEST_IN_RANGE)):
        return ""
    every = "Every hour" if fixed_time else _every_words(minutes)
    begin, end = _clock(turned[0], minutes[0]), _clock(turned[-1] - 24, minutes[-1])
    return every and f"{every} from {begin} through midnight to {end}"


def _names_all_days(fields: CronFields) -> bool:
    return fields.days.is_every_day and len(fields.months) == 12 and fields.years is None


def _fixed_words(minutes: Sequence[int], hours: Sequence[int]) -> str:
    alone = len(minutes) == 1
    if alone and len(hours) > FEWEST_IN_RANGE and _step(hours) == 1:
        return f"Every hour from {_clock(hours[0], minutes[0])} to {_clock(hours[-1], minutes[0])}"
    if len(minutes) * len(hours) <= (MOST_HOURS_LISTED if alone else MOST_TIMES_LISTED):
        return f"At {listed(_clock(hour, minute) for hour in hours for minute in minutes)}"
    return f"At {_numbered('minute', minutes)} of {_numbered('hour', hours, _two_digits)}"


def _wildcard_words(minutes: Sequence[int], hours: Sequence[int]) -> str:
    every = _every_words(minutes)
    if len(hours) == 24:
        on_the_hour = "Every hour, on the hour" if tuple(minutes) == (0,) else ""
        return every or on_the_hour or f"{_some_minutes(minutes)} of every hour"
    if every and len(runs := _runs(hours)) <= 2:
        spans = (f"from {_clock(first, 0)} to {_clock(last, minutes[-1])}" for first, last in runs)
        return f"{every} {listed(spans)}"
    if step := _restarting_step(hours, 24):
        if len(minutes) == 1:
            return f"Every {step} hours from {_clock(0, minutes[0])} to {_clock(hours[-1], minutes[0])}"
        return f"{every or _some_minutes(minutes)} of every {ordinal(step)} hour from 00 to {hours[-1]:02}"
    if every or _restarting_step(minutes, 60):
        return f"{every or _some_minutes(minutes)} of {_numbered('hour', hours, _two_digits)}"
    return f"{_fixed_words(minutes, hours)} (whenever the clock shows it)"


def _every_words(minutes: Sequence[int]) -> str:
    """For minutes that go on in the same step over the end of the hour; empty for others."""
    if len(minutes) == 60:
        return "Every minute"
    step = _restarting_step(minutes, 60)
    return f"Every {step} minutes" if step and 60 % step == 0 else ""


def _some_minutes(minutes: Sequence[int]) -> str:
    step = _step(minutes)
    if step > 1 and (len(minutes) >= FEWEST_IN_STEPS or _restarting_step(minutes, 60)):
        return f"Every {step} minutes from minute {minutes[0]} to {minutes[-1]}"
    return f"At {_numbered('minute', minutes)}"


def _restarting_step(numbers: Sequence[int], cycle: int) -> int:
    """The step of `*/n` (n from 2, two numbers at least); 0 for anything else."""
    step = _step(numbers)
    return step if step > 1 and numbers[0] == 0 and numbers[-1] + step >= cycle else 0


# --- days, months, years ---------------------------------------------------------------------------------------


def _day_words(fields: CronFields) -> str:
    days, months = fields.days, fields.months
    if days.is_every_day:
        every_day = " every day" if fields.fixed_time or len(fields.hours) < 24 else ""
        return every_day + _in_months(months)
    month_days, weekdays = restricts_month_days(days), restricts_weekdays(days)
    if not weekdays:
        if len(months) == 1 and days.is_plain and len(days.month_days) == 1:
            return f" on {days.month_days[0]} {MONTHS[months[0] - 1]}"
        return f" on {month_day_words(days)} of {_month_words(months) or 'the month'}"
    if not month_days:
        if days.nth:
            return f" on {weekday_words(days)} of {_month_words(months) or 'the month'}"
        return f" on {weekday_words(days)}{_in_months(months)}"
    return f"{_both_words(days)}{_in_months(months)}"


def _both_words(days: DayRule) -> str:
    month_days = f"{month_day_words(days)} of the month"
    weekdays = weekday_words(days) + (" of the month" if days.nth else "")
    if days.both:
        return f" on {month_days} and also on {weekdays} (both must match)"
    return f" on {month_days} or on {weekdays} (either one is enough)"


def restricts_month_days(days: DayRule) -> bool:
    """Whether the day of month leaves any day out."""
    return len(days.month_days) < 31


def restricts_weekdays(days: DayRule) -> bool:
    """Whether the day of week leaves any day out."""
    return len(days.weekdays) < 7


def month_day_words(days: DayRule) -> str:
    """The days of the month that the rule names: `days 1 to 7 and the last day`."""
    found = [_numbered("day", days.month_days)] if days.month_days else []
    found += [f"the day {n} days before the last day" for n in reversed(days.from_last) if n > 1]
    found += ["the day before the last day"] if 1 in days.from_last else []
    found += ["the last day"] if 0 in days.from_last else []
    found += [f"the weekday nearest to day {day}" for day in days.nearest if day != LAST]
    found += ["the last weekday"] if LAST in days.nearest else []
    return listed(found)


def weekday_words(days: DayRule) -> str:
    """The days of the week that the rule names: `Monday to Friday and the last Sunday`."""
    found = weekday_names(days.weekdays)
    found += [f"the {ORDINALS[n]} {WEEKDAYS[day]}" for day, n in sorted(days.nth, key=_by_place)]
    return listed(found)


def _by_place(pair: tuple[int, int]) -> tuple[int, int]:
    weekday, n = pair
    return n or 6, (weekday - 1) % 7


def weekday_names(weekdays: Iterable[int]) -> list[str]:
    """Days of the week (Sunday is 0) by name, from Monday on, three and more in a row as `Monday to Friday`."""
    from_monday = sorted((day - 1) % 7 for day in weekdays)
    return _ranges(_turned(from_monday, 7), lambda day: WEEKDAYS[(day + 1) % 7])


def _month_words(months: Sequence[int]) -> str:
    """Empty for all twelve."""
    return "" if len(months) == 12 else listed(_ranges(_turned(months, 12), lambda month: MONTHS[(month - 1) % 12]))


def _in_months(months: Sequence[int]) -> str:
    found = _month_words(months)
    return f" in {found}" if found else ""


# --- numbers ---------------------------------------------------------------------------------------------------


def listed(texts: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *head, last = texts
    return f"{', '.join(head)} and {last}" if head else last


def ordinal(number: int) -> str:
    """`2nd`, `11th`, `23rd`."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _numbered(noun: str, numbers: Sequence[int], show: Callable[[int], str] = str) -> str:
    if len(numbers) == 1:
        return f"{noun} {show(numbers[0])}"
    return f"{noun}s {_listed_numbers(numbers, show)}"


def _listed_numbers(numbers: Sequence[int], show: Callable[[int], str] = str) -> str:
    step = _step(numbers)
    if step > 1 and len(numbers) >= FEWEST_IN_STEPS:
        return f"{show(numbers[0])} to {show(numbers[-1])} in steps of {step}"
    return listed(_ranges(numbers, show))


def _ranges(numbers: Sequence[int], show: Callable[[int], str]) -> list[str]:
    found: list[str] = []
    for first, last in _runs(numbers):
        if last - first + 1 >= FEWEST_IN_RANGE:
            found.append(f"{show(first)} to {show(last)}")
        else:
            found += [show(number) for number in range(first, last + 1)]
    return found


def _turned(numbers: Sequence[int], cycle: int) -> Sequence[int]:
    """One stretch over the end of the cycle, such as Friday to Monday, as numbers that go on past the end."""
    runs = _runs(numbers)
    if len(runs) != 2 or runs[1][1] - runs[0][0] != cycle - 1:
        return numbers
    return range(runs[1][0], runs[0][1] + cycle + 1)


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """First and last of each stretch without a hole; `numbers` ascend."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def _step(numbers: Sequence[int]) -> int:
    """The difference that all neighbours have; 0 where there is none."""
    steps = {later - earlier for earlier, later in pairwise(numbers)}
    return steps.pop() if len(steps) == 1 else 0


def _clock(hour: int, minute: int) -> str:
    return f"{hour:02}:{minute:02}"


def _two_digits(number: int) -> str:
    return f"{number:02}"
