"""Schedules and their fires from the command line: tables for people, the API's own JSON for programs."""

import json

import pytest

from cronfleet.domain.role import Role
from tests.support.api import NIGHTLY
from tests.support.command_line import CommandLine, put_key


@pytest.fixture
def nightly(cronfleet: CommandLine) -> CommandLine:
    cronfleet.api.register(labels={"team": "billing"})
    return cronfleet


def test_a_schedule_is_made_of_a_yaml_file_and_listed_by_its_label(cronfleet, tmp_path):
    file = tmp_path / "nightly.yaml"
    file.write_text(
        "id: nightly\ntrigger: {cron: '0 2 * * *', timezone: Asia/Kolkata}\n"
        "target: {handler: billing.nightly}\nlabels: {team: billing}\n"
    )
    made = cronfleet.json("schedules", "create", "-f", str(file))
    assert (made["id"], made["version"]) == ("nightly", 1)
    assert [each["id"] for each in cronfleet.json("schedules", "list", "-l", "team=billing")["schedules"]] == [
        "nightly"
    ]
    assert cronfleet.json("schedules", "list", "-l", "team=ops")["schedules"] == []


def test_json_is_what_the_api_answers(nightly):
    assert nightly.json("schedules", "get", "nightly") == nightly.api.call("GET", "/v1/schedules/nightly").json
    assert nightly.json("next", "nightly") == nightly.api.call("GET", "/v1/schedules/nightly/fires?limit=10").json
    at = "2026-11-29T20:30:00Z"
    explained = nightly.json("explain", "nightly", "--at", at)
    assert explained == nightly.api.call("GET", f"/v1/schedules/nightly/explain?at={at}").json


def test_people_get_a_table_that_no_pipe_cuts_off(nightly):
    nightly.environment["COLUMNS"] = "20"
    said = nightly("schedules", "list")
    assert said.code == 0
    assert "At 02:00 every day, in Asia/Kolkata" in said.out
    assert "team=billing" in said.out


def test_a_list_is_followed_page_by_page_up_to_its_limit(cronfleet):
    for number in range(230):
        cronfleet.api.register(id=f"s-{number:03}")
    listed = cronfleet.json("schedules", "list", "-n", "215")
    assert [each["id"] for each in listed["schedules"]] == [f"s-{number:03}" for number in range(215)]
    assert listed["cursor"] is not None
    assert len(cronfleet.json("schedules", "list", "-n", "1000")["schedules"]) == 230
    assert "more than these 100" in cronfleet("schedules", "list").err


def test_a_pause_and_a_resume(nightly):
    assert nightly.json("schedules", "pause", "nightly", "-r", "month end")["status"] == "paused"
    assert nightly("schedules", "pause", "nightly").code == 2  # A reason is needed.
    resumed = nightly.json("schedules", "resume", "nightly", "--missed", '{"policy": "fire_once"}')
    assert resumed["status"] == "active"


def test_a_dry_run_changes_nothing_and_says_what_it_would_cost(nightly):
    said = nightly("schedules", "pause", "nightly", "-r", "month end", "--dry-run")
    assert "30 lost" in said.out
    assert nightly.json("schedules", "get", "nightly")["status"] == "active"


def test_run_now_takes_a_payload_and_shows_the_run(nightly):
    run = nightly.json("schedules", "run", "nightly", "--payload", '{"day": "2026-11-01"}', "-r", "again")
    assert run["status"] == "queued"
    assert nightly.json("runs", run["run_id"])["run_id"] == run["run_id"]
    assert [each["run_id"] for each in nightly.json("runs", "nightly")["runs"]] == [run["run_id"]]


def test_a_queued_run_is_cancelled_and_followed_to_its_end(nightly):
    run_id = nightly.json("schedules", "run", "nightly")["run_id"]
    assert nightly.json("cancel", run_id, "-r", "not now")["status"] == "cancelled"
    followed = nightly("runs", run_id, "--follow", "-o", "json")
    assert [run["status"] for run in followed.lines] == ["cancelled"]


def test_versions_can_be_compared_and_brought_back(nightly):
    nightly.api.call("PATCH", "/v1/schedules/nightly", {"description": "Close the books"})
    assert [each["version"] for each in nightly.json("schedules", "versions", "nightly")["versions"]] == [2, 1]
    assert nightly.json("schedules", "diff", "nightly", "1")["changes"][0]["field"] == "description"
    assert nightly.json("schedules", "rollback", "nightly", "1")["version"] == 3


def test_a_deleted_schedule_is_gone(nightly):
    assert nightly.json("schedules", "delete", "nightly") == {"id": "nightly", "deleted": True}
    assert nightly("schedules", "get", "nightly").code == 1


def test_a_preview_asks_the_server_what_a_trigger_means(cronfleet):
    said = cronfleet("preview", "--cron", "30 2 * * *", "--timezone", "Europe/Paris", "-n", "2")
    assert "At 02:30 every day, in Europe/Paris" in said.out
    assert "2026-12-01T01:30:00Z" in said.out
    assert cronfleet("preview").code == 2


def test_lint_and_crowded_minutes(nightly):
    nightly.api.register(id="monthly", trigger={"cron": "0 0 31 * *", "timezone": "UTC"})
    assert "31" in nightly("lint").out
    assert nightly.json("lint", "--crowded")["looked_at"] == 2


def test_a_refusal_names_the_field_and_what_to_write_instead(cronfleet, tmp_path):
    file = tmp_path / "typo.json"
    file.write_text(json.dumps({**NIGHTLY, "trigger": {"cron": "0 25 * * *", "timezone": "UTC"}}))
    said = cronfleet("schedules", "create", "-f", str(file))
    assert said.code == 1
    assert "trigger.cron" in said.err
    assert "did you mean `25 0 * * *`" in said.err
    problem = json.loads(cronfleet("schedules", "create", "-f", str(file), "-o", "json").err)
    assert (problem["status"], problem["errors"][0]["field"]) == (400, "trigger.cron")


def test_a_key_that_may_only_read_is_refused_a_change(nightly):
    nightly.environment["CRONFLEET_KEY"] = put_key(nightly.api, "viewer", Role.VIEWER)
    assert nightly("schedules", "get", "nightly").code == 0
    said = nightly("schedules", "delete", "nightly")
    assert (said.code, "403" in said.err) == (1, True)


def test_a_heartbeat_url_is_made_and_shown_once(nightly):
    made = nightly.json("schedules", "heartbeat", "nightly", "--create")
    assert made["token"] in made["path"]
    assert "token" not in nightly.json("schedules", "heartbeat", "nightly")


def test_the_ledger_says_what_became_of_each_fire(nightly):
    ledger = nightly.json(
        "schedules", "ledger", "nightly", "--from", "2026-11-29T12:00:00Z", "--to", "2026-12-01T12:00:00Z"
    )
    assert ledger["entries"][0]["at"] == "2026-11-30T20:30:00Z"


def test_dependencies_show_both_sides(nightly):
    nightly.api.register(id="report", trigger={"after": ["nightly"], "within": "2h"})
    said = nightly("dependencies", "report")
    assert (said.code, "nightly" in said.out) == (0, True)
    assert [each["schedule_id"] for each in nightly.json("dependencies", "nightly")["dependants"]] == ["report"]


def test_a_part_is_changed_and_what_it_said_before_is_still_there(nightly):
    assert nightly.json("schedules", "change", "nightly", "-f", "-", given="owner: ops")["owner"] == "ops"
    tried = nightly("schedules", "change", "nightly", "-f", "-", "--dry-run", given="trigger: {cron: '0 3 * * *'}")
    assert "Nothing is changed" in tried.out
    assert nightly.json("schedules", "get", "nightly")["version"] == 2
    assert nightly.json("schedules", "get", "nightly", "--version", "1")["owner"] == ""
