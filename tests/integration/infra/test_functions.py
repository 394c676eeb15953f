"""The functions as CloudFormation gets them: settings, sizes, and no right more than they need."""

import json
import sys
from typing import Any

import pytest

from cronfleet import settings
from infra.config.identity import OIDC
from tests.integration.infra.assembly import Assembly, as_list

WORKERS = ("worker-standard", "worker-priority", "worker-backfill")
FUNCTIONS = ("api", "authorizer", "clerk", "dead_letters", "dispatcher", "sweeper", "ticker", *WORKERS)
ERASES = {"dynamodb:BatchWriteItem"}
READS = {"dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query"}
WRITES = {"dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:ConditionCheckItem"}
ROLES = (settings.INSTALLATION, settings.TRUST_IS_ENFORCED)
SENDS = (settings.TRACES, settings.TRACE_RATIO)
ENDS = (*SENDS, settings.LATE_SECONDS, settings.LOG_SUCCESS_RATIO, settings.LOG_DETAILS)
NEEDS = {
    "ticker": {settings.TICK_QUEUE_URL},
    "dead_letters": {settings.EVENT_BUS},
    "clerk": {settings.WEBHOOK_ALLOWED_NETWORKS, settings.EMAIL_SENDER, settings.EVENT_BUS, *ROLES, *ENDS},
    "dispatcher": {settings.CLAIMS, settings.RUN_QUEUE_URLS, settings.ERRAND_QUEUE_URL, settings.EVENT_BUS, *SENDS},
    "sweeper": {settings.CLAIMS, settings.RUN_QUEUE_URLS, settings.ERRAND_QUEUE_URL, settings.EVENT_BUS, *SENDS},
    "api": {
        *(settings.EVENT_BUS, settings.WEBHOOK_ALLOWED_NETWORKS),
        *(settings.INSTALLATION, settings.TARGET_CALLERS, settings.LONG_WORKERS),
        *SENDS,
    },
    "authorizer": {settings.EDGE_SECRET, *(setting for setting, _ in OIDC.values())},
    **{
        worker: {settings.RUN_QUEUE_URLS, settings.WEBHOOK_ALLOWED_NETWORKS, settings.EVENT_BUS, *ROLES, *ENDS}
        for worker in WORKERS
    },
}


def variables(assembly: Assembly, function: str) -> dict[str, Any]:
    return assembly.functions()[function]["Environment"]["Variables"]


def test_there_is_one_function_for_each_part_and_a_worker_for_each_tier(on_aws: Assembly) -> None:
    assert set(on_aws.functions()) == set(FUNCTIONS)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_gets_the_settings_it_reads_and_no_others(on_aws: Assembly, function: str) -> None:
    ours = {name for name in variables(on_aws, function) if name.startswith("CRONFLEET_")}
    assert ours == {settings.TABLE_PREFIX, settings.SHARDS, settings.STANDBY} | NEEDS[function]


def test_all_settings_there_are_reach_some_function_of_some_installation(
    assemblies: dict[str, Assembly],
) -> None:
    known = {value for value in vars(settings).values() if str(value).startswith("CRONFLEET_")}
    given = {
        name
        for one in ("prod", "everything", "local")
        for function in FUNCTIONS
        for name in variables(assemblies[one], function)
    }
    assert known <= given


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_settings_can_be_read_once_cloudformation_has_filled_in_the_addresses(
    on_aws: Assembly, function: str
) -> None:
    filled = {name: _filled(value) for name, value in variables(on_aws, function).items()}
    read = settings.from_environment(environment=filled)
    assert read.table_prefix == "cronfleet"
    assert read.shards == settings.DEFAULT_SHARDS
    if settings.RUN_QUEUE_URLS in NEEDS[function]:
        names = {queue: url.rpartition("/")[2] for queue, url in (read.run_queue_urls or {}).items()}
        assert names in (
            {queue: f"cronfleet-runs-{queue}" for queue in settings.RUN_QUEUES},
            # Where the queue lies in the function's own stack.
            dict.fromkeys(settings.RUN_QUEUES, "address"),
        )


@pytest.mark.parametrize("function", FUNCTIONS)
def test_zones_come_from_the_pinned_package_and_metrics_bear_the_name_of_the_part(
    on_aws: Assembly, function: str
) -> None:
    given = variables(on_aws, function)
    assert given["PYTHONTZPATH"] == ""
    assert given["POWERTOOLS_SERVICE_NAME"] == function.partition("-")[0]
    assert given["POWERTOOLS_METRICS_NAMESPACE"] == "Cronfleet"


def test_every_function_has_a_role_and_a_log_group_of_its_own_with_an_end_to_its_logs(on_aws: Assembly) -> None:
    functions = on_aws.functions().values()
    roles = {function["Role"]["Fn::GetAtt"][0] for function in functions}
    groups = {function["LoggingConfig"]["LogGroup"]["Ref"] for function in functions}
    assert len(roles) == len(groups) == len(FUNCTIONS)
    for group in on_aws.of_type("AWS::Logs::LogGroup").values():
        assert group["Properties"]["RetentionInDays"] > 0


def test_beside_the_leases_the_api_writes_nothing_but_messages_that_nobody_can_read(on_aws: Assembly) -> None:
    writes = [
        one
        for one in on_aws.statements("api")
        if "/cronfleet-shards" in json.dumps(one["Resource"]) and set(as_list(one["Action"])) & WRITES
    ]
    assert [(one["Action"], one["Condition"]) for one in writes] == [
        # A hold shuts a lease; whatever else stands in a shard's partition is put, and never updated.
        ("dynamodb:UpdateItem", {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["SHARD#*"]}}),
        ("dynamodb:PutItem", {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["UNREADABLE"]}}),
    ]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_nobody_may_change_or_remove_what_the_audit_says_but_the_sweeper_of_deleted_tenants(
    on_aws: Assembly, function: str
) -> None:
    on_audit = [item for item in on_aws.statements(function) if "/cronfleet-audit" in json.dumps(item["Resource"])]
    allowed = {"dynamodb:PutItem", *(READS if function == "api" else ())}
    allowed |= ERASES | {"dynamodb:Query", "dynamodb:BatchGetItem"} if function == "sweeper" else set()
    assert all(set(as_list(item["Action"])) <= allowed for item in on_audit)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_whoever_writes_entries_moves_the_ends_of_their_chains_on_and_the_sweeper_alone_marks_them(
    on_aws: Assembly, function: str
) -> None:
    def may(table: str) -> set[str]:
        found = [item for item in on_aws.statements(function) if f"/cronfleet-{table}" in json.dumps(item["Resource"])]
        return {action for item in found for action in as_list(item["Action"])}

    writes = "dynamodb:PutItem"
    # Those that end runs may have to pause a schedule whose runs die in a row.
    writers = ("api", "clerk", "dispatcher", "sweeper", "dead_letters", *WORKERS)
    assert (writes in may("chains")) == (writes in may("audit")) == (function in writers)
    assert ("dynamodb:UpdateItem" in may("chains")) == (function == "sweeper")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_whoever_tells_may_put_events_on_the_installations_own_bus_alone(on_aws: Assembly, function: str) -> None:
    told = [item["Resource"] for item in on_aws.statements(function) if "events:PutEvents" in as_list(item["Action"])]
    assert bool(told) == (settings.EVENT_BUS in NEEDS[function])
    assert all(":event-bus/cronfleet-events" in json.dumps(resource) for resource in told)
    assert {bus["Properties"]["Name"] for bus in on_aws.of_type("AWS::Events::EventBus").values()} == {
        "cronfleet-events"
    }


def test_a_worker_receives_runs_of_its_own_tier_and_sends_back_to_no_other_queue(on_aws: Assembly) -> None:
    for worker in WORKERS:
        queue_arns = [
            item["Resource"]["Fn::GetAtt"][0]
            for item in on_aws.statements(worker)
            if {"sqs:ReceiveMessage", "sqs:SendMessage"} & set(as_list(item["Action"]))
        ]
        tier = worker.removeprefix("worker-").capitalize()
        assert len(queue_arns) == 2
        assert all(logical_id.startswith(f"RunQueues{tier}Queue") for logical_id in queue_arns)


def test_ticker_and_sweeper_are_invoked_every_minute_each_by_a_role_that_can_do_only_that(on_aws: Assembly) -> None:
    schedules = on_aws.of_type("AWS::Scheduler::Schedule").values()
    invoked = {}
    for schedule in schedules:
        target = schedule["Properties"]["Target"]
        assert schedule["Properties"]["ScheduleExpression"] == "rate(1 minute)"
        invoked[schedule["Properties"]["Name"]] = target["RoleArn"]["Fn::GetAtt"][0]
        [statement] = on_aws._statements_of(invoked[schedule["Properties"]["Name"]])
        assert statement["Action"] == "lambda:InvokeFunction"
        assert statement["Resource"] == target["Arn"]
    assert set(invoked) == {"cronfleet-ticker", "cronfleet-sweeper"}
    assert len(set(invoked.values())) == 2


def test_a_minute_that_was_missed_is_not_made_up_for(on_aws: Assembly) -> None:
    invocations = on_aws.of_type("AWS::Lambda::EventInvokeConfig").values()
    assert [item["Properties"]["MaximumRetryAttempts"] for item in invocations] == [0, 0]


def test_the_local_stack_runs_this_machines_python_with_two_shards_and_may_call_this_machine(
    on_this_machine: Assembly,
) -> None:
    runtimes = {function["Runtime"] for function in on_this_machine.functions().values()}
    assert runtimes == {f"python3.{sys.version_info.minor}"}
    assert variables(on_this_machine, "ticker")[settings.SHARDS] == "2"
    assert "127.0.0.0/8" in variables(on_this_machine, "worker-standard")[settings.WEBHOOK_ALLOWED_NETWORKS]


def _filled(value: Any) -> str:
    """A variable's value as the function will see it, every reference replaced by the word `address`."""
    if isinstance(value, str):
        return value
    joined = value.get("Fn::Join")
    return "".join(_filled(part) for part in joined[1]) if joined else "address"


def test_the_roles_that_assume_tenants_roles_keep_their_names_and_none_is_named_as_a_tenants_is(
    on_aws: Assembly,
) -> None:
    callers = {
        function: json.dumps(role["Properties"]["RoleName"])
        for function, role in ((name, on_aws.role_of(name)) for name in ("clerk", *WORKERS))
    }
    shown = json.dumps(variables(on_aws, "api")[settings.TARGET_CALLERS])
    for function, name in callers.items():
        assert f"cronfleet-{function}-" in name
        assert f"role/cronfleet-{function}-" in shown, "tenants are told of every caller"
    assert not any("cronfleet-target-" in name for name in callers.values())
    others = {json.dumps(one["Properties"].get("RoleName")) for one in on_aws.of_type("AWS::IAM::Role").values()}
    assert not any("cronfleet-target-" in name for name in others)


def test_mail_is_sent_as_nobody_but_the_sender_that_the_installation_names(with_everything: Assembly) -> None:
    [mail] = [one for one in with_everything.statements("clerk") if one["Action"] == "ses:SendEmail"]
    assert mail["Condition"] == {"StringEquals": {"ses:FromAddress": "alerts@example.com"}}
