"""The part of DynamoDB's expression language that the job store uses, evaluated against items in memory.

Anything else is refused, so that a new kind of expression is noticed and not miscounted.
"""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache
from typing import Any, Final, TypeAlias

from benchmarks.metering.charges import Item

Names: TypeAlias = Mapping[str, str]
Values: TypeAlias = Mapping[str, Mapping[str, Any]]
Test: TypeAlias = Callable[[Item, Names, Values], bool]

_TOKEN: Final = re.compile(r"[#:]?\w+|<>|<=|>=|[=<>(),]")
_FALLBACK: Final = re.compile(r"if_not_exists\((#\w+), (:\w+)\)")
_CLAUSE: Final = re.compile(r"\b(SET|REMOVE|ADD)\b")
_COMPARE: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "=": lambda left, right: left == right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
    "<>": lambda left, right: left != right,
}


def holds(expression: str, item: Item | None, names: Names, values: Values) -> bool:
    """Whether a condition (or a key condition) holds for `item`; `None` is an item without attributes."""
    return not expression or _compiled(expression)(item or {}, names, values)


def changed(expression: str, item: Item, names: Names, values: Values) -> dict[str, Mapping[str, Any]]:
    """`item` after an update expression."""
    after = dict(item)
    parts = _CLAUSE.split(expression)[1:]
    for clause, body in zip(parts[::2], parts[1::2], strict=True):
        for part in _FALLBACK.sub(r"if_not_exists(\1;\2)", body).split(","):
            _apply(clause, part.split(), after, names, values)
    return after


def _apply(clause: str, words: list[str], after: dict[str, Mapping[str, Any]], names: Names, values: Values) -> None:
    name = names[words[0]]
    match clause, words[1:]:
        case "SET", ["=", value]:
            after[name] = values[value]
        case "SET", ["=", value, "-", other]:
            # Worked out before the condition is judged: where that fails, there may be nothing to subtract.
            less = int(after.get(names[other], {"N": "0"})["N"])
            after[name] = {"N": str(int(values[value]["N"]) - less)}
        case "SET", ["=", begun, "+", value] if begun.startswith("if_not_exists"):
            other, fallback = begun.removeprefix("if_not_exists(").removesuffix(")").split(";")
            before = int(after.get(names[other], values[fallback])["N"])
            after[name] = {"N": str(before + int(values[value]["N"]))}
        case "REMOVE", []:
            after.pop(name, None)
        case "ADD", [value]:
            before = int(after.get(name, {"N": "0"})["N"])
            after[name] = {"N": str(before + int(values[value]["N"]))}
        case _:
            raise ValueError(f"{clause} {' '.join(words)}: no such change is known here")


@cache
def _compiled(expression: str) -> Test:
    parser = _Parser(_TOKEN.findall(expression))
    test = parser.disjunction()
    if parser.tokens:
        raise ValueError(f"{expression!r}: nothing is known of {parser.tokens[0]!r}")
    return test


class _Parser:
    """Recursive descent over the tokens of one condition."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens

    def disjunction(self) -> Test:
        tests = [self._conjunction()]
        while self._next_is("OR"):
            tests.append(self._conjunction())
        return tests[0] if len(tests) == 1 else lambda *about: any(test(*about) for test in tests)

    def _conjunction(self) -> Test:
        tests = [self._term()]
        while self._next_is("AND"):
            tests.append(self._term())
        return tests[0] if len(tests) == 1 else lambda *about: all(test(*about) for test in tests)

    def _term(self) -> Test:
        if self._next_is("("):
            inner = self.disjunction()
            self._take(")")
            return inner
        word = self.tokens.pop(0)
        return self._function(word) if word[0] not in "#:" else self._comparison(word)

    def _function(self, word: str) -> Test:
        self._take("(")
        name = self.tokens.pop(0)
        prefix = self.tokens.pop(0) if self._next_is(",") else ""
        self._take(")")
        match word:
            case "attribute_exists":
                return lambda item, names, _values: names[name] in item
            case "attribute_not_exists":
                return lambda item, names, _values: names[name] not in item
            case "begins_with":
                return lambda item, names, values: item[names[name]]["S"].startswith(values[prefix]["S"])
        raise ValueError(f"{word}: no such function is known here")

    def _comparison(self, name: str) -> Test:
        operator = self.tokens.pop(0)
        if operator == "IN":
            return _among(name, self._list())
        if operator == "BETWEEN":
            low = self.tokens.pop(0)
            self._take("AND")
            high = self.tokens.pop(0)
            above, below = _compared(name, ">=", low), _compared(name, "<=", high)
            return lambda *about: above(*about) and below(*about)
        return _compared(name, operator, self.tokens.pop(0))

    def _list(self) -> list[str]:
        self._take("(")
        found = [self.tokens.pop(0)]
        while self._next_is(","):
            found.append(self.tokens.pop(0))
        self._take(")")
        return found

    def _next_is(self, word: str) -> bool:
        if self.tokens and self.tokens[0] == word:
            self.tokens.pop(0)
            return True
        return False

    def _take(self, word: str) -> None:
        if not self._next_is(word):
            raise ValueError(f"{word!r} is missing before {self.tokens!r}")


def _among(name: str, allowed: list[str]) -> Test:
    return lambda item, names, values: item.get(names[name]) in [values[one] for one in allowed]


def _compared(name: str, operator: str, value: str) -> Test:
    compare = _COMPARE[operator]

    def test(item: Item, names: Names, values: Values) -> bool:
        stored, wanted = item.get(names[name]), values[value]
        return stored is not None and stored.keys() == wanted.keys() and compare(plain(stored), plain(wanted))

    return test


def plain(value: Mapping[str, Any]) -> Any:
    """A key or number as a value of Python that compares as DynamoDB compares it."""
    ((kind, content),) = value.items()
    return Decimal(content) if kind == "N" else content
