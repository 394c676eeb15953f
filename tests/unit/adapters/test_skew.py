"""A process learns from the store's Date header how far its clock is off."""

from types import SimpleNamespace
from typing import Any

import boto3
import pytest
import time_machine
from botocore.hooks import HierarchicalEmitter

from cronfleet.adapters.dynamodb.job_store import DynamoJobStore
from cronfleet.adapters.dynamodb.skew import Skew, judged
from cronfleet.adapters.memory.queues import MemoryErrandQueue, MemoryRunQueue
from cronfleet.adapters.memory.side_by_side import OneByOne
from cronfleet.domain.errors import ClockSkewed
from cronfleet.domain.instant import HOUR, MINUTE, SECOND
from cronfleet.ports.job_store import CreateTimer, InsertDefinition
from cronfleet.ports.queues import Tick
from cronfleet.services.dispatcher import Dispatcher
from tests.support.builders import definition, every, timer
from tests.support.clients import dynamodb_client
from tests.support.moto import mocked_aws
from tests.support.settable_clock import NOON, CountingIds, SettableClock
from tests.support.tables import create_tables
from tests.support.world import Notes


@pytest.mark.parametrize(
    ("sent", "received", "skew"),
    [
        (0, 50, 0),
        (999, 1_200, 0),
        (-300, 20, 0),
        (-400, -100, -100),
        (1_000, 1_050, 0),
        (1_001, 1_050, 1),
        (4_000, 4_100, 3_000),
        (-5_000, -4_900, -4_900),
        (-60_000, 60_000, 0),
    ],
)
def test_the_skew_is_the_least_that_explains_the_header(sent: int, received: int, skew: int) -> None:
    """The header names the second from `NOON` on; the request was sent and answered at these distances from it."""
    assert judged(NOON + sent, NOON + received, NOON) == skew


def test_every_answer_tells_the_store_the_time() -> None:
    clock = SettableClock()
    with mocked_aws(), time_machine.travel(NOON / SECOND, tick=False):
        client = dynamodb_client()
        create_tables(boto3.client("dynamodb"), "test")
        store = DynamoJobStore("test", client, clock)
        assert store.skew_ms() is None, "nothing was asked yet"
        store.get_lease(0)
        assert store.skew_ms() == 0
        clock.advance(3_500)
        store.get_lease(0)
        assert store.skew_ms() == 2_500
        clock.advance(-63_500)
        store.get_lease(0)
        assert store.skew_ms() == -60_000


def test_a_refusal_tells_the_time_as_well_as_an_answer() -> None:
    clock = SettableClock(NOON - 10 * SECOND)
    with mocked_aws(), time_machine.travel(NOON / SECOND, tick=False):
        client = dynamodb_client()
        create_tables(boto3.client("dynamodb"), "test")
        store = DynamoJobStore("test", client, clock)
        store.release_gate("acme", "nightly", "nobody", NOON)
        assert store.skew_ms() == -10_000


@pytest.mark.parametrize("date", ["soon", "", "Mon, 30 Nov 2026 12:00:00 -0000", "Mon, 99 Nov 2026 12:00:00 GMT"])
def test_a_date_that_is_none_tells_nothing_and_keeps_no_answer_from_being_heard(date: str) -> None:
    """A proxy's page, say: the answer counts for what it is, and the time is what the store said last."""
    events = HierarchicalEmitter()
    client: Any = SimpleNamespace(meta=SimpleNamespace(events=events))
    skew = Skew(SettableClock(), client)

    def answered(said: str) -> None:
        request = SimpleNamespace(context={})
        events.emit("request-created.dynamodb.GetItem", request=request)
        told = {"headers": {"date": said}}
        events.emit("response-received.dynamodb.GetItem", response_dict=told, context=request.context)

    answered(date)
    assert skew.skew_ms is None
    answered("Mon, 30 Nov 2026 11:59:50 GMT")
    answered(date)
    assert skew.skew_ms == 9 * SECOND


@pytest.mark.parametrize("by", [30 * SECOND, -30 * SECOND, HOUR, 300])
def test_what_was_heard_holds_until_the_clock_is_set(by: int) -> None:
    """A process may lie warm and idle between two answers; that its clock was right a minute ago proves nothing."""
    clock = SettableClock()
    with mocked_aws(), time_machine.travel(NOON / SECOND, tick=False) as traveller:
        client = dynamodb_client()
        create_tables(boto3.client("dynamodb"), "test")
        store = DynamoJobStore("test", client, clock)
        store.get_lease(0)
        clock.advance(MINUTE)
        traveller.shift(MINUTE / SECOND)
        assert store.skew_ms() == 0
        clock.be_set(by)
        assert store.skew_ms() is None
        store.get_lease(0)
        assert store.skew_ms() == (max(0, by - SECOND) if by > 0 else by)


@pytest.mark.parametrize(("by", "heard"), [(HOUR, HOUR - SECOND), (-30 * SECOND, -30 * SECOND), (0, 0)])
def test_a_clock_that_is_set_while_a_request_is_under_way_is_judged_as_it_is_now(by: int, heard: int) -> None:
    """Found by chaos: sent before and received after, by a clock that was put forward by an hour, an answer seemed to
    have taken that hour, which explains any time. The next run was leased for an hour.
    """
    clock = SettableClock()
    with mocked_aws(), time_machine.travel(NOON / SECOND, tick=False):
        client = dynamodb_client()
        create_tables(boto3.client("dynamodb"), "test")
        store = DynamoJobStore("test", client, clock)
        client.meta.events.register_first("response-received.dynamodb", lambda **_: clock.be_set(by))
        store.get_lease(0)
        assert store.skew_ms() == heard


def test_an_answer_that_took_very_long_tells_nothing_of_the_time() -> None:
    clock = SettableClock(NOON - 30 * SECOND)
    with mocked_aws(), time_machine.travel(NOON / SECOND, tick=False):
        client = dynamodb_client()
        create_tables(boto3.client("dynamodb"), "test")
        store = DynamoJobStore("test", client, clock)
        client.meta.events.register_first("response-received.dynamodb", lambda **_: clock.advance(40 * SECOND))
        store.get_lease(0)
        assert store.skew_ms() is None, "half a minute behind, and it seemed to agree"


def test_a_warm_dispatcher_whose_clock_was_set_claims_nothing_of_what_is_still_to_come() -> None:
    """It used to trust the answer that its last tick had heard: it claimed half a minute of fires ahead, and wrote a
    lease that nobody could take for as long.
    """
    clock, notes = SettableClock(), Notes()
    with mocked_aws(), time_machine.travel(NOON / SECOND, tick=False):
        client = dynamodb_client()
        create_tables(boto3.client("dynamodb"), "test")
        store = DynamoJobStore("test", client, clock)
        waiting = timer(every(1, NOON + 20 * SECOND), NOON + 20 * SECOND)
        store.commit([CreateTimer(waiting), InsertDefinition(definition(waiting.trigger, waiting.schedule_id))])
        queue = MemoryRunQueue(clock)
        dispatcher = Dispatcher(
            store=store,
            run_queue=queue,
            errand_queue=MemoryErrandQueue(clock),
            side_by_side=OneByOne(),
            clock=clock,
            ids=CountingIds(),
            telemetry=notes,
        )
        assert dispatcher.tick(Tick(waiting.shard, NOON), NOON + MINUTE).claims_won == 0
        before = store.get_lease(waiting.shard)
        clock.be_set(30 * SECOND)
        with pytest.raises(ClockSkewed):
            dispatcher.tick(Tick(waiting.shard, NOON + 30 * SECOND), NOON + 2 * MINUTE)
        assert store.get_lease(waiting.shard) == before
        assert store.get_timer(waiting.tenant, waiting.schedule_id) == waiting
    assert [name for name, _ in notes.alarms] == ["clock_skewed"]
