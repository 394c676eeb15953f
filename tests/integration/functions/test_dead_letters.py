"""The function behind the dead-letter queues with an event of one: DynamoDB as moto plays it."""

import copy
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import boto3
import pytest
import time_machine

from cronfleet import settings
from cronfleet.adapters.dynamodb.job_store import DynamoJobStore
from cronfleet.adapters.sqs.messages import encode_run, encode_tick
from cronfleet.adapters.system.clock import SystemClock
from cronfleet.domain.instant import HOUR, to_datetime
from cronfleet.domain.reason import Code
from cronfleet.domain.run import RunStatus
from cronfleet.ports.dead_letters import Died
from cronfleet.ports.queues import Tick
from functions.dead_letters import handler
from tests.support.builders import at, message
from tests.support.clients import dynamodb_client
from tests.support.moto import mocked_aws
from tests.support.tables import create_tables

PREFIX = "cronfleet"
TWO = at("2026-12-01 02:00")
EVENT = json.loads((Path(__file__).parents[2] / "events" / "run_queue.json").read_text(encoding="utf-8"))


@pytest.fixture
def store() -> Iterator[DynamoJobStore]:
    with mocked_aws(), time_machine.travel(to_datetime(TWO + 8 * HOUR), tick=False):
        create_tables(boto3.client("dynamodb"), PREFIX)
        with patch.dict(os.environ, {settings.TABLE_PREFIX: PREFIX}):
            handler._service.cache_clear()
            yield DynamoJobStore(PREFIX, dynamodb_client(), SystemClock())
            handler._service.cache_clear()


def deliver(body: str, queue: str = "runs-standard") -> list[str]:
    """One invocation with a dead message of `queue`; the ids of those that stay there."""
    record = copy.deepcopy(EVENT["Records"][0])
    record |= {"body": body, "eventSourceARN": f"arn:aws:sqs:us-east-1:123456789012:{PREFIX}-{queue}-dead"}
    record["attributes"]["ApproximateReceiveCount"] = "6"
    answer = handler.handle({"Records": [record]}, None)
    return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


def test_a_dead_run_message_becomes_a_dead_letter_of_the_ledger_and_a_second_delivery_changes_nothing(
    store: DynamoJobStore,
) -> None:
    dead = message(TWO)
    for _ in range(2):
        assert deliver(encode_run(dead)) == []
    row = store.get_run(dead.key)
    assert row is not None
    assert (row.status, row.rev) == (RunStatus.DEAD, 1)
    assert row.reason is not None
    assert row.reason.code is Code.UNDELIVERED
    assert row.reason.detail["receives"] == 6
    assert row.reason.detail["queue"] == "cronfleet-runs-standard-dead"
    (letter,) = store.list_letters(dead.key.tenant, Died(), cursor=None, limit=10).items
    assert letter.key == dead.key


@pytest.mark.parametrize("body", ["{", "[]", '{"run_id": "x"}', "\x00" * 20_000])
def test_a_message_that_nobody_can_read_is_kept_for_operators_and_leaves_the_queue(
    store: DynamoJobStore, body: str
) -> None:
    assert deliver(body) == []
    (kept,) = store.list_unreadable(cursor=None, limit=10).items
    assert kept.body == body[:8_192]
    assert kept.why
    assert kept.delivery.queue == "cronfleet-runs-standard-dead"


def test_a_dead_tick_is_counted_and_leaves_the_queue(store: DynamoJobStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert deliver(encode_tick(Tick(0, TWO)), "ticks") == []
    assert "message_lapsed" in capsys.readouterr().out
    assert list(store.list_unreadable(cursor=None, limit=10).items) == []


def test_what_cannot_be_written_stays_in_its_queue(store: DynamoJobStore) -> None:
    dead = replace(message(TWO), batch="1.1.1")
    boto3.client("dynamodb").delete_table(TableName=f"{PREFIX}-runs")
    assert deliver(encode_run(dead)) == [EVENT["Records"][0]["messageId"]]
