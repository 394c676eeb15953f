"""One real local stack for all end-to-end tests: the deployed product on free ports, with a state folder of its own."""

import http.client
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from local.testing import StackProcess, running_stack

PATIENCE_SECONDS = 90
LOOK_SECONDS = 0.2

NEVER = {"cron": "30 4 29 2 *", "timezone": "UTC"}
"""A trigger for what is run by hand: it fires every fourth year, so that no test meets a run it did not ask for."""


@dataclass(frozen=True)
class Answer:
    """What the API answered; `body` is its JSON."""

    status: int
    body: Any


@dataclass(frozen=True)
class Caller:
    """Calls the API of a stack over HTTP with the demo tenant's key, as any customer would."""

    stack: StackProcess

    def ask(self, method: str, path: str, body: Any = None, *, key: str | None = None) -> Answer:
        """One request; `key` "" sends none."""
        facts = self.stack.facts
        where = urlsplit(facts["url"])
        bearer = facts["key"] if key is None else key
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {bearer}"} if bearer else {})
        connection = http.client.HTTPConnection(where.hostname, where.port, timeout=40)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        return Answer(answer.status, json.loads(content) if content else None)

    def put(self, schedule_id: str, **definition: Any) -> Any:
        """Create or replace a schedule."""
        answer = self.ask("PUT", f"/v1/schedules/{schedule_id}", definition)
        assert answer.status in {200, 201}, answer
        return answer.body

    def runs(self, schedule_id: str) -> list[dict[str, Any]]:
        """The whole history of a schedule, newest first."""
        rows: list[dict[str, Any]] = []
        cursor = ""
        while True:
            page = self.ask("GET", f"/v1/schedules/{schedule_id}/runs?limit=100{cursor}")
            assert page.status == 200, page
            rows += page.body["runs"]
            if not page.body.get("cursor"):
                return rows
            cursor = f"&cursor={quote(page.body['cursor'])}"

    def wait_for_runs(
        self,
        schedule_id: str,
        enough: Callable[[list[dict[str, Any]]], bool],
        seconds: float = PATIENCE_SECONDS,
    ) -> list[dict[str, Any]]:
        """The history as soon as it is `enough`."""
        deadline = time.monotonic() + seconds
        while not enough(rows := self.runs(schedule_id)):
            assert time.monotonic() < deadline, f"{schedule_id} has only {rows}"
            time.sleep(LOOK_SECONDS)
        return rows


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StackProcess]:
    """The stack that is up for the whole session. Whoever stops or kills parts of one starts another."""
    with running_stack(tmp_path_factory.mktemp("stack")) as stack:
        yield stack


@pytest.fixture(scope="session")
def api(stack: StackProcess) -> Caller:
    """The API of the session's stack."""
    return Caller(stack)
