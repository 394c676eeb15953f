"""One trace is followed from a request to the job, the webhook and every retry, on the really deployed stack."""

import http.client
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import pytest

from cronfleet.domain.trace import TraceContext, parse_traceparent, trace_id_of
from local.testing import StackProcess
from tests.e2e.conftest import NEVER, Caller

pytestmark = [pytest.mark.e2e, pytest.mark.emulator]

PATIENCE_SECONDS = 60
FAST = {"retry": {"max_attempts": 3, "backoff": {"kind": "fixed", "base_seconds": 1}}}
SECRET = "payload-that-nobody-may-see"


def request(stack: StackProcess, method: str, path: str, body: Any = None, **headers: str) -> tuple[Any, bytes]:
    """The answer's headers and content."""
    where = urlsplit(stack.facts["url"])
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=40)
    key = {"Authorization": f"Bearer {stack.facts['key']}", "Content-Type": "application/json"}
    try:
        connection.request(method, path, None if body is None else json.dumps(body), {**key, **headers})
        answer = connection.getresponse()
        return answer, answer.read()
    finally:
        connection.close()


def run_now(stack: StackProcess, schedule_id: str, context: TraceContext) -> tuple[TraceContext, dict[str, Any]]:
    """The span of the request, as its answer says, and the run."""
    path = f"/v1/schedules/{schedule_id}/run"
    answer, content = request(stack, "POST", path, {}, traceparent=context.traceparent)
    assert answer.status == 201, content
    told = parse_traceparent(answer.headers["traceparent"])
    assert told is not None
    return told, json.loads(content)


def spans_of(stack: StackProcess, wanted: str, name: str) -> dict[str, dict[str, Any]]:
    """The spans of a trace by their names, as soon as one of this name has come."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    spans: dict[str, dict[str, Any]] = {}
    while name not in spans:
        assert time.monotonic() < deadline, f"of {wanted} only {sorted(spans)} came"
        time.sleep(0.2)
        answer, content = request(stack, "GET", f"/traces/{wanted}?format=json")
        spans = {one["name"]: one for one in json.loads(content)} if answer.status == 200 else {}
    return spans


class Hook(ThreadingHTTPServer):
    """Keeps the `traceparent` of every webhook that comes."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Kept)
        self.came: list[str | None] = []


class _Kept(BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.came.append(self.headers["traceparent"])
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Nothing: it would only be in the way."""


@contextmanager
def hook() -> Iterator[Hook]:
    with Hook() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def caller(name: str) -> TraceContext:
    return TraceContext(trace_id_of("e2e", name, str(time.time_ns())), "00f067aa0ba902b7", sampled=True)


def test_a_request_is_followed_to_its_job_and_the_spans_that_the_job_makes(stack: StackProcess, api: Caller) -> None:
    api.put("traced-job", trigger=NEVER, target={"handler": "demo.steps"}, payload={"steps": 2, "note": SECRET})
    ours = caller("job")
    asked, run = run_now(stack, "traced-job", ours)
    assert asked.trace_id == ours.trace_id == run["trace_id"]
    spans = spans_of(stack, ours.trace_id, "run")
    chain = ["POST /v1/schedules/{schedule_id}/run", "run", "process runs-standard", "job demo.steps", "step 1"]
    parents = [ours.span_id, *(spans[name]["span_id"] for name in chain)]
    assert [spans[name]["parent_id"] for name in chain] == parents[:-1]
    assert spans[chain[0]]["span_id"] == asked.span_id
    assert {spans["claim"]["parent_id"], spans["queue runs-standard"]["parent_id"]} == {spans["run"]["span_id"]}
    services = [spans[name]["service"] for name in (*chain, "claim")]
    assert services == [
        "cronfleet-api",
        "cronfleet-dispatcher",
        *["cronfleet-worker"] * 2,
        "cronfleet-job",
        "cronfleet-dispatcher",
    ]
    about = spans["process runs-standard"]["attributes"]
    assert (about["cronfleet.run_id"], about["cronfleet.tenant"]) == (run["run_id"], "demo")
    assert about["cronfleet.outcome"] == "succeeded"
    assert spans["claim"]["began"] <= spans["queue runs-standard"]["began"] <= spans["process runs-standard"]["began"]
    log = json.loads(request(stack, "GET", f"/v1/runs/{run['run_id']}/log?attempt=1")[1])
    assert ours.trace_id in json.dumps(log), "the job was told the span that it stands below"
    _said_in_every_line(stack, run["run_id"], ours.trace_id)
    _shown_to_people(stack, run["run_id"])
    assert SECRET not in (stack.state / "traces.jsonl").read_text()


def _said_in_every_line(stack: StackProcess, run_id: str, trace_id: str) -> None:
    log = (stack.state / "emulator.log").read_text(errors="replace")
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{") and run_id in line]
    assert {line["trace_id"] for line in lines if "message" in line} == {trace_id}
    assert [line["message"] for line in lines].count("attempt_finished") == 1
    assert SECRET not in log


def _shown_to_people(stack: StackProcess, run_id: str) -> None:
    command = [sys.executable, "-m", "local.trace", run_id, "--state-dir", str(stack.state)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert [line.split("│")[0].split()[0] for line in done.stdout.splitlines()[3:6]] == ["POST", "run", "claim"]
    page = request(stack, "GET", f"/traces/{run_id}")[1].decode()
    assert "job demo.steps" in page
    assert run_id in request(stack, "GET", "/traces")[1].decode() or "demo / traced-job" in page


def test_a_webhook_gets_the_header_of_the_span_that_called_it(stack: StackProcess, api: Caller) -> None:
    with hook() as server:
        url = f"http://127.0.0.1:{server.server_address[1]}/{SECRET}"
        api.put("traced-hook", trigger=NEVER, target={"url": url}, payload={"note": SECRET})
        ours = caller("hook")
        run_now(stack, "traced-hook", ours)
        spans = spans_of(stack, ours.trace_id, "run")
    (header,) = server.came
    assert header == f"00-{ours.trace_id}-{spans['POST']['span_id']}-01"
    assert spans["POST"]["parent_id"] == spans["process runs-standard"]["span_id"]
    assert SECRET not in (stack.state / "traces.jsonl").read_text()


def test_retries_stand_in_the_same_trace(stack: StackProcess, api: Caller) -> None:
    api.put("traced-flaky", trigger=NEVER, target={"handler": "demo.flaky"}, payload={"failures": 1}, policies=FAST)
    ours = caller("flaky")
    _, run = run_now(stack, "traced-flaky", ours)
    spans = spans_of(stack, run["run_id"], "run")
    assert "wait for attempt 2" in spans
    assert spans["run"]["attributes"]["cronfleet.attempts"] == 2
    _, content = request(stack, "GET", f"/traces/{ours.trace_id}?format=json")
    processed = [one for one in json.loads(content) if one["name"] == "process runs-standard"]
    assert sorted(one["attributes"]["cronfleet.outcome"] for one in processed) == ["failed", "succeeded"]
    assert [one["error"] for one in processed if one["is_error"]] == ["failed: ConnectionError"]
