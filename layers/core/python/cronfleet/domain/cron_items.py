"""The items of a cron field's list, as both dialects read them: numbers, names, ranges, steps; and how one is refused.

A refusal names the field, the text, its character (counted in the expression as it is shown) and what was meant.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NoReturn

from cronfleet.domain import cron_hints
from cronfleet.domain.errors import Invalid

_ITEM: Final = re.compile(r"(?:(\*)|(\d+|[A-Z]{3})(?:-(\d+|[A-Z]{3}))?)(?:/(\d+))?", re.ASCII)
_FROM_LAST: Final = re.compile(r"L(?:-(\d{1,2}))?", re.ASCII)
_NEAREST: Final = re.compile(r"(\d{1,2}|L)W", re.ASCII)

LAST: Final = 0
"""In `DayRule.nearest` the last day of the month (`LW`), in `DayRule.nth` the last such weekday (`5L`)."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a field holds. `cycle` is how many values it counts through before it begins again; 0: it never does.

    With `sunday_twice` (the fifth field of crontab) `high` is another name of `low`.
    """

    position: int
    name: str
    low: int
    high: int
    cycle: int
    names: Mapping[str, int]
    sunday_twice: bool = False


MINUTE: Final = Kind(0, "minute", 0, 59, 60, {})
HOUR: Final = Kind(1, "hour", 0, 23, 24, {})
MONTH_DAY: Final = Kind(2, "day of month", 1, 31, 31, {})
MONTH: Final = Kind(3, "month", 1, 12, 12, {name: i for i, name in enumerate(cron_hints.MONTHS, 1)})
WEEKDAY: Final = Kind(
    4, "day of week", 0, 7, 7, {name: i for i, name in enumerate(cron_hints.WEEKDAYS)}, sunday_twice=True
)


@dataclass(frozen=True, slots=True)
class Expression:
    """A whole expression as it is shown, its fields, and the index in `shown` at which the first begins."""

    shown: str
    fields: tuple[str, ...]
    start: int = 0

    def items(self, kind: Kind) -> Iterator["Item"]:
        """The entries of a field's list; `Invalid` for an empty one."""
        at = self.start + sum(len(field) + 1 for field in self.fields[: kind.position])
        for text in self.fields[kind.position].split(","):
            item = Item(text, at, kind, self)
            if not text:
                item.refuse("is empty: a list has a value before and after each comma")
            yield item
            at += len(text) + 1

    def numbers(self, kind: Kind) -> tuple[int, ...]:
        """All numbers of a field that holds nothing but numbers."""
        return tuple(sorted({number for item in self.items(kind) for number in item.numbers()}))


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of a field's list, and all that an error about it needs."""

    text: str
    at: int
    kind: Kind
    expression: Expression

    def refuse(self, what: str, meant: str | None = None) -> NoReturn:
        """`Invalid("cron", …)`: this item, what is wrong with it, what was meant."""
        where = f"`{self.expression.shown}`: {self.kind.name} `{self.text}` (character {self.at + 1}) {what}"
        raise Invalid("cron", f"{where}; {meant}" if meant else where)

    def value(self, text: str) -> int:
        """The number that `text`, a number or a name, stands for."""
        kind = self.kind
        number = int(text) if text.isdigit() else kind.names.get(text)
        if number is None:
            self.refuse("is not known here", cron_hints.word(self.text, kind.name))
        if not kind.low <= number <= kind.high:
            meant = cron_hints.out_of_range(number, kind.position, self.expression.fields, kind.low)
            self.refuse(f"is not in {kind.low}–{kind.high}", meant)
        return number

    def numbers(self) -> set[int]:
        """All numbers of `*`, `*/n`, `a`, `a-b`, `a-b/n` or `a/n` (from a to the field's end)."""
        match = _ITEM.fullmatch(self.text.upper())
        if match is None:
            _refuse_shape(self)
        star, first_text, last_text, step_text = match.groups()
        kind = self.kind
        step = int(step_text) if step_text else 1
        if step == 0:
            self.refuse("has a step of 0; a step is a whole number from 1")
        if star:
            return set(range(kind.low, kind.low + kind.cycle if kind.cycle else kind.high + 1, step))
        first = self.value(first_text)
        last = self.value(last_text) if last_text else first
        if step_text and not last_text:
            if kind.sunday_twice:
                self.refuse("is read in three ways by as many libraries", "write the range out, such as `1-5/2`")
            last = kind.high
        return self._span(first, last, step)

    def _span(self, first: int, last: int, step: int) -> set[int]:
        kind = self.kind
        if kind.sunday_twice and first == 7:  # Sunday opens the range, so 7 is not its end too
            first, last = 0, last % 7
        if not kind.cycle:
            if last < first:
                self.refuse("runs backwards", f"did you mean `{last}-{first}`?")
            return set(range(first, last + 1, step))
        if last < first:
            last += kind.cycle
        return {kind.low + (number - kind.low) % kind.cycle for number in range(first, last + 1, step)}


def _refuse_shape(item: Item) -> NoReturn:
    text = item.text
    if "?" in text:
        item.refuse("has a `?`, which only stands for a whole day of month or day of week", "write `*`")
    if re.fullmatch(r"[^/]*/(-.*|\d+[.,]\d*|)", text):
        item.refuse("has no step that can be used; a step is a whole number from 1")
    if text.startswith(("-", "+")) or text.endswith("-"):
        item.refuse("is no range: a range has a number before and after its `-`")
    if text.count("-") > 1:
        item.refuse("has more than one `-`; a range has two ends")
    if re.search(r"[A-Za-z~]", text):
        item.refuse("is not known here", cron_hints.word(text, item.kind.name))
    if re.fullmatch(r"\d+#\d+", text):
        item.refuse("is not known here", "a day of the week with its number, as in `MON#2`, is the fifth field")
    item.refuse("is not a number, a range `a-b`, a step `*/n` or `*`")


@dataclass(frozen=True, slots=True)
class MonthDays:
    """The day-of-month field, as `DayRule` keeps it."""

    plain: tuple[int, ...]
    from_last: tuple[int, ...] = ()
    nearest: tuple[int, ...] = ()


def month_days(expression: Expression) -> MonthDays:
    """Numbers, `L`, `L-n`, `nW` and `LW`."""
    plain: set[int] = set()
    from_last: set[int] = set()
    nearest: set[int] = set()
    for item in expression.items(MONTH_DAY):
        upper = item.text.upper()
        if match := _FROM_LAST.fullmatch(upper):
            days_before = int(match[1]) if match[1] else 0
            if match[1] and not 1 <= days_before <= 30:
                item.refuse("is not in `L-1` to `L-30`", "the last day itself is `L`")
            from_last.add(days_before)
        elif match := _NEAREST.fullmatch(upper):
            nearest.add(LAST if match[1] == "L" else item.value(match[1]))
        else:
            plain |= item.numbers()
    return MonthDays(*(tuple(sorted(found)) for found in (plain, from_last, nearest)))


def nth_number(item: Item, text: str) -> int:
    """Which of a month's weekdays, 1 to 5, `text` after a `#` names."""
    number = int(text)
    if not 1 <= number <= 5:
        item.refuse("is not known here", "a month has a first to a fifth of each weekday: `#1` to `#5`")
    return number
