"""What every job store promises about the versions of a schedule."""

from dataclasses import replace
from typing import Any

import pytest

from cronfleet.ports.job_store import CreateTimer, InsertDefinition, Refused, UpdateTimer
from tests.support.builders import definition
from tests.support.examples import MINUTELY, TENANT, changed, waiting


def put(store: Any, *numbers: int, schedule_id: str = "nightly", payload: Any = None) -> None:
    for number in numbers:
        one = replace(definition(MINUTELY, schedule_id, payload=payload), version=number, reason=f"no. {number}")
        store.commit([InsertDefinition(one)])


def numbers(store: Any, *, before: int | None = None, limit: int = 100, schedule_id: str = "nightly") -> list[int]:
    return [one.version for one in store.list_definitions(TENANT, schedule_id, before=before, limit=limit)]


def test_versions_are_listed_newest_first_and_page_by_page(store: Any) -> None:
    put(store, 1, 2, 3, 9, 10, 11)
    put(store, 4, schedule_id="nightly-2")
    assert numbers(store) == [11, 10, 9, 3, 2, 1]
    assert numbers(store, limit=2) == [11, 10]
    assert numbers(store, before=10, limit=3) == [9, 3, 2]
    assert numbers(store, before=1) == []
    assert numbers(store, before=3, limit=2) == [2, 1]


def test_a_schedule_that_is_not_there_has_no_versions_and_nobody_elses(store: Any) -> None:
    put(store, 1)
    store.commit([CreateTimer(waiting("timed"))])
    assert numbers(store, schedule_id="timed") == numbers(store, schedule_id="gone") == []
    assert store.list_definitions("rival", "nightly", before=None, limit=9) == []


def test_a_version_in_a_list_is_the_version_that_was_written(store: Any) -> None:
    put(store, 1, 2)
    assert list(store.list_definitions(TENANT, "nightly", before=None, limit=9)) == [
        store.get_definition(TENANT, "nightly", 2),
        store.get_definition(TENANT, "nightly", 1),
    ]


def test_versions_with_large_payloads_are_all_listed(store: Any) -> None:
    put(store, *range(1, 41), payload="x" * 30_000)
    assert numbers(store) == list(range(40, 0, -1)), "more than a megabyte, which is what one query answers with"


def test_of_two_changes_decided_on_the_same_version_one_is_refused_whole(store: Any) -> None:
    before = waiting("raced", version=1)
    store.commit([CreateTimer(before), InsertDefinition(definition(MINUTELY, "raced"))])
    first, second = (replace(changed(before, name), version=2) for name in ("first", "second"))
    described = {name: replace(definition(MINUTELY, "raced"), version=2, author=name) for name in ("first", "second")}
    store.commit([UpdateTimer(first, before), InsertDefinition(described["first"])])
    with pytest.raises(Refused) as refused:
        store.commit([UpdateTimer(second, before), InsertDefinition(described["second"])])
    assert refused.value.stored.change_id == "first"
    assert store.get_definition(TENANT, "raced", 2).author == "first"
    assert store.get_timer(TENANT, "raced").change_id == "first"
