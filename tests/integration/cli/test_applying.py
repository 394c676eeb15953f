"""`apply`: a folder of YAML becomes the schedules of an installation, and nothing else changes."""

import json
from pathlib import Path
from typing import Any

import pytest

from cronfleet_cli.api import Api
from tests.support.command_line import CommandLine, Said

NIGHTLY = """\
id: nightly
trigger: {cron: "0 2 * * *", timezone: Asia/Kolkata}
target: {handler: billing.nightly}
labels: {team: billing}
"""
BEAT = """\
id: beat
trigger: {every: 1m}
target: {handler: demo.heartbeat}
payload: {on: 2026-01-01, at: 06:30, off: no}
labels: {team: billing}
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "deep").mkdir()
    (tmp_path / "nightly.yaml").write_text(NIGHTLY)
    (tmp_path / "deep" / "beat.yml").write_text(BEAT)
    (tmp_path / "README.md").write_text("no schedule")
    return tmp_path


def apply(line: CommandLine, files: Path, *more: str) -> Said:
    return line("apply", "-f", str(files), "-o", "json", *more)


def actions(said: Said) -> dict[str, str]:
    return {change["schedule"]: change["action"] for change in said.json["changes"]}


def test_applied_twice_the_second_plan_is_empty(cronfleet, files):
    planned = apply(cronfleet, files, "--plan")
    assert (planned.code, actions(planned)) == (3, {"beat": "create", "nightly": "create"})
    assert cronfleet.json("schedules", "list")["schedules"] == []
    assert apply(cronfleet, files).code == 0
    again = apply(cronfleet, files, "--plan")
    assert (again.code, again.json["would_change"]) == (0, False)
    assert actions(again) == {"beat": "unchanged", "nightly": "unchanged"}
    before = len(cronfleet.asked)
    assert apply(cronfleet, files).code == 0
    assert {asked.method for asked in cronfleet.asked[before:] if "dry_run" not in asked.target} == {"GET"}


def test_a_changed_file_shows_the_fields_that_differ_and_no_default_of_the_server(cronfleet, files):
    apply(cronfleet, files)
    (files / "nightly.yaml").write_text(NIGHTLY.replace("0 2 * * *", "0 3 * * *") + "policies: {overlap: skip}\n")
    planned = apply(cronfleet, files, "--plan")
    assert planned.code == 3
    change = next(change for change in planned.json["changes"] if change["action"] == "replace")
    assert change["fields"] == [
        {"field": "policies.overlap", "before": "allow", "after": "skip"},
        {"field": "trigger.cron", "before": "0 2 * * *", "after": "0 3 * * *"},
    ]
    assert (change["effect"]["gained"], change["effect"]["lost"]) == (30, 30)
    said = cronfleet("apply", "-f", str(files), "--plan")
    assert "trigger.cron: 0 2 * * * → 0 3 * * *" in said.out
    assert "0 to create, 1 to replace, 0 to delete, 1 unchanged." in said.out
    assert apply(cronfleet, files, "-r", "an hour later").code == 0
    assert cronfleet.json("schedules", "versions", "nightly")["versions"][0]["reason"] == "an hour later"


def test_a_default_that_a_file_spells_out_is_no_difference(cronfleet, files):
    apply(cronfleet, files)
    (files / "nightly.yaml").write_text(NIGHTLY + "description: ''\npolicies: {overlap: allow, timeout_seconds: 60}\n")
    assert apply(cronfleet, files, "--plan").code == 0


def test_yaml_is_read_as_it_is_written(cronfleet, files):
    apply(cronfleet, files)
    assert cronfleet.json("schedules", "get", "beat")["payload"] == {"on": "2026-01-01", "at": "06:30", "off": "no"}


def test_prune_deletes_what_has_the_label_and_stands_in_no_file(cronfleet, files):
    apply(cronfleet, files)
    cronfleet.api.register(id="by-hand")
    (files / "deep" / "beat.yml").unlink()
    planned = apply(cronfleet, files, "--plan", "--prune", "-l", "team=billing")
    assert (planned.code, actions(planned)) == (3, {"nightly": "unchanged", "beat": "delete"})
    assert apply(cronfleet, files, "--prune", "-l", "team=billing").code == 0
    left = [schedule["id"] for schedule in cronfleet.json("schedules", "list")["schedules"]]
    assert left == ["by-hand", "nightly"]
    assert apply(cronfleet, files, "--plan", "--prune", "-l", "team=billing").code == 0


def test_nothing_is_applied_while_one_entry_is_refused(cronfleet, files):
    (files / "wrong.json").write_text(
        json.dumps({"id": "wrong", "trigger": {"every": "0s"}, "target": {"handler": "x"}})
    )
    said = apply(cronfleet, files)
    assert (said.code, said.json["applied"], said.json["counts"]["create"]) == (1, False, 2)
    assert said.json["refused"][0]["place"].endswith("wrong.json")
    assert said.json["refused"][0]["errors"][0]["field"].startswith("trigger")
    assert cronfleet.json("schedules", "list")["schedules"] == []
    assert "1 refused: nothing is applied" in cronfleet("apply", "-f", str(files)).out


def test_a_schedule_that_somebody_changed_meanwhile_is_not_overwritten(cronfleet, files):
    apply(cronfleet, files)
    (files / "nightly.yaml").write_text(NIGHTLY.replace("0 2", "0 3"))

    def change_meanwhile(asked):
        if asked.method == "PUT" and "dry_run" not in asked.target:
            cronfleet.api.call("PATCH", "/v1/schedules/nightly", {"description": "theirs"})

    cronfleet.meanwhile = change_meanwhile
    said = apply(cronfleet, files)
    assert (said.code, "412" in said.err) == (1, True)
    found = cronfleet.json("schedules", "get", "nightly")
    assert (found["description"], found["trigger"]["cron"]) == ("theirs", "0 2 * * *")


def test_killed_in_the_middle_it_is_finished_by_the_same_again(cronfleet, files, monkeypatch):
    ask = Api.ask
    made: list[str] = []

    def dying(api: Api, method: str, path: str, **more: Any) -> Any:
        if method == "PUT" and not more["query"].get("dry_run"):
            if made:
                raise KeyboardInterrupt
            made.append(path)
        return ask(api, method, path, **more)

    with monkeypatch.context() as patched:
        patched.setattr(Api, "ask", dying)
        assert apply(cronfleet, files).code == 130
    planned = apply(cronfleet, files, "--plan")
    assert sorted(actions(planned).values()) == ["create", "unchanged"]
    assert apply(cronfleet, files).code == 0
    assert apply(cronfleet, files, "--plan").code == 0


def test_an_export_into_a_folder_is_what_apply_finds_unchanged(cronfleet, files, tmp_path):
    apply(cronfleet, files)
    cronfleet.environment["CRONFLEET_TENANT"] = "acme"
    assert cronfleet("export", "--folder", str(tmp_path / "out")).code == 0
    assert apply(cronfleet, tmp_path / "out", "--plan").code == 0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("id: [", "wrong.yaml:1"),
        ("trigger: {every: 1m}", "id is missing"),
        (NIGHTLY, "stands in"),
        ("id: x\nid: y", "'id' stands here twice"),
        ("a: &a [1]\nb: *a", "aliases"),
        ("just text", "is no schedule"),
        ("format: cronfleet-tenant/1", "import cronfleet"),
    ],
)
def test_a_file_that_cannot_be_read_is_wrong_use_and_named(cronfleet, files, text, sentence):
    (files / "wrong.yaml").write_text(text)
    said = apply(cronfleet, files)
    assert (said.code, cronfleet.asked) == (2, [])
    assert sentence in said.err


def test_an_empty_folder_prunes_nothing(cronfleet, tmp_path):
    cronfleet.api.register(labels={"team": "billing"})
    assert apply(cronfleet, tmp_path, "--prune", "-l", "team=billing").code == 2
    assert apply(cronfleet, tmp_path / "nowhere").code == 2
    assert len(cronfleet.json("schedules", "list")["schedules"]) == 1


def test_prune_needs_a_label_and_a_label_prune(cronfleet, files):
    assert apply(cronfleet, files, "--prune").code == 2
    assert apply(cronfleet, files, "-l", "team=billing").code == 2


CHAIN = """\
id: report
trigger: {after: [load, clean], on: success, within: 2h, else: skip}
target: {handler: demo.report}
labels: {team: data}
---
id: clean
trigger: {after: [load]}
target: {handler: demo.clean}
labels: {team: data}
---
id: load
trigger: {cron: "0 2 * * *", timezone: UTC}
target: {handler: demo.load}
labels: {team: data}
"""


def test_parents_are_made_before_what_runs_after_them_and_pruned_after_it(cronfleet, tmp_path):
    (tmp_path / "chain.yaml").write_text(CHAIN)
    planned = apply(cronfleet, tmp_path, "--plan")
    assert (planned.code, list(actions(planned))) == (3, ["load", "clean", "report"])
    assert apply(cronfleet, tmp_path).code == 0
    assert apply(cronfleet, tmp_path, "--plan").code == 0
    (tmp_path / "chain.yaml").write_text(CHAIN.split("---")[2].replace("load", "other"))
    pruned = apply(cronfleet, tmp_path, "--prune", "-l", "team=data")
    assert (pruned.code, list(actions(pruned))) == (0, ["other", "report", "clean", "load"])


def test_a_chain_is_turned_around_in_one_go(cronfleet, tmp_path):
    _, clean, load = CHAIN.split("---")
    (tmp_path / "chain.yaml").write_text(f"{clean}---{load}")
    assert apply(cronfleet, tmp_path).code == 0
    (tmp_path / "chain.yaml").write_text(
        load.replace('{cron: "0 2 * * *", timezone: UTC}', "{after: [clean]}")
        + "---"
        + clean.replace("{after: [load]}", "{every: 1h}")
    )
    turned = apply(cronfleet, tmp_path)
    assert (turned.code, actions(turned)) == (0, {"clean": "replace", "load": "replace"})
    assert apply(cronfleet, tmp_path, "--plan").code == 0


def test_schedules_that_run_after_each_other_are_wrong_use(cronfleet, tmp_path):
    (tmp_path / "chain.yaml").write_text(CHAIN.replace('{cron: "0 2 * * *", timezone: UTC}', "{after: [report]}"))
    said = apply(cronfleet, tmp_path)
    assert (said.code, "→" in said.err, cronfleet.asked) == (2, True, [])


FULL = """\
id: full
owner: ops
description: |
  All that a schedule may say.
trigger: {cron: "30 1 * * *", timezone: Europe/Paris}
target: {handler: demo.report}
payload: {day: 2026-12-01, list: [1, 2.5, true, null, "on"]}
start_at: 2026-12-01T00:00:00Z
policies:
  overlap: buffer_one
  concurrency_key: reports
  breaker: {failures: 5, cooldown: 10m}
  retry: {max_attempts: 2, backoff: {kind: fixed, base_seconds: 5}}
objectives: {starts_within: 5m, succeeds_by: "06:00", runs_no_longer_than: 30m}
"""


def test_all_that_a_schedule_may_say_is_the_same_the_second_time(cronfleet, tmp_path):
    (tmp_path / "full.yaml").write_text(FULL)
    assert apply(cronfleet, tmp_path).code == 0
    assert apply(cronfleet, tmp_path, "--plan").code == 0
    (tmp_path / "full.yaml").write_text(FULL.replace("starts_within: 5m", "starts_within: 10m"))
    planned = apply(cronfleet, tmp_path, "--plan").json["changes"][0]
    assert planned["fields"] == [{"field": "objectives.starts_within", "before": "5m", "after": "10m"}]
