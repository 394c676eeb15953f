"""The grammar of cron expressions: text in, numbers out, everything doubtful refused.

Five fields of ASCII, at most 256 characters: minute, hour, day of month, month, day of week. Lists, ranges (also over
the end: `22-2`), steps (counted on over the end: `21-3/2` is 21, 23, 1, 3), names of three letters, `L`, `L-n`, `nW`,
`LW` for the day of month, `d#n` and `dL` for the day of week, `?` for `*` as a whole day field, and macros.

User text never reaches croniter: it takes six fields, random `R`, a megabyte of list, and reads `mon-mon` as every day.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NoReturn

from cronfleet.domain import cron_hints
from cronfleet.domain.errors import Invalid

LONGEST_EXPRESSION: Final = 256
LAST: Final = 0
"""In `DayRule.nearest` the last day of the month (`LW`), in `DayRule.nth` the last such weekday (`5L`)."""

MACROS: Final[Mapping[str, str]] = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


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
    def is_plain(self) -> bool:
        """Numbers only: no `L`, `W` or `#`."""
        return not (self.from_last or self.nearest or self.nth)


@dataclass(frozen=True, slots=True)
class CronFields:
    """An expression expanded to sorted numbers.

    `fixed_time` is Debian's distinction: neither the minute's nor the hour's text starts with `*`.
    """

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    months: tuple[int, ...]
    days: DayRule
    fixed_time: bool


@dataclass(frozen=True, slots=True)
class _Kind:
    position: int
    name: str
    low: int
    high: int
    names: Mapping[str, int]
    cycle: int


_MINUTE = _Kind(0, "minute", 0, 59, {}, 60)
_HOUR = _Kind(1, "hour", 0, 23, {}, 24)
_MONTH_DAY = _Kind(2, "day of month", 1, 31, {}, 31)
_MONTH = _Kind(3, "month", 1, 12, {name: i for i, name in enumerate(cron_hints.MONTHS, 1)}, 12)
_WEEKDAY = _Kind(4, "day of week", 0, 7, {name: i for i, name in enumerate(cron_hints.WEEKDAYS)}, 7)

_ITEM: Final = re.compile(r"(?:(\*)|(\d+|[A-Z]{3})(?:-(\d+|[A-Z]{3}))?)(?:/(\d+))?", re.ASCII)
_FROM_LAST: Final = re.compile(r"L(?:-(\d{1,2}))?", re.ASCII)
_NEAREST: Final = re.compile(r"(\d{1,2}|L)W", re.ASCII)
_NTH: Final = re.compile(r"(\d|[A-Z]{3})(?:L|#(\d+))", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Item:
    """One entry of a field's list, and all that an error about it needs."""

    text: str
    at: int
    kind: _Kind
    expression: str
    fields: tuple[str, ...]

    def refuse(self, what: str, meant: str | None = None) -> NoReturn:
        where = f"`{self.expression}`: {self.kind.name} `{self.text}` (character {self.at + 1}) {what}"
        raise Invalid("cron", f"{where}; {meant}" if meant else where)

    def value(self, text: str) -> int:
        """The number that `text`, a number or a name, stands for."""
        number = int(text) if text.isdigit() else self.kind.names.get(text)
        if number is None:
            self.refuse("is not known here", cron_hints.word(self.text, self.kind.name))
        if not self.kind.low <= number <= self.kind.high:
            meant = cron_hints.out_of_range(number, self.kind.position, self.fields)
            self.refuse(f"is not in {self.kind.low}–{self.kind.high}", meant)
        return number


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
    expression = normalise(text)
    fields = tuple(_five_fields(expression).split(" "))
    minutes, hours, months = (_numbers(_items(expression, fields, kind)) for kind in (_MINUTE, _HOUR, _MONTH))
    return CronFields(
        minutes=minutes,
        hours=hours,
        months=months,
        days=_day_rule(expression, fields),
        fixed_time=not (fields[0].startswith("*") or fields[1].startswith("*")),
    )


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
        meant = cron_hints.field_count(fields)
        raise Invalid("cron", f"`{expression}` {count}" + (f"; {meant}" if meant else ""))
    return expression


def _items(expression: str, fields: tuple[str, ...], kind: _Kind) -> Iterator[_Item]:
    at = sum(len(field) + 1 for field in fields[: kind.position])
    for text in fields[kind.position].split(","):
        item = _Item(text, at, kind, expression, fields)
        if not text:
            item.refuse("is empty: a list has a value before and after each comma")
        yield item
        at += len(text) + 1


def _numbers(items: Iterator[_Item]) -> tuple[int, ...]:
    return tuple(sorted({number for item in items for number in _range(item)}))


def _range(item: _Item) -> set[int]:
    """All numbers of `*`, `*/n`, `a`, `a-b`, `a-b/n` or `a/n` (from a to the field's end)."""
    match = _ITEM.fullmatch(item.text.upper())
    if match is None:
        _refuse_shape(item)
    star, first_text, last_text, step_text = match.groups()
    kind = item.kind
    step = int(step_text) if step_text else 1
    if step == 0:
        item.refuse("has a step of 0; a step is a whole number from 1")
    if star:
        return set(range(kind.low, kind.low + kind.cycle, step))
    first = item.value(first_text)
    last = item.value(last_text) if last_text else first
    if step_text and not last_text:
        if kind is _WEEKDAY:
            item.refuse("is read in three ways by as many libraries", "write the range out, such as `1-5/2`")
        last = kind.high
    return _span(kind, first, last, step)


def _span(kind: _Kind, first: int, last: int, step: int) -> set[int]:
    if kind is _WEEKDAY and first == 7:  # Sunday opens the range, so 7 is not its end too
        first, last = 0, last % 7
    if last < first:
        last += kind.cycle
    return {kind.low + (number - kind.low) % kind.cycle for number in range(first, last + 1, step)}


def _refuse_shape(item: _Item) -> NoReturn:
    text = item.text
    if "?" in text:
        item.refuse("has a `?`, which only stands for a whole day of month or day of week", "write `*`")
    if re.fullmatch(r"[^/]*/(-.*|\d+[.,]\d*|)", text):
        item.refuse("has no step that can be used; a step is a whole number from 1")
    if text.startswith(("-", "+")) or text.endswith("-"):
        item.refuse("is no range: a range has a number before and after its `-`")
    if text.count("-") > 1:
        item.refuse("has more than one `-`; a range has two ends")
    if re.search(r"[A-Za-z]", text):
        item.refuse("is not known here", cron_hints.word(text, item.kind.name))
    item.refuse("is not a number, a range `a-b`, a step `*/n` or `*`")


def _day_rule(expression: str, fields: tuple[str, ...]) -> DayRule:
    month_text, weekday_text = ("*" if text == "?" else text for text in (fields[2], fields[4]))
    fields = (*fields[:2], month_text, fields[3], weekday_text)
    month_days: set[int] = set()
    from_last: set[int] = set()
    nearest: set[int] = set()
    for item in _items(expression, fields, _MONTH_DAY):
        _month_day(item, month_days, from_last, nearest)
    weekdays: set[int] = set()
    nth: set[tuple[int, int]] = set()
    for item in _items(expression, fields, _WEEKDAY):
        _weekday(item, weekdays, nth)
    return DayRule(
        month_days=tuple(sorted(month_days)),
        from_last=tuple(sorted(from_last)),
        nearest=tuple(sorted(nearest)),
        weekdays=tuple(sorted(weekdays)),
        nth=tuple(sorted(nth)),
        # Debian's cron looks at the first character alone, so `*/2` counts as a star.
        both=month_text.startswith("*") or weekday_text.startswith("*"),
    )


def _month_day(item: _Item, month_days: set[int], from_last: set[int], nearest: set[int]) -> None:
    upper = item.text.upper()
    if match := _FROM_LAST.fullmatch(upper):
        days_before = int(match[1]) if match[1] else 0
        if match[1] and not 1 <= days_before <= 30:
            item.refuse("is not in `L-1` to `L-30`", "the last day itself is `L`")
        from_last.add(days_before)
    elif match := _NEAREST.fullmatch(upper):
        nearest.add(LAST if match[1] == "L" else item.value(match[1]))
    else:
        month_days |= _range(item)


def _weekday(item: _Item, weekdays: set[int], nth: set[tuple[int, int]]) -> None:
    match = _NTH.fullmatch(item.text.upper())
    if match is None:
        if "#" in item.text:
            item.refuse("is not known here", "one day and a number 1 to 5: `MON#2` is the second Monday of the month")
        weekdays |= _range(item)
        return
    number = int(match[2]) if match[2] else LAST
    if match[2] and not 1 <= number <= 5:
        item.refuse("is not known here", "a month has a first to a fifth of each weekday: `#1` to `#5`")
    nth.add((item.value(match[1]) % 7, number))
