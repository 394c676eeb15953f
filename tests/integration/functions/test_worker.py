"""The worker function with an event of the run queue: real handlers, DynamoDB and SQS as moto plays them."""

import copy
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import boto3
import pytest
import time_machine

from cronfleet import settings
from cronfleet.adapters.dynamodb.job_store import DynamoJobStore
from cronfleet.adapters.sqs.messages import encode_run
from cronfleet.adapters.system.clock import SystemClock
from cronfleet.domain.instant import DAY, SECOND, to_datetime
from cronfleet.domain.run import Outcome, Run, RunMessage, RunStatus
from cronfleet.domain.schedule import Policies
from cronfleet.domain.target import HandlerTarget
from cronfleet.ports.job_store import CreateTimer, InsertDefinition
from functions.worker import handler
from tests.support.builders import at, cron, definition, message, timer
from tests.support.clients import dynamodb_client
from tests.support.moto import mocked_aws
from tests.support.tables import create_queues, create_tables

PREFIX = "cronfleet"
TWO = at("2026-12-01 02:00")
EVENT = json.loads((Path(__file__).parents[2] / "events" / "run_queue.json").read_text(encoding="utf-8"))


class Installation:
    def __init__(self, traveller: Any, urls: dict[str, str]) -> None:
        self.store = DynamoJobStore(PREFIX, dynamodb_client(), SystemClock())
        self.message = message(TWO)
        self.traveller = traveller
        self.urls = urls

    def add(self, target: str, payload: Any = None) -> None:
        trigger = cron("0 2 * * *")
        described = definition(trigger, target=HandlerTarget(target), payload=payload, policies=Policies())
        self.store.commit([CreateTimer(timer(trigger, TWO + DAY)), InsertDefinition(described)])

    def row(self) -> Run:
        row = self.store.get_run(self.message.key)
        assert row is not None
        return row

    def queued(self) -> list[str]:
        found = boto3.client("sqs").receive_message(QueueUrl=self.urls["runs-standard"], MaxNumberOfMessages=10)
        return [message["Body"] for message in found.get("Messages", [])]


@pytest.fixture
def installation() -> Iterator[Installation]:
    with mocked_aws(), time_machine.travel(to_datetime(TWO), tick=False) as traveller:
        create_tables(boto3.client("dynamodb"), PREFIX)
        urls = create_queues(boto3.client("sqs"), PREFIX)
        run_queues = {name: urls[f"runs-{name}"] for name in settings.RUN_QUEUES}
        environment = {settings.TABLE_PREFIX: PREFIX, settings.RUN_QUEUE_URLS: json.dumps(run_queues)}
        with patch.dict(os.environ, environment):
            handler._service.cache_clear()
            yield Installation(traveller, urls)
            handler._service.cache_clear()


def deliver(*bodies: str | RunMessage) -> list[str]:
    """One invocation with these messages; the ids of those that it wants again."""
    records = []
    for number, body in enumerate(bodies):
        record = copy.deepcopy(EVENT["Records"][0])
        text = body if isinstance(body, str) else encode_run(body)
        records.append({**record, "messageId": f"message-{number}", "body": text})
    answer = handler.handle({"Records": records}, None)
    return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


def test_a_message_becomes_a_run_of_the_sample_job(installation: Installation) -> None:
    installation.add("billing.nightly", {"accounts": ["a"]})
    installation.traveller.shift(1.5)
    assert deliver(installation.message) == []
    row = installation.row()
    assert row.status is RunStatus.SUCCEEDED
    assert row.lag_ms == 1_500
    items = boto3.client("dynamodb").scan(TableName=f"{PREFIX}-receipts")["Items"]
    assert len(items) == 1


def test_a_failed_attempt_leaves_its_error_and_a_retry(installation: Installation) -> None:
    installation.add("demo.flaky")
    assert deliver(installation.message) == []
    row = installation.row()
    assert (row.status, row.attempts[0].outcome) == (RunStatus.WAITING, Outcome.FAILED)
    assert row.attempts[0].error is not None
    assert row.attempts[0].error.startswith("ConnectionError: the far end hung up")
    for item in installation.store.due(timer(cron("0 2 * * *"), TWO).shard, TWO + DAY, None, 10).items:
        assert item.due_at > TWO


def test_a_handler_that_is_not_registered_ends_the_run_with_the_names_that_are(installation: Installation) -> None:
    installation.add("billing.weekly")
    assert deliver(installation.message) == []
    row = installation.row()
    assert row.status is RunStatus.DEAD
    assert row.reason is not None
    assert "billing.nightly" in row.reason.text


def test_an_early_message_goes_back_to_its_queue(installation: Installation) -> None:
    installation.add("demo.heartbeat")
    early = replace(installation.message, due_at=TWO + 2 * SECOND)
    assert deliver(early) == []
    assert installation.queued() == []
    installation.traveller.shift(2)
    assert installation.queued() == [encode_run(early)]


@pytest.mark.parametrize("body", ["", "{}", "[]", '{"run_id":"x"}', "\ud83d", "[" * 100_000])
def test_a_message_that_cannot_be_read_fails_alone_and_alarms(
    installation: Installation, body: str, capsys: pytest.CaptureFixture[str]
) -> None:
    installation.add("demo.heartbeat")
    assert deliver(body, installation.message) == ["message-0"]
    assert installation.row().status is RunStatus.SUCCEEDED
    assert "message_unreadable" in capsys.readouterr().out


def test_a_store_that_is_not_there_gives_the_message_back(installation: Installation) -> None:
    boto3.client("dynamodb").delete_table(TableName=f"{PREFIX}-runs")
    assert deliver(installation.message) == ["message-0"]


def test_on_lambda_the_handlers_lie_beside_the_entry() -> None:
    assert f"{handler.__package__}.handlers" == handler.HANDLERS
