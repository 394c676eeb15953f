"""A reader of the words that a cron expression is put into: English in, the minutes and days it names out.

Shares no code with the product, and takes the words at their word: what it does not know by heart it refuses. Whoever
reads a sentence as this reader does knows every fire, so two expressions with the same words have the same fires.
"""

import re
from calendar import day_name, month_name, monthrange
from dataclasses import dataclass
from datetime import date

MONTHS = list(month_name)[1:]
WEEKDAYS = list(day_name)
PLACES = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": 0}

NUMBERS = r"\d+(?:(?:, | and | to )\d+)*(?: in steps of \d+)?"
NAMES = r"(?:{0})(?:(?:, | and | to )(?:{0}))*"
MONTH_NAMES = NAMES.format("|".join(MONTHS))
DAY_ITEM = (
    rf"days? {NUMBERS}|the day \d+ days before the last day|the day before the last day|the last day|the last weekday"
    r"|the weekday nearest to day \d+"
)
DAY_LIST = rf"(?:{DAY_ITEM})(?:(?:, | and )(?:{DAY_ITEM}))*"
NTH = rf"the (?:{'|'.join(PLACES)}) (?:{'|'.join(WEEKDAYS)})"
WEEK_ITEM = rf"{NTH}|{'|'.join(WEEKDAYS)}"
WEEK_LIST = rf"(?:{WEEK_ITEM})(?:(?:, | and | to )(?:{WEEK_ITEM}))*"
SENTENCE = re.compile(
    r"(?P<time>(?:At|Every) .*?)(?P<wildcard> \(whenever the clock shows it\))?"
    rf"(?P<days>|| every day| on \d+ (?:{'|'.join(MONTHS)})"
    rf"| on {DAY_LIST} of (?:the month|{MONTH_NAMES})| on {WEEK_LIST}(?: of (?:the month|{MONTH_NAMES}))?"
    rf"| on {DAY_LIST} of the month (?:or|and also) on {WEEK_LIST}(?: of the month)?"
    r" \((?:either one is enough|both must match)\))"
    rf"(?P<months>| in {MONTH_NAMES})(?P<years>|, in {NUMBERS}), in (?P<zone>[A-Z][\w+/-]*)"
    r"(?P<gap>|; a time that the clock skips is left out)"
    r"(?P<overlap>|; a time that comes twice fires (?:the second time|both times))"
)


@dataclass(frozen=True)
class Read:
    """What a sentence says."""

    minutes_of_day: frozenset[int]
    fixed_time: bool
    days: str
    months: frozenset[int]
    years: frozenset[int] | None
    zone: str
    gap: str
    overlap: str

    def names(self, day: date) -> bool:
        """Whether it fires on this day."""
        if self.years is not None and day.year not in self.years:
            return False
        return day.month in self.months and _names_day(self.days, day)


def read(sentence: str) -> Read:
    """What `sentence` says; raises `ValueError` for one that is not put as the reader has learnt it."""
    match = SENTENCE.fullmatch(sentence)
    if match is None:
        raise ValueError(f"no sentence that can be read: {sentence}")
    minutes, follows_the_clock = _times(match["time"])
    days, of_months = _split_months(match["days"])
    months = of_months or match["months"].removeprefix(" in ")
    return Read(
        minutes_of_day=frozenset(minutes),
        fixed_time=not (follows_the_clock or match["wildcard"]),
        days=days,
        months=frozenset(_named(months, MONTHS, 1)) if months else frozenset(range(1, 13)),
        years=frozenset(_numbers(match["years"].removeprefix(", in "))) if match["years"] else None,
        zone=match["zone"],
        gap="skip" if match["gap"] else "after",
        overlap={"": "first", "the second time": "second", "both times": "both"}[
            match["overlap"].removeprefix("; a time that comes twice fires ")
        ],
    )


def _split_months(days: str) -> tuple[str, str]:
    """` on day 1 of January` as (day 1, January), ` on Monday` as (Monday, nothing)."""
    text = days.removeprefix(" on ")
    if match := re.fullmatch(rf"(\d+) ({'|'.join(MONTHS)})", text):
        return f"day {match[1]}", match[2]
    if match := re.fullmatch(rf"(.*) of ({MONTH_NAMES})", text):
        return match[1], match[2]
    return text.strip(), ""


# --- times of day ----------------------------------------------------------------------------------------------


def _times(text: str) -> tuple[set[int], bool]:
    """Minutes of the day, and whether a job put like that follows the real clock."""
    if match := re.fullmatch(r"At ((?:\d\d:\d\d(?:, | and )?)+)", text):
        return {_minute(clock) for clock in re.findall(r"\d\d:\d\d", match[1])}, False
    if match := re.fullmatch(r"Every hour from (\d\d:\d\d) to (\d\d:\d\d)", text):
        return set(range(_minute(match[1]), _minute(match[2]) + 1, 60)), False
    if match := re.fullmatch(r"Every (\d+) hours from (\d\d:\d\d) to (\d\d:\d\d)", text):
        return set(range(_minute(match[2]), _minute(match[3]) + 1, int(match[1]) * 60)), True
    if match := re.fullmatch(r"Every (hour|minute|\d+ minutes) from (\d\d:\d\d) through midnight to (\d\d:\d\d)", text):
        step = {"hour": 60, "minute": 1}.get(match[1]) or int(match[1].split()[0])
        found = range(_minute(match[2]), _minute(match[3]) + 1441, step)
        return {at % 1440 for at in found}, match[1] != "hour"
    if text == "Every hour, on the hour":
        return set(range(0, 1440, 60)), True
    return _minutes_and_hours(text)


def _minutes_and_hours(text: str) -> tuple[set[int], bool]:
    if match := re.fullmatch(rf"At minutes? ({NUMBERS}) of hours? ({NUMBERS})", text):
        return _crossed(_numbers(match[1]), _numbers(match[2])), False
    minute = rf"(At minutes? {NUMBERS}|Every minute|Every \d+ minutes(?: from minute \d+ to \d+)?)"
    if match := re.fullmatch(minute + rf"(?:| of every hour| of hours? ({NUMBERS}))", text):
        return _crossed(_every(match[1]), _numbers(match[2]) if match[2] else range(24)), True
    if match := re.fullmatch(minute + r" of every (\d+)(?:st|nd|rd|th) hour from 00 to (\d\d)", text):
        return _crossed(_every(match[1]), range(0, int(match[3]) + 1, int(match[2]))), True
    spans = r"((?:from \d\d:\d\d to \d\d:\d\d(?: and )?)+)"
    if match := re.fullmatch(rf"Every (\d+ )?minutes? {spans}", text):
        step = int(match[1] or 1)
        found = re.findall(r"from (\d\d:\d\d) to (\d\d:\d\d)", match[2])
        return {at for first, last in found for at in range(_minute(first), _minute(last) + 1, step)}, True
    raise ValueError(f"no times that can be read: {text}")


def _every(text: str) -> set[int]:
    if text.startswith("At "):
        return _numbers(re.sub(r"^At minutes? ", "", text))
    match = re.fullmatch(r"Every (\d+ )?minutes?(?: from minute (\d+) to (\d+))?", text)
    assert match is not None
    return set(range(int(match[2] or 0), int(match[3] or 59) + 1, int(match[1] or 1)))


def _crossed(minutes, hours) -> set[int]:
    return {hour * 60 + minute for hour in hours for minute in minutes}


def _minute(clock: str) -> int:
    hour, minute = clock.split(":")
    return int(hour) * 60 + int(minute)


def _numbers(text: str) -> set[int]:
    if match := re.fullmatch(r"(\d+) to (\d+) in steps of (\d+)", text):
        return set(range(int(match[1]), int(match[2]) + 1, int(match[3])))
    found: set[int] = set()
    for item in re.split(r", | and ", text):
        first, _, last = item.partition(" to ")
        found |= set(range(int(first), int(last or first) + 1))
    return found


# --- days ------------------------------------------------------------------------------------------------------


def _names_day(days: str, day: date) -> bool:
    if days in ("", "every day"):
        return True
    plain = days.replace(" of the month", "")
    if match := re.fullmatch(r"(.*) or on (.*) \(either one is enough\)", plain):
        return _of_month(match[1], day) or _of_week(match[2], day)
    if match := re.fullmatch(r"(.*) and also on (.*) \(both must match\)", plain):
        return _of_month(match[1], day) and _of_week(match[2], day)
    return _of_month(plain, day) if re.fullmatch(DAY_LIST, plain) else _of_week(plain, day)


def _of_month(text: str, day: date) -> bool:
    length = monthrange(day.year, day.month)[1]
    return any(_is_item(item, day, length) for item in re.findall(DAY_ITEM, text))


def _is_item(item: str, day: date, length: int) -> bool:
    if match := re.fullmatch(r"the day (\d+) days before the last day", item):
        return day.day == length - int(match[1])
    if item == "the day before the last day":
        return day.day == length - 1
    if item == "the last day":
        return day.day == length
    if item == "the last weekday":
        return day.day == max(n for n in range(1, length + 1) if day.replace(day=n).weekday() < 5)
    if match := re.fullmatch(r"the weekday nearest to day (\d+)", item):
        wanted = int(match[1])
        if wanted > length:
            return False
        workdays = [n for n in range(1, length + 1) if day.replace(day=n).weekday() < 5]
        return day.day == min(workdays, key=lambda n: abs(n - wanted))
    return day.day in _numbers(re.sub(r"^days? ", "", item))


def _of_week(text: str, day: date) -> bool:
    place, length = (day.day - 1) // 7 + 1, monthrange(day.year, day.month)[1]
    for item in re.findall(NTH, text):
        _, which, name = item.split()
        if name == WEEKDAYS[day.weekday()] and PLACES[which] in (place, 0 if day.day + 7 > length else -1):
            return True
    plain = re.sub(rf"(?:, | and )?{NTH}", "", text)
    return bool(plain) and day.weekday() in _named(plain, WEEKDAYS, 0)


def _named(text: str, names: list[str], low: int) -> set[int]:
    """`Friday to Monday and Wednesday` as numbers: a range may go over the end."""
    found: set[int] = set()
    for item in re.split(r", | and ", text):
        first, _, last = item.partition(" to ")
        begin, end = names.index(first), names.index(last or first)
        found |= {low + number % len(names) for number in range(begin, (end + len(names) if end < begin else end) + 1)}
    return found
