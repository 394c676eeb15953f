"""The expressions of AWS EventBridge Scheduler, for those who come from there: `cron(…)`, `rate(…)` and `at(…)`.

Their rules are their own, as the user guides have them (docs.aws.amazon.com, read in November 2026:
scheduler/latest/UserGuide/schedule-types.html and eventbridge/latest/userguide/eb-cron-expressions.html):

- `cron(minute hour day-of-month month day-of-week year)`: always six fields, years 1970 to 2199. Exactly one of the two
  day fields is `?`. Days of the week count from 1 = SUN to 7 = SAT; they know `L` (alone: Saturday; `6L`: the last
  Friday of the month) and one `#`, and no `/`.
- `rate(value unit)`: minutes, hours or days of 24 hours, singular or plural: an interval.
- `at(yyyy-mm-ddThh:mm:ss)`: once, on the clock of the schedule's zone.
- A `cron(…)` whose time a change of the clock skips does not fire; one whose time comes twice fires once.

Where that guide is silent, the rules of `domain/cron_grammar.py` hold: ranges over the end, steps, names in any case,
`L-n`, several `W`, and that a job whose minute or hour starts with `*` fires at each real minute that matches.
"""

import re
from dataclasses import dataclass
from typing import Final, NoReturn

from cronfleet.domain import cron_hints
from cronfleet.domain.cron_grammar import CronFields, DayRule, is_fixed_time, normalise
from cronfleet.domain.cron_items import (
    HOUR,
    LAST,
    MINUTE,
    MONTH,
    MONTH_DAY,
    Expression,
    Item,
    Kind,
    month_days,
    nth_number,
)
from cronfleet.domain.errors import Invalid
from cronfleet.domain.time_text import parse_moment

FIRST_YEAR: Final = 1970
LAST_YEAR: Final = 2199
FIELDS: Final = "minute, hour, day of month, month, day of week, year"

_WEEKDAY: Final = Kind(4, "day of week", 1, 7, 7, {name: i for i, name in enumerate(cron_hints.WEEKDAYS, 1)})
_YEAR: Final = Kind(5, "year", FIRST_YEAR, LAST_YEAR, 0, {})
_EVERY_MONTH_DAY: Final = tuple(range(1, 32))
_EVERY_WEEKDAY: Final = tuple(range(7))
_SATURDAY: Final = 6

_WRAPPED: Final = re.compile(r"(cron|rate|at)\((.*)\)", re.ASCII)
_LOOKS_WRAPPED: Final = re.compile(r"(cron|rate|at)\s*\(", re.ASCII | re.IGNORECASE)
_RATE: Final = re.compile(r"(\d{1,9}) (minute|hour|day)s?", re.ASCII)
_AT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", re.ASCII)
_NTH: Final = re.compile(r"(\d|[A-Z]{3})(?:L|#(\d+))", re.ASCII)


@dataclass(frozen=True, slots=True)
class Rate:
    """`rate(…)`: an interval, as `parse_interval` reads it."""

    every: str


@dataclass(frozen=True, slots=True)
class At:
    """`at(…)`: a moment without an offset, as `parse_moment` reads it."""

    moment: str


def is_wrapped(text: str) -> bool:
    """Whether `text` looks like one of this dialect's three forms, right or wrong."""
    return bool(_LOOKS_WRAPPED.match(text))


def read(text: object) -> str | Rate | At:
    """One of the three forms, or a bare six fields: what it stands for; a cron as its own text, blanks put right.

    `Invalid("cron", …)` for anything else. What stands inside `cron(…)` is not judged here.
    """
    shown = normalise(text)
    if not is_wrapped(shown):
        return shown
    match = _WRAPPED.fullmatch(shown)
    if match is None:
        _refuse_wrapping(shown)
    form, inside = match[1], match[2].strip()
    if form == "cron":
        return f"cron({inside})"
    return _rate(shown, inside) if form == "rate" else _at(shown, inside)


def _refuse_wrapping(shown: str) -> NoReturn:
    form = _LOOKS_WRAPPED.match(shown)
    name = form[1].lower() if form else ""
    if not shown.endswith(")"):
        rest = shown.rpartition(")")[2].strip() if ")" in shown else ""
        what = f"has no closing bracket (character {len(shown) + 1})"
        if rest:
            what = f"goes on after its closing bracket with `{rest}` (character {len(shown) - len(rest) + 1})"
        if rest.startswith("#"):
            raise Invalid("cron", f"`{shown}` {what}; {cron_hints.COMMENT}")
        raise Invalid("cron", f"`{shown}` {what}; the form is `{name}(…)` and nothing else")
    meant = cron_hints.did_you_mean(re.sub(r"^\w+\s*", name, shown))
    said = f"`{shown}`: the form is `{name}(…)` (character 1), in small letters and without a blank before the bracket"
    raise Invalid("cron", f"{said}; {meant}" if meant else said)


def _rate(shown: str, inside: str) -> Rate:
    match = _RATE.fullmatch(inside)
    if match is None:
        value, _, unit = inside.partition(" ")
        meant = "a whole number, a blank, and minutes, hours or days: `rate(5 minutes)`"
        if unit.lower().startswith("second"):
            meant = f'seconds are an interval trigger: {{"every": "{value}s"}}'
        raise Invalid("cron", f"`{shown}`: `{inside}` (character 6) is no rate; {meant}")
    if not int(match[1]):
        raise Invalid("cron", f"`{shown}`: the value `{match[1]}` (character 6) must be at least 1")
    return Rate(f"{int(match[1])}{match[2][0]}")


def _at(shown: str, inside: str) -> At:
    if not _AT.fullmatch(inside):
        meant = "its form is `at(yyyy-mm-ddThh:mm:ss)`, on the clock of `timezone`"
        if re.search(r"(Z|[+-]\d\d:?\d\d)$", inside):
            meant = f'a time with an offset is a one-shot trigger: {{"at": "{inside}"}}'
        raise Invalid("cron", f"`{shown}`: `{inside}` (character 4) is no local time; {meant}")
    try:
        parse_moment(inside, "cron")
    except Invalid as error:
        raise Invalid("cron", f"`{shown}` (character 4): {error.reason}") from None
    return At(inside)


def expand(text: str) -> CronFields:
    """The numbers that `cron(…)`, or a bare six fields, stand for; `Invalid("cron", …)` says what is wrong."""
    shown = normalise(text)
    inside, start = (shown[5:-1], 5) if shown.startswith("cron(") and shown.endswith(")") else (shown, 0)
    fields = tuple(inside.split(" "))
    other = cron_hints.not_a_cron(inside)
    if other:
        raise Invalid("cron", f"`{shown}`: {other}")
    if len(fields) != 6:
        count = f"has {len(fields)} field{'s' * (len(fields) > 1)}, not the six of the AWS dialect ({FIELDS})"
        count += cron_hints.odd_field(fields, 6, start)
        meant = cron_hints.aws_field_count(fields)
        raise Invalid("cron", f"`{shown}` {count}" + (f"; {meant}" if meant else ""))
    expression = Expression(shown, fields, start)
    years = expression.numbers(_YEAR)
    return CronFields(
        minutes=expression.numbers(MINUTE),
        hours=expression.numbers(HOUR),
        months=expression.numbers(MONTH),
        days=_day_rule(expression),
        fixed_time=is_fixed_time(fields),
        years=None if fields[5] == "*" else years,
    )


def _day_rule(expression: Expression) -> DayRule:
    month_text, weekday_text = expression.fields[2], expression.fields[4]
    if (month_text == "?") == (weekday_text == "?"):
        meant = cron_hints.aws_day_fields(expression.fields)
        if month_text == "?":
            next(expression.items(MONTH_DAY)).refuse("is one `?` too many: one of the two day fields names days", meant)
        next(expression.items(_WEEKDAY)).refuse(
            f"must be `?` in the AWS dialect, as the day of month is `{month_text}`, or the other way round", meant
        )
    if weekday_text == "?":
        in_month = month_days(expression)
        return DayRule(in_month.plain, in_month.from_last, in_month.nearest, _EVERY_WEEKDAY, (), both=True)
    weekdays, nth = _weekdays(expression)
    return DayRule(_EVERY_MONTH_DAY, (), (), weekdays, nth, both=True)


def _weekdays(expression: Expression) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    weekdays: set[int] = set()
    nth: set[tuple[int, int]] = set()
    for item in expression.items(_WEEKDAY):
        _weekday(item, weekdays, nth)
    return tuple(sorted(weekdays)), tuple(sorted(nth))


def _weekday(item: Item, weekdays: set[int], nth: set[tuple[int, int]]) -> None:
    """Sunday is 1 in the text and 0 in the sets."""
    upper = item.text.upper()
    if upper == "L":
        weekdays.add(_SATURDAY)
        return
    match = _NTH.fullmatch(upper)
    if match is None:
        if "#" in item.text:
            item.refuse("is not known here", cron_hints.after_hash(item.text))
        if "/" in item.text:
            item.refuse("has a step, which the day of week does not have in this dialect", "list the days: `2,4,6`")
        weekdays |= {number - 1 for number in item.numbers()}
        return
    if match[2] and "," in item.expression.fields[item.kind.position]:
        item.refuse("stands in a list", "`#` is the only value of its field in the AWS dialect; make two schedules")
    number = nth_number(item, match[2]) if match[2] else LAST
    nth.add((item.value(match[1]) - 1, number))
