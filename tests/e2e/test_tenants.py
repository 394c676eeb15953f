"""Many tenants on the deployed product: from the platform's key to a tenant's keys, refusals, quotas, and its end."""

import json
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from local.aws import Aws
from tests.e2e.conftest import PATIENCE_SECONDS, Answer, Caller

pytestmark = pytest.mark.e2e

ROLES = ("viewer", "operator", "editor", "tenant_admin")
BEAT = {"trigger": {"every": "1s"}, "target": {"handler": "demo.heartbeat"}}
LOOK_SECONDS = 0.5
SWEEP_SECONDS = 5
DELETION_SECONDS = 420
SWEEPER = "cronfleet-sweeper"
TABLES = (
    "schedules",
    "runs",
    "audit",
    "chains",
    "receipts",
    "attempts",
    "calendars",
    "heartbeats",
    "retimings",
    "slots",
    "tenants",
)


class Tenant:
    """A tenant of the stack, with a key of each role."""

    def __init__(self, api: Caller, name: str, **more: Any) -> None:
        self.api = api
        self.name = name
        made = api.ask("POST", "/v1/tenants", {"id": name, **more})
        assert made.status == 201, made
        self.keys = {role: self._key(role) for role in ROLES}

    def _key(self, role: str) -> str:
        made = self.api.ask("POST", f"/v1/tenants/{self.name}/keys", {"role": role, "name": f"{role} of {self.name}"})
        assert made.status == 201, made
        return str(made.body["key"])

    def ask(self, role: str, method: str, path: str, body: Any = None) -> Answer:
        return self.api.ask(method, path, body, key=self.keys[role])

    def runs(self, schedule_id: str) -> list[dict[str, Any]]:
        page = self.ask("viewer", "GET", f"/v1/schedules/{schedule_id}/runs?limit=100")
        assert page.status == 200, page
        return list(page.body["runs"])


@pytest.fixture(scope="module")
def doomed(api: Caller, stack: Any) -> Tenant:
    """A tenant that runs, and whose deletion begins before anything else here: it takes a minute and a half."""
    tenant = Tenant(api, "doomed")
    assert tenant.ask("editor", "PUT", "/v1/schedules/beat", BEAT).status == 201
    assert tenant.ask("editor", "PUT", "/v1/schedules/gone", BEAT).status == 201
    _wait(lambda: any(row["status"] == "succeeded" for row in tenant.runs("beat")))
    assert tenant.ask("editor", "DELETE", "/v1/schedules/gone").status == 204
    begun = api.ask("DELETE", "/v1/tenants/doomed?confirm=doomed&reason=contract+ended")
    assert (begun.status, begun.body["status"]) == (202, "deleting"), begun
    _sweep(stack)
    return tenant


@pytest.fixture(scope="module")
def acme(api: Caller, doomed: Tenant) -> Tenant:
    """A tenant with room for three schedules, one of which fires each second."""
    tenant = Tenant(api, "acme", quotas={"schedules": 3})
    assert tenant.ask("editor", "PUT", "/v1/schedules/beat", BEAT).status == 201
    return tenant


def test_a_key_does_what_its_role_may_in_its_own_tenant_and_nothing_else(acme):
    pause = {"reason": "seen enough"}
    assert acme.ask("viewer", "GET", "/v1/schedules/beat").status == 200
    refused = acme.ask("viewer", "POST", "/v1/schedules/beat/pause", pause)
    assert (refused.status, refused.body["type"]) == (403, "urn:cronfleet:problem:forbidden")
    assert acme.ask("operator", "PUT", "/v1/schedules/other", BEAT).status == 403
    assert acme.ask("editor", "GET", "/v1/tenants/acme/keys").status == 403
    assert acme.ask("tenant_admin", "POST", "/v1/tenants", {"id": "mine"}).status == 403
    # Another tenant's things are not there, whoever asks.
    for role in ROLES:
        assert acme.ask(role, "GET", "/v1/tenants/demo/usage").status == 404
    assert acme.ask("tenant_admin", "POST", "/v1/tenants/demo/suspend", pause).status == 404
    listed = acme.ask("tenant_admin", "GET", "/v1/tenants/acme/keys").body["keys"]
    assert sorted(one["role"] for one in listed) == sorted(ROLES)
    assert not any(key in json.dumps(listed) for key in acme.keys.values())


def test_a_quota_holds_and_is_named_with_its_use_and_its_limit(acme):
    for name in ("second", "third"):
        assert acme.ask("editor", "PUT", f"/v1/schedules/{name}", {**BEAT, "held": True}).status == 201
    refused = acme.ask("editor", "PUT", "/v1/schedules/fourth", {**BEAT, "held": True})
    assert (refused.status, refused.body["type"]) == (409, "urn:cronfleet:problem:quota-exceeded")
    assert [refused.body[name] for name in ("quota", "use", "limit")] == ["schedules", 3, 3]
    usage = acme.ask("viewer", "GET", "/v1/tenants/acme/usage").body
    assert usage["quotas"]["schedules"] == {"use": 3, "limit": 3}
    assert {"concurrent_runs", "fires_per_second", "burst", "payload_bytes", "retention_days"} <= set(usage["quotas"])


def test_nothing_starts_after_a_freeze_has_returned_until_it_is_thawed(acme):
    _wait(lambda: any(row["status"] == "succeeded" for row in acme.runs("beat")))
    frozen = acme.ask("tenant_admin", "POST", "/v1/freezes", {"scope": {"tenant": True}, "reason": "month end"})
    assert frozen.status == 201, frozen
    frozen_at = _now()
    time.sleep(5)
    assert _started(acme, frozen_at) == []
    thawed = acme.ask("tenant_admin", "DELETE", f"/v1/freezes/{frozen.body['id']}?reason=over")
    assert thawed.status in (200, 204), thawed
    _wait(lambda: any(_started_after(row, frozen_at) for row in acme.runs("beat")))


def test_a_suspended_tenant_reads_starts_nothing_and_goes_on_when_it_is_resumed(acme, api):
    assert api.ask("POST", "/v1/tenants/acme/suspend", {"reason": "unpaid"}).body["status"] == "suspended"
    suspended_at = _now()
    pause = ("POST", "/v1/schedules/second/shadow", {"on": True})
    refused = _wait(lambda: (answer := acme.ask("editor", *pause)).status == 403 and answer)
    assert refused.body["type"] == "urn:cronfleet:problem:tenant-suspended"
    assert "unpaid" in refused.body["detail"]
    assert acme.ask("viewer", "GET", "/v1/schedules/beat").status == 200
    assert _started(acme, suspended_at) == []
    assert api.ask("POST", "/v1/tenants/acme/resume", {"reason": "paid"}).body["status"] == "active"
    _wait(lambda: any(_started_after(row, suspended_at) for row in acme.runs("beat")))
    assert acme.ask("operator", "POST", "/v1/schedules/beat/pause", {"reason": "seen enough"}).status == 200


def test_what_is_exported_can_be_applied_to_another_tenant(acme, api):
    document = acme.ask("tenant_admin", "GET", "/v1/tenants/acme/export").body
    assert [one["id"] for one in document["schedules"]] == ["beat", "second", "third"]
    other = Tenant(api, "other")
    applied = other.ask("editor", "POST", "/v1/imports/cronfleet", document)
    assert applied.body["counts"]["created"] == 3, applied
    again = other.ask("tenant_admin", "GET", "/v1/tenants/other/export").body
    assert again["schedules"] == document["schedules"]


def test_the_audit_log_says_who_did_what_and_can_be_verified(acme):
    verified = acme.ask("tenant_admin", "GET", "/v1/audit/verify").body
    assert (verified["ok"], verified["first_bad"]) == (True, None)
    assert verified["checked"] >= 10
    entries = acme.ask("operator", "GET", "/v1/audit?limit=100").body["entries"]
    [suspension] = [one for one in entries if one["action"] == "suspend_tenant"]
    assert suspension["reason"] == "unpaid"


def test_a_deleted_tenant_leaves_a_certificate_and_nothing_else(doomed, api, stack):
    assert _wait(lambda: doomed.ask("viewer", "GET", "/v1/schedules").status in (401, 403))
    done = _wait(lambda: (said := _swept(api, stack))["status"] == "deleted" and said, DELETION_SECONDS)
    said = done["certificate"]
    assert said["removed"]["schedules"] == 2
    assert said["removed"]["api_keys"] == len(ROLES)
    assert said["removed"]["runs"] >= 1
    assert (said["reason"], said["tenant"]) == ("contract ended", "doomed")
    assert api.ask("POST", "/v1/tenants", {"id": "doomed"}).status == 409
    assert _traces(stack, "doomed") == []


def _swept(api: Caller, stack: Any) -> Any:
    """How far the deletion is after another sweep, a few seconds later."""
    time.sleep(SWEEP_SECONDS)
    _sweep(stack)
    answer = api.ask("GET", "/v1/tenants/doomed/deletion")
    assert answer.status == 200, answer
    return answer.body


def _sweep(stack: Any) -> None:
    """The sweeper comes each minute by itself; called once more, nobody has to wait for that."""
    Aws(stack.facts["emulator"]).client("lambda").invoke(FunctionName=SWEEPER, Payload=b"{}")


def _traces(stack: Any, tenant: str) -> list[str]:
    """Items that name the tenant, besides its tombstone, its certificate, and what the platform's own log says."""
    tables = Aws(stack.facts["emulator"]).client("dynamodb")
    found = []
    for table in TABLES:
        for page in tables.get_paginator("scan").paginate(TableName=f"cronfleet-{table}"):
            found += [item for item in page["Items"] if tenant in str(item) and not _stays(item, tenant)]
    return [f"{item['pk']['S']} / {item['sk']['S']}" for item in found]


def _stays(item: Any, tenant: str) -> bool:
    place = item["pk"]["S"], item["sk"]["S"]
    return place in ((f"TENANT#{tenant}", "TENANT"), (f"TENANT#{tenant}", "DELETION")) or place[0] == "demo"


def _now() -> datetime:
    return datetime.now(UTC)


def _started_after(row: dict[str, Any], moment: datetime) -> bool:
    """Whether its target was called after `moment`; a row that a freeze ended was begun by a worker, and no more."""
    began_at = row["started_at"]
    return row["status"] != "frozen" and began_at is not None and datetime.fromisoformat(began_at) > moment


def _started(tenant: Tenant, moment: datetime) -> list[dict[str, Any]]:
    """The runs whose target was called after `moment`, once it is decided of each that a worker has begun."""
    rows = _wait(lambda: (rows := tenant.runs("beat")) and all(row["status"] != "running" for row in rows) and rows)
    return [row for row in rows if _started_after(row, moment)]


def _wait(look: Any, seconds: float = PATIENCE_SECONDS) -> Any:
    """What `look` says as soon as it says anything."""
    deadline = time.monotonic() + seconds
    while not (seen := look()):
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(LOOK_SECONDS)
    return seen
