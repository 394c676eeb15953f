"""The deployed product as its callers see it: registered over HTTP, fired by the ticks, executed, in the history."""

import json
import time
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from local.aws import Aws
from tests.e2e.conftest import NEVER, PATIENCE_SECONDS, Caller
from tests.e2e.processes import function_processes, kill

pytestmark = pytest.mark.e2e

INDIA = ZoneInfo("Asia/Kolkata")
ACCOUNTS = ["ahmedabad", "bengaluru", "chennai", "delhi", "ernakulam"]
TIMEOUT_SECONDS = 15


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.fixture(scope="module")
def begun_at() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


@pytest.fixture(scope="module", autouse=True)
def registered(api: Caller, begun_at: datetime) -> datetime:
    """Everything that must wait for its time, registered at once; answers the moment of all that fire once."""
    nightly = begun_at.replace(second=0) + timedelta(minutes=2 if begun_at.second > 30 else 1)
    there = nightly.astimezone(INDIA)
    retry = {"max_attempts": 3, "backoff": {"kind": "fixed", "base_seconds": 1}}
    api.put("each-second", trigger={"every": "1s"}, target={"handler": "demo.heartbeat"})
    api.put("once", trigger={"at": nightly.isoformat()}, target={"handler": "demo.heartbeat"})
    api.put("flaky", trigger={"at": nightly.isoformat()}, target={"handler": "demo.flaky"}, policies={"retry": retry})
    api.put(
        "nightly",
        trigger={"cron": f"{there.minute} {there.hour} * * *", "timezone": "Asia/Kolkata"},
        target={"handler": "billing.nightly"},
        payload={"accounts": ACCOUNTS, "seconds_per_account": 2},
        policies={"timeout_seconds": TIMEOUT_SECONDS, "retry": retry},
    )
    return nightly


def test_without_a_key_nothing_but_the_documentation_is_to_be_had(api):
    assert api.ask("GET", "/v1/schedules", key="").status == 401
    assert api.ask("GET", "/v1/schedules", key="cf_none_0123456789abcdef").status == 403
    assert api.ask("GET", "/openapi.json", key="").body["openapi"].startswith("3.")


def test_a_malformed_schedule_is_a_problem_that_names_its_field(api):
    answer = api.ask("PUT", "/v1/schedules/bad", {"trigger": {"cron": "0 25 * * *"}, "target": {"handler": "x"}})
    assert 400 <= answer.status < 500
    assert "trigger.cron" in str(answer.body)


def test_a_schedule_of_one_second_fires_every_second_and_never_early(api):
    rows = api.wait_for_runs("each-second", lambda rows: sum(row["status"] == "succeeded" for row in rows) >= 10)
    api.ask("POST", "/v1/schedules/each-second/pause", {"reason": "seen enough"})
    finished = sorted((row for row in rows if row["status"] == "succeeded"), key=lambda row: row["nominal_at"])
    moments = [_instant(row["nominal_at"]) for row in finished]
    assert moments == [moments[0] + timedelta(seconds=number) for number in range(len(moments))]
    assert all(_instant(row["started_at"]) >= _instant(row["due_at"]) for row in finished)
    assert all(row["lag_seconds"] >= 0 for row in finished)


def test_a_nightly_job_whose_worker_is_killed_half_way_is_finished_by_another_and_bills_once(api, stack, registered):
    """The worked example: a job of Asia/Kolkata, SIGKILL in its middle, a takeover after the lease, effects once."""
    api.wait_for_runs("nightly", lambda rows: len(rows) == 1 and len(_receipts(stack, rows[0]["run_id"])) == 2)
    assert kill(function_processes(stack, "worker-standard"))
    # The lease (limit and margin), then at most one round of the sweeper.
    [run] = api.wait_for_runs("nightly", lambda rows: rows[0]["status"] == "succeeded", seconds=TIMEOUT_SECONDS + 150)
    assert _instant(run["nominal_at"]) == registered
    first, second = run["attempts"]
    assert second["outcome"] == "succeeded"
    assert second["fence"] > first["fence"]
    assert _instant(second["started_at"]) >= _instant(first["started_at"]) + timedelta(seconds=TIMEOUT_SECONDS)
    # One receipt for each account, some by the attempt that was killed, the rest by the one that took over.
    billed_by = _receipts(stack, run["run_id"])
    assert sorted(billed_by) == [f"invoice-{account}" for account in ACCOUNTS]
    assert set(billed_by.values()) == {1, 2}


def test_a_one_shot_fires_once_at_its_instant_with_its_lag_in_the_history(api, registered):
    [run] = api.wait_for_runs("once", lambda rows: [row["status"] for row in rows] == ["succeeded"])
    assert _instant(run["nominal_at"]) == registered
    assert 0 <= run["lag_seconds"] < 30
    assert api.ask("GET", f"/v1/runs/{run['run_id']}").body["status"] == "succeeded"


def test_a_job_that_fails_is_retried_and_every_attempt_has_its_reason(api):
    [run] = api.wait_for_runs("flaky", lambda rows: [row["status"] for row in rows] == ["succeeded"])
    assert [attempt["outcome"] for attempt in run["attempts"]] == ["failed", "failed", "succeeded"]
    assert all("the far end hung up" in attempt["error"] for attempt in run["attempts"][:2])


def test_a_cronjob_is_imported_held_turned_on_by_its_label_and_fires(api):
    cronjob = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "beat"},
        "spec": {"schedule": "@every 1s", "jobTemplate": {"spec": {}}},
    }
    path = "/v1/imports/kubernetes?source=cluster&target=demo.heartbeat"
    [one] = api.ask("POST", path, cronjob).body["schedules"]
    assert (one["outcome"], one["status"]) == ("created", "held")
    labels = {"labels": {"import": "cluster"}}
    assert api.ask("POST", "/v1/bulk/resume?dry_run=true", labels).body["schedules"] == [one["id"]]
    assert api.runs(one["id"]) == []
    assert api.ask("POST", "/v1/bulk/resume", labels).body["counts"]["resumed"] == 1
    api.wait_for_runs(one["id"], lambda rows: any(row["status"] == "succeeded" for row in rows))
    [again] = api.ask("POST", path, cronjob).body["schedules"]
    assert (again["outcome"], again["status"]) == ("unchanged", "active")
    api.ask("POST", f"/v1/schedules/{one['id']}/pause", {"reason": "seen enough"})


def _comparison_that_sees_a_fire(api, schedule_id: str) -> dict[str, int]:
    """The summary, once it reaches up to the fire that a ping of just now is nearest to."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (summary := api.ask("GET", f"/v1/schedules/{schedule_id}/shadow").body["summary"])["seen"] == 0:
        assert time.monotonic() < deadline, summary
    assert summary["seen"] == 1
    return summary


def _receipts(stack, run_id: str) -> dict[str, int]:
    """Name of each receipt of the run, and which attempt recorded it, as the table has them."""
    table = Aws(stack.facts["emulator"]).client("dynamodb")
    found = table.scan(TableName="cronfleet-receipts")["Items"]
    nominal = run_id.split("~")[3]
    return {
        item["sk"]["S"].rpartition("#")[2]: json.loads(item["value"]["S"])[0]["attempt"]
        for item in found
        if nominal in item["sk"]["S"]
    }


def test_a_schedule_in_shadow_notes_and_sends_nothing_and_its_heartbeat_url_is_pinged_without_a_key(api):
    every = {"trigger": {"every": "1s"}, "target": {"handler": "demo.heartbeat"}}
    assert api.ask("POST", "/v1/schedules", {"id": "beside", **every, "held": True, "shadow": True}).status == 201
    path = api.ask("POST", "/v1/schedules/beside/heartbeat").body["path"]
    assert api.ask("POST", f"{path[:-1]}!", key="").status == 404
    rows = api.wait_for_runs("beside", lambda rows: len(rows) > 0)
    assert {row["status"] for row in rows} == {"shadow"}
    pinged = api.ask("POST", f"{path}?exit_code=0", key="")
    assert (pinged.status, pinged.body["state"]) == (200, "success")
    assert _comparison_that_sees_a_fire(api, "beside")["unexpected"] == 0
    assert api.ask("DELETE", "/v1/schedules/beside").status == 204
    assert api.ask("POST", path, key="").status == 404


def test_a_backfill_runs_each_date_of_the_past_once_through_the_lane_of_its_own(api, begun_at):
    api.put("past", trigger={"every": "60s"}, target={"handler": "demo.heartbeat"})
    api.ask("POST", "/v1/schedules/past/pause", {"reason": "only its past is wanted"})
    asked = {
        "schedule": "past",
        "from": (begun_at - timedelta(minutes=10)).isoformat(),
        "to": (begun_at - timedelta(minutes=5)).isoformat(),
    }
    made = api.ask("POST", "/v1/backfills", asked)
    assert made.status == 201
    again = api.ask("POST", "/v1/backfills", asked)
    assert (again.status, again.body["id"]) == (200, made.body["id"])
    path = f"/v1/backfills/{made.body['id']}"
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (seen := api.ask("GET", path).body)["is_over"]:
        assert time.monotonic() < deadline, seen
        time.sleep(1)
    assert (seen["status"], seen["total"], seen["counts"]["succeeded"]) == ("finished", 5, 5)
    dates = api.ask("GET", f"{path}/dates").body["dates"]
    assert [date["state"] for date in dates] == ["succeeded"] * 5
    assert len({date["nominal_at"] for date in dates}) == 5
    assert {row["lane"] for row in api.wait_for_runs("past", lambda rows: len(rows) >= 5) if row["operation"]} == {
        "backfill"
    }


def test_a_running_job_shows_its_progress_and_is_cancelled_at_its_next_beat(api):
    api.put("long", trigger=NEVER, target={"handler": "demo.slow"}, payload={"seconds": 60})
    run_id = api.ask("POST", "/v1/schedules/long/run", {"reason": "to see it"}).body["run_id"]
    [row] = api.wait_for_runs("long", lambda rows: bool(rows) and rows[0]["progress"] is not None)
    assert (row["status"], row["run_id"]) == ("running", run_id)
    assert 0 < row["progress"]["fraction"] < 1
    asked = api.ask("POST", f"/v1/runs/{run_id}/cancel", {"reason": "seen enough"})
    assert (asked.status, asked.body["status"]) == (202, "running")
    [over] = api.wait_for_runs("long", lambda rows: rows[0]["status"] != "running")
    assert (over["status"], len(over["attempts"]), over["attempts"][0]["outcome"]) == ("cancelled", 1, "cancelled")
    log = api.ask("GET", f"/v1/runs/{run_id}/log").body
    assert log["lines"][0]["text"].startswith("at work")


def test_what_is_due_is_forecast_for_the_tenant_at_once_and_for_all_once_the_sweeper_has_counted(api):
    daily = {"cron": "0 3 * * *", "timezone": "UTC"}
    before = api.ask("GET", "/v1/forecast").body
    spread = api.put("spread", trigger=daily, target={"handler": "demo.heartbeat"}, policies={"spread": "auto"})
    after = api.ask("GET", "/v1/forecast").body
    assert after["schedules"] == before["schedules"] + 1
    assert len(after["minutes"]) == 24 * 60
    assert 0 <= spread["spread_offset_seconds"] <= 3_600
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (whole := api.ask("GET", "/v1/forecast?scope=platform&by=tenant")).status != 200:
        assert time.monotonic() < deadline, whole
        time.sleep(1)
    # It may have counted before any test made a schedule: what it says is as old as it says.
    assert whole.body["fires"] == sum(one["fires"] for one in whole.body["tenants"])
    assert datetime.fromisoformat(whole.body["as_of"]) <= datetime.now(UTC)
