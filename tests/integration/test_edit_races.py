"""Two editors, and eight, of one schedule: one gets through, the others are told, and nothing is half written."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from cronfleet.adapters.dynamodb.job_store import DynamoJobStore
from cronfleet.adapters.system.clock import SystemClock
from cronfleet.domain.audit import schedule_subject
from cronfleet.domain.errors import Contended, Exists, Stale
from cronfleet.domain.schedule import Spec
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.tenant import Tenant
from cronfleet.services.access import Caller
from cronfleet.services.changing import Conditions
from cronfleet.services.schedules import Schedules
from tests.integration.test_races import HANDS
from tests.support.builders import cron
from tests.support.emulator import client
from tests.support.races import race
from tests.support.settable_clock import CountingIds
from tests.support.stores import dynamodb_engine, moto_engine

ACME = Caller(Tenant("acme"), "demo", "request-1")
PLAIN = Spec(cron("0 2 * * *"), HandlerTarget("billing.nightly"))


CLOCK: Any = SystemClock()
"""That of the engines' answers: who edits under a clock that is off is refused."""


@pytest.fixture(scope="module", params=["moto", pytest.param("emulator", marks=pytest.mark.emulator)])
def stores(request: pytest.FixtureRequest) -> Iterator[list[Any]]:
    """As many stores as there are hands, each with its own client, on the same tables."""
    if request.param == "moto":
        with moto_engine(CLOCK) as engine:
            yield [engine.store] * HANDS
        return
    endpoint = request.getfixturevalue("emulator_endpoint")
    with dynamodb_engine(client("dynamodb", endpoint), CLOCK) as engine:
        yield [DynamoJobStore(engine.prefix, client("dynamodb", endpoint), CLOCK) for _ in range(HANDS)]


class HandIds(CountingIds):
    """Ids of one hand in one race, which no other makes."""

    def __init__(self, mark: str) -> None:
        super().__init__()
        self.mark = mark

    def unique(self) -> str:
        return f"{super().unique()}-{self.mark}"


def editors(stores: list[Any], race_id: str) -> list[Schedules]:
    return [
        Schedules(store=one, clock=CLOCK, ids=HandIds(f"{race_id}-{hand}"), shards=1) for hand, one in enumerate(stores)
    ]


def outcomes(
    stores: list[Any], schedule_id: str, edit: Callable[[Schedules, int, str], Any], *, is_there: bool = True
) -> tuple[Schedules, Counter[str]]:
    """How many edits ended how. Who only met a conflict of transactions asks again, as a caller does."""
    hands = editors(stores, schedule_id)
    etag = hands[0].create(ACME, schedule_id, lambda *_: PLAIN).etag if is_there else ""

    def act(_store: Any, hand: int) -> str:
        while True:
            try:
                edit(hands[hand], hand, etag)
            except (Stale, Exists) as refused:
                return type(refused).__name__
            except Contended:
                continue
            return "made"

    return hands[0], Counter(race(stores, act))


def versions(store: Any, schedule_id: str) -> list[int]:
    return [one.version for one in store.list_definitions("acme", schedule_id, before=None, limit=100)]


def entries(store: Any, schedule_id: str) -> int:
    found = store.walk_audit("acme", "", 1_000)
    return sum(entry.subject == schedule_subject(schedule_id) for entry in found)


def test_of_eight_editors_who_have_seen_the_same_one_gets_through_and_its_change_stands(stores: list[Any]) -> None:
    name = "edited"

    def edit(service: Schedules, hand: int, etag: str) -> Any:
        made = replace(PLAIN, owner=f"hand {hand}", trigger=cron(f"{hand} 2 * * *"))
        service.edit(ACME, name, lambda *_: made, Conditions((etag,)))

    service, ended = outcomes(stores, name, edit)
    assert ended == {"made": 1, "Stale": HANDS - 1}
    form = service.get(ACME, name).form
    assert form["trigger"]["cron"] == f"{form['owner'].removeprefix('hand ')} 2 * * *", "no mixture of two"
    assert versions(stores[0], name) == [2, 1]
    assert entries(stores[0], name) == 2


def test_of_eight_who_register_the_same_id_one_gets_it(stores: list[Any]) -> None:
    name = "registered"

    def create(service: Schedules, hand: int, _etag: str) -> Any:
        service.create(ACME, name, lambda *_: replace(PLAIN, owner=f"hand {hand}"))

    _, ended = outcomes(stores, name, create, is_there=False)
    assert ended == {"made": 1, "Exists": HANDS - 1}
    assert versions(stores[0], name) == [1]
    assert entries(stores[0], name) == 1


def test_editors_of_different_fields_who_name_no_etag_lose_nothing_of_each_other(stores: list[Any]) -> None:
    name = "merged"

    def edit(service: Schedules, hand: int, _etag: str) -> Any:
        def label(current: Spec | None, _now: int) -> Spec:
            assert current is not None
            return replace(current, labels={**current.labels, f"hand-{hand}": ""})

        service.edit(ACME, name, label)

    service, ended = outcomes(stores, name, edit)
    assert ended == {"made": HANDS}
    assert len(service.get(ACME, name).form["labels"]) == HANDS
    assert versions(stores[0], name) == list(range(HANDS + 1, 0, -1)), "each is a version of its own"


def test_two_edits_a_rollback_and_a_pause_that_have_seen_the_same_are_one_change(stores: list[Any]) -> None:
    name = "mixed"

    def act(service: Schedules, hand: int, etag: str) -> Any:
        seen = Conditions((etag,))
        if hand % 4 == 0:
            service.edit(ACME, name, lambda *_: replace(PLAIN, owner="somebody"), seen)
        elif hand % 4 == 1:
            service.roll_back(ACME, name, 1, lambda *_: None, conditions=seen)
        elif hand % 4 == 2:
            service.pause(ACME, name, reason="month end", conditions=seen)
        else:
            service.edit(ACME, name, lambda *_: replace(PLAIN, trigger=cron("0 3 * * *")), seen)

    service, ended = outcomes(stores, name, act)
    nothing_done = sum(hand % 4 == 1 for hand in range(HANDS))
    assert 1 <= ended["made"] <= 1 + nothing_done, (
        "a rollback to what is said already changes nothing, and is no change"
    )
    assert entries(stores[0], name) == 2
    assert service.get(ACME, name).form["version"] <= 2
