"""The grammar of cron expressions: text in, numbers out, everything doubtful refused.

Five fields of ASCII, at most 256 characters: minute, hour, day of month, month, day of week. Lists, ranges (also over
the end: `22-2`), steps (counted on over the end: `21-3/2` is 21, 23, 1, 3), names of three letters, `L`, `L-n`, `nW`,
`LW` for the day of month, `d#n` and `dL` for the day of week, `?` for `*` as a whole day field, and macros.

User text never reaches croniter: it takes six fields, random `R`, a megabyte of list, and reads `mon-mon` as every day.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cronfleet.domain import cron_hints
from cronfleet.domain.cron_items import (
    HOUR,
    LAST,
    MINUTE,
    MONTH,
    WEEKDAY,
    Expression,
    Item,
    month_days,
    nth_number,
)
from cronfleet.domain.errors import Invalid

LONGEST_EXPRESSION: Final = 256

MACROS: Final[Mapping[str, str]] = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


class Dialect(StrEnum):
    """Whose rules an expression is read by."""

    CRON = "cron"
    """Five fields, as in this module."""
    AWS = "aws"
    """Six fields, as in `domain/aws_dialect.py`."""


@dataclass(frozen=True, slots=True)
class DayRule:
    """Which days of a month match. Sunday is 0.

    `month_days` are plain numbers; `from_last` holds n for `L-n` (0 for `L`); `nearest` holds n for `nW`;
    `nth` holds (weekday, n) for `d#n`. With `both` a day must match both fields, else either.
    """

    month_days: tuple[int, ...]
    from_last: tuple[int, ...]
    nearest: tuple[int, ...]
    weekdays: tuple[int, ...]
    nth: tuple[tuple[int, int], ...]
    both: bool

    @property
    def is_every_day(self) -> bool:
        """No day of any month is left out."""
        full = (len(self.month_days) == 31, len(self.weekdays) == 7)
        return all(full) if self.both else any(full)

    @property
    def has_two_fields(self) -> bool:
        """Neither field is full, so that both have a say."""
        return len(self.month_days) < 31 and len(self.weekdays) < 7

    @property
    def is_plain(self) -> bool:
        """Numbers only: no `L`, `W` or `#`."""
        return not (self.from_last or self.nearest or self.nth)


@dataclass(frozen=True, slots=True)
class CronFields:
    """An expression expanded to sorted numbers.

    `fixed_time` is Debian's distinction: neither the minute's nor the hour's text starts with `*`. `years` are those
    that the expression names; None: all of them.
    """

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    months: tuple[int, ...]
    days: DayRule
    fixed_time: bool
    years: tuple[int, ...] | None = None


_NTH: Final = re.compile(r"(\d|[A-Z]{3})(?:L|#(\d+))", re.ASCII)


def normalise(text: object) -> str:
    """`text` with single blanks between its fields and none around; refuses what cannot be an expression at all."""
    if not isinstance(text, str):
        raise Invalid("cron", f"must be text with five fields ({cron_hints.FIELDS}), not {type(text).__name__}")
    if len(text) > LONGEST_EXPRESSION:
        raise Invalid("cron", f"is {len(text)} characters long; an expression has at most {LONGEST_EXPRESSION}")
    trimmed = text.strip(" \t\r\n")
    if not trimmed:
        raise Invalid("cron", f"is empty; write five fields ({cron_hints.FIELDS}), such as `0 2 * * *`")
    at = next((at for at, char in enumerate(text) if not (" " <= char <= "~" or char in "\t\r\n")), None)
    if at is not None:
        meant = cron_hints.in_ascii(text)
        place = cron_hints.character(text, at)
        raise Invalid("cron", f"{place} is not plain ASCII text" + (f"; {meant}" if meant else ""))
    if "\n" in trimmed or "\r" in trimmed:
        raise Invalid("cron", "has more than one line; each schedule has one expression of its own")
    return " ".join(trimmed.split())


def expand(text: str) -> CronFields:
    """The numbers that `text` stands for; `Invalid("cron", …)` says which character is wrong and what was meant."""
    shown = normalise(text)
    fields = tuple(_five_fields(shown).split(" "))
    expression = Expression(shown, fields)
    return CronFields(
        minutes=expression.numbers(MINUTE),
        hours=expression.numbers(HOUR),
        months=expression.numbers(MONTH),
        days=_day_rule(shown, fields),
        fixed_time=is_fixed_time(fields),
    )


def is_fixed_time(fields: Sequence[str]) -> bool:
    """Debian's distinction: neither the minute's nor the hour's text starts with `*`."""
    return not (fields[0].startswith("*") or fields[1].startswith("*"))


def _five_fields(expression: str) -> str:
    other = cron_hints.not_a_cron(expression)
    if other:
        raise Invalid("cron", f"`{expression}`: {other}")
    if expression.startswith("@"):
        meaning = MACROS.get(expression.lower())
        if meaning is None:
            raise Invalid("cron", f"`{expression}` is not known; {cron_hints.macro(expression, tuple(MACROS))}")
        return meaning
    fields = expression.split(" ")
    if len(fields) != 5:
        count = f"has {len(fields)} field{'s' * (len(fields) > 1)}, not five ({cron_hints.FIELDS})"
        count += cron_hints.odd_field(fields, 5)
        meant = cron_hints.field_count(fields)
        raise Invalid("cron", f"`{expression}` {count}" + (f"; {meant}" if meant else ""))
    return expression


def _day_rule(shown: str, fields: tuple[str, ...]) -> DayRule:
    month_text, weekday_text = ("*" if text == "?" else text for text in (fields[2], fields[4]))
    expression = Expression(shown, (*fields[:2], month_text, fields[3], weekday_text))
    in_month = month_days(expression)
    weekdays: set[int] = set()
    nth: set[tuple[int, int]] = set()
    for item in expression.items(WEEKDAY):
        _weekday(item, weekdays, nth)
    return DayRule(
        month_days=in_month.plain,
        from_last=in_month.from_last,
        nearest=in_month.nearest,
        weekdays=tuple(sorted(weekdays)),
        nth=tuple(sorted(nth)),
        # Debian's cron looks at the first character alone, so `*/2` counts as a star.
        both=month_text.startswith("*") or weekday_text.startswith("*"),
    )


def _weekday(item: Item, weekdays: set[int], nth: set[tuple[int, int]]) -> None:
    match = _NTH.fullmatch(item.text.upper())
    if match is None:
        if "#" in item.text:
            item.refuse("is not known here", cron_hints.after_hash(item.text))
        weekdays |= item.numbers()
        return
    number = nth_number(item, match[2]) if match[2] else LAST
    nth.add((item.value(match[1]) % 7, number))
