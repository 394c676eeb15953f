"""A limit of runs at once on the deployed product: five are never six, also when their workers are killed.

The jobs are requests to a server of the test, which counts by itself how many it has under way. A request whose worker
was killed is under way until the server has done with it.
"""

import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.e2e.conftest import LOOK_SECONDS, PATIENCE_SECONDS, Caller
from tests.e2e.processes import function_processes, kill

pytestmark = pytest.mark.e2e

LIMIT = 5
JOB_SECONDS = 8
TIMEOUT_SECONDS = 15
LEASE_SECONDS = TIMEOUT_SECONDS + 80
"""A slot is held for the time limit, a minute of patience, and the margins of two leases."""


class Jobs:
    """A server whose every request takes its time."""

    def __init__(self) -> None:
        self.under_way = self.most = self.done = 0
        self._lock = threading.Lock()
        jobs = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                with jobs:
                    time.sleep(JOB_SECONDS)
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Nothing: it would only be in the way."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> None:
        with self._lock:
            self.under_way += 1
            self.most = max(self.most, self.under_way)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.under_way -= 1
            self.done += 1

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    made = Jobs()
    yield made
    made.close()


def test_five_runs_at_once_are_never_six_and_are_five_again_after_their_workers_were_killed(api: Caller, jobs: Jobs):
    assert api.ask("POST", "/v1/tenants", {"id": "five", "quotas": {"concurrent_runs": LIMIT}}).status == 201
    key = api.ask("POST", "/v1/tenants/five/keys", {"role": "tenant_admin"}).body["key"]
    policies = {"timeout_seconds": TIMEOUT_SECONDS, "retry": {"max_attempts": 1}}
    made = api.ask(
        "PUT",
        "/v1/schedules/busy",
        {"trigger": {"every": "1s"}, "target": {"url": jobs.url}, "policies": policies},
        key=key,
    )
    assert made.status == 201, made
    _until(lambda: jobs.under_way == LIMIT, PATIENCE_SECONDS, jobs)
    assert _held(api, key) <= LIMIT
    assert kill(function_processes(api.stack, "worker-standard"))
    killed_at = time.monotonic()
    _until(lambda: time.monotonic() > killed_at + JOB_SECONDS and jobs.under_way == LIMIT, LEASE_SECONDS + 60, jobs)
    paused = api.ask("POST", "/v1/schedules/busy/pause", {"reason": "seen enough"}, key=key)
    assert paused.status == 200, paused
    assert jobs.most == LIMIT
    _until(lambda: jobs.under_way == 0 and _held(api, key) == 0, LEASE_SECONDS + 60, jobs)


def _held(api: Caller, key: str) -> int:
    use = api.ask("GET", "/v1/tenants/five/usage", key=key).body["quotas"]["concurrent_runs"]
    assert use["limit"] == LIMIT
    return int(use["use"])


def _until(holds: Callable[[], bool], seconds: float, jobs: Jobs) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert jobs.most <= LIMIT
        assert time.monotonic() < deadline, f"{jobs.under_way} under way, {jobs.done} done"
        time.sleep(LOOK_SECONDS)
