"""The long worker of the local stack: what it is started with, and when a deployment has it go."""

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from local import long_worker, process
from local.folder import Folder
from local.long_worker import LongWorker, renew_long_worker

WORKER, OTHER = "cronfleet-worker-standard", "cronfleet-api"


class Deployed:
    """What Lambda says of the worker function: `settings`, or nothing while they are None."""

    def __init__(self) -> None:
        self.settings: dict[str, str] | None = {"CRONFLEET_SHARDS": "2"}

    def client(self, _name: str) -> "Deployed":
        return self

    def get_function_configuration(self, FunctionName: str) -> dict[str, Any]:  # noqa: N803 - as boto3 calls it
        assert FunctionName == WORKER
        if self.settings is None:
            raise EndpointConnectionError(endpoint_url="http://127.0.0.1:1")
        return {"Environment": {"Variables": self.settings}}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    made.make()
    return made


@pytest.fixture
def sleeper(folder: Folder) -> Iterator[process.Process]:
    """A process that the folder remembers as its long worker."""
    started = process.start(
        [sys.executable, "-c", "import time; time.sleep(600)"],
        environment=dict(os.environ),
        log=folder.long_worker_log,
        folder=folder.path,
    )
    started.remember(folder.long_worker_record)
    yield started
    started.kill_group()


def test_a_deployment_that_changed_the_workers_has_the_long_worker_go(folder: Folder, sleeper: process.Process) -> None:
    assert renew_long_worker(folder, {WORKER: "1", OTHER: "1"}, {WORKER: "2", OTHER: "1"})
    assert not sleeper.alive


def test_a_deployment_that_changed_other_functions_leaves_its_job_alone(
    folder: Folder, sleeper: process.Process
) -> None:
    assert not renew_long_worker(folder, {WORKER: "1", OTHER: "1"}, {WORKER: "1", OTHER: "2"})
    assert sleeper.alive


def test_where_there_is_no_long_worker_none_is_told_to_go(folder: Folder) -> None:
    assert not renew_long_worker(folder, {WORKER: "1"}, {WORKER: "2"})


def test_one_that_is_started_again_has_the_settings_of_now_or_the_last_that_were_known(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[str] = []

    def started(_command: Any, *, environment: Mapping[str, str], **_rest: Any) -> process.Process:
        given.append(environment["CRONFLEET_SHARDS"])
        return process.Process(0, "never")

    monkeypatch.setattr(long_worker, "start", started)
    monkeypatch.setattr(process.Process, "alive", False)
    monkeypatch.setattr(long_worker, "RESTART_SECONDS", 0)
    deployed = Deployed()
    worker = LongWorker(folder, deployed, "http://127.0.0.1:1", "cronfleet")  # type: ignore[arg-type] - says what Aws would
    deployed.settings = {"CRONFLEET_SHARDS": "4"}
    worker.keep_going()
    deployed.settings = None
    worker.keep_going()
    assert given == ["2", "4", "4"]
