"""The real API function on the memory store: a request in, an answer out, by way of recorded gateway events."""

import base64
import copy
import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl

import pytest

from cronfleet import bootstrap, settings
from cronfleet.adapters.memory.job_store import MemoryJobStore
from functions.api import handler, permissions, tracing
from functions.api.routes import (
    audit,
    backfills,
    breakers,
    bulk,
    calendars,
    channels,
    dead_letters,
    dependencies,
    forecast,
    freezes,
    health,
    heartbeats,
    holds,
    imports,
    incidents,
    keys,
    ledger,
    lint,
    objectives,
    operations,
    preview,
    reruns,
    runs,
    schedules,
    shadow,
    target_role,
    tenant_life,
    tenants,
    versions,
    zone_data,
)
from tests.support.settable_clock import CountingIds, SettableClock

EVENTS = Path(__file__).parent.parent / "events"
RECORDED = json.loads((EVENTS / "http_api.json").read_text(encoding="utf-8"))
CONTEXT = SimpleNamespace(aws_request_id="11111111-2222-3333-4444-555555555555", function_name="cronfleet-api")
NIGHTLY = {
    "id": "nightly",
    "trigger": {"cron": "0 2 * * *", "timezone": "Asia/Kolkata"},
    "target": {"handler": "billing.nightly"},
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What the function answered; header names in lower case."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def fields(self) -> list[str]:
        """The fields that a problem names."""
        return [error["field"] for error in self.json.get("errors", [])]


def event_of(
    method: str,
    target: str,
    body: Any = None,
    *,
    tenant: str = "acme",
    role: str = "tenant_admin",
    headers: dict[str, str] | None = None,
) -> dict[str, Any]:
    """The event that the gateway makes of a request. `body`: JSON to be, text as it is, or bytes (sent as base64)."""
    path, _, query = target.partition("?")
    event = copy.deepcopy(RECORDED)
    event["rawPath"], event["rawQueryString"] = path, query
    event["requestContext"]["http"] |= {"method": method, "path": path}
    event["requestContext"]["authorizer"]["lambda"] |= {"tenant": tenant, "role": role}
    if query:
        event["queryStringParameters"] = _joined(parse_qsl(query, keep_blank_values=True))
    if body is not None:
        event["headers"]["content-type"] = "application/json"
        event |= _body(body)
    event["headers"] |= {name.lower(): value for name, value in (headers or {}).items()}
    return event


def _joined(pairs: list[tuple[str, str]]) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, value in pairs:
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined


def _body(body: Any) -> dict[str, Any]:
    if isinstance(body, bytes):
        return {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}
    return {"body": body if isinstance(body, str) else json.dumps(body)}


def answer_of(answer: dict[str, Any]) -> Answer:
    """What the function's return value says to a caller."""
    headers = {name.lower(): value for name, value in answer.get("headers", {}).items()}
    text = answer.get("body") or ""
    if answer.get("isBase64Encoded"):
        raw = base64.b64decode(text)
        text = (gzip.decompress(raw) if headers.get("content-encoding") == "gzip" else raw).decode()
    return Answer(answer["statusCode"], headers, text)


class Api:
    """One installation: its store and clock lie open."""

    def __init__(self, store: Any, clock: SettableClock) -> None:
        self.store = store
        self.clock = clock

    def call(self, method: str, target: str, body: Any = None, **more: Any) -> Answer:
        return self.send(event_of(method, target, body, **more))

    def send(self, event: dict[str, Any]) -> Answer:
        return answer_of(handler.handle(event, CONTEXT))

    def register(self, **changes: Any) -> Answer:
        return self.call("POST", "/v1/schedules", {**NIGHTLY, **changes})


def api_on_memory(monkeypatch: pytest.MonkeyPatch, **environment: str) -> Api:
    """The function, wired to a memory store and a clock that stands still at noon."""
    clock = SettableClock()
    return api_on(monkeypatch, MemoryJobStore(clock), clock, **environment)


def api_on(monkeypatch: pytest.MonkeyPatch, store: Any, clock: SettableClock, **environment: str) -> Api:
    """The function, wired to `store` and `clock`."""
    ids = CountingIds()
    monkeypatch.setenv(settings.TABLE_PREFIX, "cronfleet")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(bootstrap, "_store", lambda _: store)
    monkeypatch.setattr(bootstrap, "SystemClock", lambda: clock)
    monkeypatch.setattr(bootstrap, "SystemIds", lambda: ids)
    for cached in (
        permissions._admission,
        tracing._settings,
        tracing._tracing,
        keys._service,
        schedules._settings,
        schedules._service,
        imports._settings,
        imports._service,
        imports._transfer,
        tenants._service,
        tenant_life._transfer,
        audit._service,
        tenant_life._life,
        bulk._service,
        runs._service,
        reruns._service,
        backfills._service,
        backfills._operations,
        operations._service,
        ledger._service,
        freezes._service,
        holds._service,
        permissions._board,
        breakers._service,
        target_role._service,
        channels._service,
        incidents._service,
        calendars._service,
        dead_letters._service,
        dead_letters._redrives,
        dependencies._service,
        objectives._service,
        preview._calendars,
        lint._service,
        forecast._service,
        health._service,
        heartbeats._service,
        shadow._service,
        versions._service,
        zone_data._service,
    ):
        cached.cache_clear()
    return Api(store, clock)
