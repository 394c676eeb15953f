"""Refusals: each names the field as the caller wrote it, and says in words what to write instead."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cronfleet.domain.errors import NotFound
from cronfleet.domain.form import reason_form
from cronfleet.domain.reason import Code, Reason
from cronfleet.services.operations import WORDS
from functions.api import problems
from tests.support.api import Api, api_on_memory

ROOT = Path(__file__).parents[3]
DAY = {"from": "2026-11-29T00:00:00Z", "to": "2026-11-30T00:00:00Z"}
RUN = "acme~nightly~1~20261129T203000Z~schedule"
WEBHOOK = {"kind": "webhook"}


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    with pytest.MonkeyPatch.context() as patch:
        made = api_on_memory(patch)
        assert made.register().status == 201
        target = {"handler": "demo.heartbeat"}
        after = {"trigger": {"after": ["nightly"]}, "target": target}
        assert made.call("PUT", "/v1/schedules/report", after).status == 201
        yield made


@pytest.mark.parametrize(
    ("request_line", "body", "field", "hint"),
    [
        ("GET /v1/operations/nope", None, "operation_id", "GET /v1/operations"),
        ("GET /v1/incidents/NOPE", None, "incident_id", "GET /v1/incidents"),
        ("GET /v1/breakers/nope", None, "breaker_id", "GET /v1/breakers"),
        ("GET /v1/dead-letters?signature=nope", None, "signature", "group=signature"),
        ("GET /v1/incidents?status=broken", None, "status", "must be 'open', 'healed' or 'withdrawn', not \"broken\""),
        ("GET /v1/audit?action=Pause", None, "action", "such as pause"),
        (f"GET /v1/dead-letters?from={DAY['to']}&to={DAY['from']}", None, "to", "is not after from"),
        ("GET /v1/dead-letters/" + RUN, None, "run_id", "there is no dead letter"),
        ("POST /v1/dead-letters/redrive", {"run_ids": [RUN, "nope"]}, "run_ids.1", "copy one from"),
        ("POST /v1/dead-letters/redrive", {"run_ids": [RUN]}, "run_ids", "there is no dead letter"),
        ("POST /v1/dead-letters/discard", {"run_ids": ["nope"], "reason": "x"}, "run_ids.0", "copy one from"),
        ("POST /v1/dead-letters/discard", {"run_ids": [RUN], "reason": "x"}, "run_ids", "there is no dead letter"),
        ("POST /v1/dead-letters/discard", {"run_ids": [], "reason": "x"}, "run_ids", "at least one entry"),
        ("POST /v1/backfills", {"labels": {}, **DAY}, "labels", "at least one entry"),
        ("POST /v1/backfills", {"schedule": "a b", **DAY}, "schedule", "1 to 64 letters"),
        ("POST /v1/backfills", {"schedule": "gone", **DAY}, "schedule", "there is no schedule"),
        ("POST /v1/backfills", {"schedule": "report", **DAY}, "schedule", "backfill that, with flow_on"),
        ("POST /v1/reruns", {"filter": {"schedule": "gone"}}, "filter.schedule", "there is no schedule"),
        (
            "PATCH /v1/schedules/report",
            {"objectives": {"succeeds_within": "1h"}},
            "objectives",
            "at nightly or what that runs after",
        ),
        ("GET /v1/backfills/o6716de65b8e1d51cfba5", None, "operation_id", "there is no backfill"),
        ("GET /v1/channels/night", None, "name", "there is no channel"),
        ("GET /v1/calendars/uk", None, "name", "there is no calendar"),
        ("PUT /v1/channels/c", {**WEBHOOK, "url": "https://"}, "url", "is no host name"),
        ("PUT /v1/channels/c", {**WEBHOOK, "url": "http://example.com/"}, "url", "must begin with https://"),
        ("PUT /v1/channels/c", {**WEBHOOK, "url": "https://a:b@example.com/"}, "url", "user or password"),
        ("PUT /v1/channels/c", {**WEBHOOK, "url": "https://169.254.169.254/x"}, "url", "is a private address"),
        ("PUT /v1/channels/c", {**WEBHOOK, "url": "https://[::1]/x"}, "url", "is a private address"),
        ("PUT /v1/channels/c", {**WEBHOOK, "url": "https://example.com/\u202ex"}, "url", "printable ASCII"),
        ("PUT /v1/channels/c", {**WEBHOOK, "url": "https://example.com:99999/"}, "url", "out of range"),
        ("PUT /v1/channels/c", {"kind": "slack", "url": "https://10.0.0.1/x"}, "url", "is a private address"),
    ],
)
def test_a_refusal_names_the_field_and_says_what_to_write(
    api: Api, request_line: str, body: Any, field: str, hint: str
) -> None:
    refused = api.call(*request_line.split(" "), body)
    assert refused.status in (400, 404), refused.text
    assert refused.fields == [field]
    assert hint in refused.json["errors"][0]["reason"]


@pytest.mark.parametrize("other", ["group=signature", "schedule=nightly", "label=a%3Db", f"from={DAY['from']}"])
def test_of_what_nobody_can_read_nothing_else_is_asked(api: Api, other: str) -> None:
    refused = api.call("GET", f"/v1/dead-letters?kind=unreadable&{other}", role="platform_admin")
    assert (refused.status, refused.fields) == (400, [other.split("=", maxsplit=1)[0]])


@pytest.mark.parametrize(
    ("changes", "field", "bounds"),
    [
        ({"objectives": {"starts_within": "0s"}}, "objectives.starts_within", "1s and 31d"),
        ({"objectives": {"succeeds_within": "32d"}}, "objectives.succeeds_within", "1s and 31d"),
        ({"trigger": {"after": ["nightly"], "within": "0s"}}, "trigger.within", "1s and 7d"),
        ({"policies": {"heartbeat_timeout": "0s"}}, "policies.heartbeat_timeout", "5s and 15m"),
        ({"policies": {"breaker": {"failures": 3, "cooldown": "0s"}}}, "policies.breaker.cooldown", "1m and 7d"),
        ({"trigger": {"every": "367d"}}, "trigger.every", "1s and 366d"),
    ],
)
def test_a_duration_is_held_to_the_bounds_of_its_own_field(
    api: Api, changes: dict[str, Any], field: str, bounds: str
) -> None:
    body = {"trigger": {"every": "1h"}, "target": {"handler": "demo.heartbeat"}, **changes}
    refused = api.call("PUT", "/v1/schedules/new", body)
    assert (refused.status, refused.fields) == (400, [field])
    assert bounds in refused.json["errors"][0]["reason"]


def test_no_refusal_shows_a_pattern() -> None:
    document = json.loads((ROOT / "docs/api/openapi.json").read_text())
    asked = [parameter["schema"] for path in document["paths"].values() for parameter in _parameters(path)]
    found = {one for part in (asked, document["components"]["schemas"]) for one in _patterns(part)}
    of_the_document_alone = {r"^\s*rate\("}
    assert found - set(problems.PATTERNS) == of_the_document_alone


def _parameters(path: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for operation in path.values():
        if isinstance(operation, dict):
            yield from operation.get("parameters", ())


def _patterns(part: Any) -> Iterator[str]:
    if isinstance(part, list):
        for one in part:
            yield from _patterns(one)
    if isinstance(part, dict):
        if isinstance(part.get("pattern"), str):
            yield part["pattern"]
        for one in part.values():
            yield from _patterns(one)


def test_what_is_not_found_is_named_by_a_field() -> None:
    services = (ROOT / "layers/core/python/cronfleet/services").glob("*.py")
    named = {word for file in services for word in re.findall(r'NotFound\("([^"]+)"', file.read_text())}
    assert "dead letter" in named
    for word in named | set(WORDS.values()):
        problem = problems.of(NotFound(word, "x"))
        assert problem is not None
        assert [one.field for one in problem.errors if not re.fullmatch("[a-z_]+", one.field)] == []


def test_instants_in_details_are_text() -> None:
    pause = Reason(Code.PAUSED, "paused", {"by": "ann", "paused_at": 1_796_026_500_000, "count": 3})
    shown = reason_form(pause)
    assert shown is not None
    assert shown["detail"] == {"by": "ann", "paused_at": "2026-11-30T08:15:00Z", "count": 3}
