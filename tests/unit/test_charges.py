"""AWS's charging rules, as its documentation gives them."""

from typing import Any

import pytest

from benchmarks.metering import charges
from benchmarks.metering.expressions import changed, holds
from cronfleet.adapters.dynamodb.schema import Index, Key, Table

KB = 1_024


def item(size: int, **more: Any) -> dict[str, Any]:
    """An item of exactly so many bytes, `more` included."""
    head = {"pk": {"S": "p"}, "sk": {"S": "s"}, **more}
    return {**head, "x": {"S": "x" * (size - charges.size_of(head) - 1)}}


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": "zürich"}, 7),
        ({"N": "0"}, 1),
        ({"N": "7"}, 2),
        ({"N": "1796040000000"}, 4),
        ({"N": "1796040000001"}, 8),
        ({"N": "-12.5"}, 4),
        ({"B": b"abc"}, 3),
        ({"BOOL": True}, 1),
        ({"NULL": True}, 1),
        ({"L": []}, 3),
        ({"L": [{"S": "ab"}, {"NULL": True}]}, 3 + 1 + 2 + 1 + 1),
        ({"M": {"k": {"S": "v"}}}, 3 + 1 + 2),
    ],
)
def test_an_attribute_is_as_large_as_its_name_and_its_value(value: dict[str, Any], size: int) -> None:
    assert charges.size_of({"name": value}) == 4 + size


@pytest.mark.parametrize(
    ("before", "after", "units"),
    [(None, KB, 1), (None, KB + 1, 2), (3 * KB, KB, 3), (KB, 3 * KB, 3), (2 * KB, None, 2), (None, 100, 1)],
)
def test_a_write_costs_a_unit_for_each_kilobyte_of_the_larger_item(
    before: int | None, after: int | None, units: int
) -> None:
    assert charges.write_units(before and item(before), after and item(after)) == units


def test_a_failed_condition_costs_what_is_stored_and_one_unit_at_least() -> None:
    assert charges.failed_write_units(None) == 1
    assert charges.failed_write_units(item(5 * KB)) == 5


TABLE = Table("t", Key("pk"), Key("sk"), (Index("due", Key("shard"), Key("due_at", "N"), ("seen",)),))


def entry(due_at: int, **more: Any) -> dict[str, Any]:
    return {"pk": {"S": "p"}, "sk": {"S": "s"}, "shard": {"S": "00"}, "due_at": {"N": str(due_at)}, **more}


LARGE = {"S": "x" * 1_500}


@pytest.mark.parametrize(
    ("before", "after", "units"),
    [
        (None, item(100), 0),
        (None, entry(1), 1),
        (item(100), entry(1), 1),
        (entry(1), entry(2), 2),
        (entry(1), None, 1),
        (entry(1), item(100), 1),
        (entry(1), entry(1, unseen=LARGE), 0),
        (entry(1), entry(1, seen={"S": "x"}), 1),
        (entry(1), entry(1, seen=LARGE), 2),
        (entry(1, seen=LARGE), entry(2, seen=LARGE), 4),
        (entry(1, seen=LARGE), None, 2),
    ],
)
def test_an_index_costs_what_becomes_of_its_entry(before: Any, after: Any, units: int) -> None:
    assert charges.index_units(TABLE, before, after) == units


@pytest.mark.parametrize(
    ("sizes", "consistent", "units"),
    [([], True, 1.0), ([], False, 0.5), ([100] * 40, False, 0.5), ([100] * 41, False, 1.0), ([5_000], True, 2.0)],
)
def test_a_read_costs_a_unit_for_each_four_kilobytes_and_half_if_it_may_be_stale(
    sizes: list[int], consistent: bool, units: float
) -> None:
    assert charges.read_units(map(item, sizes), consistent=consistent) == units


@pytest.mark.parametrize("expression", ["size(#a) > :one", "NOT #a = :one", "#a = :one garbage"])
def test_a_condition_that_is_not_known_is_refused_and_not_miscounted(expression: str) -> None:
    with pytest.raises((ValueError, KeyError, IndexError)):
        holds(expression, {"a": {"N": "1"}}, {"#a": "a"}, {":one": {"N": "1"}})


def test_a_change_that_is_not_known_is_refused_and_not_miscounted() -> None:
    with pytest.raises(ValueError, match="no such change"):
        changed("SET #a = #a + :one", {"a": {"N": "1"}}, {"#a": "a"}, {":one": {"N": "1"}})
