"""Imports, exports, and all that a tenant admin does, from the command line."""

import json
from pathlib import Path

import pytest

from cronfleet import settings
from cronfleet.domain.role import Role
from tests.support.api import api_on_memory
from tests.support.command_line import CommandLine, command_line, put_key

CRONTAB = "CRON_TZ=Europe/Paris\n30 2 * * * /srv/close\n0 25 * * * /srv/typo\n"


@pytest.fixture
def nightly(cronfleet: CommandLine) -> CommandLine:
    cronfleet.api.register(labels={"team": "billing"})
    cronfleet.environment["CRONFLEET_TENANT"] = "acme"
    return cronfleet


def test_a_crontab_is_imported_and_what_was_refused_is_named(cronfleet, tmp_path):
    file = tmp_path / "crontab.web1"
    file.write_text(CRONTAB)
    tried = cronfleet.json("import", "crontab", "-f", str(file), "--target", "shell.run", "--dry-run")
    assert (tried["import"], tried["counts"]["created"], tried["counts"]["refused"]) == ("crontab.web1", 1, 1)
    said = cronfleet("import", "crontab", "-f", str(file), "--target", "shell.run")
    assert said.code == 1  # A line was refused; the others were imported all the same.
    assert "did you mean `25 0 * * *`" in said.out
    assert [each["status"] for each in cronfleet.json("schedules", "list")["schedules"]] == ["held"]


def test_an_option_that_means_nothing_for_a_kind_of_file_is_wrong_use(cronfleet, tmp_path):
    file = tmp_path / "x.json"
    file.write_text("[]")
    said = cronfleet("import", "eventbridge", "-f", str(file), "--timezone", "UTC")
    assert (said.code, "--timezone means nothing" in said.err) == (2, True)


def test_cronjobs_come_from_standard_input(cronfleet):
    job = """\
apiVersion: batch/v1
kind: CronJob
metadata: {name: tidy, namespace: ops}
spec: {schedule: "*/5 * * * *", jobTemplate: {spec: {template: {spec: {containers: []}}}}}
"""
    answer = cronfleet.json("import", "kubernetes", "-f", "-", "--source", "c1", "--target", "jobs.start", given=job)
    assert answer["counts"]["created"] == 1


def test_an_export_is_imported_elsewhere_and_changes_nothing_here(nightly, tmp_path):
    document = nightly.json("export")
    assert [schedule["id"] for schedule in document["schedules"]] == ["nightly"]
    file = tmp_path / "acme.json"
    file.write_text(json.dumps(document))
    assert nightly.json("import", "cronfleet", "-f", str(file))["counts"]["unchanged"] == 1
    assert nightly("export", "--documents", str(tmp_path / "out")).code == 0
    assert json.loads((tmp_path / "out-1.json").read_text())["schedules"] == document["schedules"]


def test_an_export_needs_to_know_whose(cronfleet):
    said = cronfleet("export")
    assert (said.code, "which tenant?" in said.err) == (2, True)


def test_bulk_changes_are_counted_first_and_made_page_by_page(nightly):
    for number in range(120):
        nightly.api.register(id=f"s-{number:03}", labels={"team": "ops"})
    counted = nightly.json("bulk", "pause", "-l", "team=ops", "-r", "month end", "--dry-run")
    assert counted["counts"]["matched"] == 120
    assert nightly("bulk", "pause", "-l", "team=ops", "-r", "month end", "--expected", "7").code == 1
    done = nightly.json("bulk", "pause", "-l", "team=ops", "-r", "month end", "--expected", "120")
    assert (done["counts"]["changed"], len(done["schedules"])) == (120, 120)
    assert nightly.json("bulk", "resume", "-l", "team=ops")["counts"]["resumed"] == 120
    assert nightly.json("bulk", "labels", "-l", "team=ops", "--set", "stage=prod", "--remove", "team")["failed"] == []
    assert nightly.json("bulk", "cancel", "-l", "stage=prod")["counts"]["changed"] == 120
    assert [each["id"] for each in nightly.json("schedules", "list")["schedules"]] == ["nightly"]


def test_a_bulk_change_of_everything_must_be_written_out(nightly):
    assert nightly("bulk", "pause", "-r", "all").code == 2
    assert nightly("bulk", "pause", "-r", "all", "--all", "-l", "team=billing").code == 2
    assert nightly.json("bulk", "pause", "-r", "all", "--all")["counts"]["changed"] == 1


def test_calendars_are_put_as_yaml_and_as_icalendar(nightly, tmp_path):
    file = tmp_path / "de.yaml"
    file.write_text("holidays: ['2026-12-25', '2026-12-26']\ncovers_until: '2027-12-31'\n")
    assert nightly.json("calendars", "put", "de", "-f", str(file))["version"] == 1
    ical = tmp_path / "de.ics"
    ical.write_text(
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTAMP:20261101T000000Z\r\n"
        "DTSTART;VALUE=DATE:20261225\r\nSUMMARY:Christmas\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    )
    query = ("--kind", "holiday", "--covers-until", "2027-12-31")
    assert nightly.json("calendars", "put", "de", "-f", str(ical), *query)["version"] == 2
    assert [each["name"] for each in nightly.json("calendars", "list")["calendars"]] == ["de"]
    assert len(nightly.json("calendars", "versions", "de")["versions"]) == 2
    assert nightly.json("calendars", "get", "de", "--version", "1")["version"] == 1
    assert nightly("calendars", "delete", "de").code == 0


def test_a_freeze_is_made_changed_and_ended(nightly):
    made = nightly.json("freezes", "create", "-l", "team=billing", "-r", "audit")
    assert made["scope"] == {"label": {"team": "billing"}}
    changed = nightly.json("freezes", "change", made["id"], "--until", "2026-12-01T00:00:00Z")
    assert changed["until"] == "2026-12-01T00:00:00Z"
    assert len(nightly.json("freezes", "list")["freezes"]) == 1
    assert nightly.json("freezes", "get", made["id"])["status"] == "in_force"
    assert nightly.json("freezes", "end", made["id"])["status"] == "ended"
    assert nightly("freezes", "create", "-r", "which?").code == 2


def test_keys_are_made_shown_once_rotated_and_revoked(nightly):
    made = nightly.json("keys", "create", "--role", "viewer", "--name", "ci")
    rotated = nightly.json("keys", "rotate", made["id"], "--overlap-seconds", "60")
    assert rotated["key"] != made["key"]
    said = nightly("keys", "list")
    assert "ci" in said.out
    assert made["key"] not in said.out
    assert nightly("keys", "revoke", rotated["id"], "-r", "done").code == 0


def test_a_platform_admin_looks_after_tenants(nightly):
    nightly.environment["CRONFLEET_KEY"] = put_key(nightly.api, "platform", Role.PLATFORM_ADMIN)
    made = nightly.json("tenants", "create", "beta", "--tier", "standard", "--quota", "schedules=5")
    assert made["overrides"] == {"schedules": 5}
    assert nightly.json("tenants", "change", "beta", "--quota", "schedules=default")["overrides"] == {}
    assert nightly.json("tenants", "usage", "beta")["quotas"]["schedules"]["use"] == 0
    assert nightly("tenants", "create", "gamma", "--quota", "schedules=many").code == 2
    assert {each["id"] for each in nightly.json("tenants", "list")["tenants"]} >= {"beta"}
    assert nightly.json("tenants", "suspend", "beta", "-r", "unpaid")["status"] == "suspended"
    assert nightly.json("tenants", "resume", "beta")["status"] == "active"
    assert nightly.json("tenants", "delete", "beta", "--confirm", "beta")["status"] == "deleting"
    assert nightly.json("tenants", "deletion", "beta")["tenant"] == "beta"
    assert nightly.json("schedules", "list", "--tenant", "acme")["schedules"][0]["id"] == "nightly"


def test_the_audit_log_is_listed_checked_and_exported(nightly, tmp_path: Path):
    nightly.json("schedules", "pause", "nightly", "-r", "month end")
    entries = nightly.json("audit", "list", "--schedule", "nightly")["entries"]
    assert [entry["reason"] for entry in entries] == ["month end", ""]
    assert nightly.json("audit", "verify")["ok"] is True
    exported = nightly("audit", "export").lines
    assert exported[-1] == {"kind": "page", "cursor": None} | exported[-1]


def test_the_installation_says_how_it_is(nightly):
    assert nightly.json("health")["status"] == "ok"
    assert nightly.json("zone-data")["release"]


def test_the_trust_that_a_targets_role_needs_is_printed_to_be_pasted(monkeypatch):
    callers = "arn:aws:iam::999999999999:role/cronfleet-clerk-us-east-1"
    told = {settings.INSTALLATION: "prod", settings.TARGET_CALLERS: callers}
    with command_line(api_on_memory(monkeypatch, **told), monkeypatch) as line:
        printed = line("target-role").out
        condition = json.loads(printed)["Statement"][0]["Condition"]
        assert condition["StringEquals"]["sts:ExternalId"].startswith("cronfleet:prod:")
        assert line.json("target-role")["callers"] == [callers]
