"""Tenants over HTTP: made, read, changed, and what they may not have."""

from typing import Any

import pytest

from cronfleet import bootstrap
from cronfleet.adapters.memory.events import MemoryEvents
from cronfleet.domain.noticeboard import Topic
from tests.support.api import NIGHTLY, Answer, Api

ADMIN: dict[str, Any] = {"tenant": "home", "role": "platform_admin"}


def made(api: Api, tenant_id: str = "acme", **fields: Any) -> Answer:
    answer = api.call("POST", "/v1/tenants", {"id": tenant_id, **fields}, **ADMIN)
    assert answer.status == 201, answer.text
    return answer


def test_a_tenant_is_made_read_and_listed(api: Api) -> None:
    answer = made(api, name="Acme & Söhne", tier="priority", quotas={"schedules": 7, "concurrent_runs": 5})
    made(api, "beta")

    assert answer.headers["location"] == "/v1/tenants/acme"
    assert answer.json["quotas"] | {"schedules": 7, "concurrent_runs": 5, "burst": 10_000} == answer.json["quotas"]
    assert answer.json["overrides"] == {"concurrent_runs": 5, "schedules": 7}
    assert answer.json["status"] == "active"
    own = api.call("GET", "/v1/tenants/acme", role="viewer")
    assert (own.json, own.headers["etag"]) == (answer.json, answer.headers["etag"])
    listed = api.call("GET", "/v1/tenants?limit=1", **ADMIN)
    assert [one["id"] for one in listed.json["tenants"]] == ["acme"]
    rest = api.call("GET", f"/v1/tenants?cursor={listed.json['cursor']}", **ADMIN)
    assert [one["id"] for one in rest.json["tenants"]] == ["beta"]


def test_an_id_that_is_taken_is_refused(api: Api) -> None:
    made(api)

    again = api.call("POST", "/v1/tenants", {"id": "acme"}, **ADMIN)

    assert (again.status, again.json["type"]) == (409, "urn:cronfleet:problem:conflict")


def test_a_repeated_request_makes_one_tenant(api: Api) -> None:
    key = {"Idempotency-Key": "one"}

    first = api.call("POST", "/v1/tenants", {"id": "acme"}, headers=key, **ADMIN)
    again = api.call("POST", "/v1/tenants", {"id": "acme"}, headers=key, **ADMIN)

    assert (first.status, first.json) == (again.status, again.json)


def test_a_tenants_admin_turns_its_events_on_and_off_and_workers_hear_of_that(api: Api) -> None:
    made(api)
    before = api.call("GET", "/v1/tenants/acme", role="viewer").json
    on = api.call("PUT", "/v1/tenants/acme/events", {"enabled": True, "reason": "we listen"})

    assert on.status == 200, on.text
    assert (before["lifecycle_events"], on.json["lifecycle_events"]) == (False, True)
    assert api.store.get_notices().about(Topic.EVENTS, "acme", api.clock.now()) is not None
    again = api.call("PUT", "/v1/tenants/acme/events", {"enabled": True})
    assert again.headers["etag"] == on.headers["etag"]
    entry = api.call("GET", "/v1/audit?subject=tenant").json["entries"][0]
    assert (entry["action"], entry["reason"], entry["after"]["lifecycle_events"]) == ("edit_tenant", "we listen", True)
    off = api.call("PATCH", "/v1/tenants/acme", {"lifecycle_events": False}, **ADMIN)
    assert off.json["lifecycle_events"] is False
    assert api.store.get_notices().about(Topic.EVENTS, "acme", api.clock.now()) is None


def test_a_tenant_without_a_record_may_be_told_too(api: Api) -> None:
    answer = api.call("PUT", "/v1/tenants/acme/events", {"enabled": True})

    assert (answer.status, answer.json["lifecycle_events"]) == (200, True)
    assert api.store.get_notices().about(Topic.EVENTS, "acme", api.clock.now()) is not None


@pytest.mark.parametrize("role", ["viewer", "operator", "editor"])
def test_whoever_does_not_speak_for_the_tenant_cannot_turn_its_events_on(api: Api, role: str) -> None:
    assert api.call("PUT", "/v1/tenants/acme/events", {"enabled": True}, role=role).status == 403


@pytest.mark.parametrize("body", [{}, {"enabled": "yes"}, {"enabled": 1}, {"enabled": None}])
def test_events_are_on_or_off_and_nothing_else(api: Api, body: Any) -> None:
    answer = api.call("PUT", "/v1/tenants/acme/events", body)

    assert (answer.status, answer.fields) == (400, ["enabled"])


def test_a_deleted_tenant_leaves_the_noticeboard(api: Api) -> None:
    made(api, lifecycle_events=True)
    assert api.store.get_notices().about(Topic.EVENTS, "acme", api.clock.now()) is not None

    assert api.call("DELETE", "/v1/tenants/acme?confirm=acme", **ADMIN).status == 202
    assert api.store.get_notices().about(Topic.EVENTS, "acme", api.clock.now()) is None


def test_callers_changes_are_told_to_tenants_that_asked_and_to_no_others(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = MemoryEvents()
    monkeypatch.setattr(bootstrap, "_events", lambda _: events)
    api.register(id="before")
    assert events.calls == 0
    api.call("PUT", "/v1/tenants/acme/events", {"enabled": True})
    api.register()
    api.call("POST", "/v1/schedules/nightly/pause", {"reason": "tired"})
    run = api.call("POST", "/v1/schedules/nightly/run").json["run_id"]
    api.call("POST", f"/v1/runs/{run}/cancel")

    told = [(event.kind.value, event.detail.get("change"), event.detail["status"]) for event in events.sent]
    assert told == [
        ("cronfleet.schedule.changed", "create", "active"),
        ("cronfleet.schedule.changed", "pause", "paused"),
        ("cronfleet.run.cancelled", None, "cancelled"),
    ]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"id": "a b"}, "id"),
        ({"id": "a", "tier": "gold"}, "tier"),
        ({"id": "a", "quotas": {"schedules": -1}}, "quotas.schedules"),
        ({"id": "a", "quotas": {"payload_bytes": 50_000}}, "quotas.payload_bytes"),
        ({"id": "a", "quotas": {"schedule": 1}}, "quotas.schedule"),
        ({"id": "a", "quotas": {"burst": "5"}}, "quotas.burst"),
        ({"id": "a", "status": "suspended"}, "status"),
        ({}, "id"),
    ],
)
def test_a_wrong_field_is_named(api: Api, body: Any, field: str) -> None:
    answer = api.call("POST", "/v1/tenants", body, **ADMIN)

    assert (answer.status, answer.fields) == (400, [field])


def test_a_patch_changes_what_it_names_and_null_goes_back_to_the_default(api: Api) -> None:
    made(api, name="Acme", quotas={"schedules": 7, "burst": 9})

    answer = api.call(
        "PATCH", "/v1/tenants/acme?reason=grown", {"tier": "priority", "quotas": {"schedules": None}}, **ADMIN
    )

    assert answer.status == 200, answer.text
    assert answer.json["overrides"] == {"burst": 9}
    assert (answer.json["quotas"]["schedules"], answer.json["name"]) == (100_000, "Acme")
    cleared = api.call("PATCH", "/v1/tenants/acme", {"quotas": None, "name": None, "tier": None}, **ADMIN)
    assert (cleared.json["overrides"], cleared.json["name"], cleared.json["tier"]) == ({}, "", "standard")
    same = api.call("PATCH", "/v1/tenants/acme", {"name": ""}, **ADMIN)
    assert same.headers["etag"] == cleared.headers["etag"]


def test_of_two_editors_one_gets_412(api: Api) -> None:
    etag = made(api).headers["etag"]

    first = api.call("PATCH", "/v1/tenants/acme", {"name": "A"}, headers={"If-Match": etag}, **ADMIN)
    second = api.call("PATCH", "/v1/tenants/acme", {"name": "B"}, headers={"If-Match": etag}, **ADMIN)

    assert (first.status, second.status) == (200, 412)
    assert api.call("GET", "/v1/tenants/acme").json["name"] == "A"


def test_changes_stand_in_the_tenants_own_log_with_who_acted_for_it(memory: Api) -> None:
    made(memory)
    memory.call("PATCH", "/v1/tenants/acme?reason=grown", {"tier": "priority"}, **ADMIN)

    entries = [entry for (tenant, _), entry in sorted(memory.store.state.audit.items()) if tenant == "acme"]

    assert [(one.action, one.subject, one.acting_for) for one in entries] == [
        ("create_tenant", "tenant", "acme"),
        ("edit_tenant", "tenant", "acme"),
    ]
    assert (entries[1].before or {})["tier"] == "standard"
    assert (entries[1].after or {})["tier"] == "priority"
    assert (entries[1].reason, entries[1].home_tenant) == ("grown", "home")


def test_a_tenant_without_a_record_has_its_tiers_defaults_and_gets_one(api: Api) -> None:
    own = api.call("GET", "/v1/tenants/acme")
    assert (own.status, own.json["created_at"], own.json["quotas"]["schedules"]) == (200, None, 10_000)
    assert api.call("GET", "/v1/tenants/acme", **ADMIN).status == 404
    assert api.call("PATCH", "/v1/tenants/acme", {"name": "A"}, **ADMIN).status == 404
    api.register()

    made(api)

    assert api.call("GET", "/v1/tenants/acme/usage", **ADMIN).json["quotas"]["schedules"]["use"] == 1


# --- quotas ------------------------------------------------------------------------------------------------------


def test_over_the_quota_of_schedules_the_answer_says_quota_use_and_limit(api: Api) -> None:
    made(api, quotas={"schedules": 2})
    assert api.register(id="a").status == 201
    assert api.call("PUT", "/v1/schedules/b", NIGHTLY | {"id": "b"}).status == 201

    refused = [api.register(id="c"), api.call("PUT", "/v1/schedules/c", NIGHTLY | {"id": "c"})]

    for answer in refused:
        assert (answer.status, answer.json["type"]) == (409, "urn:cronfleet:problem:quota-exceeded")
        assert {name: answer.json[name] for name in ("quota", "use", "limit")} == {
            "quota": "schedules",
            "use": 2,
            "limit": 2,
        }
    assert api.call("GET", "/v1/schedules/c").status == 404
    api.call("DELETE", "/v1/schedules/a")
    assert api.register(id="c").status == 201


def test_a_dry_run_shows_what_the_quota_would_say(api: Api) -> None:
    made(api, quotas={"schedules": 1})

    room = api.call("POST", "/v1/schedules?dry_run=true", NIGHTLY)
    api.register()
    full = api.call("POST", "/v1/schedules?dry_run=true", NIGHTLY | {"id": "other"})

    assert room.json["effect"]["quota"]["schedules"] == {"use": 0, "after": 1, "limit": 1}
    assert (full.status, full.json["quota"], full.json["use"]) == (409, "schedules", 1)


def test_an_import_fills_the_quota_and_its_dry_run_says_so_first(api: Api) -> None:
    made(api, quotas={"schedules": 2})
    crontab = "".join(f"{minute} 1 * * * job-{minute}\n" for minute in range(4))

    def sent(query: str) -> Any:
        headers = {"content-type": "text/plain"}
        return api.call("POST", f"/v1/imports/crontab?source=old{query}", crontab, headers=headers).json

    for answer in (sent("&dry_run=true"), sent("")):
        assert (answer["counts"]["created"], answer["counts"]["refused"]) == (2, 2), answer
        assert all("quota schedules is 2" in one["reason"] for one in answer["refused"])
    again = sent("")
    assert (again["counts"]["unchanged"], again["counts"]["refused"]) == (2, 2)


def test_an_export_that_is_applied_fills_the_quota_and_its_trial_says_so_first(api: Api) -> None:
    made(api, quotas={"schedules": 2})
    schedules = [{**NIGHTLY, "id": f"s{number}"} for number in range(3)]
    document = {"format": "cronfleet-tenant/1", "calendars": [], "schedules": schedules}

    trial = api.call("POST", "/v1/imports/cronfleet?dry_run=true", document).json
    applied = api.call("POST", "/v1/imports/cronfleet", document).json

    for answer in (trial, applied):
        assert [one["outcome"] for one in answer["schedules"]] == ["created", "created"], answer
        assert ["quota schedules is 2" in one["reason"] for one in answer["refused"]] == [True], answer
    assert api.call("GET", "/v1/tenants/acme/usage").json["quotas"]["schedules"] == {"use": 2, "limit": 2}


def test_a_payload_over_the_quota_is_refused_wherever_it_comes_in(api: Api) -> None:
    made(api, quotas={"payload_bytes": 256})
    large = {"text": "x" * 300}
    api.register(payload={"text": "x" * 200})

    answers = [
        api.register(id="other", payload=large),
        api.call("PATCH", "/v1/schedules/nightly", {"payload": large}),
        api.call("POST", "/v1/schedules/nightly/run", {"payload": large}),
    ]

    assert [(one.status, one.json["quota"], one.json["use"], one.json["limit"]) for one in answers] == [
        (409, "payload_bytes", 311, 256)
    ] * 3


def test_a_payload_that_was_there_before_its_quota_may_shrink(api: Api) -> None:
    api.register(payload={"text": "x" * 1_000})
    made(api, quotas={"payload_bytes": 256})

    smaller = api.call("PATCH", "/v1/schedules/nightly", {"payload": {"text": "x" * 500}})
    untouched = api.call("PATCH", "/v1/schedules/nightly", {"owner": "ops"})

    assert (smaller.status, untouched.status) == (200, 200)


def test_usage_names_each_quota_with_use_and_limit(api: Api) -> None:
    made(api, quotas={"concurrent_runs": 5})
    api.register()

    answer = api.call("GET", "/v1/tenants/acme/usage", role="viewer")

    assert answer.json == {
        "tenant": "acme",
        "tier": "standard",
        "quotas": {
            "schedules": {"use": 1, "limit": 10_000},
            "concurrent_runs": {"use": 0, "limit": 5},
            "fires_per_second": {"use": None, "limit": 100},
            "burst": {"use": None, "limit": 2_500},
            "payload_bytes": {"use": None, "limit": 32_768},
            "retention_days": {"use": None, "limit": 30},
            "backfill_fires": {"use": None, "limit": 10_000},
            "requests_per_second": {"use": None, "limit": 50},
        },
    }


def test_a_schedule_made_for_a_tenant_goes_by_its_records_tier(api: Api) -> None:
    made(api, tier="priority")

    api.call("POST", "/v1/schedules", NIGHTLY, headers={"Cronfleet-Tenant": "acme"}, **ADMIN)

    assert api.store.get_timer("acme", "nightly").tier == "priority"
