"""Versions, dry runs, bulk changes and filters over HTTP."""

from dataclasses import replace

import pytest

from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import SECOND
from tests.support.api import NIGHTLY

BASE = "/v1/schedules/nightly"
ON_TIME = {"jitter_seconds": 0}


def history(api, *changes):
    """A schedule with a version for each of `changes`."""
    assert api.register(policies=ON_TIME).status == 201
    for change in changes:
        assert api.call("PATCH", BASE, change).status == 200


# --- versions --------------------------------------------------------------------------------------------------


def test_a_schedules_versions_are_listed_read_compared_and_brought_back(api):
    history(api, {"trigger": {"cron": "30 2 * * *"}, "labels": {"team": "billing"}}, {"payload": {"n": 1}})
    listed = api.call("GET", f"{BASE}/versions?limit=2").json
    assert [(one["version"], one["changed"]) for one in listed["versions"]] == [
        (3, ["payload"]),
        (2, ["trigger.cron", "labels.team"]),
    ]
    rest = api.call("GET", f"{BASE}/versions?cursor={listed['cursor']}").json
    assert [one["version"] for one in rest["versions"]] == [1]
    assert rest["cursor"] is None
    assert api.call("GET", f"{BASE}/versions/1").json["trigger"]["cron"] == "0 2 * * *"

    etag = api.call("GET", BASE).headers["etag"]
    back = api.call("POST", f"{BASE}/rollback", {"version": 1, "reason": "too late"}, headers={"If-Match": etag})
    assert (back.status, back.json["version"], back.json["trigger"]["cron"]) == (200, 4, "0 2 * * *")
    assert back.headers["etag"] != etag
    assert api.call("GET", f"{BASE}/versions/4").json["reason"] == "back to version 1: too late"
    assert api.call("GET", f"{BASE}/versions/4/diff?to=1").json["changes"] == []
    stale = api.call("POST", f"{BASE}/rollback", {"version": 2}, headers={"If-Match": etag})
    assert (stale.status, stale.fields) == (412, ["If-Match"])


def test_the_patch_of_a_difference_makes_one_version_of_the_other(memory):
    history(
        memory,
        {"trigger": {"cron": None, "timezone": None, "every": "10m", "anchor": "2026-12-01T00:00:00Z"}},
        {
            "policies": {"misfire": {"policy": "catch_up", "max": 3, "window_seconds": 60}},
            "end_at": "2030-01-01T00:00:00Z",
        },
        {"target": {"handler": None, "url": "https://example.com/x"}, "payload": {"a": {"b": [1, None]}}},
    )
    for number in (1, 2, 3, 4):
        diff = memory.call("GET", f"{BASE}/versions/{memory.call('GET', BASE).json['version']}/diff?to={number}").json
        assert diff["is_exact"]
        assert memory.call("PATCH", BASE, diff["patch"]).status == 200
        now = memory.call("GET", BASE).json["version"]
        assert memory.call("GET", f"{BASE}/versions/{now}/diff?to={number}").json["changes"] == []


def test_every_version_there_ever_was_comes_back_through_the_rules_of_today(memory):
    history(
        memory,
        {"trigger": {"cron": None, "timezone": None, "at": "2026-12-02T02:00:00+05:30"}},
        {"trigger": {"at": None, "every": "10m"}},
        {"trigger": {"every": None, "anchor": None, "cron": "0 9 ? * MON-FRI *", "dialect": "aws", "timezone": "UTC"}},
        {"target": {"handler": None, "lambda": "cronfleet-target-x"}, "description": "two\nlines"},
    )
    for number in (1, 2, 3, 4, 5):
        answer = memory.call("POST", f"{BASE}/rollback", {"version": number})
        assert answer.status == 200, answer.text
        now = answer.json["version"]
        assert memory.call("GET", f"{BASE}/versions/{now}/diff?to={number}").json["changes"] == []


def test_a_host_that_may_no_longer_be_called_does_not_come_back(memory, monkeypatch):
    history(
        memory,
        {"target": {"handler": None, "url": "https://example.com/x"}},
        {"target": {"url": "https://example.org"}},
    )
    monkeypatch.setattr("functions.api.targets._check_host", _refuse)
    answer = memory.call("POST", f"{BASE}/rollback", {"version": 2})
    assert (answer.status, answer.fields) == (400, ["version"])
    assert "2 cannot come back: target.url" in answer.json["detail"]
    assert memory.call("GET", BASE).json["version"] == 3


def _refuse(parts, field, allowed_networks):
    raise Invalid(field, f"{parts.hostname} may not be called any more")


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "fields"),
    [
        ("GET", "/v1/schedules/absent/versions", None, 404, ["schedule_id"]),
        ("GET", "/v1/schedules/absent/versions/1", None, 404, ["schedule_id"]),
        ("GET", f"{BASE}/versions/2", None, 404, ["version"]),
        ("GET", f"{BASE}/versions/1/diff?to=2", None, 404, ["version"]),
        ("GET", f"{BASE}/versions/0", None, 400, ["version"]),
        ("GET", f"{BASE}/versions/one", None, 400, ["version"]),
        ("GET", f"{BASE}/versions/1/diff?to=x", None, 400, ["to"]),
        ("GET", f"{BASE}/versions?cursor=x", None, 400, ["cursor"]),
        ("GET", f"{BASE}/versions/99999999999", None, 400, ["version"]),
        ("POST", f"{BASE}/rollback", {"version": 2}, 400, ["version"]),
        ("POST", f"{BASE}/rollback", {"version": "1"}, 400, ["version"]),
        ("POST", f"{BASE}/rollback", {"version": 1, "why": "x"}, 400, ["why"]),
        ("POST", f"{BASE}/rollback", {}, 400, ["version"]),
        ("POST", "/v1/schedules/absent/rollback", {"version": 1}, 404, ["schedule_id"]),
        ("POST", f"{BASE}/rollback?dry_run=yes", {"version": 1}, 400, ["dry_run"]),
    ],
)
def test_what_is_asked_for_wrongly_is_refused_by_its_field(memory, method, path, body, status, fields):
    history(memory)
    answer = memory.call(method, path, body)
    assert (answer.status, answer.fields) == (status, fields)


def test_another_tenants_versions_are_not_there(memory):
    history(memory, {"owner": "x"})
    for method, path, body in (
        ("GET", f"{BASE}/versions", None),
        ("GET", f"{BASE}/versions/1", None),
        ("GET", f"{BASE}/versions/1/diff", None),
        ("POST", f"{BASE}/rollback", {"version": 1}),
    ):
        assert memory.call(method, path, body, tenant="rival").status == 404


# --- what a change would do ------------------------------------------------------------------------------------


def test_a_dry_run_shows_the_schedule_as_it_would_be_and_what_becomes_of_its_fires(api):
    history(api)
    answer = api.call("PATCH", f"{BASE}?dry_run=true", {"trigger": {"timezone": "Europe/Paris"}})
    assert (answer.status, answer.json["version"]) == (200, 2)
    effect = answer.json["effect"]
    assert (effect["moved"]["count"], effect["moved"]["by"]["clock"], effect["unchanged"]) == (30, 30, 0)
    assert effect["moved"]["examples"][0]["before"]["nominal_at"] == "2026-11-30T20:30:00Z"
    assert api.call("GET", BASE).json["version"] == 1
    made = api.call(
        "PATCH", BASE, {"trigger": {"timezone": "Europe/Paris"}}, headers={"If-Match": answer.headers["etag"]}
    )
    assert made.status == 200
    assert "effect" not in made.json


def test_the_fire_that_is_waited_for_is_shown_at_the_time_it_is_waited_for(memory):
    """A new jitter does not move it, and a deferral does; the list of fires says what `next_due_at` and effects say."""
    done = memory.register(id="spread", policies={"jitter_seconds": 600}).json
    effect = memory.call("PATCH", "/v1/schedules/spread?dry_run=true", {"policies": ON_TIME}).json["effect"]
    changed = memory.call("PATCH", "/v1/schedules/spread", {"policies": ON_TIME}).json
    assert changed["next_due_at"] == done["next_due_at"] != changed["next_fire_at"]
    listed = memory.call("GET", "/v1/schedules/spread/fires?limit=40").json["fires"]
    assert listed[0]["due_at"] == changed["next_due_at"]
    assert all(fire["due_at"] == fire["nominal_at"] for fire in listed[1:])
    assert (effect["unchanged"], effect["moved"]["count"]) == (1, 29)
    timer = memory.store.state.timers["acme", "spread"]
    memory.store.state.timers["acme", "spread"] = replace(timer, due_at=timer.due_at + 7 * SECOND)
    listed = memory.call("GET", "/v1/schedules/spread/fires").json["fires"]
    assert listed[0]["due_at"] == memory.call("GET", "/v1/schedules/spread").json["next_due_at"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/schedules", {**NIGHTLY, "id": "another", "policies": ON_TIME}),
        ("PUT", "/v1/schedules/another", NIGHTLY | {"id": "another"}),
        ("PUT", BASE, {**NIGHTLY, "owner": "billing"}),
        ("PATCH", BASE, {"owner": "billing"}),
        ("POST", f"{BASE}/pause", {"reason": "month end"}),
        ("POST", f"{BASE}/rollback", {"version": 1}),
    ],
)
def test_every_change_may_be_tried_and_then_nothing_is_there(memory, method, path, body):
    history(memory)
    before = memory.call("GET", "/v1/schedules").json
    answer = memory.call(method, f"{path}?dry_run=true", body)
    assert answer.status == 200, answer.text
    assert set(answer.json["effect"]) >= {"gained", "lost", "moved", "unchanged", "quota"}
    assert memory.call("GET", "/v1/schedules").json == before
    assert len(memory.store.state.audit) == 1


def test_a_resume_may_be_tried(memory):
    history(memory)
    memory.call("POST", f"{BASE}/pause", {"reason": "month end"})
    answer = memory.call("POST", f"{BASE}/resume?dry_run=true", {})
    assert (answer.json["status"], answer.json["effect"]["gained"]["count"]) == ("active", 30)
    assert memory.call("GET", BASE).json["status"] == "paused"


def test_a_dry_run_is_refused_as_the_change_would_be(memory):
    history(memory)
    assert memory.call("POST", "/v1/schedules?dry_run=true", NIGHTLY).status == 409
    assert memory.call("PATCH", f"{BASE}?dry_run=true", {"owner": 7}).fields == ["owner"]
    assert memory.call("PATCH", f"{BASE}?dry_run=true", {}, headers={"If-Match": '"0-x"'}).status == 412
    assert memory.call("PATCH", "/v1/schedules/absent?dry_run=true", {}).status == 404


# --- lists -----------------------------------------------------------------------------------------------------


def team(api):
    for name, labels, owner in (
        ("a-1", {"team": "billing", "stage": "prod"}, "ops"),
        ("a-2", {"team": "billing", "note": "x,y"}, ""),
        ("b-1", {"team": "ops", "note": "x"}, "ops"),
    ):
        assert api.register(id=name, labels=labels, owner=owner).status == 201


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("label=team=billing", ["a-1", "a-2"]),
        ("label=team=billing,stage=prod", ["a-1"]),
        ("label=team=billing%2Cstage=prod", ["a-1"]),
        ("label=note=x,y", ["a-2"]),
        ("label=note=x&owner=ops", ["b-1"]),
        ("owner=", ["a-2"]),
        ("owner=ops&prefix=a", ["a-1"]),
        ("label=team=billing&status=paused", []),
        ("label=team=", []),
    ],
)
def test_schedules_are_listed_by_label_owner_status_and_prefix(memory, query, ids):
    team(memory)
    answer = memory.call("GET", f"/v1/schedules?{query}")
    assert [one["id"] for one in answer.json["schedules"]] == ids


@pytest.mark.parametrize(
    "label", ["", "team", "=x", "te am=x", "team=a,team=b", ",".join(f"l{n}=x" for n in range(17))]
)
def test_a_label_that_is_none_is_refused(memory, label):
    answer = memory.call("GET", f"/v1/schedules?label={label}")
    assert (answer.status, answer.fields) == (400, ["label"])


# --- bulk ------------------------------------------------------------------------------------------------------


def test_many_are_counted_paused_labelled_resumed_and_deleted(api):
    team(api)
    chosen = {"filter": {"labels": {"team": "billing"}}, "reason": "month end"}
    counted = api.call("POST", "/v1/bulk/pause?dry_run=true", chosen).json
    assert (counted["counts"]["matched"], counted["counts"]["changed"], counted["schedules"]) == (2, 0, ["a-1", "a-2"])
    paused = api.call("POST", "/v1/bulk/pause", {**chosen, "expected": 2}).json
    assert paused["counts"] == {"scanned": 3, "matched": 2, "changed": 2, "unchanged": 0, "failed": 0}
    assert api.call("GET", "/v1/schedules/a-1").json["paused"]["reason"] == f"month end (bulk {paused['bulk']})"
    labelled = {"filter": {"owner": "ops"}, "set": {"tier": "gold"}, "remove": ["note"]}
    assert api.call("POST", "/v1/bulk/labels", labelled).json["counts"]["changed"] == 2
    assert api.call("GET", "/v1/schedules/b-1").json["labels"] == {"team": "ops", "tier": "gold"}
    resumed = api.call("POST", "/v1/bulk/resume", {"all": True, "missed": {"policy": "skip"}}).json
    assert (resumed["counts"]["resumed"], resumed["schedules"]) == (2, ["a-1", "a-2"])
    assert api.call("POST", "/v1/bulk/cancel", {"filter": {"prefix": "a-"}}).json["counts"]["changed"] == 2
    assert [one["id"] for one in api.call("GET", "/v1/schedules").json["schedules"]] == ["b-1"]


def test_a_count_that_is_not_the_one_expected_changes_nothing_and_tells_the_new_one(memory):
    team(memory)
    answer = memory.call("POST", "/v1/bulk/cancel", {"filter": {"prefix": "a-"}, "expected": 3})
    assert (answer.status, answer.json["count"], answer.json["expected"], answer.fields) == (409, 2, 3, ["expected"])
    assert len(memory.call("GET", "/v1/schedules").json["schedules"]) == 3


@pytest.mark.parametrize(
    ("route", "body", "fields"),
    [
        ("pause", {"reason": "x"}, ["filter"]),
        ("pause", {"filter": {}, "reason": "x"}, ["filter"]),
        ("pause", {"filter": {"prefix": "a"}}, ["reason"]),
        ("pause", {"filter": {"prefix": "a"}, "all": True, "reason": "x"}, ["all"]),
        ("pause", {"filter": {"status": "held"}, "reason": "x"}, ["filter.status"]),
        ("pause", {"filter": {"prefix": "a"}, "reason": "x", "until": "2020-01-01T00:00:00Z"}, ["until"]),
        ("pause", {"filter": {"team": "x"}, "reason": "x"}, ["filter.team"]),
        ("cancel", {"filter": {"labels": ["x"]}}, ["filter.labels"]),
        ("cancel", {"filter": {"prefix": "a#"}}, ["filter.prefix"]),
        ("cancel", {"filter": {"prefix": "a"}, "limit": 501}, ["limit"]),
        ("cancel", {"filter": {"prefix": "a"}, "expected": -1}, ["expected"]),
        ("labels", {"filter": {"prefix": "a"}}, ["set"]),
        ("labels", {"filter": {"prefix": "a"}, "set": {"a b": "x"}}, ["set.a b"]),
        ("labels", {"filter": {"prefix": "a"}, "set": {"a": "x"}, "remove": ["a"]}, ["remove"]),
        ("resume", {"labels": {"a": "b"}, "filter": {"prefix": "a"}}, ["labels"]),
        ("resume", {"labels": {"a": "b"}, "all": True}, ["labels"]),
        ("resume", {"filter": {"prefix": "a"}, "cursor": "x"}, ["cursor"]),
    ],
)
def test_a_bulk_that_says_nothing_or_two_things_is_refused(memory, route, body, fields):
    team(memory)
    answer = memory.call("POST", f"/v1/bulk/{route}", body)
    assert (answer.status, answer.fields) == (400, fields)
    assert len(memory.store.state.audit) == 3


def test_a_bulk_takes_no_key_since_it_may_be_repeated_as_it_is(memory):
    answer = memory.call("POST", "/v1/bulk/cancel", {"all": True}, headers={"Idempotency-Key": "x"})
    assert (answer.status, answer.fields) == (400, ["Idempotency-Key"])
