"""Every route with every wrong credential, and with every role in its own tenant and in another's.

A request goes through the authorizer and the API as the gateway joins them.
"""

import base64
import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from cronfleet import settings
from cronfleet.adapters.memory.job_store import MemoryJobStore
from cronfleet.domain.api_key import ApiKey, digest_of
from cronfleet.domain.role import Role
from cronfleet.domain.tenant import Tenant, TenantStatus
from cronfleet.ports.job_store import NoAnswer
from functions.api.app import routes
from functions.api.permissions import PUBLIC, ROLES
from tests.support.api import Answer, Api, api_on, api_on_memory, event_of
from tests.support.faults import Faulty
from tests.support.front_door import FrontDoor
from tests.support.identity_provider import AUDIENCE, Provider, identity_provider, wrong_tokens
from tests.support.settable_clock import NOON, SettableClock

SECRET = "0123456789abcdefghijklmnopqrstuv"
ROUTES = sorted(
    {(route.method, route.openapi_path) for route in routes() if ROLES[route.method, route.openapi_path] is not PUBLIC}
)
OPEN = sorted(
    {(route.method, route.openapi_path) for route in routes() if ROLES[route.method, route.openapi_path] is PUBLIC}
)


def text_of(key_id: str) -> str:
    return f"cf_{key_id}_{SECRET}"


def put_key(api: Api, key_id: str, tenant: Tenant, role: Role = Role.PLATFORM_ADMIN, **ends: int) -> None:
    api.store.put_api_key(ApiKey(key_id, digest_of(text_of(key_id)), tenant, role, **ends))


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with identity_provider() as running:
        yield running


@pytest.fixture
def door(memory: Api, monkeypatch: pytest.MonkeyPatch, provider: Provider) -> FrontDoor:
    acme, rival = Tenant("acme", rev=1), Tenant("rival", rev=1)
    for role in Role:
        put_key(memory, role.value.replace("_", "-"), acme, role)
        put_key(memory, f"r-{role.value.replace('_', '-')}", rival, role)
    return FrontDoor(
        memory,
        monkeypatch,
        **{settings.OIDC_ISSUER: provider.issuer, settings.OIDC_AUDIENCE: AUDIENCE},
    )


def target_of(path: str, tenant: str = "acme") -> str:
    return re.sub("{.*?}", "thing", path.replace("{tenant_id}", tenant))


BODIES = {
    ("POST", "/v1/schedules/{schedule_id}/pause"): {"reason": "to see"},
    ("POST", "/v1/schedules/{schedule_id}/shadow"): {"on": True},
    ("POST", "/v1/schedules/{schedule_id}/rollback"): {"version": 1},
    ("PATCH", "/v1/schedules/{schedule_id}"): {"owner": "me"},
}
QUERIES = {
    "explain": "?at=2026-11-30T12:00:00Z",
    "ledger": "?from=2026-11-30T12:00:00Z&to=2026-11-30T13:00:00Z",
    "diff": "?to=1",
}
"""What routes need to be asked at all."""


# --- wrong credentials ---------------------------------------------------------------------------------------------


def wrong_credentials(api: Api, provider: Provider) -> dict[str, str | None]:
    """Headers that nobody is let in with, by what is wrong with them. Each is a platform admin's but for that."""
    put_key(api, "expired", Tenant("acme", rev=1), expires_at=NOON)
    put_key(api, "revoked", Tenant("acme", rev=1), revoked_at=NOON)
    put_key(api, "deleting", Tenant("going", status=TenantStatus.DELETING, rev=1))
    put_key(api, "deleted", Tenant("gone", status=TenantStatus.DELETED, rev=1))
    good = text_of("platform-admin")
    basic = base64.b64encode(f"user:{good}".encode()).decode()
    malformed = {
        "missing": None,
        "empty": "",
        "without a scheme": good,
        "of another scheme": f"Basic {basic}",
        "cut off": "Bearer cf_platform-admin",
        "without a secret": "Bearer cf_platform-admin_",
        "with more behind it": f"Bearer {good}, Bearer {good}",
        "with a line break": f"Bearer {good}\n",
        "in a query's form": f"access_token={good}",
        "far too long": f"Bearer {good}{'a' * 9_000}",
        "of an unknown id": f"Bearer {text_of('nobody')}",
        "with a wrong secret": f"Bearer {good[:-1]}X",
        "with another key's secret": f"Bearer {text_of('viewer')[:-1]}Y",
        "the stored digest": f"Bearer cf_platform-admin_{digest_of(good)}",
    }
    ended = {name: f"Bearer {text_of(name)}" for name in ("expired", "revoked", "deleting", "deleted")}
    platform = {"cronfleet_role": "platform_admin"}
    tokens = {f"token: {name}": f"Bearer {token}" for name, token in wrong_tokens(provider).items()}
    gone = {
        "token: of a tenant that goes": f"Bearer {provider.token(cronfleet_tenant='going', **platform)}",
        "token: of a tenant that has gone": f"Bearer {provider.token(cronfleet_tenant='gone', **platform)}",
    }
    return {**malformed, **ended, **tokens, **gone}


def test_no_route_lets_anybody_in_with_a_wrong_credential(door: FrontDoor, provider: Provider) -> None:
    """What the authorizer says decides for every route; tokens, which take longer, are asked about once each."""
    wrong = wrong_credentials(door.api, provider)
    assert len(wrong) > 40
    before = repr(door.api.store.state)
    said = {name: door.context_of(header) for name, header in wrong.items()}
    assert {name: context for name, context in said.items() if context not in (401, 403)} == {}
    for method, path in ROUTES:
        for name, header in wrong.items():
            if not name.startswith("token"):
                assert door.call(method, target_of(path), authorization=header).status in (401, 403), (name, path)
    assert repr(door.api.store.state) == before


def test_the_same_credentials_without_what_is_wrong_are_let_in(door: FrontDoor, provider: Provider) -> None:
    for header in (f"Bearer {text_of('viewer')}", f"bearer  {text_of('viewer')}", f"Bearer {provider.token()}"):
        assert door.call("GET", "/v1/schedules", authorization=header).status == 200


def test_a_route_that_the_gateway_forgot_to_guard_lets_nobody_in_either(memory: Api) -> None:
    """Without the authorizer's answer the API says 401 for each, whatever the request holds."""
    for method, path in ROUTES:
        for context in ({}, {"lambda": {}}, {"lambda": {"tenant": "acme"}}, {"lambda": {"role": "platform_admin"}}):
            event = _bare_event(method, target_of(path))
            event["requestContext"]["authorizer"] = context
            assert memory.send(event).status == 401, (method, path)
        event = _bare_event(method, target_of(path))
        del event["requestContext"]["authorizer"]
        assert memory.send(event).status == 401, (method, path)


def _bare_event(method: str, target: str) -> dict[str, Any]:
    return event_of(method, target)


def test_an_answer_of_the_authorizer_with_a_role_that_is_none_is_no_permission(memory: Api) -> None:
    for role in ("", "root", "PLATFORM_ADMIN", None, 4):
        event = _bare_event("GET", "/v1/schedules")
        event["requestContext"]["authorizer"]["lambda"]["role"] = role
        assert memory.send(event).status == 401


def test_an_end_that_the_gateway_does_not_know_of_holds_at_once(door: FrontDoor, provider: Provider) -> None:
    """The gateway trusts the authorizer's answer for a minute; a key and a token end when they were to end."""
    put_key(door.api, "short", Tenant("acme", rev=1), Role.VIEWER, expires_at=NOON + 5_000)
    context = door.context_of(f"Bearer {text_of('short')}")
    assert isinstance(context, dict)
    event = _bare_event("GET", "/v1/schedules")
    event["requestContext"]["authorizer"]["lambda"] = context
    assert door.api.send(json.loads(json.dumps(event))).status == 200
    door.api.clock.advance(5_000)
    assert door.api.send(json.loads(json.dumps(event))).status == 401
    said = door.context_of(f"Bearer {provider.token(exp=int(time.time()) + 100)}")
    assert isinstance(said, dict)
    assert int(said["ends_at"]) > 0


# --- roles and tenants ---------------------------------------------------------------------------------------------


def ask(door: FrontDoor, method: str, path: str, role: Role, *, of: str = "acme", key: str = "") -> Answer:
    key = key or role.value.replace("_", "-")
    return door.call(method, target_of(path, of), authorization=f"Bearer {text_of(key)}")


@pytest.mark.parametrize("role", list(Role))
def test_each_role_gets_to_the_routes_of_its_own_and_of_those_below_and_no_further(door: FrontDoor, role: Role) -> None:
    for method, path in ROUTES:
        needed = ROLES[method, path]
        assert needed is not PUBLIC
        answer = ask(door, method, path, role)
        assert answer.status != 401
        assert (answer.status == 403) == (not role.allows(needed)), (method, path, answer.text)
        assert answer.status < 500, (method, path, answer.text)


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.PLATFORM_ADMIN])
def test_a_path_of_another_tenant_is_not_there_for_anybody_of_a_tenant(door: FrontDoor, role: Role) -> None:
    """404, and the same as for a tenant that does not exist: nobody learns who else is a customer."""
    for method, path in ROUTES:
        if "{tenant_id}" in path:
            answers = [ask(door, method, path, role, of=tenant) for tenant in ("rival", "nobody")]
            assert [answer.status for answer in answers] == [404, 404], (method, path)
            said = [re.sub("rival|nobody", "…", answer.text) for answer in answers]
            assert said[0] == said[1]


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.PLATFORM_ADMIN])
def test_another_tenant_cannot_be_named_in_the_header_either(door: FrontDoor, role: Role) -> None:
    key = role.value.replace("_", "-")
    for method, path in ROUTES:
        for tenant in ("rival", "nobody"):
            answer = door.call(
                method,
                target_of(path),
                authorization=f"Bearer {text_of(key)}",
                headers={"Cronfleet-Tenant": tenant},
            )
            named = 400 if "{tenant_id}" in path else 404
            assert answer.status == named, (method, path, answer.text)


def test_the_own_tenant_may_be_named_and_changes_nothing(door: FrontDoor) -> None:
    answer = door.call(
        "GET",
        "/v1/schedules",
        authorization=f"Bearer {text_of('viewer')}",
        headers={"cronfleet-tenant": "acme"},
    )
    assert answer.status == 200


def test_things_of_another_tenant_are_not_there(door: FrontDoor) -> None:
    theirs = {"authorization": f"Bearer {text_of('r-editor')}"}
    spec = {"trigger": {"cron": "0 2 * * *", "timezone": "UTC"}, "target": {"handler": "billing.nightly"}}
    assert door.call("PUT", "/v1/schedules/thing", spec, **theirs).status == 201
    run_id = door.call("POST", "/v1/schedules/thing/run", {}, **theirs).json["run_id"]
    assert door.call("POST", "/v1/schedules/thing/heartbeat", {}, **theirs).status == 201
    assert door.call("PUT", "/v1/calendars/thing", {"holidays": ["2026-12-25"]}, **theirs).status == 201
    ours = {"authorization": f"Bearer {text_of('tenant-admin')}"}
    for method, path in ROUTES:
        found = re.search("{(schedule_id|name|run_id)}", path)
        if found:
            target = target_of(path.replace("{run_id}", run_id).replace("{version}", "1"))
            target += QUERIES.get(target.rpartition("/")[2], "")
            answer = door.call(method, target, BODIES.get((method, path)), **ours)
            made = method == "PUT" or answer.status == 400
            assert answer.status == 404 or made, (method, path, answer.text)
            assert method not in ("GET", "DELETE") or not made, (method, path, answer.text)
    assert door.call("GET", "/v1/schedules/thing", **theirs).json["status"] == "active"


def test_a_platform_admin_acts_for_a_tenant_and_only_for_one_that_is_there(door: FrontDoor) -> None:
    admin = f"Bearer {text_of('platform-admin')}"
    spec = {"trigger": {"cron": "0 2 * * *", "timezone": "UTC"}, "target": {"handler": "billing.nightly"}}
    for_rival = {"Cronfleet-Tenant": "rival"}
    assert door.call("PUT", "/v1/schedules/ours", spec, authorization=admin, headers=for_rival).status == 201
    assert door.call("GET", "/v1/schedules/ours", authorization=admin).status == 404
    assert door.call("GET", "/v1/schedules/ours", authorization=f"Bearer {text_of('r-viewer')}").status == 200
    nobody = door.call("GET", "/v1/schedules", authorization=admin, headers={"Cronfleet-Tenant": "nobody"})
    assert nobody.status == 404
    entry = next(one for one in door.api.store.state.audit.values() if one.schedule_id == "ours")
    assert (entry.tenant, entry.home_tenant, entry.acting_for) == ("rival", "acme", "rival")
    assert (entry.actor, entry.credential) == ("platform-admin", "platform-admin")


@pytest.mark.parametrize("named", ["../rival", "rival#", "", "a" * 65, "rival\r\n"])
def test_a_header_that_names_no_tenants_id_is_refused(door: FrontDoor, named: str) -> None:
    answer = door.call(
        "GET",
        "/v1/schedules",
        authorization=f"Bearer {text_of('platform-admin')}",
        headers={"Cronfleet-Tenant": named},
    )
    assert answer.status == 400
    assert answer.fields == ["Cronfleet-Tenant"]


def test_nothing_is_changed_from_the_moment_of_a_suspension_whatever_a_process_remembers(door: FrontDoor) -> None:
    editor = {"authorization": f"Bearer {text_of('editor')}"}
    spec = {"trigger": {"every": "1m"}, "target": {"handler": "billing.nightly"}}
    assert door.call("PUT", "/v1/schedules/thing", spec, **editor).status == 201
    door.api.store.state.tenants["acme"] = Tenant("acme", status=TenantStatus.SUSPENDED, reason="unpaid", rev=2)
    refused = door.call("PUT", "/v1/schedules/other", spec, **editor)
    assert refused.status == 403
    assert refused.json["type"] == "urn:cronfleet:problem:tenant-suspended"
    assert door.call("GET", "/v1/schedules/thing", **editor).status == 200


def test_a_token_acts_as_its_subject_in_its_tenant(door: FrontDoor, provider: Provider) -> None:
    bearer = {"authorization": f"Bearer {provider.token(cronfleet_role=['staff', 'viewer', 'editor'])}"}
    spec = {"trigger": {"cron": "0 2 * * *", "timezone": "UTC"}, "target": {"handler": "billing.nightly"}}
    assert door.call("PUT", "/v1/schedules/mine", spec, **bearer).status == 201
    assert door.call("GET", "/v1/tenants/acme/keys", **bearer).status == 403
    entry = next(iter(door.api.store.state.audit.values()))
    assert (entry.tenant, entry.actor, entry.credential) == ("acme", "ada@example.com", "jwt:127.0.0.1")


def test_without_an_identity_provider_no_token_is_looked_at(
    memory: Api, monkeypatch: pytest.MonkeyPatch, provider: Provider
) -> None:
    monkeypatch.setenv(settings.OIDC_ISSUER, "")
    memory.store.state.tenants["acme"] = Tenant("acme", rev=1)
    provider.asked.clear()
    assert FrontDoor(memory, monkeypatch).context_of(f"Bearer {provider.token()}") == 403
    assert provider.asked == []


@pytest.mark.parametrize(("method", "path"), OPEN)
def test_what_needs_no_credential_is_not_kept_by_a_wrong_one(door: FrontDoor, method: str, path: str) -> None:
    event = _bare_event(method, target_of(path))
    del event["requestContext"]["authorizer"]
    event["headers"]["authorization"] = "Bearer cf_nobody_0123456789abcdef"
    assert door.api.send(event).status not in (401, 403)


# --- how often -----------------------------------------------------------------------------------------------------


def test_a_key_that_asks_too_often_is_told_when_to_come_again_and_others_are_not(door: FrontDoor) -> None:
    door.api.store.state.tenants["acme"] = replace(Tenant("acme", rev=2), quotas=(("requests_per_second", 1),))
    viewer, editor = f"Bearer {text_of('viewer')}", f"Bearer {text_of('editor')}"
    statuses = [door.call("GET", "/v1/health", authorization=viewer).status for _ in range(12)]
    assert statuses == [200] * 10 + [429] * 2
    refused = door.call("GET", "/v1/schedules/thing", authorization=viewer)
    assert refused.headers["retry-after"] == "1"
    assert refused.fields == ["requests_per_second"]
    assert door.call("GET", "/v1/health", authorization=editor).status == 200
    door.api.clock.advance(1_000)
    assert door.call("GET", "/v1/health", authorization=viewer).status == 200


def test_each_bearer_of_tokens_has_a_rate_of_its_own(door: FrontDoor, provider: Provider) -> None:
    door.api.store.state.tenants["acme"] = replace(Tenant("acme", rev=2), quotas=(("requests_per_second", 1),))
    ada = f"Bearer {provider.token()}"
    assert [door.call("GET", "/v1/health", authorization=ada).status for _ in range(11)] == [200] * 10 + [429]
    bob = f"Bearer {provider.token(sub='bob@example.com')}"
    assert door.call("GET", "/v1/health", authorization=bob).status == 200


# --- keys over HTTP ------------------------------------------------------------------------------------------------


def test_a_key_made_over_http_works_is_listed_rotated_and_revoked(door: FrontDoor) -> None:
    admin = {"authorization": f"Bearer {text_of('tenant-admin')}"}
    made = door.call("POST", "/v1/tenants/acme/keys", {"role": "viewer", "name": "dashboard"}, **admin)
    assert made.status == 201
    first = made.json
    assert door.call("GET", "/v1/schedules", authorization=f"Bearer {first['key']}").status == 200
    assert door.call("POST", "/v1/schedules", {}, authorization=f"Bearer {first['key']}").status == 403
    listed = door.call("GET", "/v1/tenants/acme/keys", **admin)
    assert first["key"] not in listed.text
    assert first["id"] in {one["id"] for one in listed.json["keys"]}
    assert not any("digest" in one or "key" in one for one in listed.json["keys"])
    turned = door.call("POST", f"/v1/tenants/acme/keys/{first['id']}/rotate", {"overlap_seconds": 0}, **admin).json
    assert door.call("GET", "/v1/schedules", authorization=f"Bearer {first['key']}").status == 403
    assert door.call("GET", "/v1/schedules", authorization=f"Bearer {turned['key']}").status == 200
    assert door.call("DELETE", f"/v1/tenants/acme/keys/{turned['id']}?reason=lost", **admin).status == 204
    assert door.call("GET", "/v1/schedules", authorization=f"Bearer {turned['key']}").status == 403


def test_an_answer_that_shows_a_key_is_not_kept_under_an_idempotency_key(door: FrontDoor) -> None:
    answer = door.call(
        "POST",
        "/v1/tenants/acme/keys",
        {"role": "viewer"},
        authorization=f"Bearer {text_of('tenant-admin')}",
        headers={"Idempotency-Key": "once"},
    )
    assert answer.status == 400
    assert answer.fields == ["Idempotency-Key"]


def test_a_role_above_the_own_is_refused_by_its_name(door: FrontDoor) -> None:
    admin = {"authorization": f"Bearer {text_of('tenant-admin')}"}
    answer = door.call("POST", "/v1/tenants/acme/keys", {"role": "platform_admin"}, **admin)
    assert answer.status == 403
    assert "platform_admin" in answer.json["detail"]
    unknown = door.call("POST", "/v1/tenants/acme/keys", {"role": "root"}, **admin)
    assert unknown.status == 400
    assert unknown.fields == ["role"]


def test_a_clock_that_is_off_lets_nobody_be_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    api = api_on_memory(monkeypatch)
    put_key(api, "k", Tenant("acme", rev=1), Role.VIEWER)
    api.store.state.skew_ms = 10_000
    with pytest.raises(Exception, match="clock"):
        FrontDoor(api, monkeypatch).context_of(f"Bearer {text_of('k')}")


def test_a_silent_store_lets_requests_be_limited_by_nobody_and_answers_503(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(_when: str, name: str) -> None:
        if name != "skew_ms":
            raise NoAnswer

    clock = SettableClock()
    api = api_on(monkeypatch, Faulty(MemoryJobStore(clock), silent), clock)
    assert api.call("GET", "/v1/health").status == 503
    assert api.call("GET", "/v1/schedules/thing").status == 503
    assert api.call("GET", "/v1/schedules", role="platform_admin", headers={"Cronfleet-Tenant": "rival"}).status == 503
