"""Puts payloads and secrets through every part: success, failure, refusal. Run as a process, so that all is heard.

    python -m tests.support.confidential

prints whatever the functions and the jobs' own processes print, then the mark `MIDDLE`, then the same where details
were asked for, and at the end, after `END`, what came of it as JSON.
"""

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import boto3

from cronfleet import settings
from cronfleet.domain.instant import SECOND
from cronfleet.sdk import Context, handler
from tests.support.builders import at
from tests.support.chain import Chain, chain
from tests.support.collector import collecting

NOON = at("2026-12-01 12:00")
PAYLOAD = "c0nfidential-payload"
SECRET = "c0nfidential-secret"
TOKEN = "c0nfidential-token"
CONFIDENTIAL = (PAYLOAD, SECRET, TOKEN)
NEVER = {"cron": "0 0 1 1 *", "timezone": "UTC"}
ONCE = {"retry": {"max_attempts": 1}}
MIDDLE, END = "=== middle", "=== end"
DRIVEN = ("fails", "echoes", "lambda", "fine")


@handler("tests.tells_all")
def tells_all(context: Context, payload: Any) -> None:
    """Fails with all that it knows, by way of another failure."""
    try:
        {}[payload["note"]]
    except KeyError as error:
        raise ValueError(f"{payload['note']} {context.secret('token')}") from error


class _Echo(BaseHTTPRequestHandler):
    """Refuses each request with its own words."""

    def do_POST(self) -> None:
        said = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(500)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def echoing() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def drive(made: Chain, echo: str) -> None:
    """Succeed, fail and be refused with what is confidential."""
    boto3.client("secretsmanager").create_secret(Name="cronfleet/acme/token", SecretString=SECRET)
    note = {"note": PAYLOAD, "accounts": [PAYLOAD]}
    secrets = {"token": "cronfleet/acme/token"}
    made.put(
        "fails", trigger=NEVER, target={"handler": "tests.tells_all", "secrets": secrets}, payload=note, policies=ONCE
    )
    made.put("echoes", trigger=NEVER, target={"url": f"{echo}/{TOKEN}?key={TOKEN}"}, payload=note, policies=ONCE)
    made.put("lambda", trigger=NEVER, target={"lambda": "cronfleet-target-none"}, payload=note, policies=ONCE)
    made.put("fine", trigger=NEVER, target={"handler": "demo.heartbeat"}, payload=note)
    for schedule_id in DRIVEN:
        assert made.call("POST", f"/v1/schedules/{schedule_id}/run", {"payload": note}).status == 201
    refused = {"trigger": {"cron": PAYLOAD}, "target": {"url": f"ftp://{TOKEN}"}, "payload": {"x": PAYLOAD}, PAYLOAD: 1}
    assert made.call("PUT", "/v1/schedules/wrong", refused).status == 400
    assert made.call("POST", f"/v1/heartbeats/{TOKEN}").status == 404
    assert made.call("GET", f"/v1/nowhere/{TOKEN}").status == 404
    made.until(NOON + 10 * SECOND)
    made.minute()


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    """Twice, with and without details."""
    with echoing() as echo, collecting() as collector, chain(NOON) as made:
        traced = {settings.TRACES: collector.url, settings.TRACE_RATIO: "1", settings.LATE_SECONDS: "5"}
        made.deploy(**traced, CRONFLEET_WEBHOOK_ALLOWED_NETWORKS="127.0.0.0/8")
        made.minute()
        drive(made, echo)
        runs = {name: made.history(name)[0] for name in DRIVEN}
    say(MIDDLE)
    with echoing() as echo, chain(NOON) as made:
        made.deploy(CRONFLEET_LOG_DETAILS="true", CRONFLEET_WEBHOOK_ALLOWED_NETWORKS="127.0.0.0/8")
        made.minute()
        drive(made, echo)
    say(END)
    say(json.dumps({"runs": runs, "spans": collector.spans}))


if __name__ == "__main__":
    main()
