"""Messages survive the queue, and a malformed one is refused by name."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronfleet.adapters.sqs.messages import (
    decode_errand,
    decode_run,
    decode_tick,
    encode_errand,
    encode_run,
    encode_tick,
)
from cronfleet.domain.errand import ErrandKind, ErrandMessage
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import SECOND
from cronfleet.domain.slot import SlotLease
from cronfleet.domain.trace import TraceContext
from cronfleet.ports.queues import Tick
from tests.support.builders import message
from tests.support.settable_clock import NOON

MESSAGE = message(NOON)
SLOT = SlotLease(3, 17, NOON + SECOND)
KEPT = replace(MESSAGE, kept_days=400)


def test_a_run_message_is_read_back_as_it_was_written() -> None:
    manual = replace(MESSAGE, key=replace(MESSAGE.key, cause="manual-01kb", epoch=7), tier="priority", attempt=3)
    traced = replace(manual, trace=TraceContext("ab" * 16, "cd" * 8, sampled=True))
    again = replace(MESSAGE, resent_at=NOON + SECOND)
    for written in (MESSAGE, manual, traced, again, replace(MESSAGE, slot=SLOT), KEPT):
        assert decode_run(encode_run(written)) == written


def test_a_tick_is_read_back_as_it_was_written_and_its_slot_is_in_seconds() -> None:
    for tick in (Tick(3, NOON), Tick(3, NOON, 64)):
        assert decode_tick(encode_tick(tick)) == tick
    assert json.loads(encode_tick(Tick(3, NOON))) == {"shard": 3, "slot": NOON // SECOND}


def test_fields_of_a_later_version_are_passed_over() -> None:
    assert decode_run(json.dumps({**json.loads(encode_run(MESSAGE)), "later": "x"})) == MESSAGE


@pytest.mark.parametrize("value", ["x", 1, None, [], "00-" + "0" * 32 + "-" + "0" * 16 + "-01"])
def test_a_trace_that_cannot_be_read_costs_no_run(value: Any) -> None:
    assert decode_run(json.dumps({**json.loads(encode_run(MESSAGE)), "trace": value})) == MESSAGE


@pytest.mark.parametrize("text", ["", "x", "[]", "null", "1", '"text"', "{", "[" * 100_000])
def test_what_is_no_json_object_is_refused(text: str) -> None:
    for decode in (decode_run, decode_tick, decode_errand):
        with pytest.raises(Invalid):
            decode(text)


WRONG = {
    "run_id": [None, 1, "", "acme", "a~b~c~d~e", "acme~nightly~1~20261130T120000Z~other"],
    "tier": [None, "gold", 1],
    "attempt": [None, 0, -1, "1", 1.5, True],
    "due_at": [None, -1, "now", 10**18],
    "claimed_at": [None, -1, "now", 10**18],
    "batch": [None, 1],
    "version": [None, -1, "1"],
    "timeout_seconds": [None, 0, "60", 2.0],
}


@pytest.mark.parametrize("value", [None, 1, [], [1, 2], [1, 2, 0], [1, 2, True], ["1", 2, 3], [1, 2, 3, 4]])
def test_what_is_no_slot_is_refused(value: Any) -> None:
    with pytest.raises(Invalid) as refused:
        decode_run(json.dumps({**json.loads(encode_run(MESSAGE)), "slot": value}))
    assert refused.value.field == "slot"


@pytest.mark.parametrize(("field", "value"), [(field, value) for field, values in WRONG.items() for value in values])
def test_a_wrong_field_of_a_run_message_is_named(field: str, value: Any) -> None:
    fields = json.loads(encode_run(MESSAGE))
    with pytest.raises(Invalid) as refused:
        decode_run(json.dumps({**fields, field: value}))
    assert refused.value.field == field
    del fields[field]
    with pytest.raises(Invalid) as refused:
        decode_run(json.dumps(fields))
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("field", "value"),
    [("shard", -1), ("shard", "0"), ("shard", 1_024), ("shard", None), ("slot", 7), ("slot", 10**15), ("slot", None)],
)
def test_a_wrong_field_of_a_tick_is_named(field: str, value: Any) -> None:
    with pytest.raises(Invalid) as refused:
        decode_tick(json.dumps({"shard": 0, "slot": NOON // SECOND, field: value}))
    assert refused.value.field == field


ERRAND = ErrandMessage("acme", ErrandKind.OPERATION, "b1", NOON)


def test_an_errand_comes_back_as_it_was() -> None:
    assert decode_errand(encode_errand(ERRAND)) == ERRAND


@pytest.mark.parametrize(
    ("field", "value"),
    [("tenant", "a#b"), ("tenant", None), ("kind", "joke"), ("kind", 1), ("id", "a#b"), ("id", ""), ("rev", -1)],
)
def test_a_wrong_field_of_an_errand_is_named(field: str, value: Any) -> None:
    with pytest.raises(Invalid) as refused:
        decode_errand(json.dumps({**json.loads(encode_errand(ERRAND)), field: value}))
    assert refused.value.field == {"id": "errand_id"}.get(field, field)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(st.dictionaries(st.sampled_from([*WRONG, "shard", "slot", "tenant", "kind", "id", "rev"]), anything))
def test_no_message_raises_anything_but_invalid(fields: dict[str, Any]) -> None:
    for decode in (decode_run, decode_tick, decode_errand):
        try:
            decode(json.dumps(fields))
        except Invalid:
            continue
