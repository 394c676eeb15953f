"""The API function with recorded gateway events, on the memory store and on DynamoDB as moto plays it."""

import json

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from cronfleet import preview, settings
from cronfleet.domain.claim import BatchId
from cronfleet.domain.dispatch_plan import claim_schedule
from cronfleet.domain.instant import SECOND
from cronfleet.domain.schedule import Status
from cronfleet.ports.job_store import Listed, NoAnswer, Page, Refused
from functions.api import app, handler
from tests.support.api import CONTEXT, NIGHTLY, api_on, api_on_memory, event_of
from tests.support.faults import Faulty

# --- a schedule's life -----------------------------------------------------------------------------------------


def test_a_registered_schedule_answers_with_every_default_and_its_next_time(api):
    answer = api.register()
    assert answer.status == 201
    assert answer.headers["location"] == "/v1/schedules/nightly"
    assert answer.headers["etag"].startswith('"1-')
    assert answer.json == {
        "id": "nightly",
        "description": "",
        "owner": "",
        "trigger": {"cron": "0 2 * * *", "timezone": "Asia/Kolkata"},
        "target": {"handler": "billing.nightly"},
        "payload": None,
        "policies": {
            "misfire": {
                "policy": "fire_once",
                "max": 1,
                "grace_seconds": 300,
                "window_seconds": None,
                "per_minute": 60,
            },
            "after_pause": {
                "policy": "skip",
                "max": 1,
                "grace_seconds": 300,
                "window_seconds": None,
                "per_minute": 60,
            },
            "overlap": "allow",
            "concurrency_key": None,
            "jitter_seconds": 0,
            "spread": None,
            "retry": {
                "max_attempts": 3,
                "backoff": {"kind": "exponential", "base_seconds": 10, "max_seconds": 3600},
            },
            "timeout_seconds": 60,
            "heartbeat_timeout": None,
            "breaker": None,
            "target_breaker": True,
        },
        "labels": {},
        "start_at": None,
        "end_at": None,
        "objectives": None,
        "status": "active",
        "version": 1,
        "next_fire_at": "2026-11-30T20:30:00Z",
        "next_due_at": "2026-11-30T20:30:00Z",
        "catching_up": None,
        "paused": None,
        "hold": None,
        "parked": None,
        "frozen": None,
        "deferred": None,
        "spread_offset_seconds": None,
        "jitter": "none",
        "created_at": "2026-11-30T12:00:00Z",
        "updated_at": "2026-11-30T12:00:00Z",
        "words": "At 02:00 every day, in Asia/Kolkata",
        "warnings": [],
    }
    assert api.call("GET", "/v1/schedules/nightly").json == answer.json


FULL = {
    "description": "Bills, every night.\nAsk finance.",
    "owner": "फ़िनांस",
    "trigger": {"every": "90m", "anchor": "2026-12-01T00:00:00Z"},
    "target": {"url": "https://example.com/hook?a=1", "secret": "cronfleet/acme/billing"},
    "payload": {"amount": 12.5, "big": 12345678901234567890, "none": None, "deep": [[{"a": "é🙂"}]], "zero": 0.0},
    "policies": {
        "misfire": {
            "policy": "catch_up",
            "max": 7,
            "grace_seconds": 60,
            "window_seconds": 86_400,
            "per_minute": 6,
        },
        "after_pause": {
            "policy": "fire_once",
            "max": 1,
            "grace_seconds": 300,
            "window_seconds": 3_600,
            "per_minute": 60,
        },
        "overlap": "buffer_one",
        "concurrency_key": "ledger",
        "jitter_seconds": 30,
        "spread": "auto:30m",
        "retry": {"max_attempts": 5, "backoff": {"kind": "fixed", "base_seconds": 5, "max_seconds": 5}},
        "timeout_seconds": 840,
        "heartbeat_timeout": None,
        "breaker": {"failures": 5, "cooldown": "10m"},
        "target_breaker": False,
    },
    "labels": {"team": "finance", "cost/centre": "42"},
    "start_at": "2026-12-01T00:00:00Z",
    "end_at": "2027-12-01T00:00:00Z",
}


def test_what_was_sent_comes_back_as_it_was_sent(api):
    api.register(**FULL)
    answer = api.call("GET", "/v1/schedules/nightly").json
    assert {name: answer[name] for name in FULL} == FULL


def test_what_was_read_can_be_sent_back_and_changes_nothing(api):
    read = api.register(**FULL).json
    written = {name: read[name] for name in ("id", *FULL)}
    answer = api.call("PUT", "/v1/schedules/nightly", written)
    assert (answer.status, answer.json["version"]) == (200, 1)


def test_a_lambda_and_a_one_shot_come_back_as_they_were_sent(api):
    trigger = {"at": "2026-12-01T02:00:00+05:30"}
    answer = api.register(target={"lambda": "cronfleet-target-x:live"}, trigger=trigger)
    assert answer.json["target"] == {"lambda": "cronfleet-target-x:live"}
    assert (answer.json["trigger"], answer.json["next_fire_at"]) == (trigger, "2026-11-30T20:30:00Z")


def test_put_creates_then_replaces_then_leaves_alone(api):
    body = {name: NIGHTLY[name] for name in ("trigger", "target")}
    first = api.call("PUT", "/v1/schedules/n1", body)
    second = api.call("PUT", "/v1/schedules/n1", {**body, "owner": "me"})
    third = api.call("PUT", "/v1/schedules/n1", {**body, "owner": "me"})
    assert [answer.status for answer in (first, second, third)] == [201, 200, 200]
    assert [answer.json["version"] for answer in (first, second, third)] == [1, 2, 2]
    assert second.headers["etag"] == third.headers["etag"] != first.headers["etag"]


def test_an_interval_put_twice_keeps_its_anchor(api):
    body = {**NIGHTLY, "trigger": {"every": "10s"}}
    first = api.call("PUT", "/v1/schedules/nightly", body)
    api.clock.advance(3 * SECOND)
    second = api.call("PUT", "/v1/schedules/nightly", body)
    assert second.json["version"] == 1
    assert second.json["trigger"] == first.json["trigger"]


def test_a_one_shot_that_has_been_can_still_be_put_and_patched(api):
    body = {**NIGHTLY, "trigger": {"at": "2026-11-30T12:00:10Z"}}
    api.call("PUT", "/v1/schedules/nightly", body)
    api.clock.advance(10 * SECOND)
    claim(api)
    api.clock.advance(10 * SECOND)
    assert api.call("PUT", "/v1/schedules/nightly", body).json["status"] == "completed"
    assert api.call("PATCH", "/v1/schedules/nightly", {"owner": "me"}).json["version"] == 2


def test_a_patch_merges_and_null_takes_back(api):
    api.register(**FULL)
    patch = {"owner": None, "payload": {"amount": 1, "deep": None, "not there": None}, "labels": {"team": None}}
    patch |= {"end_at": None}
    answer = api.call(
        "PATCH", "/v1/schedules/nightly?reason=cheaper", patch, headers={"Content-Type": "application/merge-patch+json"}
    ).json
    assert answer["payload"] == {"amount": 1, "big": 12345678901234567890, "none": None, "zero": 0.0}
    assert (answer["owner"], answer["labels"], answer["end_at"]) == ("", {"cost/centre": "42"}, None)
    assert answer["policies"] == FULL["policies"]


def test_a_patch_may_change_the_kind_of_trigger_by_taking_the_old_one_back(api):
    api.register()
    patch = {"trigger": {"cron": None, "timezone": None, "every": "1h"}}
    assert api.call("PATCH", "/v1/schedules/nightly", patch).json["next_fire_at"] == "2026-11-30T13:00:00Z"


def test_if_match_lets_one_of_two_writers_through(api):
    etag = api.register().headers["etag"]
    change = {"owner": "me"}
    first = api.call("PATCH", "/v1/schedules/nightly", change, headers={"If-Match": f'"0-x", {etag}'})
    second = api.call("PATCH", "/v1/schedules/nightly", {"owner": "you"}, headers={"If-Match": etag})
    assert (first.status, second.status) == (200, 412)
    assert api.call("DELETE", "/v1/schedules/nightly", headers={"If-Match": "*"}).status == 204


def test_a_run_asked_for_on_the_condition_of_an_etag_starts_only_while_that_is_the_schedules(api):
    """If-Match was ignored here: the run started whatever had become of the schedule."""
    etag = api.register().headers["etag"]
    asked = {"If-Match": etag}
    assert api.call("POST", "/v1/schedules/nightly/run", headers=asked).status == 201
    api.call("PATCH", "/v1/schedules/nightly", {"payload": {"all": True}})
    assert api.call("POST", "/v1/schedules/nightly/run", headers=asked).status == 412
    assert len(api.call("GET", "/v1/schedules/nightly/runs").json["runs"]) == 1


def test_a_conflict_says_what_can_be_done_instead_in_the_callers_words(api):
    api.register()
    refused = api.call("POST", "/v1/schedules/nightly/resume")
    assert (refused.status, refused.json["detail"]) == (
        409,
        "a schedule that is active cannot be resumed; it can be changed, paused, run now, deleted",
    )
    assert refused.fields == ["status"]


def test_a_change_that_others_overtake_a_dozen_times_is_still_made(memory, monkeypatch):
    """With six tries, ten of twenty callers who changed one schedule at a time got a 503."""
    memory.register()
    commit, overtaken = memory.store.commit, iter(range(12))

    def commit_unless_overtaken(writes):
        if next(overtaken, None) is not None:
            raise Refused(0, None)
        commit(writes)

    monkeypatch.setattr(memory.store, "commit", commit_unless_overtaken)
    assert memory.call("PATCH", "/v1/schedules/nightly", {"owner": "me"}).json["owner"] == "me"


def test_pause_resume_and_delete(api):
    api.register()
    paused = api.call("POST", "/v1/schedules/nightly/pause", {"reason": "x", "until": "2026-12-24T00:00:00+01:00"})
    assert paused.json["paused"]["until"] == "2026-12-23T23:00:00Z"
    assert api.call("POST", "/v1/schedules/nightly/resume").json["status"] == "active"
    assert api.call("POST", "/v1/schedules/nightly/resume").status == 409
    deleted = api.call("DELETE", "/v1/schedules/nightly?reason=over")
    assert (deleted.status, deleted.text) == (204, "")
    assert api.call("GET", "/v1/schedules/nightly").status == 404
    assert api.register().json["version"] == 2


def test_what_a_pause_held_back_stands_in_the_history(api):
    api.register(trigger={"every": "10s"})
    api.call("POST", "/v1/schedules/nightly/pause", {"reason": "month end"})
    api.clock.advance(60 * SECOND)
    missed = {"missed": {"policy": "catch_up", "max": 2}}
    resumed = api.call("POST", "/v1/schedules/nightly/resume", missed).json
    assert (resumed["next_fire_at"], resumed["next_due_at"]) == ("2026-11-30T12:01:10Z", "2026-11-30T12:01:10Z")
    assert resumed["catching_up"]["next_turn_at"] == "2026-11-30T12:01:00Z"
    (stretch,) = resumed["catching_up"]["stretches"]
    assert (stretch["from_nominal_at"], stretch["until_nominal_at"]) == ("2026-11-30T12:00:50Z", "2026-11-30T12:01:00Z")
    assert stretch["caught_up"]["code"] == "caught_up"
    assert stretch["caught_up"]["detail"]["cause"] == "pause"
    (row,) = api.call("GET", "/v1/schedules/nightly/runs").json["runs"]
    assert (row["status"], row["reason"]["text"]) == ("paused", "paused by demo: month end")
    assert (row["nominal_at"], row["until_nominal_at"]) == ("2026-11-30T12:00:10Z", "2026-11-30T12:00:40Z")


def test_lists_come_in_pages_by_id_prefix_and_status(api):
    for name in ("a1", "a2", "a3", "b1"):
        api.register(id=name)
    api.call("POST", "/v1/schedules/a2/pause", {"reason": "x"})
    first = api.call("GET", "/v1/schedules?limit=2&prefix=a").json
    second = api.call("GET", f"/v1/schedules?limit=2&prefix=a&cursor={first['cursor']}").json
    assert [one["id"] for one in first["schedules"] + second["schedules"]] == ["a1", "a2", "a3"]
    assert second["cursor"] is None
    paused = api.call("GET", "/v1/schedules?status=paused").json["schedules"]
    assert [one["id"] for one in paused] == ["a2"]


def test_a_list_by_status_never_shows_a_schedule_of_another_one_though_the_index_lags(memory, monkeypatch):
    memory.register()
    stale = [Listed("nightly", Status.PAUSED, 1)]
    monkeypatch.setattr(memory.store, "list_schedules", lambda *_, **__: Page(stale))
    assert memory.call("GET", "/v1/schedules?status=paused").json["schedules"] == []


def test_the_cursor_of_one_history_is_refused_in_another(api):
    for name in ("nightly", "weekly"):
        api.register(id=name)
        for _ in range(2):
            api.call("POST", f"/v1/schedules/{name}/run")
    cursor = api.call("GET", "/v1/schedules/nightly/runs?limit=1").json["cursor"]
    assert api.call("GET", f"/v1/schedules/nightly/runs?cursor={cursor}").status == 200
    refused = api.call("GET", f"/v1/schedules/weekly/runs?cursor={cursor}")
    assert (refused.status, refused.fields) == (400, ["cursor"])


def test_one_tenant_sees_nothing_of_another(api):
    api.register()
    run_id = api.call("POST", "/v1/schedules/nightly/run").json["run_id"]
    for method, target in (
        ("GET", "/v1/schedules/nightly"),
        ("DELETE", "/v1/schedules/nightly"),
        ("GET", "/v1/schedules/nightly/runs"),
        ("POST", "/v1/schedules/nightly/run"),
        ("GET", f"/v1/runs/{run_id}"),
        ("POST", f"/v1/runs/{run_id}/cancel"),
    ):
        assert api.call(method, target, tenant="rival").status == 404
    assert api.call("GET", "/v1/schedules", tenant="rival").json["schedules"] == []


# --- runs ------------------------------------------------------------------------------------------------------


def claim(api, schedule_id="nightly"):
    """What a dispatcher does."""
    timer = api.store.get_timer("acme", schedule_id)
    api.store.claim(BatchId(0, 1, 1), [claim_schedule(timer, api.clock.now())])


def test_a_run_now_can_be_read_found_in_the_history_and_cancelled_once(api):
    api.register()
    made = api.call("POST", "/v1/schedules/nightly/run", {"payload": {"month": 11}, "reason": "month end"})
    assert (made.status, made.json["status"]) == (201, "queued")
    assert made.headers["location"] == f"/v1/runs/{made.json['run_id']}"
    assert api.call("GET", made.headers["location"]).json == made.json
    assert api.call("GET", "/v1/schedules/nightly/runs").json["runs"] == [made.json]
    cancelled = api.call("POST", f"/v1/runs/{made.json['run_id']}/cancel", {"reason": "wrong month"})
    assert (cancelled.status, cancelled.json["status"]) == (200, "cancelled")
    assert api.call("POST", f"/v1/runs/{made.json['run_id']}/cancel").status == 409


def test_a_claimed_fire_is_queued_until_a_worker_writes_its_row(api):
    api.register(trigger={"every": "10s"})
    run_id = "acme~nightly~1~20261130T120010Z~schedule"
    assert api.call("GET", f"/v1/runs/{run_id}").status == 404
    api.clock.advance(10 * SECOND)
    claim(api)
    assert api.call("GET", f"/v1/runs/{run_id}").json["status"] == "queued"
    assert api.call("POST", f"/v1/runs/{run_id}/cancel").json["status"] == "cancelled"
    assert api.call("GET", f"/v1/runs/{run_id}").json["status"] == "cancelled"


# --- idempotency -----------------------------------------------------------------------------------------------


def test_a_repeated_post_is_done_once_and_answered_the_same(api):
    body = {name: NIGHTLY[name] for name in ("trigger", "target")} | {"payload": {"a": 1.5, "b": None}}
    headers = {"Idempotency-Key": "9f1c7c1e-5d0a-4d0e-8a53-0f5d2f1f6b0e"}
    first = api.call("POST", "/v1/schedules", body, headers=headers)
    api.clock.advance(5 * SECOND)
    reordered = json.dumps(dict(reversed(body.items())), indent=2)
    again = api.call("POST", "/v1/schedules", reordered, headers=headers)
    assert (again.status, again.headers, again.json) == (first.status, first.headers, first.json)
    assert len(api.call("GET", "/v1/schedules").json["schedules"]) == 1


def test_a_key_used_for_another_request_is_refused(api):
    api.register()
    headers = {"Idempotency-Key": "k1"}
    assert api.call("POST", "/v1/schedules/nightly/run", headers=headers).status == 201
    other = api.call("POST", "/v1/schedules/nightly/run", {"payload": 1}, headers=headers)
    assert (other.status, other.fields) == (422, ["Idempotency-Key"])
    assert api.call("POST", "/v1/schedules/nightly/pause", {"reason": "x"}, headers=headers).status == 422


def test_the_same_key_gives_the_same_run(api):
    """O70."""
    api.register()
    made = [
        api.call("POST", "/v1/schedules/nightly/run", headers={"Idempotency-Key": "k1"}).json["run_id"]
        for _ in range(3)
    ]
    made += [api.call("POST", "/v1/schedules/nightly/run").json["run_id"] for _ in range(3)]
    assert len(set(made)) == 4


# --- looking ahead ---------------------------------------------------------------------------------------------


def test_the_fires_of_a_schedule_and_the_preview_of_its_trigger_agree(api):
    api.register()
    window = "from=2026-12-01T00:00:00Z&to=2026-12-03T00:00:00Z"
    fires = api.call("GET", f"/v1/schedules/nightly/fires?{window}").json["fires"]
    body = {"trigger": NIGHTLY["trigger"], "after": "2026-12-01T00:00:00Z", "until": "2026-12-03T00:00:00Z"}
    preview = api.call("POST", "/v1/preview", body).json["fires"]
    assert [fire["nominal_at"] for fire in fires] == preview == ["2026-12-01T20:30:00Z", "2026-12-02T20:30:00Z"]


def test_a_thousand_fires_can_be_asked_for(memory):
    memory.register()
    assert len(memory.call("GET", "/v1/schedules/nightly/fires?limit=1000").json["fires"]) == 1000


def test_a_plus_in_a_time_may_be_written_as_it_must_be_in_a_url(memory):
    memory.register()
    answer = memory.call("GET", "/v1/schedules/nightly/fires?limit=1&from=2026-12-01T02:00:00%2B05:30")
    assert answer.json["fires"][0]["nominal_at"] == "2026-11-30T20:30:00Z"


def test_a_preview_of_the_past_is_possible(memory):
    body = {"trigger": {"at": "2020-02-29T12:00:00Z"}, "after": "2020-01-01T00:00:00Z"}
    assert memory.call("POST", "/v1/preview", body).json["fires"] == ["2020-02-29T12:00:00Z"]


# --- what the installation allows ------------------------------------------------------------------------------


def test_an_installation_may_allow_private_networks_and_then_plain_http(monkeypatch):
    api = api_on_memory(monkeypatch, **{settings.WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8"})
    assert api.register(target={"url": "http://127.0.0.1:9000/hook"}).status == 201
    assert api.register(id="b", target={"url": "http://10.0.0.1/"}).fields == ["target.url"]
    assert api.register(id="b", target={"url": "http://1.1.1.1/"}).fields == ["target.url"], "plain http to the world"
    assert api.register(id="b", target={"url": "https://1.1.1.1/"}).status == 201


# --- when something is wrong here ------------------------------------------------------------------------------


def silent(_when, name):
    if name != "skew_ms":  # What a process has heard is no request.
        raise NoAnswer


def test_a_silent_store_is_a_503_that_says_when_to_try_again(memory, monkeypatch):
    api = api_on(monkeypatch, Faulty(memory.store, silent), memory.clock)
    answer = api.call("GET", "/v1/schedules/nightly")
    assert (answer.status, answer.headers["retry-after"]) == (503, "2")
    health = api.call("GET", "/v1/health")
    assert (health.status, health.json["status"], health.json["store"]) == (503, "degraded", "silent")


def test_an_error_of_ours_says_nothing_of_itself(memory, monkeypatch):
    def broken(_when, _name):
        raise KeyError("the password is 1234")

    logged = []
    monkeypatch.setattr(app.logger, "exception", logged.append)
    api = api_on(monkeypatch, Faulty(memory.store, broken), memory.clock)
    answer = api.call("GET", "/v1/schedules/nightly")
    assert (answer.status, answer.headers["content-type"]) == (500, "application/problem+json")
    assert "1234" not in answer.text
    assert logged


def test_health_tells_versions_and_that_the_store_answers(api):
    answer = api.call("GET", "/v1/health")
    assert (answer.status, answer.json["status"], answer.json["store"]) == (200, "ok", "ok")
    assert answer.json["version"]
    assert answer.json["tzdata"].startswith("20")
    assert answer.json["last_sweep_at"] is None, "no sweeper runs here"


def test_nobody_gets_in_where_the_authorizer_was_left_out(memory):
    event = event_of("GET", "/v1/schedules")
    del event["requestContext"]["authorizer"]
    answer = memory.send(event)
    assert (answer.status, answer.fields) == (401, ["Authorization"])


def test_the_gateway_gets_text_for_every_body_be_it_empty(memory):
    memory.register()
    answer = handler.handle(event_of("DELETE", "/v1/schedules/nightly"), CONTEXT)
    assert (answer["statusCode"], answer["body"]) == (204, "")


# --- public pages ----------------------------------------------------------------------------------------------


def test_the_index_names_the_pages(memory):
    index = memory.call("GET", "/").json
    assert memory.call("GET", index["docs"]).status == memory.call("GET", index["openapi"]).status == 200


def test_the_docs_load_nothing_from_elsewhere_and_travel_compressed(memory):
    answer = memory.call("GET", "/docs", headers={"Accept-Encoding": "gzip, br"})
    assert answer.headers["content-encoding"] == "gzip"
    assert "<script src=" not in answer.text
    assert "/v1/schedules/{schedule_id}/pause" in answer.text


# --- whatever comes --------------------------------------------------------------------------------------------

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ["id", "owner", "description", "payload", "labels", "start_at", "end_at", "trigger", "target", "policies"]
nearly = st.dictionaries(st.sampled_from(FIELDS), values, max_size=4).map(lambda some: {**NIGHTLY, **some})


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(
    st.sampled_from([("POST", "/v1/schedules"), ("PUT", "/v1/schedules/x"), ("PATCH", "/v1/schedules/nightly")]),
    values | nearly,
)
def test_no_body_whatever_is_an_error_of_ours(memory, where, body):
    memory.register()
    answer = memory.call(*where, body)
    assert answer.status < 500, answer.text
    if answer.status >= 400:
        assert answer.fields


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(st.text(max_size=60) | st.binary(max_size=60))
def test_no_bytes_whatever_are_an_error_of_ours(memory, body):
    assert memory.call("POST", "/v1/schedules", body).status == 400


def test_an_interval_written_another_way_is_the_same_interval(api):
    """`60s` is stored as `1m`: putting it again must not move its anchor, nor make a version."""
    first = api.call("PUT", "/v1/schedules/beat", {**NIGHTLY, "id": "beat", "trigger": {"every": "60s"}})
    api.clock.advance(17)
    again = api.call("PUT", "/v1/schedules/beat", {**NIGHTLY, "id": "beat", "trigger": {"every": "60s"}})
    assert (first.status, again.status) == (201, 200)
    assert again.json["version"] == 1
    assert again.json["trigger"] == first.json["trigger"]


def test_what_is_chosen_for_changes_of_the_clock_is_kept_named_explained_and_taken_back(api):
    trigger = {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "gap": "skip", "overlap": "second"}
    first = api.register(trigger=trigger)
    assert (first.status, first.json["trigger"]) == (201, trigger)
    window = "from=2027-03-27T12:00:00Z&to=2027-03-29T12:00:00Z"
    fires = api.call("GET", f"/v1/schedules/nightly/fires?{window}").json["fires"]
    assert [fire["nominal_at"] for fire in fires] == ["2027-03-29T00:30:00Z"]
    answer = api.call("GET", "/v1/schedules/nightly/explain?at=2027-03-28T01:30:00Z").json
    assert (answer["code"], answer["detail"]["policy"], answer["detail"]["fired_at"]) == ("dst_gap", "skip", None)
    again = api.call("PUT", "/v1/schedules/nightly", {**NIGHTLY, "trigger": trigger})
    assert again.json["version"] == 1
    patched = api.call("PATCH", "/v1/schedules/nightly", {"trigger": {"gap": None, "overlap": "first"}})
    assert (patched.json["version"], patched.json["trigger"]) == (
        2,
        {"cron": "30 2 * * *", "timezone": "Europe/Berlin"},
    )
    fires = api.call("GET", f"/v1/schedules/nightly/fires?{window}").json["fires"]
    assert [fire["nominal_at"] for fire in fires] == ["2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z"]


def test_expressions_of_aws_are_taken_as_they_are(api):
    trigger = {"cron": "cron(0 9 ? * MON-FRI *)", "timezone": "Europe/Berlin"}
    assert api.register(trigger=trigger).json["trigger"] == trigger
    bare = {"cron": "0 9 ? * 2-6 *", "timezone": "Europe/Berlin", "dialect": "aws"}
    answer = api.call("PATCH", "/v1/schedules/nightly", {"trigger": {"cron": bare["cron"], "dialect": "aws"}})
    assert (answer.json["trigger"], answer.json["next_fire_at"]) == (bare, "2026-12-01T08:00:00Z")
    rate = {**NIGHTLY, "id": "beat", "trigger": {"cron": "rate(5 minutes)"}}
    first = api.call("PUT", "/v1/schedules/beat", rate)
    api.clock.advance(17 * SECOND)
    assert (first.json["trigger"]["every"], api.call("PUT", "/v1/schedules/beat", rate).json["version"]) == ("5m", 1)
    once = {**NIGHTLY, "id": "once", "trigger": {"cron": "at(2026-12-24T18:00:00)", "timezone": "Europe/Berlin"}}
    written = api.call("PUT", "/v1/schedules/once", once).json
    assert written["trigger"] == {"at": "2026-12-24T18:00:00", "timezone": "Europe/Berlin"}
    assert api.call("PUT", "/v1/schedules/once", once).json["version"] == 1


def test_the_preview_of_the_api_and_of_the_command_refuse_alike(memory):
    for trigger in (
        {"cron": "cron(0 9 * * * *)", "timezone": "UTC"},
        {"cron": "15 2 * 3 SUN#2", "timezone": "America/New_York", "gap": "skip"},
        {"cron": "0 2 * * * # nightly", "timezone": "UTC"},
        {"cron": "rate(0 hours)"},
    ):
        said = json.loads(preview.answer(json.dumps(trigger).encode(), memory.clock.now))["error"]
        [wrong] = memory.call("POST", "/v1/preview", {"trigger": trigger}).json["errors"]
        assert said == f"{wrong['field'].removeprefix('trigger.')}: {wrong['reason']}"


# --- missed time -----------------------------------------------------------------------------------------------


def test_what_pauses_leave_is_a_policy_of_its_own_and_a_resume_may_say_otherwise(api):
    policy = {"policy": "catch_up", "max": 3, "window_seconds": 3_600, "per_minute": 6}
    api.register(trigger={"every": "10s"}, policies={"after_pause": policy})
    path = "/v1/schedules/nightly"
    for missed, kept in ((None, ("12:00:40", "12:01:00", 6)), ({"policy": "fire_once"}, ("12:02:00", "12:02:00", 60))):
        api.call("POST", f"{path}/pause", {"reason": "month end"})
        api.clock.advance(60 * SECOND)
        resumed = api.call("POST", f"{path}/resume", {"missed": missed} if missed else {}).json
        (stretch,) = resumed["catching_up"]["stretches"]
        assert (stretch["from_nominal_at"][11:19], stretch["until_nominal_at"][11:19], stretch["per_minute"]) == kept
        waiting = api.call("GET", f"{path}/explain?at={stretch['until_nominal_at']}").json
        assert (waiting["code"], waiting["detail"]["cause"]) == ("catching_up", "pause")
    api.call("POST", f"{path}/pause", {"reason": "month end"})
    api.clock.advance(60 * SECOND)
    assert api.call("POST", f"{path}/resume", {"missed": {"policy": "skip"}}).json["catching_up"] is None


@pytest.mark.parametrize("where", ["misfire", "after_pause"])
def test_a_policy_for_missed_time_is_refused_by_the_field_that_is_wrong(api, where):
    for wrong, field in (
        ({"policy": "catch_up"}, "max"),
        ({"policy": "catch_up", "max": 1_001}, "max"),
        ({"window_seconds": 0}, "window_seconds"),
        ({"per_minute": 601}, "per_minute"),
        ({"per_minute": 0}, "per_minute"),
    ):
        answer = api.register(policies={where: wrong})
        assert answer.status == 400
        assert answer.json["errors"][0]["field"] == f"policies.{where}.{field}"


def test_a_window_and_a_pace_are_taken_back_by_null(api):
    api.register(policies={"misfire": {"policy": "catch_up", "max": 9, "window_seconds": 60, "per_minute": 5}})
    patch = {"policies": {"misfire": {"window_seconds": None, "per_minute": None}}}
    misfire = api.call("PATCH", "/v1/schedules/nightly", patch).json["policies"]["misfire"]
    assert (misfire["max"], misfire["window_seconds"], misfire["per_minute"]) == (9, None, 60)


def test_a_handler_may_have_to_beat_and_what_was_sent_comes_back(api):
    policies = {"heartbeat_timeout": "90s"}
    api.register(target={"handler": "billing.nightly"}, policies=policies)
    assert api.call("GET", "/v1/schedules/nightly").json["policies"]["heartbeat_timeout"] == "90s"


def test_a_run_that_has_said_nothing_has_an_empty_log(api):
    api.register()
    run_id = api.call("POST", "/v1/schedules/nightly/run", {}).json["run_id"]
    answer = api.call("GET", f"/v1/runs/{run_id}/log")
    assert answer.json == {
        "run_id": run_id,
        "attempt": 0,
        "kept_at": None,
        "is_whole": True,
        "lines": [],
        "place": None,
    }
    refused = api.call("GET", f"/v1/runs/{run_id}/log?attempt=1")
    assert (refused.status, refused.json["errors"][0]["field"]) == (400, "attempt")
