"""Whatever is wrong with an item that waits: it is named, taken out of the way, and poisons nothing."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from cronfleet.adapters.dynamodb.items.timers import run_timer_item, timer_item
from cronfleet.adapters.dynamodb.schema import DUE, SCHEDULES
from cronfleet.domain.claim import RunTimer, Unreadable
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.schedule import Timer
from cronfleet.ports.job_store import CreateTimer, Damaged
from tests.support.examples import TENANT, run_timer, waiting
from tests.support.planning import plan
from tests.support.settable_clock import NOON
from tests.support.stores import Engine, moto_engine

WHY = Reason(Code.UNREADABLE, "cannot be read")
GARBAGE = [
    {"S": ""},
    {"S": "?"},
    {"S": "[]"},
    {"S": "[["},
    {"N": "1.5"},
    {"N": "-1"},
    {"BOOL": True},
    {"L": []},
    {"M": {}},
]


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with moto_engine() as made:
        yield made


def put(engine: Engine, item: Any) -> None:
    engine.client.put_item(TableName=f"{engine.prefix}-{SCHEDULES.name}", Item=item)


def damages() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each attribute in turn missing or garbage, in a timer of a schedule and in one of a run."""
    for name, item in (("timer", timer_item(waiting("bad"))), ("run", run_timer_item(run_timer(schedule_id="bad")))):
        projected = set(DUE.projected) - {"schedule_id"}
        for attribute in sorted(set(item) & projected):
            yield f"{name} without {attribute}", {key: value for key, value in item.items() if key != attribute}
            for number, garbage in enumerate(GARBAGE):
                yield f"{name} with garbage {number} in {attribute}", {**item, attribute: garbage}
        for name_of_part, value in (("grace", "x"), ("max", None), ("jitter", [1]), ("misfire", 1), ("overlap", {})):
            policies = {"misfire": "skip", "grace": 1, name_of_part: value}
            yield f"{name} with {name_of_part} {value}", {**item, "policies": {"S": json.dumps(policies)}}
        for number, sort in enumerate(("TIMERS", "RUN#", "RUN#1#2#3", "RUN#000000001#20261301T000000Z#schedule#001")):
            yield f"{name} under sort key {number}", {**item, "sk": {"S": sort}}
        yield f"{name} of no tenant", {**item, "pk": {"S": "bad"}}
        yield f"{name} due at a fraction", {**item, "due_at": {"N": f"{NOON - 1}.5"}}


DAMAGES = dict(damages())


@pytest.mark.parametrize("what", DAMAGES)
def test_a_damaged_item_hides_nothing_and_can_be_taken_out(engine: Engine, what: str) -> None:
    item = DAMAGES[what]
    store = engine.store
    put(engine, item)
    put(engine, timer_item(waiting("good", NOON + 1)))
    *found, good = store.due(0, NOON + 1, None, 10).items
    assert isinstance(good, Timer)
    assert good.schedule_id == "good"
    for one in found:
        if isinstance(one, Unreadable):
            assert one.why
            assert store.drop_unreadable(one, WHY), what
        else:
            assert isinstance(one, Timer | RunTimer), "garbage that happens to be a value"
            plan([one], NOON)
    engine.client.delete_item(TableName=f"{engine.prefix}-{SCHEDULES.name}", Key={"pk": item["pk"], "sk": item["sk"]})
    assert [one.schedule_id for one in store.due(0, NOON + 1, None, 10).items] == ["good"]


def test_a_strong_read_of_a_damaged_item_names_it_and_what_is_wrong(engine: Engine) -> None:
    timer = waiting("broken")
    engine.store.commit([CreateTimer(timer)])
    engine.spoil(timer)
    with pytest.raises(Damaged, match=f"{TENANT}#broken / TIMER: KeyError: 'misfire'"):
        engine.store.get_timer(TENANT, "broken")
