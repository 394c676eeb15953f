"""Items read as records: what PynamoDB would have said of each, attribute by attribute."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pynamodb.models import Model

from cronfleet.adapters.dynamodb import alert_records, audit_records, records, tenant_records
from cronfleet.adapters.dynamodb.items.packing import pack, unpack
from cronfleet.adapters.dynamodb.items.timers import TEXTS_KEPT, due_item_of, timer_item, timer_of
from cronfleet.adapters.dynamodb.recording import read, written
from cronfleet.adapters.dynamodb.records import JsonAttribute
from cronfleet.domain.claim import Unreadable
from cronfleet.domain.instant import SECOND
from cronfleet.domain.trigger import CronTrigger, IntervalTrigger
from cronfleet.ports.job_store import Damaged
from tests.support.builders import timer
from tests.support.settable_clock import NOON

GOOD: dict[str, list[Any]] = {
    "S": ["", "text", "{}", '[1,"x"]', "null", '{"a":null}'],
    "N": ["0", "-1", "1796040000000"],
    "B": [b"", b"bytes"],
    "BOOL": [True, False],
}
BAD = [{"NULL": True}, {}, {"S": "{"}, {"N": "1.5"}, {"N": "x"}, {"M": {}}, {"L": []}]


def models() -> Iterator[type[Model]]:
    for module in (records, tenant_records, alert_records, audit_records):
        for one in vars(module).values():
            if isinstance(one, type) and issubclass(one, Model) and one is not Model:
                yield one


@st.composite
def stored(draw: st.DrawFn) -> tuple[type[Model], dict[str, Any]]:
    """An item of some model: mostly whole, here and there without an attribute or with one that is wrong."""
    model = draw(st.sampled_from(sorted(set(models()), key=lambda one: one.__name__)))
    item: dict[str, Any] = {"of another release": {"S": "x"}}
    for one in model.get_attributes().values():
        fate = draw(st.sampled_from(["good"] * 12 + ["absent", "bad"]))
        if fate == "good":
            item[one.attr_name] = {one.attr_type: draw(st.sampled_from(GOOD[one.attr_type]))}
        elif fate == "bad":
            item[one.attr_name] = draw(st.sampled_from(BAD))
    return model, item


def by_pynamodb(model: type[Model], item: dict[str, Any]) -> dict[str, Any] | None:
    """What PynamoDB makes of `item`; `None` where it refuses it, or something is missing."""
    try:
        made = model.from_raw_data({name: dict(value) for name, value in item.items()})
    except (ValueError, TypeError):
        return None
    attributes = model.get_attributes()
    found = {name: getattr(made, name) for name in attributes}
    return None if any(found[name] is None for name, one in attributes.items() if not one.null) else found


@settings(max_examples=600, deadline=None)
@given(stored())
def test_a_record_says_what_pynamodb_says_and_is_damaged_where_that_refuses_it(case: Any) -> None:
    model, item = case
    wanted = by_pynamodb(model, item)
    if wanted is None:
        with pytest.raises(Damaged):
            read(model, item)
        return
    made = read(model, item)
    assert {name: getattr(made, name) for name in model.get_attributes()} == wanted


@st.composite
def values(draw: st.DrawFn) -> tuple[type[Model], dict[str, Any]]:
    """Values of some model's attributes, its keys among them; here and there one is missing."""
    model = draw(st.sampled_from(sorted(set(models()), key=lambda one: one.__name__)))
    said = {"S": ["", "text"], "N": [0, -1, True, 1_796_040_000_000], "B": [b"", b"bytes"], "BOOL": [True, False]}
    json_values = [[], {}, "", 0, 1.5, ["x", None, {"a": "\ud800"}], "é"]
    made: dict[str, Any] = {"pk": "partition", "sk": "sort"}
    for name, one in model.get_attributes().items():
        if name not in made and draw(st.integers(0, 8)):
            made[name] = draw(
                st.sampled_from([*(json_values if isinstance(one, JsonAttribute) else said[one.attr_type]), None])
            )
    return model, made


@settings(max_examples=400, deadline=None)
@given(values())
def test_an_item_is_written_as_pynamodb_writes_it_and_refused_where_that_refuses_it(case: Any) -> None:
    model, made = case
    try:
        wanted = model(**made).serialize()
    except ValueError:
        with pytest.raises(ValueError, match="without"):
            written(model, made.pop("pk"), made.pop("sk"), **made)
        return
    assert written(model, made.pop("pk"), made.pop("sk"), **made) == wanted


def test_an_attribute_that_a_model_has_not_is_no_part_of_an_item() -> None:
    with pytest.raises(KeyError):
        written(records.LeaseRecord, "partition", "sort", ownr="x")


def test_a_record_has_no_attribute_that_its_model_has_not() -> None:
    made = read(
        records.LeaseRecord, {name: {"S": "x"} for name in ("pk", "sk", "owner")} | numbers("fence until slot_at")
    )
    with pytest.raises(AttributeError):
        _ = made.ownr  # type: ignore[attr-defined]  # that is what is asked here


def numbers(names: str) -> dict[str, Any]:
    return {name: {"N": "1"} for name in names.split()}


def test_one_text_of_a_trigger_is_read_once_for_all_schedules_that_have_it() -> None:
    made = CronTrigger("7 3 * * 2", "Europe/Berlin")
    items = [timer_item(timer(made, NOON, schedule_id=name)) for name in ("one", "two")]
    first, second = (timer_of(json.loads(json.dumps(item))) for item in items)
    assert first.trigger is second.trigger
    assert first.trigger == made
    assert first.misfire is second.misfire
    assert (first.schedule_id, second.schedule_id) == ("one", "two")


def test_a_text_that_somebody_has_spaced_otherwise_says_the_same() -> None:
    made = CronTrigger("7 3 * * 2", "Europe/Berlin")
    item = timer_item(timer(made, NOON))
    item["trigger"] = {"S": json.dumps(json.loads(item["trigger"]["S"]), indent=1)}
    assert timer_of(item).trigger == made


def test_anchors_of_their_own_do_not_drive_out_what_many_share() -> None:
    shared = timer_item(timer(CronTrigger("8 3 * * 2", "UTC"), NOON))
    before = timer_of(shared).trigger
    for number in range(TEXTS_KEPT + 1):
        timer_of(timer_item(timer(IntervalTrigger(60, number * SECOND), NOON)))
    assert timer_of(json.loads(json.dumps(shared))).trigger is before


@pytest.mark.parametrize("text", ["", "[]", "{", '{"c":5,"z":"UTC"}', '{"c":"* * * * *"}', '{"c":"* * * * *","z":1}'])
def test_a_text_that_is_no_trigger_is_refused_each_time(text: str) -> None:
    item = {**timer_item(timer(CronTrigger("* * * * *", "UTC"), NOON)), "trigger": {"S": text}}
    for _ in range(2):
        assert isinstance(due_item_of(item), Unreadable)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=4)))
def test_whatever_is_packed_comes_back_half_a_surrogate_pair_and_large_numbers_too(value: Any) -> None:
    assert unpack(pack(value)) == value
    assert unpack(pack([value, "\ud800", 2**80])) == [value, "\ud800", 2**80]
