"""A tenant's life over HTTP: suspended, its keys read and change nothing; deleted, nothing of it is to be had."""

from typing import Any

import pytest

from cronfleet.domain.deletion import SETTLES_AFTER
from cronfleet.domain.instant import MINUTE
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.job_store import PutTenant
from cronfleet.services.deletions import Deletions
from tests.support.api import Answer, Api
from tests.support.settable_clock import CountingIds
from tests.support.world import Notes

FORGOTTEN = MINUTE
"""After this no process goes by what it knew of a tenant."""


class Platform:
    """An API with the tenants `home` and `acme`, and a platform admin of the first."""

    def __init__(self, api: Api) -> None:
        self.api = api
        for tenant in ("home", "acme"):
            api.store.commit([PutTenant(Tenant(tenant, rev=1, change_id=f"made-{tenant}"), None)])

    def admin(self, method: str, target: str, body: Any = None, **more: Any) -> Answer:
        """A request of the platform admin."""
        return self.api.call(method, target, body, tenant="home", role="platform_admin", **more)

    def acme(self, method: str, target: str, body: Any = None, role: str = "tenant_admin") -> Answer:
        """A request of a key of `acme`, long enough after the latest change that everybody knows of it."""
        self.api.clock.advance(FORGOTTEN)
        return self.api.call(method, target, body, role=role)

    def suspend(self, **body: str) -> Answer:
        return self.admin("POST", "/v1/tenants/acme/suspend", {"reason": "unpaid", **body})

    def delete(self, confirm: str = "acme") -> Answer:
        return self.admin("DELETE", f"/v1/tenants/acme?confirm={confirm}&reason=contract+ended")

    def sweep(self) -> None:
        jobs = Deletions(store=self.api.store, clock=self.api.clock, ids=CountingIds(), telemetry=Notes())
        for _ in range(3):
            jobs.advance(self.api.clock.now() + MINUTE)
            self.api.clock.advance(SETTLES_AFTER)


@pytest.fixture
def platform(api: Api) -> Platform:
    platform = Platform(api)
    assert api.register().status == 201
    return platform


def test_a_suspended_tenant_reads_and_changes_nothing_and_is_told_why(platform: Platform) -> None:
    answer = platform.suspend()
    assert (answer.status, answer.json["status"], answer.json["reason"]) == (200, "suspended", "unpaid")
    assert platform.acme("GET", "/v1/schedules/nightly").status == 200
    preview = {"trigger": {"cron": "0 2 * * *", "timezone": "UTC"}}
    assert platform.acme("POST", "/v1/preview", preview).status == 200
    refused = platform.acme("POST", "/v1/schedules/nightly/pause", {"reason": "x"})
    assert (refused.status, refused.json["type"]) == (403, "urn:cronfleet:problem:tenant-suspended")
    assert "unpaid" in refused.json["detail"]
    assert platform.acme("DELETE", "/v1/schedules/nightly").status == 403
    assert platform.acme("PUT", "/v1/calendars/uk", {"holidays": ["2026-12-25"]}).status == 403


def test_a_platform_admin_may_mend_things_in_a_suspended_tenant(platform: Platform) -> None:
    platform.suspend()
    acting = {"Cronfleet-Tenant": "acme"}
    answer = platform.admin("POST", "/v1/schedules/nightly/pause", {"reason": "x"}, headers=acting)
    assert answer.status == 200, answer.text


def test_a_resumed_tenant_changes_things_again(platform: Platform) -> None:
    platform.suspend()
    answer = platform.admin("POST", "/v1/tenants/acme/resume", {"reason": "paid"})
    assert (answer.status, answer.json["status"]) == (200, "active")
    assert platform.acme("POST", "/v1/schedules/nightly/pause", {"reason": "x"}).status == 200
    assert platform.admin("POST", "/v1/tenants/acme/resume").status == 200


@pytest.mark.parametrize("role", ["viewer", "operator", "editor", "tenant_admin"])
@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("POST", "/v1/tenants/acme/suspend", {"reason": "x"}),
        ("POST", "/v1/tenants/acme/resume", {"reason": "x"}),
        ("DELETE", "/v1/tenants/acme?confirm=acme", None),
        ("GET", "/v1/tenants/acme/deletion", None),
    ],
)
def test_nobody_but_a_platform_admin_suspends_or_deletes(
    platform: Platform, role: str, method: str, target: str, body: Any
) -> None:
    assert platform.acme(method, target, body, role).status == 403
    other = target.replace("acme", "home")
    assert platform.acme(method, other, body, role).status == 404


@pytest.mark.parametrize(
    ("body", "field"), [({}, "reason"), ({"reason": ""}, "reason"), ({"reason": "x", "until": "y"}, "until")]
)
def test_a_suspension_has_a_reason_and_no_end(platform: Platform, body: Any, field: str) -> None:
    answer = platform.admin("POST", "/v1/tenants/acme/suspend", body)
    assert (answer.status, answer.fields) == (400, [field])


def test_a_tenant_that_is_not_there_can_be_neither_suspended_nor_deleted(platform: Platform) -> None:
    assert platform.admin("POST", "/v1/tenants/nobody/suspend", {"reason": "x"}).status == 404
    assert platform.admin("DELETE", "/v1/tenants/nobody?confirm=nobody").status == 404
    assert platform.admin("GET", "/v1/tenants/acme/deletion").status == 404


def test_a_deletion_wants_its_confirmation(platform: Platform) -> None:
    assert platform.admin("DELETE", "/v1/tenants/acme").fields == ["confirm"]
    assert platform.delete("acm").fields == ["confirm"]
    assert platform.admin("DELETE", "/v1/tenants/home?confirm=home").status == 409


def test_a_deleted_tenant_leaves_a_certificate_and_an_id_that_nobody_gets_again(platform: Platform) -> None:
    begun = platform.delete()
    assert (begun.status, begun.json["status"], begun.json["certificate"]) == (202, "deleting", None)
    assert platform.acme("GET", "/v1/schedules").status == 403
    acting = {"Cronfleet-Tenant": "acme"}
    refused = platform.admin("POST", "/v1/schedules", {}, headers=acting)
    assert refused.status == 409
    platform.sweep()
    done = platform.admin("GET", "/v1/tenants/acme/deletion").json
    assert done["status"] == "deleted"
    assert done["certificate"]["removed"]["schedules"] == 1
    assert len(done["certificate"]["digest"]) == 64
    assert platform.admin("POST", "/v1/tenants/acme/suspend", {"reason": "x"}).status == 409
    again = platform.delete()
    assert (again.status, again.json["certificate"]) == (202, done["certificate"])
    assert platform.acme("GET", "/v1/schedules").status == 403


@pytest.mark.parametrize("end", ["suspend", "delete"])
def test_a_platform_admins_key_goes_no_further_than_its_own_tenant_allows(platform: Platform, end: str) -> None:
    """By the header and by a path: what is refused at home is refused everywhere, with another tenant's name on it."""
    key = {"tenant": "acme", "role": "platform_admin"}
    abroad = {"Cronfleet-Tenant": "home"}
    assert platform.api.call("PUT", "/v1/calendars/uk", {"holidays": []}, headers=abroad, **key).status == 201
    ended = platform.suspend() if end == "suspend" else platform.delete()
    assert ended.status in (200, 202)
    platform.api.clock.advance(FORGOTTEN)
    before = platform.admin("GET", "/v1/audit").json["entries"]
    for method, target, body, headers in (
        ("PUT", "/v1/calendars/uk", {"holidays": ["2026-12-25"]}, abroad),
        ("POST", "/v1/tenants/home/keys", {"role": "platform_admin"}, {}),
        ("POST", "/v1/tenants/home/suspend", {"reason": "revenge"}, {}),
        ("DELETE", "/v1/tenants/home?confirm=home&reason=revenge", None, {}),
        ("POST", "/v1/tenants/acme/resume", {"reason": "let me"}, abroad | {"Cronfleet-Tenant": "acme"}),
        ("POST", "/v1/tenants", {"id": "shell"}, {}),
    ):
        refused = platform.api.call(method, target, body, headers=headers, **key)
        assert (refused.status, "'acme'" in refused.json["detail"]) == (403, True), (method, target, refused.text)
    assert platform.admin("GET", "/v1/audit").json["entries"] == before
    read = platform.api.call("GET", "/v1/calendars/uk", headers=abroad, **key)
    assert read.status == (200 if end == "suspend" else 403)


def test_who_may_not_know_of_a_tenant_is_not_told_of_it_for_being_suspended(platform: Platform) -> None:
    platform.suspend()
    platform.api.clock.advance(FORGOTTEN)
    refused = platform.api.call("GET", "/v1/schedules", role="tenant_admin", headers={"Cronfleet-Tenant": "home"})
    assert refused.status == 404
