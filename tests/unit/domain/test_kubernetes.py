"""CronJob manifests as candidates: what each field of theirs becomes, and what is said where it becomes nothing."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronfleet.domain import imported
from cronfleet.domain.kubernetes import _KNOWN, Options, as_here, read

REPORT = {
    "apiVersion": "batch/v1",
    "kind": "CronJob",
    "metadata": {"name": "report", "namespace": "web", "labels": {"app.kubernetes.io/name": "report", "n": 7}},
    "spec": {
        "schedule": "0 2 * * *",
        "timeZone": "Europe/Paris",
        "concurrencyPolicy": "Forbid",
        "startingDeadlineSeconds": 200,
        "jobTemplate": {
            "spec": {
                "backoffLimit": 2,
                "activeDeadlineSeconds": 600,
                "template": {"spec": {"containers": [{"name": "main", "image": "report:1", "args": ["--all"]}]}},
            }
        },
    },
}


def manifest(**spec):
    made = copy.deepcopy(REPORT)
    made["spec"] = {name: value for name, value in {**made["spec"], **spec}.items() if value != "absent"}
    return made


def one(resource, **options):
    sheet = read([resource], [], Options(**options))
    assert not sheet.refusals, sheet.refusals
    (candidate,) = sheet.candidates
    return candidate


def reason(resource):
    sheet = read([resource], [], Options())
    assert not sheet.candidates
    return sheet.refusals[0].reason


def test_a_cronjob_becomes_a_candidate_with_all_that_can_be_carried_over():
    candidate = one(REPORT)
    assert candidate.trigger == {"cron": "0 2 * * *", "timezone": "Europe/Paris"}
    assert candidate.policies == {
        "overlap": "skip",
        "misfire": {"policy": "skip", "grace_seconds": 200},
        "retry": {"max_attempts": 3, "backoff": {"kind": "exponential", "base_seconds": 10, "max_seconds": 360}},
        "timeout_seconds": 600,
    }
    assert candidate.payload["jobTemplate"] == REPORT["spec"]["jobTemplate"]
    assert candidate.labels == {"app.kubernetes.io/name": "report", "n": "7", "namespace": "web"}
    assert candidate.text == "CronJob web/report: 0 2 * * *"
    assert imported.schedule_id("kubernetes", "", candidate).startswith("web.report-")
    assert candidate.notes == ()


@pytest.mark.parametrize("version", ["batch/v1", "batch/v1beta1", "batch/v2alpha1"])
def test_the_older_forms_are_the_same(version):
    assert one({**REPORT, "apiVersion": version}).identity == ("web", "report")


def test_lists_are_looked_into_and_other_kinds_are_named():
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}}
    foreign = {**REPORT, "apiVersion": "example.com/v1"}
    listed = {"apiVersion": "v1", "kind": "List", "items": [service, REPORT, foreign]}
    sheet = read([listed, None], [], Options())
    assert len(sheet.candidates) == 1
    assert [one.text for one in sheet.ignored] == ["Service web", "CronJob web/report: 0 2 * * *"]
    assert (sheet.counts["documents"], sheet.counts["empty"], sheet.counts["resources"]) == (2, 1, 3)


# --- when ------------------------------------------------------------------------------------------------------


def test_the_zone_may_stand_in_the_schedule_and_only_once():
    for text in ("CRON_TZ=Asia/Tokyo 0 2 * * *", "TZ=Asia/Tokyo 0 2 * * *"):
        trigger = one(manifest(schedule=text, timeZone="absent")).trigger
        assert trigger == {"cron": "0 2 * * *", "timezone": "Asia/Tokyo"}
        assert "twice" in reason(manifest(schedule=text))


def test_without_a_zone_it_is_the_controller_s_which_is_said():
    sheet = read([manifest(timeZone="absent")], [], Options())
    assert sheet.candidates[0].trigger["timezone"] == "UTC"
    assert "controller manager" in sheet.notes[0]
    sheet = read([manifest(timeZone="absent")], [], Options(timezone="Asia/Tokyo"))
    assert sheet.candidates[0].trigger["timezone"] == "Asia/Tokyo"
    assert sheet.notes == ()


def test_every_is_an_interval():
    assert one(manifest(schedule="@every 1h30m")).trigger["every"] == "90m"
    assert one(manifest(schedule="@every 500ms")).trigger["every"] == "1s"
    assert "no duration" in reason(manifest(schedule="@every day"))


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ("0 2 * * *", "0 2 * * *"),
        ("*/5 * * * *", "*/5 * * * *"),
        ("0 2 ? * ?", "0 2 ? * ?"),
        ("? 2 * * 1", "* 2 * * 1"),
        ("0 0 */2 * 1", "0 0 1-31/2 * 1"),
        ("0 0 1 * */2", "0 0 1 * 0-6/2"),
        ("0 0 */2 * *", "0 0 */2 * *"),
        ("0 0 */1 * 1", "0 0 */1 * 1"),
        ("0 0 */10,5 * 1", "0 0 1-31/10,5 * 1"),
        ("0 0 5,*/10 * */2", "0 0 5,1-31/10 * 0-6/2"),
        ("0 0 1,* * 1", "0 0 * * 1"),
        ("0 0 1,? * */2", "0 0 * * */2"),
        ("0 0 */2,* * 1", "0 0 */2,* * 1"),
        ("@daily", "@daily"),
    ],
)
def test_a_day_field_with_a_step_counts_as_restricted_there_and_is_written_so_that_it_does_here(there, here):
    assert as_here(there)[0].split() == here.split() or as_here(there)[0] == there


def test_what_is_rewritten_is_said():
    candidate = one(manifest(schedule="0 0 */2 * 1"))
    assert candidate.trigger["cron"] == "0 0 1-31/2 * 1"
    assert "either day matches" in candidate.notes[0]


# --- how -------------------------------------------------------------------------------------------------------


def test_replace_cancels_the_other_run():
    assert one(manifest(concurrencyPolicy="Replace")).policies["overlap"] == "cancel_other"
    assert one(manifest(concurrencyPolicy="absent")).policies["overlap"] == "allow"


def test_a_suspend_that_is_no_truth_value_is_refused_and_not_taken_for_no():
    assert "neither true nor false" in reason(manifest(suspend="true"))


def test_what_is_suspended_is_marked_as_off():
    candidate = one(manifest(suspend=True))
    assert candidate.labels[imported.OFF_LABEL] == imported.OFF
    assert "suspended" in candidate.notes[0]


def test_limits_beyond_ours_are_bounded_and_said():
    made = manifest()
    made["spec"]["jobTemplate"]["spec"] |= {"backoffLimit": 99, "activeDeadlineSeconds": 86_400}
    candidate = one(made)
    assert candidate.policies["retry"]["max_attempts"] == 20
    assert candidate.policies["timeout_seconds"] == 840
    assert len(candidate.notes) == 2


def test_without_a_backoff_limit_the_controller_retries_six_times():
    made = manifest()
    del made["spec"]["jobTemplate"]["spec"]["backoffLimit"]
    assert one(made).policies["retry"]["max_attempts"] == 7


@pytest.mark.parametrize(
    ("resource", "said"),
    [
        (manifest(schedule="absent"), "has no spec.schedule"),
        (manifest(schedule=5), "put it in quotes"),
        (manifest(schedule="{{ .Values.schedule }}"), "template"),
        (manifest(schedule="${CRON}"), "template"),
        (manifest(schedule="$(CRON)"), "template"),
        (manifest(concurrencyPolicy="Never"), "Allow, Forbid or Replace"),
        (manifest(startingDeadlineSeconds="10"), "no whole number"),
        ({**REPORT, "metadata": {}}, "metadata.name"),
        ({**REPORT, "metadata": {"name": '{{ include "x.fullname" . }}'}}, "template"),
        ({**REPORT, "metadata": {"name": "report-${ENVIRONMENT}"}}, "`${ENVIRONMENT}` is to be filled in"),
        ({**REPORT, "metadata": {"name": "report", "namespace": "<YOUR_NAMESPACE>"}}, "<YOUR_NAMESPACE>"),
        ({**REPORT, "metadata": {"name": {"jobName": None}}}, "is it a template?"),
        ({**REPORT, "apiVersion": ""}, "apiVersion"),
        ({"metadata": {}}, "has no kind"),
        ("hello", "not a resource"),
        ({"kind": "Template", "apiVersion": "template.openshift.io/v1", "objects": [REPORT]}, "oc process"),
    ],
)
def test_what_cannot_become_a_schedule_is_refused_with_its_reason(resource, said):
    assert said in reason(resource)


def test_a_format_of_go_in_an_argument_is_no_template():
    made = manifest()
    made["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["args"] = [
        "--format={{.Names}}",
        '-o go-template=\'{{range .items}}{{index .metadata.labels "x"}}{{"\\n"}}{{end}}\'',
    ]
    assert one(made).payload["jobTemplate"]["spec"]["backoffLimit"] == 2


def test_unknown_fields_are_named():
    assert any("spec.shedule is not known" in note for note in one(manifest(shedule="0 1 * * *")).notes)


@pytest.mark.parametrize("part", ["<", "${", "$(", "%A", "__a", "@@a", "<%", "{{ "])
def test_a_long_text_that_opens_what_it_never_closes_is_read_in_one_pass(part):
    """In as many passes as it has characters, each of these would take minutes."""
    text = part * (400_000 // len(part))
    assert read([manifest(schedule=text)], [], Options()).counts["resources"] == 1
    assert read([{**REPORT, "spec": {**REPORT["spec"], "note": text}}], [], Options()).counts["resources"] == 1


_VALUES = st.none() | st.booleans() | st.integers(-1, 10**12) | st.floats(allow_nan=False) | st.text(max_size=8)
_ANYTHING = st.recursive(_VALUES, lambda one: st.lists(one, max_size=2) | st.dictionaries(st.text(max_size=4), one))


@given(
    path=st.sampled_from(
        ["kind", "apiVersion", "items", "metadata", "metadata.name", "metadata.namespace", "metadata.labels", "spec"]
        + [f"spec.{name}" for name in (*sorted(_KNOWN), "jobTemplate.spec", "jobTemplate.spec.backoffLimit")]
    ),
    value=_ANYTHING,
)
def test_whatever_stands_in_a_field_costs_no_more_than_its_resource(path, value):
    """A list as `kind` once cost the whole file."""
    made = copy.deepcopy(REPORT)
    *above, name = path.split(".")
    place = made
    for part in above:
        place = place.setdefault(part, {})
    place[name] = value
    sheet = read([made, REPORT], [], Options())
    assert any(candidate.trigger == one(REPORT).trigger for candidate in sheet.candidates)
