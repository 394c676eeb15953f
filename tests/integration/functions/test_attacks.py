"""What an attacker sends to the API: bombs, texts that end lines, names of others, and keys that may do nothing.

docs/security.md names the threat of each. A request is answered, costs no more than its size, changes nothing that it
may not, and leaves no line in a log, and no header in an answer, that it wrote itself.
"""

import json
import re
from dataclasses import fields
from typing import Any

import pytest

from cronfleet.domain.api_key import ApiKey, digest_of
from cronfleet.domain.role import Role
from cronfleet.domain.tenant import Tenant, TenantStatus
from functions.api.app import routes
from functions.api.permissions import PUBLIC, ROLES
from functions.api.reading import MAX_DEPTH, MAX_DIGITS
from tests.support.api import NIGHTLY, Api
from tests.support.front_door import FrontDoor
from tests.support.settable_clock import NOON

SECRET = "0123456789abcdefghijklmnopqrstuv"
FORGED = 'x\r\nset-cookie: a=b\r\n\r\n{"level":"ERROR","message":"forged"}\x1b[2J\u2028\x85y'
"""Text that ends a line in every way there is, and goes on as a header, and as a line of a log."""
GUARDED = sorted({(one.method, one.openapi_path) for one in routes()} - {k for k, r in ROLES.items() if r is PUBLIC})
CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")


def text_of(key_id: str) -> str:
    return f"cf_{key_id}_{SECRET}"


@pytest.fixture
def door(memory: Api, monkeypatch: pytest.MonkeyPatch) -> FrontDoor:
    """A full tenant `acme`; `empty` with a viewer; keys that have ended, one of a tenant that is suspended."""
    at_home, empty = Tenant("acme", rev=1), Tenant("empty", rev=1)
    suspended = Tenant("quiet", rev=1, status=TenantStatus.SUSPENDED)
    for key_id, tenant, role, ends in (
        ("admin", at_home, Role.TENANT_ADMIN, {}),
        ("platform", at_home, Role.PLATFORM_ADMIN, {}),
        ("viewer", empty, Role.VIEWER, {}),
        ("expired", at_home, Role.PLATFORM_ADMIN, {"expires_at": NOON}),
        ("revoked", at_home, Role.PLATFORM_ADMIN, {"revoked_at": NOON}),
        ("suspended", suspended, Role.TENANT_ADMIN, {}),
    ):
        memory.store.put_api_key(ApiKey(key_id, digest_of(text_of(key_id)), tenant, role, **ends))
    return FrontDoor(memory, monkeypatch)


def kept(door: FrontDoor) -> str:
    """All that the store holds, but when a key was last used and how much of its rate it drew."""
    state = door.api.store.state
    named = {one.name: getattr(state, one.name) for one in fields(state) if one.name != "lines"}
    return re.sub(r"last_used_at=\w+", "", repr(named))


def call(door: FrontDoor, key_id: str, method: str, target: str, body: Any = None, **headers: str) -> Any:
    return door.call(method, target, body, authorization=f"Bearer {text_of(key_id)}", headers=headers or None)


# --- a key that may do nothing -------------------------------------------------------------------------------------


def _furnish(door: FrontDoor) -> list[str]:
    """Things of `acme`, and words that stand in them alone."""
    words = ["crown-jewels", "s3cr3t-reason", "hidden-label"]
    wanted = {**NIGHTLY, "id": words[0], "labels": {"team": words[2]}, "payload": {"pin": words[1]}}
    assert call(door, "admin", "POST", "/v1/schedules", wanted).status == 201
    assert call(door, "admin", "POST", f"/v1/schedules/{words[0]}/run").status in (200, 201, 202)
    assert call(door, "admin", "PUT", "/v1/calendars/crown-jewels", {"holidays": ["2026-12-25"]}).status in (200, 201)
    assert call(door, "admin", "POST", f"/v1/schedules/{words[0]}/pause", {"reason": words[1]}).status == 200
    return words


def _targets(path: str) -> list[str]:
    """The route for the thing of `acme` that is there, asked for by its name and by its tenant's."""
    named = path.replace("{tenant_id}", "acme").replace("{version}", "1")
    return [re.sub("{.*?}", "crown-jewels", named)]


def test_a_viewer_of_an_empty_tenant_changes_nothing_and_reads_nothing_of_others(door: FrontDoor) -> None:
    words = _furnish(door)
    before = kept(door)
    for method, path in GUARDED:
        for target in _targets(path):
            for headers in ({}, {"cronfleet-tenant": "acme"}):
                answer = call(
                    door, "viewer", method, target, {} if method in ("POST", "PUT", "PATCH") else None, **headers
                )
                assert not any(word in answer.text.replace(target, "") for word in words[1:]), (method, target)
                changes = method != "GET" and ROLES[method, path] is not Role.VIEWER
                assert answer.status in (400, 403, 404, 422) if changes else answer.status < 500, (method, target)
    assert kept(door) == before


@pytest.mark.parametrize("key_id", ["expired", "revoked", "unknown"])
def test_a_key_that_has_ended_reads_nothing_and_changes_nothing(door: FrontDoor, key_id: str) -> None:
    _furnish(door)
    before = kept(door)
    for method, path in GUARDED:
        for target in _targets(path):
            assert call(door, key_id, method, target).status in (401, 403), (method, target)
    assert kept(door) == before


def test_a_key_of_a_suspended_tenant_changes_nothing_and_reads_nothing_of_others(door: FrontDoor) -> None:
    words = _furnish(door)
    before = kept(door)
    for method, path in GUARDED:
        for target in _targets(path):
            answer = call(door, "suspended", method, target, {} if method in ("POST", "PUT", "PATCH") else None)
            assert answer.status >= 400 or method == "GET", (method, target, answer.text)
            assert not any(word in answer.text for word in words[1:])
    assert kept(door) == before


# --- bombs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        "[" * 60_000,
        '{"payload":' * 5_000,
        '{"payload":' + "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1) + "}",
        '{"payload":' + "9" * (MAX_DIGITS + 1) + "}",
        '{"payload":1e999999999}',
        '{"payload":{' + ",".join(f'"k{n}":0' for n in range(9_000)) + '},"payload":1}',
        '{"payload":"' + "\\u0000" * 10_000 + '"}',
        '{"payload":NaN}',
    ],
    ids=["open", "open objects", "deep", "digits", "exponent", "names twice", "escapes", "no number"],
)
def test_a_bomb_of_json_is_refused_and_nothing_of_it_is_kept(door: FrontDoor, body: str) -> None:
    before = kept(door)
    answer = call(door, "admin", "POST", "/v1/schedules", body)
    assert answer.status in (400, 413, 422), answer.text
    assert len(answer.text) < 8_192
    assert kept(door) == before


@pytest.mark.parametrize("kind", ["crontab", "kubernetes", "eventbridge"])
def test_an_imported_file_of_one_long_line_is_answered(door: FrontDoor, kind: str) -> None:
    for line in ("(" * 100_000, "@every " + "0" * 100_000, "0 " * 50_000, "&a [" * 20_000, '"\\' * 50_000):
        headers = {"content-type": "application/json" if kind == "eventbridge" else "text/plain"}
        answer = call(door, "admin", "POST", f"/v1/imports/{kind}?dry_run=true", line, **headers)
        assert answer.status < 500, (line[:20], answer.text[:200])


def test_a_body_that_is_compressed_is_not_blown_up(door: FrontDoor) -> None:
    answer = call(door, "admin", "POST", "/v1/schedules", b"\x1f\x8b" + b"\x00" * 100, **{"content-encoding": "gzip"})
    assert answer.status == 415


# --- texts that end lines ------------------------------------------------------------------------------------------

HOSTILE = [
    ("POST", "/v1/schedules", {**NIGHTLY, "id": FORGED}, {}),
    ("POST", "/v1/schedules", {**NIGHTLY, "id": "a", "labels": {"a": FORGED}, "owner": FORGED}, {}),
    ("POST", "/v1/schedules", {**NIGHTLY, "id": "b", "trigger": {"cron": FORGED, "timezone": FORGED}}, {}),
    ("POST", "/v1/schedules", {**NIGHTLY, "id": "c", "target": {"url": f"https://example.com/{FORGED}"}}, {}),
    ("POST", "/v1/schedules", {**NIGHTLY, "id": "d", "payload": {FORGED: FORGED}}, {"idempotency-key": FORGED}),
    ("POST", "/v1/schedules/ok/pause", {"reason": FORGED}, {"user-agent": FORGED, "traceparent": FORGED}),
    ("PUT", "/v1/calendars/ok", {"holidays": [FORGED]}, {"if-match": FORGED}),
    ("POST", "/v1/freezes", {"scope": {"label": {FORGED: FORGED}}, "reason": FORGED}, {}),
    ("GET", "/v1/schedules/%0d%0aset-cookie:%20a=b", None, {}),
    ("GET", "/v1/schedules?cursor=%0d%0aset-cookie:a&prefix=%0d%0a", None, {"accept": FORGED}),
    ("GET", f"/v1/{FORGED}", None, {"cronfleet-tenant": FORGED}),
]


def _answers(door: FrontDoor) -> list[Any]:
    call(door, "admin", "POST", "/v1/schedules", {**NIGHTLY, "id": "ok"})
    return [call(door, "platform", method, target, body, **headers) for method, target, body, headers in HOSTILE]


def test_no_answer_has_a_header_that_a_caller_wrote(door: FrontDoor) -> None:
    for answer in _answers(door):
        assert answer.status < 500, answer.text
        for name, value in answer.headers.items():
            assert not CONTROL.search(f"{name}{value}"), (name, value)
            assert "set-cookie" not in name


def test_every_line_of_the_log_is_one_object_that_we_wrote(door: FrontDoor, capfd: pytest.CaptureFixture[str]) -> None:
    _answers(door)
    written = capfd.readouterr()
    for line in (*written.out.split("\n"), *written.err.split("\n")):
        if line:
            said = json.loads(line)
            assert said.get("message") != "forged"
            assert not CONTROL.search(line), line


def test_no_line_of_the_log_holds_a_key_a_token_or_a_payload(
    door: FrontDoor, capfd: pytest.CaptureFixture[str]
) -> None:
    marker = "p4yl0ad-of-the-tenant"
    wanted = {**NIGHTLY, "id": "quiet", "payload": {"pin": marker}}
    assert call(door, "admin", "POST", "/v1/schedules", wanted).status == 201
    call(door, "admin", "PATCH", "/v1/schedules/quiet", {"payload": [marker], "nonsense": marker})
    call(door, "admin", "POST", "/v1/schedules/quiet/run", {"payload": marker})
    url = json.loads(call(door, "admin", "POST", "/v1/schedules/quiet/heartbeat").text)["url"]
    door.api.call("POST", "/v1/" + url.partition("/v1/")[2])
    written = "".join(capfd.readouterr())
    for secret in (SECRET, marker, url.rpartition("/")[2]):
        assert secret not in written
