"""The long worker as its image has it: the files that the Dockerfile's own lines bring, and its entry as a process."""

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import boto3
import pytest
import urllib3
from moto.dynamodb.responses import DynamoHandler
from moto.server import ThreadedMotoServer

from cronfleet import settings
from cronfleet.adapters.dynamodb.job_store import DynamoJobStore
from cronfleet.adapters.sqs.messages import encode_run
from cronfleet.adapters.system.clock import SystemClock
from cronfleet.domain.claim import RunTimer
from cronfleet.domain.instant import DAY, HOUR, SECOND, floor_second
from cronfleet.domain.long_run import SHORT_LEASE_SECONDS
from cronfleet.domain.run import Outcome, Run, RunMessage, RunStatus
from cronfleet.domain.schedule import Policies
from cronfleet.domain.target import HandlerTarget
from cronfleet.ports.job_store import CreateTimer, InsertDefinition
from tests.support.builders import cron, definition, message, timer
from tests.support.clients import dynamodb_client
from tests.support.ecs_agent import ecs_agent
from tests.support.long_task import DOCKERFILE, LongTask, instructions, lay_out, places, until
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
        self._endpoint = endpoint
        self._folder = folder
        self._tasks: list[LongTask] = []
        self.environment: dict[str, str] = {}
        self.app = lay_out(folder)
        (self.app / "worker" / "handlers" / "for_test.py").write_text(JOBS, encoding="utf-8")

    def message(self, name: str) -> RunMessage:
        return message(self.now, schedule_id=name, timeout_seconds=TWO_HOURS)

    def send(self, name: str, target: str, payload: Any = None) -> None:
        policies, trigger = Policies(timeout_seconds=TWO_HOURS), cron("0 2 * * *")
        described = definition(trigger, name, target=HandlerTarget(target), payload=payload, policies=policies)
        waiting = timer(trigger, self.now + DAY, schedule_id=name, timeout_seconds=TWO_HOURS)
        self.store.commit([CreateTimer(waiting), InsertDefinition(described)])
        self.sqs.send_message(QueueUrl=self.urls["runs-long"], MessageBody=encode_run(self.message(name)))

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
        self.environment = {**given, "PYTHONPATH": str(self.app)}
        task = LongTask(self.app, given, self._folder / "log")
        self._tasks.append(task)
        return task

    def row(self, name: str) -> Run:
        row = self.store.get_run(self.message(name).key)
        assert row is not None
        return row

    def has_told(self, name: str) -> bool:
        row = self.store.get_run(self.message(name).key)
        return row is not None and row.progress is not None

    def is_running(self, name: str) -> bool:
        row = self.store.get_run(self.message(name).key)
        return row is not None and row.status is RunStatus.RUNNING

    def timers(self) -> list[RunTimer]:
        due = self.store.due(0, self.now + HOUR, None, 10).items
        return [item for item in due if isinstance(item, RunTimer)]

    def left_in_queue(self) -> int:
        asked = self.sqs.get_queue_attributes(QueueUrl=self.urls["runs-long"], AttributeNames=["All"])["Attributes"]
        return int(asked["ApproximateNumberOfMessages"]) + int(asked["ApproximateNumberOfMessagesNotVisible"])

    def close(self) -> None:
        for task in self._tasks:
            task.close()


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    with patch.object(DynamoHandler, "call_action", _locked):
        server.start()
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
        server.stop()


@pytest.fixture
def installation(endpoint: str, tmp_path: Path) -> Iterator[Installation]:
    urllib3.PoolManager().request("POST", f"{endpoint}/moto-api/reset")
    with patch.dict(os.environ, {**ENVIRONMENT, "AWS_ENDPOINT_URL": endpoint}):
        made = Installation(endpoint, tmp_path)
        yield made
        made.close()


def test_what_cannot_end_in_time_is_handed_on_and_not_counted(installation: Installation) -> None:
    installation.send("stubborn", "test.deaf")
    task = installation.start(CRONFLEET_LONG_STOP_SECONDS="17")
    until(lambda: installation.is_running("stubborn"), "the run has begun")
    until(lambda: installation.left_in_queue() == 0, "its message is deleted: the ledger knows of the run")
    task.terminate()
    assert task.wait() == 0, task.log
    row = installation.row("stubborn")
    assert (row.status, row.attempts[0].outcome, row.tries) == (RunStatus.WAITING, Outcome.INTERRUPTED, 0)
    assert row.attempts[0].error == "stopped: its worker was stopped before it was done"
    (waiting,) = installation.timers()
    assert (waiting.attempt, waiting.timeout_seconds) == (2, TWO_HOURS), "another long worker is to have it …"
    assert waiting.due_at == row.retry_at, "… at once"


def test_a_job_that_hears_of_it_ends_in_its_own_way_and_the_task_is_protected_until_then(
    installation: Installation,
) -> None:
    installation.send("one", "test.patient", "hands on")
    installation.send("other", "test.patient", "is nearly done")
    with ecs_agent() as agent:
        task = installation.start(
            CRONFLEET_LONG_JOBS="2",
            ECS_AGENT_URI=agent.address,
            ECS_CONTAINER_METADATA_URI_V4=f"{agent.address}/metadata",
        )
        until(lambda: installation.has_told("one") and installation.has_told("other"), "both jobs are at work")
        assert agent.wanted == [True, True]
        task.terminate()
        assert task.wait() == 0, task.log
        assert agent.wanted == [True, True, False], "the last one lets go"
    one, other = installation.row("one"), installation.row("other")
    assert (one.status, one.attempts[0].outcome) == (RunStatus.WAITING, Outcome.INTERRUPTED)
    assert one.attempts[0].error == "it stopped where it was, as its worker had to"
    assert other.status is RunStatus.SUCCEEDED, "who is nearly done may end"
    receipts = boto3.client("dynamodb").scan(TableName=f"{PREFIX}-receipts")["Items"]
    assert len(receipts) == 1, "and while it goes on, what it does is recorded"


def test_a_place_that_dies_is_filled_again_and_its_run_is_left_under_a_short_lease(installation: Installation) -> None:
    installation.send("stubborn", "test.deaf")
    task = installation.start(CRONFLEET_LONG_STOP_SECONDS="16")
    until(lambda: installation.is_running("stubborn"), "the run has begun")
    (place,) = places(task.process.pid)
    os.kill(place, signal.SIGKILL)
    until(lambda: '"exit_code":-9' in task.log and places(task.process.pid) != [], "another is there")
    row = installation.row("stubborn")
    assert row.lease_until is not None
    assert row.status is RunStatus.RUNNING
    assert row.lease_until - row.attempts[0].started_at <= SHORT_LEASE_SECONDS * SECOND
    asked = subprocess.run(
        [sys.executable, "-m", "long_worker.health"], cwd=installation.app, env=installation.environment, check=False
    )
    assert asked.returncode == 0, "so ECS has no reason to replace the task"
    task.terminate()
    assert task.wait() == 0, task.log


def test_a_worker_without_its_settings_says_which_are_missing(tmp_path: Path) -> None:
    task = LongTask(lay_out(tmp_path), {settings.TABLE_PREFIX: PREFIX}, tmp_path / "log")
    assert task.wait() == 2
    assert "set CRONFLEET_RUN_QUEUE_URLS" in task.log


# --- the image -----------------------------------------------------------------------------------------------


def test_the_dockerfile_is_clean() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    found = subprocess.run([hadolint, DOCKERFILE], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (0, "")


def test_the_image_runs_without_rights_gets_sigterm_itself_and_checks_what_it_installs() -> None:
    assert instructions("USER") == ["10001:10001"]
    assert instructions("STOPSIGNAL") == ["SIGTERM"]
    (entry,) = instructions("ENTRYPOINT")
    assert json.loads(entry) == ["python", "-m", "long_worker"], "through a shell it would never hear of SIGTERM"
    (installed,) = [line for line in instructions("RUN") if "pip install" in line]
    assert {"--require-hashes", "--no-deps", "--only-binary=:all:"} <= set(installed.split())
    assert instructions("ADD") == []
    sources = {written.split()[-2] for written in instructions("COPY") if not written.startswith("--from")}
    assert sources == {
        "layers/vendor/requirements.txt",
        "layers/core/python/cronfleet",
        "functions/worker",
        "functions/long_worker",
    }


def test_nothing_secret_is_built_into_the_image() -> None:
    written = " ".join(instructions("ENV") + instructions("ARG"))
    assert {word.partition("=")[0] for word in written.split()} == {
        "BASE",
        "PYTHONPATH",
        "PYTHONTZPATH",
        "PYTHONUNBUFFERED",
        "PYTHONDONTWRITEBYTECODE",
    }
