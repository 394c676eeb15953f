"""Job stores on every engine, behind one face for the contract suites."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Any

import boto3

from benchmarks.metering.chain import PREFIX
from benchmarks.metering.dynamodb import MeteredDynamoDB
from cronfleet.adapters.dynamodb import schema
from cronfleet.adapters.dynamodb.items.timers import timer_item
from cronfleet.adapters.dynamodb.job_store import DynamoJobStore
from cronfleet.adapters.dynamodb.receipts import DynamoReceipts
from cronfleet.adapters.memory.job_store import MemoryJobStore
from cronfleet.adapters.memory.receipts import MemoryReceipts
from cronfleet.domain.claiming import Claiming
from cronfleet.domain.schedule import Timer
from tests.support.clients import dynamodb_client
from tests.support.moto import mocked_aws
from tests.support.settable_clock import SettableClock
from tests.support.tables import create_tables, delete_tables

ENDPOINT_VARIABLE = "CRONFLEET_TEST_DYNAMODB_ENDPOINT"
"""Any DynamoDB that you may use for tests; its tables are made and deleted again."""

_prefixes = count(1)


@dataclass
class Engine:
    """A store under test with its receipts, its clock, and a way to spoil a stored timer."""

    store: Any
    receipts: Any
    clock: SettableClock
    spoil: Callable[[Timer], None]
    client: Any = None
    prefix: str = ""


def memory_engine() -> Engine:
    clock = SettableClock()
    store = MemoryJobStore(clock)
    return Engine(store, MemoryReceipts(store), clock, lambda timer: store.damage(timer, "spoilt by a test") and None)


def metered_engine() -> Engine:
    """The client that counts what requests cost, which must do what they ask for as well."""
    clock = SettableClock()
    client = MeteredDynamoDB(PREFIX, clock)
    dynamodb: Any = client  # It has the part of one that is used.
    store = DynamoJobStore(PREFIX, dynamodb, clock, claiming=Claiming.BATCHED)
    receipts = DynamoReceipts(PREFIX, client, clock)  # type: ignore[arg-type]  # as above
    return Engine(store, receipts, clock, lambda timer: _spoil(client, PREFIX, timer), client, PREFIX)


@contextmanager
def dynamodb_engine(
    client: Any, clock: SettableClock | None = None, claiming: Claiming = Claiming.SINGLE, asked: Any = None
) -> Iterator[Engine]:
    """Fresh tables on the engine behind `client`; the store asks `asked`, and `client` where that is not given."""
    clock = clock or SettableClock()
    prefix = f"t{next(_prefixes)}"
    create_tables(client, prefix)
    store = DynamoJobStore(prefix, asked or client, clock, claiming=claiming)
    receipts = DynamoReceipts(prefix, asked or client, clock)
    yield Engine(store, receipts, clock, lambda timer: _spoil(client, prefix, timer), client, prefix)
    delete_tables(client, prefix)


def _spoil(client: Any, prefix: str, timer: Timer) -> None:
    item = {**timer_item(timer), "policies": {"S": "{}"}}
    client.put_item(TableName=f"{prefix}-{schema.SCHEDULES.name}", Item=item)


@contextmanager
def moto_engine(clock: SettableClock | None = None) -> Iterator[Engine]:
    with mocked_aws():
        client, asked = _moto_clients()
        with dynamodb_engine(client, clock, asked=asked) as engine:
            yield engine


@cache
def _moto_clients() -> tuple[Any, Any]:
    """Made once: a client takes longer to make than moto's tables do."""
    return boto3.client("dynamodb"), dynamodb_client()
