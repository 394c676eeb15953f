"""Exports of EventBridge Scheduler as candidates."""

import pytest

from cronfleet.domain import imported
from cronfleet.domain.errors import Invalid
from cronfleet.domain.eventbridge import Options, entries_of, read
from cronfleet.domain.trigger import OneShotTrigger, parse_trigger

LAMBDA = "arn:aws:lambda:eu-west-1:123456789012:function:cronfleet-target-report"
OTHER = "arn:aws:sqs:eu-west-1:123456789012:reports"
REPORT = {
    "ActionAfterCompletion": "NONE",
    "Arn": "arn:aws:scheduler:eu-west-1:123456789012:schedule/billing/report",
    "CreationDate": "2025-03-01T10:20:30.123000+00:00",
    "Description": "Reports for billing",
    "EndDate": "2030-01-01T00:00:00+00:00",
    "FlexibleTimeWindow": {"MaximumWindowInMinutes": 15, "Mode": "FLEXIBLE"},
    "GroupName": "billing",
    "Name": "report",
    "ScheduleExpression": "cron(15 2 ? * MON-FRI *)",
    "ScheduleExpressionTimezone": "Europe/Paris",
    "State": "ENABLED",
    "Target": {
        "Arn": LAMBDA,
        "Input": '{"all": true}',
        "RetryPolicy": {"MaximumEventAgeInSeconds": 3600, "MaximumRetryAttempts": 4},
        "RoleArn": "arn:aws:iam::123456789012:role/scheduler",
    },
}


def one(has_target=False, target=None, **changes):
    entry = {**REPORT, **changes, "Target": {**REPORT["Target"], **(target or {})}}
    sheet = read([(1, {name: value for name, value in entry.items() if value is not None})], Options(has_target))
    assert not sheet.refusals, sheet.refusals
    return sheet.candidates[0]


def reason(entry):
    return read([(7, entry)], Options()).refusals[0].reason


def test_a_schedule_becomes_a_candidate_with_all_that_can_be_carried_over():
    candidate = one()
    assert candidate.trigger == {"cron": "cron(15 2 ? * MON-FRI *)", "timezone": "Europe/Paris"}
    assert candidate.target == {"lambda": LAMBDA}
    assert candidate.payload == {"all": True}
    assert candidate.policies["jitter_seconds"] == 900
    assert candidate.policies["retry"]["max_attempts"] == 5
    assert candidate.policies["misfire"] == {"policy": "skip", "grace_seconds": 3600}
    assert (candidate.start_at, candidate.end_at) == (None, "2030-01-01T00:00:00+00:00")
    assert candidate.labels == {"group": "billing"}
    assert imported.schedule_id("eventbridge", "", candidate).startswith("billing.report-")
    assert parse_trigger(candidate.trigger, 0)


def test_a_summary_of_list_schedules_is_refused_with_the_command_that_exports_it():
    summary = {"Name": "report", "GroupName": "billing", "State": "ENABLED", "Target": {"Arn": LAMBDA}}
    assert "get-schedule --group-name billing --name report" in reason(summary)


def test_a_target_that_is_not_called_from_here_becomes_the_payload_of_the_import_s_own():
    candidate = one(has_target=True, target={"Arn": OTHER, "Input": "plain text"})
    assert candidate.target is None
    assert candidate.payload["input"] == "plain text"
    assert candidate.payload["target"]["Arn"] == OTHER
    assert OTHER in reason({**REPORT, "Target": {"Arn": OTHER}})
    assert "cronfleet-target-" in reason({**REPORT, "Target": {"Arn": LAMBDA.replace("cronfleet-target-", "")}})


def test_a_rate_counts_from_its_start_or_its_creation():
    assert one(ScheduleExpression="rate(5 minutes)").trigger["anchor"] == REPORT["CreationDate"]
    started = one(ScheduleExpression="rate(5 minutes)", StartDate=1_767_225_600)
    assert started.trigger["anchor"] == started.start_at == "2026-01-01T00:00:00Z"
    assert one(ScheduleExpression="rate(5 minutes)", CreationDate=None).trigger["anchor"] == "1970-01-01T00:00:00Z"


def test_a_one_time_schedule_has_no_bounds_as_aws_ignores_them():
    candidate = one(ScheduleExpression="at(2030-06-01T10:00:00)")
    assert candidate.end_at is None
    assert isinstance(parse_trigger(candidate.trigger, 0), OneShotTrigger)


def test_what_is_disabled_is_marked_as_off():
    assert one(State="DISABLED").labels[imported.OFF_LABEL] == imported.OFF


def test_what_cannot_be_carried_over_is_said():
    notes = one(
        State="DISABLED",
        ActionAfterCompletion="DELETE",
        KmsKeyArn="arn:aws:kms:eu-west-1:123456789012:key/1",
        target={
            "RetryPolicy": {"MaximumRetryAttempts": 185},
            "DeadLetterConfig": {"Arn": OTHER},
            "Input": '{"at": "<aws.scheduler.scheduled-time>"}',
        },
    ).notes
    for said in ("185", "disabled", OTHER, "aws.scheduler", "DELETE", "KmsKeyArn"):
        assert any(said in note for note in notes), said


@pytest.mark.parametrize("given", ["{broken", '{"a": NaN}', '{"a": 1e999}', '"\\ud800"'])
def test_an_input_that_is_no_json_stays_text(given):
    assert one(target={"Input": given}).payload == given


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"ScheduleExpression": "rate(1 day)"}, "has no Name"),
        ({**REPORT, "Target": {"Arn": LAMBDA, "RetryPolicy": {"MaximumRetryAttempts": "4"}}}, "no whole number"),
        ({**REPORT, "StartDate": True}, "no time"),
        ({**REPORT, "State": "PAUSED"}, "ENABLED or DISABLED"),
        ({**REPORT, "ScheduleExpression": "0 9 * * *"}, "none of cron(…), rate(…) and at(…)"),
        ({**REPORT, "ScheduleExpression": 5}, "none of cron(…), rate(…) and at(…)"),
        ({**REPORT, "StartDate": 1e300}, "no time"),
        (5, "has no Name"),
    ],
)
def test_what_cannot_become_a_schedule_is_refused_with_its_reason(entry, said):
    assert said in reason(entry)


def test_the_answers_of_the_cli_are_looked_into():
    assert entries_of({"Schedules": [REPORT], "NextToken": "x"}) == (
        [REPORT],
        ("the list goes on: it ends with a NextToken",),
    )
    assert entries_of([REPORT, {"Schedules": [REPORT]}])[0] == [REPORT, REPORT]
    for document, said in (
        ({"Rules": []}, "rules"),
        ({"a": 1}, "neither"),
        (5, "as JSON"),
        ({"Schedules": 5}, "array"),
    ):
        with pytest.raises(Invalid, match=said):
            entries_of(document)


ROLE = "arn:aws:iam::123456789012:role/cronfleet-target-reports"
MACHINE = "arn:aws:states:eu-west-1:123456789012:stateMachine:reports"
BUS = "arn:aws:events:eu-west-1:123456789012:event-bus/default"
CLUSTER = "arn:aws:ecs:eu-west-1:123456789012:cluster/reports"
TASK = {
    "TaskDefinitionArn": "arn:aws:ecs:eu-west-1:123456789012:task-definition/reports",
    "LaunchType": "FARGATE",
    "NetworkConfiguration": {"awsvpcConfiguration": {"Subnets": ["subnet-12345678"], "AssignPublicIp": "ENABLED"}},
}


def called(arn, *, role=None, **target):
    entry = {**REPORT, "Target": {**REPORT["Target"], "Arn": arn, **target}}
    return read([(1, entry)], Options(role=role))


@pytest.mark.parametrize(
    ("arn", "kind"),
    [
        (OTHER, "sqs"),
        ("arn:aws:sns:eu-west-1:123456789012:reports", "sns"),
        (BUS, "event_bus"),
        (MACHINE, "state_machine"),
    ],
)
def test_what_has_an_arn_is_called_as_the_files_own_role_if_that_is_named_so_or_as_the_imports(arn, kind):
    (own,) = called(arn, RoleArn=ROLE).candidates
    (named,) = called(arn, role=ROLE).candidates
    assert own.target == named.target == {kind: arn, "role": ROLE}
    assert own.payload == {"all": True}
    assert any("envelope" in note for note in own.notes)


def test_an_event_keeps_its_source_and_its_type():
    said = {"Source": "acme.reports", "DetailType": "Report"}
    (candidate,) = called(BUS, role=ROLE, EventBridgeParameters=said).candidates
    assert candidate.target == {"event_bus": BUS, "source": "acme.reports", "detail_type": "Report", "role": ROLE}


def test_a_task_is_taken_over_where_its_overrides_name_the_container():
    overrides = '{"containerOverrides": [{"name": "job", "command": ["report"]}]}'
    (candidate,) = called(CLUSTER, role=ROLE, EcsParameters=TASK, Input=overrides).candidates
    assert candidate.target["container"] == "job"
    assert candidate.target["ecs_task"] == TASK["TaskDefinitionArn"]
    assert (candidate.target["subnets"], candidate.target["public_ip"]) == (["subnet-12345678"], True)
    assert any("CRONFLEET_RUN" in note for note in candidate.notes)
    assert called(CLUSTER, role=ROLE, EcsParameters=TASK).refusals


def test_without_a_role_that_may_be_assumed_the_refusal_says_what_to_name():
    (refusal,) = called(OTHER).refusals
    assert "or a role named cronfleet-target-" in refusal.reason
    assert "role" not in called("arn:aws:kinesis:eu-west-1:123456789012:stream/x").refusals[0].reason
