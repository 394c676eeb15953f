"""The API function for tests: on the memory store, and on moto."""

from collections.abc import Iterator

import pytest
import time_machine

from cronfleet.domain.instant import to_datetime
from tests.support import stores
from tests.support.api import Api, api_on, api_on_memory
from tests.support.settable_clock import NOON, TravellingClock


@pytest.fixture(params=["memory", "moto"])
def api(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    if request.param == "memory":
        yield api_on_memory(monkeypatch)
    else:
        # moto's answers carry its time, and the function refuses to change anything under a clock that is off.
        with (
            time_machine.travel(to_datetime(NOON), tick=False) as traveller,
            stores.moto_engine(TravellingClock(traveller)) as engine,
        ):
            yield api_on(monkeypatch, engine.store, engine.clock)


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Api:
    return api_on_memory(monkeypatch)
