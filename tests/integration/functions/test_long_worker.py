"""The long worker as its image has it: its files brought together by the Dockerfile's own lines, its entry a process."""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import boto3
import pytest
from moto.dynamodb.responses import DynamoHandler
from moto.server import ThreadedMotoServer

from cronfleet import settings
from cronfleet.adapters.dynamodb.job_store import DynamoJobStore, dynamodb_client
from cronfleet.adapters.sqs.messages import encode_run
from cronfleet.adapters.system.clock import SystemClock
from cronfleet.domain.claim import RunTimer
from cronfleet.domain.instant import DAY, HOUR, SECOND, floor_second
from cronfleet.domain.run import Outcome, Run, RunMessage, RunStatus
from cronfleet.domain.schedule import Policies
from cronfleet.domain.target import HandlerTarget
from cronfleet.ports.job_store import CreateTimer, InsertDefinition
from tests.support.builders import cron, definition, message, timer
from tests.support.long_task import LongTask, lay_out, until
from tests.support.moto import ENVIRONMENT, _locked
from tests.support.tables import create_queues, create_tables

PREFIX = "cronfleet"
TWO_HOURS = 2 * HOUR // SECOND
JOBS = """
import time

from cronfleet.sdk import HandOn, handler


@handler("test.patient")
def patient(context, payload):
    for step in range(600):
        time.sleep(0.1)
        context.progress(step / 600, "on its way")
        if context.stopping and payload == "hands on":
            context.receipt("handed-on", step)
            raise HandOn
        if context.stopping and payload == "is nearly done":
            return


@handler("test.deaf")
def deaf(context, payload):
    time.sleep(60)
"""


class Installation:
    """One installation on moto's server, and a long worker beside it."""

    def __init__(self, endpoint: str, folder: Path) -> None:
        clock = SystemClock()
        self.store = DynamoJobStore(PREFIX, dynamodb_client(), clock)
        self.sqs: Any = boto3.client("sqs")
        create_tables(boto3.client("dynamodb"), PREFIX)
        self.urls = create_queues(self.sqs, PREFIX)
        self.now = floor_second(clock.now())
        self.message: RunMessage = replace(message(self.now), timeout_seconds=TWO_HOURS)
        self._endpoint = endpoint
        self._folder = folder
        self._tasks: list[LongTask] = []
        self.app = lay_out(folder)
        (self.app / "worker" / "handlers" / "for_test.py").write_text(JOBS, encoding="utf-8")

    def send(self, target: str, payload: Any = None) -> None:
        trigger = cron("0 2 * * *")
        described = definition(
            trigger, target=HandlerTarget(target), payload=payload, policies=Policies(timeout_seconds=TWO_HOURS)
        )
        waiting = replace(timer(trigger, self.now + DAY), timeout_seconds=TWO_HOURS)
        self.store.commit([CreateTimer(waiting), InsertDefinition(described)])
        self.sqs.send_message(QueueUrl=self.urls["runs-long"], MessageBody=encode_run(self.message))

    def start(self, **environment: str) -> LongTask:
        queues = {name: self.urls[f"runs-{name}"] for name in settings.RUN_QUEUES}
        given = {
            **ENVIRONMENT,
            "AWS_ENDPOINT_URL": self._endpoint,
            settings.TABLE_PREFIX: PREFIX,
            settings.RUN_QUEUE_URLS: json.dumps(queues),
            "CRONFLEET_LONG_FOLDER": str(self._folder / "shared"),
            **environment,
        }
        task = LongTask(self.app, given, self._folder / "log")
        self._tasks.append(task)
        return task

    def row(self) -> Run | None:
        return self.store.get_run(self.message.key)

    def status(self) -> RunStatus | None:
        row = self.row()
        return None if row is None else row.status

    def is_told(self) -> bool:
        row = self.row()
        return row is not None and row.status is RunStatus.RUNNING

    def left_in_queue(self) -> int:
        asked = self.sqs.get_queue_attributes(QueueUrl=self.urls["runs-long"], AttributeNames=["All"])["Attributes"]
        return int(asked["ApproximateNumberOfMessages"]) + int(asked["ApproximateNumberOfMessagesNotVisible"])

    def close(self) -> None:
        for task in self._tasks:
            task.close()


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    with patch.object(DynamoHandler, "call_action", _locked):
        server.start()
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
        server.stop()


@pytest.fixture
def installation(endpoint: str, tmp_path: Path) -> Iterator[Installation]:
    with patch.dict(os.environ, {**ENVIRONMENT, "AWS_ENDPOINT_URL": endpoint}):
        boto3.client("sqs")._make_api_call  # noqa: B018 - the endpoint is there before anything is made on it
        import urllib3  # noqa: PLC0415 - only here

        urllib3.PoolManager().request("POST", f"{endpoint}/moto-api/reset")
        made = Installation(endpoint, tmp_path)
        yield made
        made.close()


def test_a_long_run_is_handed_on_within_the_grace_when_its_worker_is_told_to_stop(installation: Installation) -> None:
    installation.send("test.deaf")
    task = installation.start(CRONFLEET_LONG_STOP_SECONDS="17")
    until(installation.is_told, "the run has begun")
    until(lambda: installation.left_in_queue() == 0, "its message is deleted: the ledger knows of the run")
    task.terminate()
    assert task.wait() == 0, task.log
    row = installation.row()
    assert row is not None
    assert (row.status, row.attempts[0].outcome, row.tries) == (RunStatus.WAITING, Outcome.INTERRUPTED, 0)
    assert row.attempts[0].error == "stopped: its worker was stopped before it was done"
    (waiting,) = [
        item
        for item in installation.store.due(timer(cron("0 2 * * *"), 0).shard, installation.now + HOUR, None, 10).items
        if isinstance(item, RunTimer)
    ]
    assert (waiting.attempt, waiting.timeout_seconds) == (2, TWO_HOURS), "another worker goes on at once"
    assert waiting.due_at == row.retry_at
