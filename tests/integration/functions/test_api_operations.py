"""Backfills, re-runs and operations as callers see them."""

from collections import Counter
from typing import Any

import pytest

from cronfleet.domain.instant import HOUR, MINUTE, SECOND
from cronfleet.domain.operation import Kind
from cronfleet.domain.run import Run, RunKey, RunStatus
from cronfleet.domain.signature import signature_of
from cronfleet.ports.job_store import InsertRun
from cronfleet.services.backfill_source import BackfillSource
from cronfleet.services.operation_doer import OperationDoer
from cronfleet.services.rerun_source import RerunSource
from tests.support.api import Api, api_on_memory
from tests.support.settable_clock import NOON, CountingIds
from tests.support.world import Notes

HOURLY = {"cron": "0 * * * *", "timezone": "UTC"}
DAY_BEFORE = {"schedule": "nightly", "from": "2026-11-29T00:00:00Z", "to": "2026-11-30T00:00:00Z"}
FROM = NOON - 36 * HOUR


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    made = api_on_memory(monkeypatch)
    assert made.register(trigger=HOURLY).status == 201
    return made


def carry_on(api: Api, operation_id: str) -> None:
    """What the clerk does, and workers that succeed at once."""
    sources = {Kind.BACKFILL: BackfillSource(api.store), Kind.RERUN: RerunSource(api.store)}
    doer = OperationDoer(store=api.store, clock=api.clock, ids=CountingIds(10_000), telemetry=Notes(), sources=sources)
    for _ in range(100):
        if doer.carry_on("acme", operation_id, api.clock.now() + MINUTE) is None:
            return
        for row in list(api.store.state.runs.values()):
            if row.operation == operation_id and not row.is_terminal:
                running = row.moved(RunStatus.RUNNING, started_at=api.clock.now())
                api.store.state.runs[row.key] = running.ended(RunStatus.SUCCEEDED, api.clock.now())
        api.clock.advance(10 * SECOND)


def row(api: Api, nominal_at: int, status: RunStatus = RunStatus.DEAD, cause: str = "schedule", **more: Any) -> str:
    key = RunKey("acme", "nightly", 1, nominal_at, cause)
    values = {"version": 1, "finished_at": nominal_at + MINUTE, **more}
    api.store.commit([InsertRun(Run(key, status, due_at=nominal_at, tier="standard", **values))])
    return key.run_id


def actions(api: Api) -> list[str]:
    return [entry.action for _, entry in sorted(api.store.state.audit.items())]


# --- backfills -------------------------------------------------------------------------------------------------


def test_a_backfill_is_counted_made_once_carried_on_and_told_of_date_by_date(api: Api) -> None:
    row(api, FROM + 3 * HOUR, RunStatus.SUCCEEDED)
    preview = api.call("POST", "/v1/backfills?dry_run=true", DAY_BEFORE).json
    assert (preview["count"], preview["runs"], preview["exists"]) == (24, 23, False)
    assert preview["first"][0] == {"schedule_id": "nightly", "nominal_at": "2026-11-29T00:00:00Z"}
    assert preview["last"][-1]["nominal_at"] == "2026-11-29T23:00:00Z"
    assert preview["write_units"] > 0
    assert api.store.state.operations == {}

    made = api.call("POST", "/v1/backfills", {**DAY_BEFORE, "reason": "tariff"})
    assert made.status == 201
    assert made.headers["location"] == f"/v1/backfills/{preview['id']}"
    assert (made.json["status"], made.json["total"], made.json["counts"]["pending"]) == ("running", 24, 24)
    again = api.call("POST", "/v1/backfills", {**DAY_BEFORE, "reason": "the same", "max_concurrent": 3})
    assert (again.status, again.json) == (200, made.json)
    assert len(api.store.state.operations) == 1
    assert len(api.store.state.errands) == 1

    carry_on(api, preview["id"])
    over = api.call("GET", f"/v1/backfills/{preview['id']}").json
    assert (over["status"], over["is_over"], over["counts"]["succeeded"]) == ("finished", True, 23)
    assert over["counts"]["passed_over"] == 1
    dates = api.call("GET", f"/v1/backfills/{preview['id']}/dates?limit=20")
    rest = api.call("GET", f"/v1/backfills/{preview['id']}/dates?cursor={dates.json['cursor']}")
    states = [date["state"] for date in dates.json["dates"] + rest.json["dates"]]
    assert states == ["succeeded"] * 3 + ["passed_over"] + ["succeeded"] * 20
    assert rest.json["cursor"] is None
    shown = api.call("GET", f"/v1/runs/{dates.json['dates'][0]['run_id']}").json
    assert (shown["cause"], shown["operation"], shown["lane"]) == (
        f"backfill-{preview['id']}",
        preview["id"],
        "backfill",
    )
    assert api.call("POST", "/v1/backfills", DAY_BEFORE).status == 200
    assert api.call("POST", "/v1/backfills", {**DAY_BEFORE, "again": 2}).status == 201


def test_labels_take_every_schedule_that_has_them(api: Api) -> None:
    for number in range(3):
        assert api.register(id=f"a{number}", trigger=HOURLY, labels={"team": "a"}).status == 201
    asked = {"labels": {"team": "a"}, "from": DAY_BEFORE["from"], "to": DAY_BEFORE["to"], "mode": "redo_all"}
    made = api.call("POST", "/v1/backfills", asked).json
    assert (made["total"], made["asked"]["schedules"]) == (72, ["a0", "a1", "a2"])
    carry_on(api, made["id"])
    done = [run for run in api.store.state.runs.values() if run.operation == made["id"]]
    assert Counter(run.key.schedule_id for run in done) == {"a0": 24, "a1": 24, "a2": 24}


def test_a_backfill_is_paused_resumed_and_cancelled_and_each_is_audited(api: Api) -> None:
    made = api.call("POST", "/v1/backfills", DAY_BEFORE).json
    path = f"/v1/backfills/{made['id']}"
    assert api.call("POST", f"{path}/pause", {"reason": "wait"}).json["status"] == "paused"
    assert api.call("POST", f"{path}/pause").json["status"] == "paused"
    assert api.call("POST", f"{path}/resume").json["status"] == "running"
    assert api.call("POST", f"/v1/operations/{made['id']}/cancel").json["status"] == "cancelled"
    refused = api.call("POST", f"{path}/resume")
    assert (refused.status, "cancelled" in refused.json["detail"]) == (409, True)
    assert actions(api)[1:] == ["create_backfill", "pause_operation", "resume_operation", "cancel_operation"]


WRONG = [
    ({"from": DAY_BEFORE["from"], "to": DAY_BEFORE["to"]}, 400, "schedule"),
    ({**DAY_BEFORE, "labels": {"team": "a"}}, 400, "schedule"),
    ({**DAY_BEFORE, "labels": {}}, 400, "labels"),
    ({**DAY_BEFORE, "to": DAY_BEFORE["from"]}, 400, "to"),
    ({**DAY_BEFORE, "to": "2027-01-01T00:00:00Z"}, 400, "to"),
    ({**DAY_BEFORE, "from": "yesterday"}, 400, "from"),
    ({**DAY_BEFORE, "order": "random"}, 400, "order"),
    ({**DAY_BEFORE, "mode": "all"}, 400, "mode"),
    ({**DAY_BEFORE, "max_concurrent": 0}, 400, "max_concurrent"),
    ({**DAY_BEFORE, "max_concurrent": 201}, 400, "max_concurrent"),
    ({**DAY_BEFORE, "max_concurrent": "4"}, 400, "max_concurrent"),
    ({**DAY_BEFORE, "rate_per_minute": 0}, 400, "rate_per_minute"),
    ({**DAY_BEFORE, "version": 7}, 400, "version"),
    ({**DAY_BEFORE, "again": 0}, 400, "again"),
    ({**DAY_BEFORE, "flow_on": "yes"}, 400, "flow_on"),
    ({**DAY_BEFORE, "until": DAY_BEFORE["to"]}, 400, "until"),
    ({**DAY_BEFORE, "from": "2026-11-29T00:00:01Z", "to": "2026-11-29T00:30:00Z"}, 400, "from"),
    ({"labels": {"team": "z"}, "from": DAY_BEFORE["from"], "to": DAY_BEFORE["to"]}, 400, "labels"),
    ({**DAY_BEFORE, "schedule": "absent"}, 404, None),
    ({**DAY_BEFORE, "schedule": "a~b"}, 400, "schedule"),
    ({**DAY_BEFORE, "from": "2020-01-01T00:00:00Z"}, 409, None),
]


@pytest.mark.parametrize(("body", "status", "field"), WRONG)
def test_what_cannot_be_backfilled_is_refused_by_its_field(
    api: Api, body: dict[str, Any], status: int, field: str | None
) -> None:
    answer = api.call("POST", "/v1/backfills", body)
    assert answer.status == status, answer.text
    if field is not None:
        assert field in answer.fields
    assert api.store.state.operations == {}


def test_a_tenant_has_so_many_operations_under_way_and_no_more(api: Api) -> None:
    for number in range(20):
        assert api.call("POST", "/v1/backfills", {**DAY_BEFORE, "again": number + 1}).status == 201
    assert api.call("POST", "/v1/backfills", {**DAY_BEFORE, "again": 99}).status == 409
    assert api.call("POST", "/v1/backfills", DAY_BEFORE).status == 200


# --- re-runs ---------------------------------------------------------------------------------------------------


def test_a_run_is_run_again_once_for_each_key(api: Api) -> None:
    dead = row(api, FROM)
    key = {"Idempotency-Key": "click"}
    first = api.call("POST", f"/v1/runs/{dead}/rerun", {"reason": "fixed"}, headers=key)
    assert first.status == 201
    assert api.call("POST", f"/v1/runs/{dead}/rerun", {"reason": "fixed"}, headers=key).json == first.json
    other = api.call("POST", f"/v1/runs/{dead}/rerun", {"version": "same", "payload": None}).json
    assert other["run_id"] != first.json["run_id"]
    assert first.json["ancestor"] == other["ancestor"] == dead
    assert first.json["nominal_at"] == other["nominal_at"] == "2026-11-29T00:00:00Z"
    assert (first.json["is_pinned"], other["is_pinned"], first.json["lane"]) == (False, True, "live")
    assert first.json["cause"].startswith("rerun-")
    assert actions(api)[1:] == ["rerun_run", "rerun_run"]
    assert len(api.store.state.run_timers) == 2


def test_what_is_not_over_or_stands_for_nothing_that_ran_is_not_run_again(api: Api) -> None:
    going = row(api, FROM, RunStatus.RUNNING)
    missed = row(api, FROM + HOUR, RunStatus.MISSED, until_nominal_at=FROM + 2 * HOUR)
    never = row(api, FROM + 4 * HOUR, RunStatus.SKIPPED, version=0)
    assert api.call("POST", f"/v1/runs/{going}/rerun").status == 409
    assert api.call("POST", f"/v1/runs/{missed}/rerun").status == 409
    assert api.call("POST", f"/v1/runs/{never}/rerun", {"version": "same"}).fields == ["version"]
    assert api.call("POST", f"/v1/runs/{never}/rerun", {"version": "newest"}).status == 201
    assert api.call("POST", f"/v1/runs/{never}/rerun", {"version": "oldest"}).fields == ["version"]
    assert api.call("POST", f"/v1/runs/{never}/rerun", tenant="rival").status == 404
    absent = RunKey("acme", "nightly", 1, FROM + 9 * HOUR).run_id
    assert api.call("POST", f"/v1/runs/{absent}/rerun").status == 404


def test_a_run_of_a_schedule_that_was_deleted_is_not_run_again_under_its_successor(api: Api) -> None:
    dead = row(api, FROM)
    api.call("DELETE", "/v1/schedules/nightly")
    assert api.call("POST", f"/v1/runs/{dead}/rerun").status == 404
    api.register(trigger=HOURLY)
    assert api.call("POST", f"/v1/runs/{dead}/rerun").status == 409


def test_many_are_counted_first_and_then_run_again(api: Api) -> None:
    for number in range(10):
        row(api, FROM + number * HOUR, RunStatus.DEAD if number % 2 else RunStatus.SUCCEEDED)
    asked = {"filter": {"schedule": "nightly"}, "reason": "fixed"}
    counted = api.call("POST", "/v1/reruns?dry_run=true", asked).json
    assert (counted["count"], counted["is_complete"], len(counted["examples"])) == (5, True, 5)
    assert api.call("POST", "/v1/reruns", {**asked, "expected": 4}).status == 409
    made = api.call("POST", "/v1/reruns", {**asked, "expected": 5})
    assert (made.status, made.json["kind"], made.json["total"]) == (202, "rerun", 5)
    carry_on(api, made.json["id"])
    over = api.call("GET", made.headers["location"]).json
    assert (over["status"], over["counts"]["succeeded"]) == ("finished", 5)
    results = api.call("GET", f"{made.headers['location']}/results").json["results"]
    assert [result["state"] for result in results] == ["succeeded"] * 5
    assert all(result["ancestor"] and result["run_id"] for result in results)
    assert api.call("GET", f"/v1/backfills/{made.json['id']}").status == 404
    listed = api.call("GET", "/v1/operations?kind=rerun&status=finished").json["operations"]
    assert [one["id"] for one in listed] == [made.json["id"]]
    assert api.call("GET", "/v1/operations?kind=backfill").json["operations"] == []


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"filter": {}}, "filter.schedule"),
        ({"filter": {"schedule": "nightly", "labels": {"a": "b"}}}, "filter.schedule"),
        ({"filter": {"schedule": "nightly", "status": []}}, "filter.status"),
        ({"filter": {"schedule": "nightly", "status": ["missed"]}}, "filter.status.0"),
        ({"filter": {"schedule": "nightly", "from": "x"}}, "filter.from"),
        ({"filter": {"schedule": "nightly", "from": DAY_BEFORE["to"], "to": DAY_BEFORE["from"]}}, "filter.to"),
        ({"filter": {"labels": {"team": "z"}}}, "filter.labels"),
        ({"filter": {"schedule": "nightly", "state": "dead"}}, "filter.state"),
        ({"filter": {"schedule": "nightly", "signature": "HTTP 503"}}, "filter.signature"),
        ({"filter": {"signature": "0f3a9be1c2d4", "status": ["succeeded"]}}, "filter.signature"),
        ({"filter": {"signature": "0f3a9be1c2d4", "labels": {}}}, "filter.labels"),
        ({"filter": {"signature": "0f3a9be1c2d4"}}, "filter"),
        ({"version": 1}, "version"),
        ({"expected": -1}, "expected"),
        ({"rate_per_minute": 6_001}, "rate_per_minute"),
        ({}, "filter"),
    ],
)
def test_a_rerun_of_what_is_not_there_is_refused_by_its_field(api: Api, changes: dict[str, Any], field: str) -> None:
    answer = api.call("POST", "/v1/reruns", {"filter": {"schedule": "nightly"}, **changes})
    assert (answer.status, field in answer.fields) == (400, True), answer.text


def test_a_failure_signature_needs_no_schedule_and_takes_the_dead_letters_of_every_one(api: Api) -> None:
    assert api.register(id="weekly", trigger=HOURLY).status == 201
    refused, other = (signature_of("failed", error, "handler") for error in ("HTTP 503", "no such row"))
    for number in range(12):
        row(api, FROM + number * HOUR, signature=(refused, other)[number % 2])
    key = RunKey("acme", "weekly", 1, FROM)
    dead = Run(key, RunStatus.DEAD, FROM, "standard", version=1, finished_at=FROM, signature=refused)
    api.store.commit([InsertRun(dead)])
    asked = {"filter": {"signature": refused.digest}, "reason": "the mirror is up again"}
    counted = api.call("POST", "/v1/reruns?dry_run=true", asked).json
    assert (counted["count"], counted["is_complete"], len(counted["examples"])) == (7, True, 7)
    of_one = api.call("POST", "/v1/reruns?dry_run=true", {"filter": {**asked["filter"], "schedule": "nightly"}}).json
    assert of_one["count"] == 6
    made = api.call("POST", "/v1/reruns", {**asked, "expected": 7})
    assert (made.status, made.json["total"]) == (202, 7), made.text
    assert made.json["asked"] == {
        "signature": refused.digest,
        "status": ["dead"],
        "version": "newest",
        "schedules": [],
    }
    carry_on(api, made.json["id"])
    over = api.call("GET", made.headers["location"]).json
    assert (over["status"], over["counts"]["succeeded"], over["counts"]["passed_over"]) == ("finished", 7, 0)
    first = api.call("GET", f"{made.headers['location']}/results?limit=3").json
    rest = api.call("GET", f"{made.headers['location']}/results?cursor={first['cursor']}").json
    assert {one["schedule_id"] for one in first["results"] + rest["results"]} == {"nightly", "weekly"}
    assert [one["state"] for one in first["results"] + rest["results"]] == ["succeeded"] * 7
    wrong = api.call("GET", f"{made.headers['location']}/results?cursor=abc")
    assert wrong.fields == ["cursor"]


# --- operations ------------------------------------------------------------------------------------------------


def test_an_operation_is_its_tenants_alone_and_a_viewer_only_looks(api: Api) -> None:
    made = api.call("POST", "/v1/backfills", DAY_BEFORE).json
    path = f"/v1/operations/{made['id']}"
    assert api.call("GET", path, tenant="rival").status == 404
    assert api.call("POST", f"{path}/cancel", tenant="rival").status == 404
    assert api.call("GET", path, role="viewer").json == made
    assert api.call("POST", f"{path}/cancel", role="viewer").status == 403
    assert api.call("POST", "/v1/backfills", DAY_BEFORE, role="viewer").status == 403


@pytest.mark.parametrize("target", ["/v1/operations/x", "/v1/operations/o123", "/v1/backfills/../x"])
def test_what_is_no_id_is_none(api: Api, target: str) -> None:
    assert api.call("GET", target).status in (400, 404)


def test_a_cursor_of_another_list_is_refused(api: Api) -> None:
    made = api.call("POST", "/v1/backfills", DAY_BEFORE).json
    other = api.call("POST", "/v1/backfills", {**DAY_BEFORE, "again": 2}).json
    cursor = api.call("GET", f"/v1/backfills/{made['id']}/dates?limit=1").json["cursor"]
    for wrong in (cursor, "abc", api.call("GET", "/v1/operations?limit=1").json["cursor"]):
        assert api.call("GET", f"/v1/backfills/{other['id']}/dates?cursor={wrong}").fields == ["cursor"]


def test_a_date_that_is_not_come_to_is_pending(api: Api) -> None:
    made = api.call("POST", "/v1/backfills", {**DAY_BEFORE, "to": "2026-11-29T02:00:00Z"}).json
    dates = api.call("GET", f"/v1/backfills/{made['id']}/dates").json["dates"]
    assert [date["state"] for date in dates] == ["pending", "pending"]
    assert all(date["run_id"] is None for date in dates)


def test_a_run_that_finds_no_place_says_what_leaves_it_none_once_it_has_been_passed_by(api: Api) -> None:
    dead = row(api, FROM)
    made = api.call("POST", "/v1/reruns", {"filter": {"schedule": "nightly"}}).json
    doer = OperationDoer(
        store=api.store,
        clock=api.clock,
        ids=CountingIds(10_000),
        telemetry=Notes(),
        sources={Kind.RERUN: RerunSource(api.store)},
    )
    doer.carry_on("acme", made["id"], api.clock.now() + MINUTE)
    (run_id,) = (run.key.run_id for run in api.store.state.runs.values() if run.ancestor == dead)
    assert api.call("GET", f"/v1/runs/{run_id}").json["reason"] is None
    api.clock.advance(MINUTE)
    before = dict(api.store.state.runs)
    reason = api.call("GET", f"/v1/runs/{run_id}").json["reason"]
    assert (reason["code"], reason["detail"]["short_of"]) == ("yields", "rate"), reason
    assert reason["text"].startswith("yields to live traffic: ")
    assert api.store.state.runs == before, "and nothing is written for it"


def test_what_is_asked_to_flow_on_does_and_nothing_else(api: Api) -> None:
    dead = row(api, FROM)
    plain = api.call("POST", f"/v1/runs/{dead}/rerun").json["run_id"]
    flowing = api.call("POST", f"/v1/runs/{dead}/rerun", {"flow_on": True}).json["run_id"]
    flows = {key.run_id: run.flows_on for key, run in api.store.state.runs.items()}
    assert (flows[plain], flows[flowing]) == (False, True)
    made = api.call("POST", "/v1/backfills", {**DAY_BEFORE, "flow_on": True}).json
    carry_on(api, made["id"])
    assert all(run.flows_on for run in api.store.state.runs.values() if run.operation == made["id"])
    assert api.call("POST", "/v1/backfills", DAY_BEFORE).json["id"] != made["id"]
