"""What DynamoDB charges for, as its documentation says: sizes of items, write units, read units.

Sources (read on 29 November 2026):
- sizes: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
- units: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
- indexes, storage: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html

Two things the documentation leaves open, and how they are counted here: an index entry written by a transaction costs
what it costs otherwise (entries are copied after the commit, and only writes of items are said to be doubled; the
emulator, whose authors say that they measured it, counts so too), and a transaction that is cancelled costs what it
would have cost without its index entries (a failed condition is charged).
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from cronfleet.adapters.dynamodb.schema import Index, Table

Item: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Attribute name → `{type: value}`."""

WRITE_STEP: Final = 1_024
READ_STEP: Final = 4_096
IN_TRANSACTION: Final = 2
STORED_EXTRA_BYTES: Final = 100
"""What is added to each item, and to each entry of an index, when storage is charged."""
_CONTAINER_BYTES: Final = 3
_ELEMENT_BYTES: Final = 1
_KEYS: Final = ("pk", "sk")


def size_of(item: Item) -> int:
    """Bytes of an item: its names and its values."""
    return sum(len(name.encode()) + _size_of_value(value) for name, value in item.items())


def _size_of_value(value: Mapping[str, Any]) -> int:
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "N":
            return _size_of_number(content)
        case "B":
            return len(content)
        case "BOOL" | "NULL":
            return 1
        case "L":
            return _CONTAINER_BYTES + sum(_ELEMENT_BYTES + _size_of_value(one) for one in content)
        case "M":
            return _CONTAINER_BYTES + len(content) * _ELEMENT_BYTES + size_of(content)
    raise ValueError(f"no item of the job store holds a value of type {kind!r}")


def _size_of_number(text: str) -> int:
    """A byte for every two significant digits, and one more; a sign takes another."""
    digits = text.lstrip("-").replace(".", "").strip("0")
    return (len(digits) + 1) // 2 + 1 + text.startswith("-")


def stored_bytes(table: Table, item: Item) -> int:
    """Bytes of storage: of the item, and of its entry in each index that it stands in."""
    entries = [projected(index, item) for index in table.indexes if is_in(index, item)]
    return sum(size_of(one) + STORED_EXTRA_BYTES for one in (item, *entries))


def write_units(before: Item | None, after: Item | None) -> int:
    """Units of the base table: steps of 1 KB of the larger of the two; for what is not there, one."""
    return max(1, *(_steps(size_of(item), WRITE_STEP) for item in (before, after) if item is not None), 0)


def failed_write_units(stored: Item | None) -> int:
    """A write whose condition does not hold is charged by the size of what is stored, and one at least."""
    return write_units(stored, None)


def index_units(table: Table, before: Item | None, after: Item | None) -> int:
    """Units of all indexes of `table` together, for a write that makes `after` of `before`."""
    return sum(_units_of_index(_entry(index, before), _entry(index, after), index) for index in table.indexes)


def _units_of_index(before: Item | None, after: Item | None, index: Index) -> int:
    if before == after:
        return 0
    if before is None or after is None:
        return write_units(before, after)
    keys = (index.partition.name, index.sort.name)
    if any(before[key] != after[key] for key in keys):
        return write_units(before, None) + write_units(None, after)
    return write_units(before, after)


def _entry(index: Index, item: Item | None) -> Item | None:
    """What the index holds of `item`; `None` when a key of the index is missing."""
    return None if item is None or not is_in(index, item) else projected(index, item)


def is_in(index: Index, item: Item) -> bool:
    """Whether the item stands in the (sparse) index."""
    return index.partition.name in item and index.sort.name in item


def projected(index: Index, item: Item) -> Item:
    """The attributes that the index copies, which always include the keys of the table."""
    names = {*_KEYS, index.partition.name, index.sort.name, *index.projected}
    return {name: value for name, value in item.items() if name in names}


def read_units(items: Iterable[Item], *, consistent: bool) -> float:
    """Units of one request: steps of 4 KB of all it read together (nothing is one), half if eventually consistent."""
    steps = max(1, _steps(sum(map(size_of, items)), READ_STEP))
    return steps if consistent else steps / 2


def _steps(size: int, step: int) -> int:
    return -(-size // step)
