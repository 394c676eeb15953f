"""Engines for the tests of adapters: memory, moto, the emulator, and any endpoint that the environment names."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from cronfleet.domain.claiming import Claiming
from tests.support import stores
from tests.support.clients import dynamodb_client, environment
from tests.support.emulator import client, emulator


@pytest.fixture(scope="session")
def emulator_endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An emulator of this test run's own."""
    with emulator(tmp_path_factory.mktemp("emulator")) as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def emulator_dynamodb(emulator_endpoint: str) -> Any:
    return client("dynamodb", emulator_endpoint)


@pytest.fixture(scope="session")
def lean_dynamodb(emulator_endpoint: str) -> Any:
    """The job store's client of production."""
    with environment(emulator_endpoint):
        return dynamodb_client()


ENGINES = [
    "memory",
    "moto",
    "metered",
    pytest.param("emulator", marks=pytest.mark.emulator),
    *(["endpoint"] if stores.ENDPOINT_VARIABLE in os.environ else []),
]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[stores.Engine]:
    """Every store that keeps the contract, empty, at noon. Claims go in batches wherever that can be trusted."""
    with ExitStack() as stack:
        if request.param == "memory":
            yield stores.memory_engine()
        elif request.param == "metered":
            yield stores.metered_engine()
        elif request.param == "moto":
            yield stack.enter_context(stores.moto_engine())
        elif request.param == "emulator":
            dynamodb = request.getfixturevalue("emulator_dynamodb")
            asked = request.getfixturevalue("lean_dynamodb")
            yield stack.enter_context(stores.dynamodb_engine(dynamodb, claiming=Claiming.BATCHED, asked=asked))
        else:
            dynamodb = client("dynamodb", os.environ[stores.ENDPOINT_VARIABLE])
            yield stack.enter_context(stores.dynamodb_engine(dynamodb, claiming=Claiming.BATCHED))


@pytest.fixture
def store(engine: stores.Engine) -> Any:
    return engine.store
