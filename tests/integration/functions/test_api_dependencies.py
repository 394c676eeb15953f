"""Dependencies over HTTP: how they are written, read, changed, exported and refused."""

import pytest

from tests.support.api import NIGHTLY

AFTER = {"after": ["load", "clean"], "on": "success", "within": "2h", "else": "fail"}


@pytest.fixture
def family(memory):
    for schedule_id in ("load", "clean"):
        assert memory.register(id=schedule_id).status == 201
    assert memory.register(id="report", trigger=AFTER).status == 201
    return memory


def test_a_schedule_that_runs_after_others_says_so_in_words(family):
    answer = family.call("GET", "/v1/schedules/report").json
    assert answer["trigger"] == AFTER
    assert answer["words"] == "After load and clean, when each of them succeeded, within 2 hours; else it fails"
    assert (answer["status"], answer["next_fire_at"]) == ("active", None)
    assert family.call("GET", "/v1/schedules/report/fires").json["fires"] == []


def test_what_is_left_out_is_the_default_and_to_say_it_again_changes_nothing(family):
    short = {"after": ["load"]}
    made = family.register(id="short", trigger=short).json
    assert made["trigger"] == {"after": ["load"], "on": "success", "within": "1d", "else": "skip"}
    again = family.call("PUT", "/v1/schedules/short", {**NIGHTLY, "id": "short", "trigger": short})
    assert (again.status, again.json["version"]) == (200, 1)


def test_a_part_of_it_is_changed_by_a_patch(family):
    answer = family.call("PATCH", "/v1/schedules/report", {"trigger": {"after": ["clean"], "within": "30m"}})
    assert answer.status == 200, answer.text
    assert answer.json["trigger"] == {**AFTER, "after": ["clean"], "within": "30m"}
    changed = family.call("GET", "/v1/schedules/report/versions/2/diff?to=1").json
    assert {one["field"] for one in changed["changes"]} >= {"trigger.within"}
    back = family.call("POST", "/v1/schedules/report/rollback", {"version": 1})
    assert (back.status, back.json["trigger"]) == (200, AFTER)


def test_its_neighbours_are_shown_with_how_they_stand(family):
    answer = family.call("GET", "/v1/schedules/report/dependencies").json
    assert [(one["schedule_id"], one["status"]) for one in answer["parents"]] == [
        ("load", "active"),
        ("clean", "active"),
    ]
    assert (answer["after"], answer["dependants"], answer["latest"]) == (AFTER, [], None)
    above = family.call("GET", "/v1/schedules/load/dependencies").json
    assert [one["schedule_id"] for one in above["dependants"]] == ["report"]
    assert above["after"] is None
    assert family.call("DELETE", "/v1/schedules/clean").status == 204
    answer = family.call("GET", "/v1/schedules/report/dependencies").json
    assert [one["status"] for one in answer["parents"]] == ["active", "deleted"]
    assert [one["code"] for one in answer["warnings"]] == ["parent_gone"]
    assert family.call("GET", "/v1/schedules/report/dependencies", tenant="rival").status == 404


def test_parents_that_name_different_times_are_warned_of(family):
    assert family.call("GET", "/v1/lint").json["schedules"] == []
    family.call("PATCH", "/v1/schedules/clean", {"trigger": {"cron": "0 */2 * * *"}})
    (linted,) = family.call("GET", "/v1/lint?code=parents_apart").json["schedules"]
    assert linted["id"] == "report"
    assert "clean names 2026-11-30T12:30:00Z and load does not" in linted["warnings"][0]["text"]


@pytest.mark.parametrize(
    ("trigger", "field", "reason"),
    [
        ({"after": []}, "trigger.after", "at least one"),
        ({"after": ["load", "load"]}, "trigger.after[1]", "names load twice"),
        ({"after": ["no such id!"]}, "trigger.after[0]", "is no id of a schedule"),
        ({"after": ["nobody"]}, "trigger.after", "there is no schedule nobody"),
        ({"after": ["load"], "within": "8d"}, "trigger.within", "is not between 1s and 7d"),
        ({"after": ["load"], "within": "soon"}, "trigger.within", ""),
        ({"after": ["load"], "on": "maybe"}, "trigger.on", "success"),
        ({"after": ["load"], "else": "cry"}, "trigger.else", "skip"),
        ({"after": ["load"], "timezone": "UTC"}, "trigger.timezone", "is no field of a trigger with `after`"),
        ({"after": ["load"], "cron": "0 2 * * *"}, "trigger", "exactly one"),
        ({"cron": "0 2 * * *", "timezone": "UTC", "on": "failure"}, "trigger.on", "is no field"),
        ({"after": "load"}, "trigger.after", "must be an array"),
    ],
)
def test_what_is_wrong_is_refused_by_its_field(family, trigger, field, reason):
    answer = family.register(id="wrong", trigger=trigger)
    assert answer.status == 400, answer.text
    (error,) = answer.json["errors"]
    assert error["field"] == field
    assert reason in error["reason"]


def test_a_cycle_is_refused_when_it_is_made_and_named(family):
    answer = family.call("PATCH", "/v1/schedules/load", {"trigger": {"cron": None, "timezone": None, **AFTER}})
    assert answer.status == 400
    answer = family.call(
        "PATCH", "/v1/schedules/load", {"trigger": {"cron": None, "timezone": None, "after": ["report"]}}
    )
    assert answer.status == 400, answer.text
    assert "would make a cycle: load → report → load" in answer.json["errors"][0]["reason"]


def test_a_preview_and_a_dry_run_say_that_it_names_no_time_of_its_own(family):
    answer = family.call("POST", "/v1/preview", {"trigger": {"after": ["load"]}})
    assert (answer.status, answer.json["fires"]) == (200, [])
    answer = family.call("PATCH", "/v1/schedules/report?dry_run=true", {"trigger": {"within": "1h"}})
    assert answer.status == 200, answer.text


def test_an_export_is_applied_whatever_the_order_of_its_schedules(family):
    family.register(id="aaa-last", trigger={"after": ["report"]})
    document = family.call("GET", "/v1/tenants/acme/export").json
    document["schedules"].sort(key=lambda one: one["id"])
    tried = family.call("POST", "/v1/imports/cronfleet?dry_run=true", document, tenant="rival").json
    assert {one["outcome"] for one in tried["schedules"]} == {"created"}
    done = family.call("POST", "/v1/imports/cronfleet", document, tenant="rival").json
    assert {one["outcome"] for one in done["schedules"]} == {"created"}, done
    again = family.call("POST", "/v1/imports/cronfleet", document, tenant="rival").json
    assert {one["outcome"] for one in again["schedules"]} == {"unchanged"}


def test_why_nothing_ran_is_said_of_a_time_that_no_parent_named(family):
    answer = family.call("GET", "/v1/schedules/report/explain?at=2026-11-30T11:00:00Z").json
    assert answer["code"] in ("not_named", "not_created")
    family.clock.advance(7_200_000)
    answer = family.call("GET", "/v1/schedules/report/explain?at=2026-11-30T13:00:00Z").json
    assert answer["code"] == "not_named"
    assert answer["text"].startswith("none of load, clean had a run at this time")
    page = family.call("GET", "/v1/schedules/report/ledger?from=2026-11-30T12:00:00Z&to=2026-11-30T14:00:00Z")
    assert (page.status, page.json["entries"]) == (200, [])
