"""boto3's client and the lean one, side by side: whatever is tested here holds for both."""

import os
from collections.abc import Iterator
from functools import cache
from typing import Any, Protocol

import boto3
import pytest

from cronfleet.adapters.dynamodb.job_store import CONFIG as DYNAMODB_CONFIG
from cronfleet.adapters.sqs.run_queue import CONFIG as SQS_CONFIG
from tests.support.clients import dynamodb_client, environment, sqs_client
from tests.support.fault_server import FaultServer


class Made(Protocol):
    """Makes the client of a service, for what the environment says now."""

    def __call__(self, service: str) -> Any: ...


def lean_client(service: str) -> Any:
    return _lean(service, os.environ["AWS_ENDPOINT_URL"])


def boto3_client(service: str) -> Any:
    return _boto3(service, os.environ["AWS_ENDPOINT_URL"])


@cache
def _lean(service: str, _endpoint: str) -> Any:
    return {"dynamodb": dynamodb_client, "sqs": sqs_client}[service]()


@cache
def _boto3(service: str, _endpoint: str) -> Any:
    make: Any = boto3.client
    return make(service, config={"dynamodb": DYNAMODB_CONFIG, "sqs": SQS_CONFIG}[service])


def forget_clients() -> None:
    """What is made from now on knows nothing of failures so far."""
    _lean.cache_clear()
    _boto3.cache_clear()


MADE: dict[str, Made] = {"lean": lean_client, "boto3": boto3_client}


@pytest.fixture(params=list(MADE))
def made(request: pytest.FixtureRequest) -> Made:
    return MADE[request.param]


@pytest.fixture(scope="module")
def running() -> Iterator[FaultServer]:
    with FaultServer().running() as server, environment(server.url):
        yield server


@pytest.fixture
def server(running: FaultServer) -> FaultServer:
    running.begin()
    return running


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long clients wanted to wait; nobody waits."""
    found: list[float] = []
    monkeypatch.setattr("time.sleep", found.append)
    return found
