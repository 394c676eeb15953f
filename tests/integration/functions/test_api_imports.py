"""Imports by the API: whole files in, held schedules and refusals out; and turning them on by label."""

import json
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import SECOND
from cronfleet.services.schedules import Schedules
from functions.api import importing, yaml_reading
from functions.api.documents import MAX_DOCUMENT_BYTES

CRONTAB = """\
MAILTO=ops@example.com
# Nightly report
0 2 * * * /srv/report --all
*/10 * * * * /srv/poll
@reboot /srv/start
"""
CRONJOB = """\
apiVersion: batch/v1
kind: CronJob
metadata: {name: report, namespace: web}
spec:
  schedule: "0 2 * * *"
  timeZone: Asia/Kolkata
  jobTemplate:
    spec: {template: {spec: {containers: [{name: main, image: "report:1"}]}}}
"""
LAUGHS = "a: &a [x,x]\n" + "".join(
    f"{one}: &{one} [{','.join([f'*{before}'] * 9)}]\n" for before, one in zip("abcdefgh", "bcdefghi", strict=True)
)
LAMBDA = "arn:aws:lambda:eu-west-1:123456789012:function:cronfleet-target-report"
EXPORTED = {
    "Name": "report",
    "GroupName": "billing",
    "ScheduleExpression": "cron(0 2 * * ? *)",
    "ScheduleExpressionTimezone": "Asia/Kolkata",
    "Target": {"Arn": LAMBDA, "Input": "{}"},
}


def send(api, kind, body, media_type="text/plain", **query):
    return api.call("POST", f"/v1/imports/{kind}?{urlencode(query)}", body, headers={"content-type": media_type})


def imported(api, kind, body, media_type="text/plain", **query):
    answer = send(api, kind, body, media_type, **query)
    assert answer.status == 200, answer.text
    return answer.json


def outcomes(answer):
    return [one["outcome"] for one in answer["schedules"]]


# --- crontabs --------------------------------------------------------------------------------------------------


def test_a_crontab_is_imported_as_held_schedules_once_and_turned_on_by_its_label(api):
    dry = imported(api, "crontab", CRONTAB, timezone="Asia/Kolkata", source="web1", dry_run="true")
    assert outcomes(dry) == ["created", "created"]
    assert api.call("GET", "/v1/schedules").json["schedules"] == [], "a dry run changes nothing"

    real = imported(api, "crontab", CRONTAB, timezone="Asia/Kolkata", source="web1")
    assert {**dry, "dry_run": False} == real
    first = real["schedules"][0]
    stored = api.call("GET", f"/v1/schedules/{first['id']}").json
    assert stored["status"] == first["status"] == "held"
    shared = ("description", "owner", "trigger", "target", "payload", "policies", "labels", "start_at", "end_at")
    assert {name: stored[name] for name in shared} == {name: first[name] for name in shared}
    assert (stored["description"], stored["labels"]["import"]) == ("Nightly report", "web1")
    assert stored["payload"]["environment"] == {"MAILTO": "ops@example.com"}
    assert real["refused"][0] == {
        "line": 5,
        "text": "@reboot /srv/start",
        "reason": real["refused"][0]["reason"],
    }

    again = imported(api, "crontab", CRONTAB, timezone="Asia/Kolkata", source="web1")
    assert outcomes(again) == ["unchanged", "unchanged"]

    body = {"labels": {"import": "web1"}, "reason": "compared"}
    counted = api.call("POST", "/v1/bulk/resume?dry_run=true", body).json
    assert (counted["counts"]["matched"], counted["counts"]["resumed"]) == (2, 0)
    assert api.call("GET", "/v1/schedules?status=held").json["schedules"]
    turned_on = api.call("POST", "/v1/bulk/resume", body).json
    counts = {"scanned": 2, "matched": 2, "changed": 2, "resumed": 2, "unchanged": 0, "failed": 0, "off": 0}
    assert turned_on["counts"] == counts
    assert api.call("GET", f"/v1/schedules/{first['id']}").json["status"] == "active"
    assert api.call("POST", "/v1/bulk/resume", body).json["counts"]["matched"] == 0
    assert {one["status"] for one in imported(api, "crontab", CRONTAB, source="web1")["schedules"]} == {"active"}


def test_the_counts_of_a_crontab_add_up_to_its_lines(memory):
    counts = imported(memory, "crontab", CRONTAB)["counts"]
    parts = ("blank", "comments", "assignments", "schedules", "refused")
    assert counts["lines"] == sum(counts[part] for part in parts) == 5


def test_a_changed_line_differs_and_is_replaced_only_when_asked_and_only_while_held(memory):
    imported(memory, "crontab", CRONTAB, source="web1")
    changed = CRONTAB.replace("0 2 * * *", "30 2 * * *")
    kept = imported(memory, "crontab", changed, source="web1")
    assert outcomes(kept) == ["differs", "unchanged"]
    assert kept["schedules"][0]["differs"] == ["trigger"]
    path = f"/v1/schedules/{kept['schedules'][0]['id']}"
    assert memory.call("GET", path).json["trigger"]["cron"] == "0 2 * * *"
    would = imported(memory, "crontab", changed, source="web1", existing="replace", dry_run="true")
    assert outcomes(would) == ["replaced", "unchanged"]
    assert memory.call("GET", path).json["version"] == 1
    imported(memory, "crontab", changed, source="web1", existing="replace")
    assert memory.call("GET", path).json["trigger"]["cron"] == "30 2 * * *"
    memory.call("POST", f"{path}/resume", {})
    assert outcomes(imported(memory, "crontab", CRONTAB, source="web1", existing="replace"))[0] == "differs"


def test_the_same_command_of_two_files_without_a_source_is_two_schedules(memory):
    ids = {imported(memory, "crontab", f"{minute} 2 * * * /srv/a")["schedules"][0]["id"] for minute in (1, 2)}
    assert len(ids) == 2


def test_what_the_schedules_call_is_named_once_for_the_import(memory):
    for target, form in (
        ("shell.run", {"handler": "shell.run"}),
        ("https://example.com/run", {"url": "https://example.com/run"}),
        ("cronfleet-target-run", {"lambda": "cronfleet-target-run"}),
        ('{"handler": "shell.run"}', {"handler": "shell.run"}),
    ):
        answer = imported(memory, "crontab", "0 2 * * * a", target=target, dry_run="true")
        assert answer["schedules"][0]["target"] == form
        assert not any("no target" in note for note in answer["notes"])
    answer = imported(memory, "crontab", "0 2 * * * a", dry_run="true")
    assert answer["schedules"][0]["target"] == {"handler": "imported.crontab"}
    assert any("no target was named" in note for note in answer["notes"])


def test_words_warnings_and_refusals_are_those_of_a_registration(memory):
    refused = imported(memory, "crontab", "0 25 * * * a", timezone="UTC")["refused"][0]
    trigger = {"cron": "0 25 * * *", "timezone": "UTC"}
    assert memory.register(trigger=trigger).json["errors"][0]["reason"] == refused["reason"]
    found = imported(memory, "crontab", "30 2 31 * 1 a", timezone="Europe/Paris")["schedules"][0]
    assert "02:30" in found["words"]
    assert found["warnings"]
    assert all(set(one) == {"code", "text"} for one in found["warnings"])


def test_shadow_is_turned_on_with_the_import(memory):
    found = imported(memory, "crontab", "0 2 * * * a", shadow="true")["schedules"][0]
    assert memory.call("GET", f"/v1/schedules/{found['id']}").json["hold"]["shadow"]


def test_latin_1_is_read_where_the_bytes_arrive_as_they_are(memory):
    answer = imported(memory, "crontab", "# é\n0 2 * * * echo é".encode("latin-1"), "application/octet-stream")
    assert answer["schedules"][0]["payload"]["command"] == "echo é"
    assert "Latin-1" in answer["schedules"][0]["notes"][0]


def test_an_import_that_runs_out_of_time_says_so_and_goes_on_when_it_comes_again(memory, monkeypatch):
    text = "\n".join(f"{minute} 2 * * * job-{minute}" for minute in range(6))
    calls = []
    create = importing.Imports._new

    def slow(self, *arguments):
        calls.append(arguments)
        memory.clock.advance(5 * SECOND)
        return create(self, *arguments)

    monkeypatch.setattr(importing.Imports, "_new", slow)
    first = imported(memory, "crontab", text, source="web1")
    assert outcomes(first) == ["created"] * 4 + ["pending"] * 2
    assert not first["complete"]
    monkeypatch.undo()


def test_a_file_that_is_too_much_for_one_request_is_refused_whole(memory):
    many = "\n".join(f"0 2 * * * job-{number}" for number in range(importing.MAX_SCHEDULES + 1))
    assert "at a time" in send(memory, "crontab", many).json["detail"]
    assert send(memory, "crontab", "#" * (MAX_DOCUMENT_BYTES + 1)).status == 413
    wide = f"X={'x' * 15_000}\n" + "\n".join(f"0 2 * * * job-{number}" for number in range(400))
    assert send(memory, "crontab", wide, dry_run="true").status == 413
    long = f"X={'x' * 16_000}\nY={'x' * 16_000}\nZ={'x' * 16_000}\n0 2 * * * a"
    assert "the quota payload_bytes is 32,768" in imported(memory, "crontab", long)["refused"][0]["reason"]


def test_an_answer_full_of_refusals_has_its_bound_too(memory, monkeypatch):
    monkeypatch.setattr(importing, "MAX_ANSWER_BYTES", 1_000)
    assert send(memory, "crontab", "no job\n" * 50, dry_run="true").status == 413


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"form": "both"}, "form"),
        ({"timezone": "Mars/Olympus"}, "timezone"),
        ({"dry_run": "yes"}, "dry_run"),
        ({"existing": "drop"}, "existing"),
        ({"target": '{"handler": 5}'}, "target"),
        ({"target": "{"}, "target"),
        ({"sauce": "web1"}, "sauce"),
    ],
)
def test_a_query_that_is_wrong_is_refused_by_its_name(memory, query, field):
    answer = send(memory, "crontab", CRONTAB, **query)
    assert (answer.status, answer.fields) == (400, [field])


def test_a_target_that_may_not_be_called_refuses_each_job(memory):
    answer = imported(memory, "crontab", CRONTAB, target="http://10.0.0.1/x")
    assert [one["line"] for one in answer["refused"]] == [3, 4, 5]


def test_a_crontab_must_come_as_text(memory):
    answer = send(memory, "crontab", CRONTAB, "application/x-www-form-urlencoded")
    assert (answer.status, answer.fields) == (415, ["Content-Type"])


def test_an_empty_file_is_an_empty_import(memory):
    answer = imported(memory, "crontab", "")
    assert (answer["schedules"], answer["refused"], answer["counts"]["lines"]) == ([], [], 0)


# --- Kubernetes ------------------------------------------------------------------------------------------------


def test_manifests_are_imported_document_by_document(api):
    text = (
        f"# first\n---\n{CRONJOB}---\nkind: [broken\n---\napiVersion: v1\nkind: Secret\nmetadata: {{name: key}}\n---\n"
    )
    answer = imported(api, "kubernetes", text, "application/yaml")
    assert [(one["line"], one["outcome"]) for one in answer["schedules"]] == [(3, "created")]
    assert answer["schedules"][0]["trigger"] == {"cron": "0 2 * * *", "timezone": "Asia/Kolkata"}
    assert answer["schedules"][0]["labels"] == {"namespace": "web", "import": "kubernetes"}
    assert "line 13" in answer["refused"][0]["reason"] or "line 12" in answer["refused"][0]["reason"]
    assert answer["ignored"][0]["text"] == "Secret key"
    assert outcomes(imported(api, "kubernetes", text, "application/yaml")) == ["unchanged"]


def test_the_answer_of_kubectl_in_json_is_the_same(memory):
    (resource,), _ = yaml_reading.read(CRONJOB)
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": [resource]}, indent="\t")
    answer = imported(memory, "kubernetes", listed, "application/json")
    assert answer["schedules"][0]["id"] == imported(memory, "kubernetes", CRONJOB, "text/yaml")["schedules"][0]["id"]


def test_the_same_name_twice_in_a_file_is_refused_the_second_time(memory):
    answer = imported(memory, "kubernetes", f"{CRONJOB}---\n{CRONJOB}", "application/yaml")
    assert len(answer["schedules"]) == 1
    assert "line 1 has a job of the same name" in answer["refused"][0]["reason"]


def test_a_helm_template_is_refused_as_one(memory):
    text = CRONJOB.replace('"0 2 * * *"', "{{ .Values.schedule | quote }}").replace("report:1", "x")
    text += "{{- if .Values.enabled }}\n"
    answer = imported(memory, "kubernetes", text, "application/yaml")
    assert "helm template" in answer["refused"][0]["reason"]


def test_a_helm_template_without_control_lines_is_refused_as_one_too(memory):
    text = CRONJOB.replace('"0 2 * * *"', "{{ .Values.schedule }}")
    assert "helm template" in imported(memory, "kubernetes", text, "application/yaml")["refused"][0]["reason"]


def test_escapes_that_only_json_has_are_read(memory):
    (resource,), _ = yaml_reading.read(CRONJOB)
    resource["spec"]["jobTemplate"] = {"spec": {"note": "\U0001f600"}}
    answer = imported(memory, "kubernetes", json.dumps(resource), "application/json")
    assert answer["schedules"][0]["payload"]["jobTemplate"]["spec"]["note"] == "\U0001f600"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LAUGHS, "more than"),
        ("[" * 100 + "]" * 100, "nested deeper"),
        ("a: &a [*a]", "stands in"),
        ("a: !!python/object/apply:os.system ['true']", "no YAML that can be read"),
        ("a: !!binary aGVsbG8=", "the tag `tag:yaml.org,2002:binary` makes no value of JSON"),
        ("a: b\nc:\n  d: 1\n  e: 2\n  d: 3", "`d` stands twice in one mapping, in lines 3 and 5"),
        ("spec:\n  schedule: */5 * * * *", "put the schedule in quotes"),
        ("spec:\n  schedule: @daily", "put the schedule in quotes"),
        ("a: b: c", "no YAML that can be read"),
        ("\ta: b", "no YAML that can be read"),
        ("a: 'x", "no YAML that can be read"),
        ("a: \x00", "no YAML that can be read"),
    ],
)
def test_yaml_that_is_dangerous_or_none_is_refused(text, said):
    documents, refusals = yaml_reading.read(text)
    assert documents == []
    assert said in refusals[0].reason


def test_yaml_is_read_as_kubernetes_reads_it():
    text = (
        "base: &base {a: 1}\nmerged: {<<: *base, b: yes}\ndate: 2024-01-01\ntime: 12:30:45\noctal: 0o17\nmode: 0500\n"
        "int: -5\nfloat: 1.5\nnone: ~\nempty:\nword: y\n5: key\nblock: |\n  --- not a document\n  x\ninf: .inf\n"
    )
    (document,), refusals = yaml_reading.read(text)
    assert refusals == []
    assert document == {
        "base": {"a": 1},
        "merged": {"a": 1, "b": True},
        "date": "2024-01-01",
        "time": "12:30:45",
        "octal": "0o17",
        "mode": 0o500,
        "int": -5,
        "float": 1.5,
        "none": None,
        "empty": None,
        "word": "y",
        "5": "key",
        "block": "--- not a document\nx\n",
        "inf": ".inf",
    }


def test_an_escaped_single_quote_in_double_quotes_is_taken_as_kubectl_takes_it():
    text = r"""a: "-o=jsonpath=\'{.x}{\": \"}\'"
b: |
  it\'s "\'"
"""
    assert yaml_reading.read(text) == ([{"a": """-o=jsonpath='{.x}{": "}'""", "b": r"""it\'s "\'""" + '"\n'}], [])
    _, refusals = yaml_reading.read(r'a: "\q"')
    assert "unknown escape" in refusals[0].reason


def test_too_many_documents_are_refused_whole():
    with pytest.raises(Invalid, match="in parts"):
        yaml_reading.read("---\na: b\n" * (yaml_reading.MAX_DOCUMENTS + 1))


# --- EventBridge Scheduler -------------------------------------------------------------------------------------


def test_exports_are_imported_one_after_the_other_or_as_an_array(api):
    other = {**EXPORTED, "Name": "other", "ScheduleExpression": "rate(5 minutes)", "State": "DISABLED"}
    other.pop("ScheduleExpressionTimezone")
    summary = {"Name": "third", "GroupName": "default", "Target": {"Arn": LAMBDA}}
    text = json.dumps(EXPORTED, indent=2) + "\n" + json.dumps(other, indent=2) + json.dumps({"Schedules": [summary]})
    answer = imported(api, "eventbridge", text, "application/json")
    assert outcomes(answer) == ["created", "created"]
    assert [one["line"] for one in answer["schedules"]] == [2, 12]
    assert answer["schedules"][0]["trigger"]["cron"] == "cron(0 2 * * ? *)"
    assert answer["schedules"][1]["trigger"] == {"every": "5m", "anchor": "1970-01-01T00:00:00Z"}
    assert "get-schedule" in answer["refused"][0]["reason"]
    again = imported(api, "eventbridge", json.dumps([EXPORTED, other]), "application/json")
    assert outcomes(again) == ["unchanged", "unchanged"]

    counted = api.call("POST", "/v1/bulk/resume?dry_run=true", {"labels": {"import": "eventbridge"}}).json["counts"]
    assert (counted["matched"], counted["off"]) == (1, 1), "what was off in the old system stays off"
    body = {"labels": {"import": "eventbridge"}, "include_off": True}
    assert api.call("POST", "/v1/bulk/resume?dry_run=true", body).json["counts"]["matched"] == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is missing"),
        ("{", "is not JSON"),
        ('{"Name": "a", "Name": "b"}', "twice"),
        ('{"Name": 1e999}', "too large"),
        ('{"Name": "\\ud800"}', "surrogate"),
        ('{"Rules": []}', "rules of EventBridge"),
        ("[" * 100_000, "is nested deeper"),
    ],
)
def test_what_is_no_export_is_refused_whole(memory, text, said):
    answer = send(memory, "eventbridge", text, "application/json")
    assert answer.status == 400
    assert said in answer.json["detail"]


PIECES = (
    "apiVersion: batch/v1\n§kind: CronJob\n§metadata: {name: a}\n§spec:\n§  schedule: '* * * * *'\n§---\n§- §&a §*a"
    "§<<: §{§}§[§]§'§: §\t§\n§\x00§\ud800§é§!!map §? §|\n§# §* * * * * x§@daily y§CRON_TZ=UTC\n§TZ=x\n§{{ a }}"
    "§%§\\§@every 5m z§0 0 30 2 * q§\r\n"
    '§{"Name": "a"§"ScheduleExpression": "rate(1 day)"§"Target": {}§,§1e999§null§5§{"Schedules": ['
)


@pytest.mark.parametrize("kind", ["crontab", "kubernetes", "eventbridge"])
@hypothesis_settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=st.lists(st.sampled_from(PIECES.split("§")), max_size=25))
def test_whatever_comes_is_answered_and_never_an_error_of_ours(memory, kind, pieces):
    text = "".join(pieces).encode("utf-8", "surrogatepass")
    for target in ({}, {"target": "x.y"}):
        answer = send(memory, kind, text, "application/octet-stream", dry_run="true", **target)
        assert answer.status in (200, 400), answer.text


# --- in bulk ---------------------------------------------------------------------------------------------------


def test_bulk_resume_goes_on_from_request_to_request(memory):
    text = "\n".join(f"{minute} 2 * * * job-{minute}" for minute in range(7))
    imported(memory, "crontab", text, source="web1")
    imported(memory, "crontab", "0 2 * * * other", source="web2")
    body = {"labels": {"import": "web1"}, "limit": 3}
    resumed, cursor, rounds = [], None, 0
    while rounds == 0 or cursor:
        answer = memory.call("POST", "/v1/bulk/resume", body | ({"cursor": cursor} if cursor else {})).json
        assert len(answer["schedules"]) <= 3
        resumed += answer["schedules"]
        cursor, rounds = answer["cursor"], rounds + 1
    assert len(resumed) == len(set(resumed)) == 7
    held = memory.call("GET", "/v1/schedules?status=held").json["schedules"]
    assert [one["labels"]["import"] for one in held] == ["web2"]


def test_bulk_resume_must_be_told_which(memory):
    answer = memory.call("POST", "/v1/bulk/resume", {"labels": {}})
    assert (answer.status, answer.fields) == (400, ["labels"])
    assert memory.call("POST", "/v1/bulk/resume", {}).fields == ["filter"]
    assert memory.call("POST", "/v1/bulk/resume", {"labels": {"a": "b"}, "cursor": "x"}).status == 400


def test_one_that_cannot_be_resumed_costs_the_others_nothing(memory, monkeypatch):
    imported(memory, "crontab", "0 1 * * * a\n0 2 * * * b", source="web1")
    plain = Schedules.resume

    def failing(self, caller, schedule_id, **more):
        if schedule_id.startswith("a-"):
            raise Invalid("trigger", "has no time left")
        return plain(self, caller, schedule_id, **more)

    monkeypatch.setattr(Schedules, "resume", failing)
    answer = memory.call("POST", "/v1/bulk/resume", {"labels": {"import": "web1"}}).json
    assert (answer["counts"]["resumed"], answer["counts"]["failed"]) == (1, 1)
    assert "no time left" in answer["failed"][0]["reason"]


def test_a_refusal_that_is_not_of_the_trigger_names_its_field(memory):
    """`must be later than start_at`, of what?"""
    exported = {**EXPORTED, "StartDate": "2027-05-06T00:00:00Z", "EndDate": "2027-01-01T00:00:00Z"}
    answer = imported(memory, "eventbridge", json.dumps(exported), "application/json")
    assert answer["refused"][0]["reason"] == "end_at must be later than start_at"
    long = "0 1 * * * x\n".replace("x", "x" * 16_000)
    environment = "".join(f"V{n}={'y' * 16_000}\n" for n in range(3))
    assert imported(memory, "crontab", environment + long)["refused"][0]["reason"].startswith("payload has ")


def test_the_line_of_an_entry_is_found_however_its_name_is_written(memory):
    first, second = ({**EXPORTED, "Name": name} for name in ("caf\u00e9", "tea"))
    text = json.dumps([first, second], indent=1, ensure_ascii=False)
    escaped = json.dumps([first, second], indent=1)
    lines = [one["line"] for one in imported(memory, "eventbridge", text, "application/json")["schedules"]]
    assert lines == [3, text[: text.index("tea")].count("\n") + 1]
    answer = imported(memory, "eventbridge", escaped, "application/json")
    assert [one["line"] for one in answer["schedules"]] == lines
