"""The command line in front of the real API: its requests go over a socket to the front door, on a memory store."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from cronfleet.adapters.cloudwatch.telemetry import CloudWatchTelemetry
from cronfleet.domain.api_key import ApiKey, digest_of
from cronfleet.domain.role import Role
from cronfleet.domain.tenant import Tenant
from cronfleet_cli.main import app
from tests.support.api import Answer, Api
from tests.support.front_door import FrontDoor

COMMAND = get_command(app)
"""Made once: to make it takes longer than most commands."""

MOST_WAITS = 10
SECRET = "0123456789abcdefghijklmnopqrstuv"


@dataclass(slots=True)
class Said:
    """What a command did: exit code, and what stood on its two outputs."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


@dataclass(slots=True)
class Asked:
    """A request as it came in."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(slots=True)
class CommandLine:
    """Runs commands. `asked`: every request; `before`: answers that are given instead of the API's, in their order."""

    api: Api
    door: FrontDoor
    asked: list[Asked] = field(default_factory=list)
    before: list[Answer | None] = field(default_factory=list)
    """None: the connection breaks without an answer, after the API has carried the request out."""

    meanwhile: Callable[[Asked], None] = lambda _: None
    """What somebody else does just before the API sees a request."""

    environment: dict[str, str] = field(default_factory=dict)
    waited: list[float] = field(default_factory=list)
    during_waits: list[Callable[[], object]] = field(default_factory=list)
    """What happens while the command waits, wait by wait; after ten waits somebody interrupts it."""

    def __call__(self, *arguments: str, given: str | None = None) -> Said:
        result = CliRunner().invoke(app, list(arguments), input=given, env=self.environment)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Said(result.exit_code, result.stdout, result.stderr)

    def wait(self, seconds: float) -> None:
        """Stands in for a wait, and takes no time."""
        self.waited.append(seconds)
        if self.during_waits:
            self.during_waits.pop(0)()
        elif len(self.waited) > MOST_WAITS:
            raise KeyboardInterrupt

    def json(self, *arguments: str, given: str | None = None) -> Any:
        """What a command that must succeed prints as JSON."""
        said = self(*arguments, "-o", "json", given=given)
        assert said.code == 0, said
        return said.json


def put_key(api: Api, key_id: str, role: Role, tenant: str = "acme") -> str:
    """A key of `role`; what a caller sends."""
    text = f"cf_{key_id}_{SECRET}"
    api.store.put_api_key(ApiKey(key_id, digest_of(text), Tenant(tenant, rev=1), role))
    return text


def _handler(line: CommandLine) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            line.asked.append(Asked(self.command, self.path, dict(self.headers), body))
            line.meanwhile(line.asked[-1])
            instead = line.before.pop(0) if line.before else False
            if instead is False or instead is None:
                answer = line.door.call(
                    self.command,
                    self.path,
                    body.decode() if body else None,
                    authorization=self.headers.get("authorization"),
                    headers=dict(self.headers),
                )
            if instead is None:
                self.close_connection = True
                return
            self._answer(answer if instead is False else instead)

        def _answer(self, answer: Answer) -> None:
            content = answer.text.encode()
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                if name not in {"content-length", "content-encoding"}:
                    self.send_header(name, value)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Tests say what they saw."""

    for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        setattr(Handler, f"do_{method}", Handler._serve)
    return Handler


@contextmanager
def command_line(api: Api, monkeypatch: pytest.MonkeyPatch) -> Iterator[CommandLine]:
    """Commands with a tenant admin's key of `acme`, served by `api` until the end; no wait takes time."""
    line = CommandLine(api, FrontDoor(api, monkeypatch))
    server = HTTPServer(("127.0.0.1", 0), _handler(line))
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    monkeypatch.setattr("typer.testing._get_command", lambda _: COMMAND)
    monkeypatch.setattr("cronfleet_cli.api.Api.wait", lambda _, seconds: line.wait(seconds))
    # One process has one standard output: the API's metrics would stand among the command's words.
    monkeypatch.setattr(CloudWatchTelemetry, "_put", lambda *_: None)
    line.environment = {
        "CRONFLEET_URL": f"http://127.0.0.1:{server.server_port}",
        "CRONFLEET_KEY": put_key(api, "admin", Role.TENANT_ADMIN),
        "COLUMNS": "140",
    }
    try:
        yield line
    finally:
        server.shutdown()
        server.server_close()
