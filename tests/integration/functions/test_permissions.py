"""Who may what: each route asks the one table of roles, and another tenant's things are not there."""

import json
import re
from typing import Any

import pytest

from cronfleet.domain.role import Role
from functions.api import openapi
from functions.api.app import routes
from functions.api.permissions import PUBLIC, ROLES
from tests.support.api import Api, event_of


def test_every_route_has_a_line_in_the_table_of_roles_and_every_line_a_route() -> None:
    assert {(route.method, route.openapi_path) for route in routes()} == set(ROLES)


def _cases() -> list[tuple[str, str, Role]]:
    return [(*key, role) for key, role in ROLES.items() if role is not PUBLIC]


@pytest.mark.parametrize(("method", "path", "needed"), _cases())
def test_a_role_below_the_one_that_a_route_takes_is_refused_and_told_which_it_takes(
    memory: Api, method: str, path: str, needed: Role
) -> None:
    target = re.sub("{.*?}", "acme", path)
    for role in Role:
        answer = memory.call(method, target, role=role)
        assert (answer.status == 403) == (not role.allows(needed)), (role, answer.text)
        if answer.status == 403:
            assert needed in answer.json["detail"]
            assert role in answer.json["detail"]


def test_every_change_may_be_refused_for_its_state_and_says_so() -> None:
    """In a suspended tenant, over a quota, under an id that is taken: the document says 409 for whatever changes."""
    paths = json.loads(openapi.document())["paths"]
    for (method, path), role in ROLES.items():
        if path in paths and method != "GET" and role is not Role.VIEWER:
            assert "409" in paths[path][method.lower()]["responses"], (method, path)


def test_the_document_says_which_role_each_operation_takes() -> None:
    paths = json.loads(openapi.document())["paths"]
    for (method, path), role in ROLES.items():
        if path in paths and role is not PUBLIC:
            assert paths[path][method.lower()]["description"].endswith(f"Role: {role}.")


def test_whoever_did_it_is_named_and_not_the_provider_that_vouched_for_them(memory: Api) -> None:
    """Of a token the credential is its provider, which everybody has; so what says `by` and `author` says the actor."""

    def alice(method: str, target: str, body: Any = None) -> Any:
        event = event_of(method, target, body)
        event["requestContext"]["authorizer"]["lambda"] |= {"key_id": "jwt:id.example.com", "actor": "alice"}
        answer = memory.send(event)
        assert answer.status in (200, 201), answer.text
        return answer.json

    cron = {"cron": "0 2 * * *", "timezone": "UTC"}
    plain = {"id": "plain", "trigger": cron, "target": {"handler": "a.b"}}
    alice("POST", "/v1/schedules", plain)
    said = [
        alice("POST", "/v1/schedules/plain/pause", {"reason": "x"}),
        alice("POST", "/v1/schedules", {**plain, "id": "held", "held": True, "shadow": True}),
        alice("PUT", "/v1/calendars/uk", {"holidays": ["2026-12-25"]}),
        alice("POST", "/v1/freezes", {"scope": {"label": {"a": "b"}}, "reason": "x"}),
        alice("POST", "/v1/tenants/acme/keys", {"role": "viewer"}),
        alice("POST", f"/v1/runs/{alice('POST', '/v1/schedules/held/run')['run_id']}/cancel"),
        alice("GET", "/v1/schedules/plain/versions"),
    ]
    alice("POST", "/v1/schedules/held/heartbeat")
    document = {"format": "cronfleet-tenant/1", "schedules": [{**plain, "id": "new", "status": "paused"}]}
    alice("POST", "/v1/imports/cronfleet", document)
    said += [alice("GET", path) for path in ("/v1/schedules/new", "/v1/schedules/held/heartbeat")]
    for one in said:
        assert "jwt:" not in json.dumps(one), one
        assert "alice" in json.dumps(one), one
    log = alice("GET", "/v1/audit")["entries"]
    assert {(entry["actor"], entry["credential"]) for entry in log} == {("alice", "jwt:id.example.com")}
