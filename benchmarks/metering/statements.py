"""The statements of PartiQL that the job store asks for, read as the UpdateItem that does the same.

    UPDATE "table" SET "name" = ? … SET "name" = "name" + ? … REMOVE "name" …
        WHERE "pk" = ? AND "sk" = ? AND "name" = ? … AND "name" <= ? … AND "name" IS MISSING …

Anything else is refused, so that a new kind of statement is noticed and not miscounted.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import count
from typing import Any, Final

_STATEMENT: Final = re.compile(r'UPDATE "([\w-]+)" (.+) WHERE "pk" = \? AND "sk" = \? AND (.+)')
_CHANGE: Final = re.compile(
    r'SET "(?P<adds>\w+)" = "(?P=adds)" \+ \?|SET "(?P<sets>\w+)" = \?|REMOVE "(?P<removes>\w+)"'
)
_TEST: Final = re.compile(r'"(?P<name>\w+)" (?:(?P<operator>=|<|<=|>=) \?|IS MISSING)')


def as_update(statement: str, parameters: Sequence[Any]) -> dict[str, Any]:
    """The request of UpdateItem that does what `statement` does. Raises `ValueError` for one that is not known."""
    table, update, condition, names, set_of = _read(statement)
    values = {f":{place}": value for place, value in enumerate(parameters) if place not in (set_of, set_of + 1)}
    return {
        "TableName": table,
        "Key": {"pk": parameters[set_of], "sk": parameters[set_of + 1]},
        "UpdateExpression": update,
        "ConditionExpression": condition,
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": values,
    }


@cache
def _read(statement: str) -> tuple[str, str, str, Mapping[str, str], int]:
    """The table, the two expressions, the names in them, and how many parameters stand before the key's."""
    found = _STATEMENT.fullmatch(statement)
    if found is None:
        raise ValueError(f"{statement!r}: no such statement is known here")
    table, changes, tests = found.groups()
    places = count()
    clauses: dict[str, list[str]] = {"SET": [], "ADD": [], "REMOVE": []}
    for one in _each(_CHANGE, changes, " "):
        if one["sets"]:
            clauses["SET"].append(f"#{one['sets']} = :{next(places)}")
        elif one["adds"]:
            clauses["ADD"].append(f"#{one['adds']} :{next(places)}")
        else:
            clauses["REMOVE"].append(f"#{one['removes']}")
    update = " ".join(f"{clause} {', '.join(parts)}" for clause, parts in clauses.items() if parts)
    set_of = next(places)
    next(places)  # That one is the key's as well.
    held = [
        f"#{one['name']} {one['operator']} :{next(places)}"
        if one["operator"]
        else f"attribute_not_exists(#{one['name']})"
        for one in _each(_TEST, tests, " AND ")
    ]
    # Nothing is made where nothing is: an UPDATE of PartiQL is no PUT.
    condition = " AND ".join(["attribute_exists(#pk)", *held])
    names = {f"#{name}": name for name in ("pk", *re.findall(r'"(\w+)"', f"{changes} {tests}"))}
    return table, update, condition, names, set_of


def _each(pattern: re.Pattern[str], text: str, between: str) -> Iterator[re.Match[str]]:
    """Matches that follow each other with nothing but `between` in between."""
    end = 0
    for found in pattern.finditer(text):
        if text[end : found.start()] != (between if end else ""):
            break
        end = found.end()
        yield found
    if end != len(text):
        raise ValueError(f"{text!r}: nothing is known of {text[end:]!r}")
