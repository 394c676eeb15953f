"""Executions and tasks on moto: started once, seen, stopped; and what the answers of their services mean."""

import json
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError

from cronfleet.adapters.targets.ecs_task import EcsTasks, overrides_of, request_of
from cronfleet.adapters.targets.ecs_task import seen_of as seen_task
from cronfleet.adapters.targets.executions import AllExecutions
from cronfleet.adapters.targets.step_functions import StepFunctions
from cronfleet.adapters.targets.step_functions import seen_of as seen_execution
from cronfleet.adapters.targets.tenant_roles import TenantRoles
from cronfleet.domain.attempt import Result
from cronfleet.domain.execution import execution_name
from cronfleet.domain.follow import Phase
from cronfleet.domain.run import Outcome
from cronfleet.domain.target import EcsTaskTarget, LaunchType, StepFunctionsTarget
from cronfleet.ports.executions import Unseen
from cronfleet.ports.target import Call
from tests.integration.targets.conftest import ACCOUNT, ROLE
from tests.support.calls import KEY, call

MACHINE = StepFunctionsTarget(f"arn:aws:states:us-east-1:{ACCOUNT}:stateMachine:billing", ROLE)
TASK = EcsTaskTarget(
    f"arn:aws:ecs:us-east-1:{ACCOUNT}:task-definition/billing",
    f"arn:aws:ecs:us-east-1:{ACCOUNT}:cluster/billing",
    "job",
    ROLE,
    subnets=("subnet-12345678",),
    security_groups=("sg-12345678",),
)
ENDED = datetime(2026, 12, 1, 2, 5, tzinfo=UTC)


def make_machine(kind: Any = "STANDARD") -> None:
    definition = {"StartAt": "Wait", "States": {"Wait": {"Type": "Wait", "Seconds": 600, "End": True}}}
    boto3.client("stepfunctions").create_state_machine(
        name="billing", definition=json.dumps(definition), roleArn=ROLE, type=kind
    )


def test_an_execution_is_started_once_under_the_attempts_name_with_the_envelope(roles: TenantRoles) -> None:
    make_machine()
    executions, one = AllExecutions(roles), call(MACHINE, {"day": 1})
    handle = executions.start(one)
    assert handle == executions.handle(one)
    assert executions.start(one) == handle
    client = boto3.client("stepfunctions")
    [execution] = client.list_executions(stateMachineArn=MACHINE.machine)["executions"]
    assert execution["name"] == execution_name(KEY.run_id, 1)
    told = json.loads(client.describe_execution(executionArn=str(handle))["input"])
    assert (told["run_id"], told["payload"]) == (KEY.run_id, {"day": 1})


def test_an_execution_goes_on_until_it_is_stopped_and_was_unknown_before(roles: TenantRoles) -> None:
    make_machine()
    executions, one = AllExecutions(roles), call(MACHINE)
    assert executions.look(one, "").phase is Phase.UNKNOWN
    handle = str(executions.start(one))
    assert executions.look(one, handle).phase is Phase.GOING
    executions.stop(one, handle, "enough")
    seen = executions.look(one, handle)
    assert (seen.phase, seen.result and seen.result.outcome) == (Phase.OVER, Outcome.FAILED)
    executions.stop(one, handle, "once more")


def test_an_express_workflow_is_refused_before_anything_is_started(roles: TenantRoles) -> None:
    make_machine("EXPRESS")
    result = AllExecutions(roles).start(call(MACHINE))
    assert isinstance(result, Result)
    assert not result.retryable
    assert "express" in str(result.error)


def test_an_input_that_is_too_large_fails_for_good(roles: TenantRoles) -> None:
    result = AllExecutions(roles).start(call(MACHINE, "x" * 256 * 1024))
    assert isinstance(result, Result)
    assert not result.retryable


def test_a_task_is_started_seen_and_stopped(roles: TenantRoles) -> None:
    ecs, ec2 = boto3.client("ecs"), boto3.client("ec2")
    ecs.create_cluster(clusterName="billing")
    ecs.register_task_definition(family="billing", containerDefinitions=[{"name": "job", "image": "job", "memory": 64}])
    subnet = ec2.describe_subnets()["Subnets"][0]["SubnetId"]
    target = EcsTaskTarget(TASK.definition, TASK.cluster, "job", ROLE, subnets=(subnet,))
    executions, one = AllExecutions(roles), call(target, {"day": 1})
    handle = str(executions.start(one))
    [task] = ecs.describe_tasks(cluster="billing", tasks=[handle])["tasks"]
    variables = task["overrides"]["containerOverrides"][0]["environment"]
    told = {one["name"]: one["value"] for one in variables}
    assert told["CRONFLEET_RUN_ID"] == KEY.run_id
    assert json.loads(told["CRONFLEET_RUN"])["payload"] == {"day": 1}
    executions.stop(one, handle, "enough")
    assert executions.look(one, handle).phase is Phase.OVER


# --- what answers mean, where no emulator gives them ------------------------------------------------------------


class Stubbed:
    """Roles whose every client answers as a script says."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def client(self, *_: Any, **__: Any) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        def answer(**asked: Any) -> Any:
            self.asked.append((name, asked))
            found = self.answers[name]
            if isinstance(found, Exception):
                raise found
            return found

        return answer


def refusal(code: str, **said: Any) -> ClientError:
    metadata: Any = {"HTTPStatusCode": 400}
    return ClientError({"Error": {"Code": code, "Message": "no"}, "ResponseMetadata": metadata, **said}, "Start")


def starts(error: Exception) -> str | Result:
    stub: Any = Stubbed(describe_state_machine={"type": "STANDARD"}, start_execution=error)
    return StepFunctions(stub).start(call(MACHINE))


def test_a_name_that_is_taken_is_the_execution_that_is_there() -> None:
    handle = starts(refusal("ExecutionAlreadyExists"))
    assert str(handle).endswith(f":execution:billing:{execution_name(KEY.run_id, 1)}")


@pytest.mark.parametrize(
    "error", [refusal("ThrottlingException"), ConnectTimeoutError(endpoint_url="states")], ids=["throttled", "silent"]
)
def test_a_start_without_an_answer_is_not_known_to_have_failed(error: Exception) -> None:
    with pytest.raises(Unseen):
        starts(error)


@pytest.mark.parametrize(
    ("code", "retryable"),
    [("AccessDeniedException", True), ("StateMachineDoesNotExist", True), ("InvalidExecutionInput", False)],
)
def test_a_start_that_was_refused_says_whether_it_may_do_better(code: str, retryable: bool) -> None:
    result = starts(refusal(code))
    assert isinstance(result, Result)
    assert (result.outcome, result.retryable) == (Outcome.FAILED, retryable)


def test_a_look_that_is_denied_says_nothing_of_the_execution() -> None:
    stub: Any = Stubbed(describe_execution=refusal("AccessDeniedException"))
    with pytest.raises(Unseen, match="AccessDenied"):
        StepFunctions(stub).look(call(MACHINE), "arn")


@pytest.mark.parametrize(
    ("status", "outcome", "error"),
    [
        ("SUCCEEDED", Outcome.SUCCEEDED, None),
        ("FAILED", Outcome.FAILED, "failed: Billing.No: no money"),
        ("TIMED_OUT", Outcome.TIMED_OUT, "timed_out: Billing.No: no money"),
        ("ABORTED", Outcome.FAILED, "aborted: Billing.No: no money"),
    ],
)
def test_an_executions_end_is_the_attempts(status: str, outcome: Outcome, error: str | None) -> None:
    said = {"output": '{"paid": 3}'} if error is None else {"error": "Billing.No", "cause": "no money"}
    seen = seen_execution({"status": status, "stopDate": ENDED, **said})
    assert seen.result is not None
    assert (seen.result.outcome, seen.result.error) == (outcome, error)
    assert seen.ended_at == int(ENDED.timestamp() * 1000)
    assert seen.said == (('{"paid": 3}',) if error is None else ("Billing.No", "no money"))


def test_a_task_is_asked_for_under_a_token_that_is_the_attempts() -> None:
    first, second = (request_of(one, TASK, overrides_of(one, TASK)) for one in (call(TASK), call(TASK)))
    assert first == second, "a start that is repeated is the same request"
    assert first["clientToken"] == execution_name(KEY.run_id, 1)
    assert len(first["clientToken"]) <= 64
    assert first["launchType"] == "FARGATE"
    network = first["networkConfiguration"]["awsvpcConfiguration"]
    assert network["assignPublicIp"] == "DISABLED"
    spot = EcsTaskTarget(TASK.definition, TASK.cluster, "job", ROLE, LaunchType.FARGATE_SPOT, ("subnet-12345678",))
    asked = request_of(call(spot), spot, overrides_of(call(spot), spot))
    assert "launchType" not in asked
    assert asked["capacityProviderStrategy"] == [{"capacityProvider": "FARGATE_SPOT"}]


def starts_task(answer: Any, payload: Any = None) -> str | Result:
    stub: Any = Stubbed(run_task=answer)
    return EcsTasks(stub).start(call(TASK, payload))


def test_a_token_that_is_taken_is_the_task_that_is_there() -> None:
    assert starts_task(refusal("ConflictException", resourceIds=["arn:task"])) == "arn:task"
    with pytest.raises(Unseen):
        starts_task(refusal("ConflictException"))


def test_a_task_that_finds_no_place_has_failed_and_may_find_one_next_time() -> None:
    result = starts_task({"tasks": [], "failures": [{"reason": "RESOURCE:MEMORY"}]})
    assert isinstance(result, Result)
    assert result.retryable
    assert "RESOURCE:MEMORY" in str(result.error)


def test_a_payload_that_does_not_fit_into_overrides_fails_for_good() -> None:
    result = starts_task({}, "x" * 8192)
    assert isinstance(result, Result)
    assert not result.retryable


def task(code: int | None, **said: Any) -> dict[str, Any]:
    beside = {"name": "proxy", "exitCode": 143}
    return {
        "lastStatus": "STOPPED",
        "stoppedAt": ENDED,
        "containers": [{"name": "job", "exitCode": code}, beside],
        **said,
    }


@pytest.mark.parametrize(
    ("stopped", "outcome", "word"),
    [
        (task(0, stopCode="EssentialContainerExited"), Outcome.SUCCEEDED, None),
        (task(3, stopCode="EssentialContainerExited"), Outcome.FAILED, "exit code 3"),
        (
            task(None, stopCode="TaskFailedToStart", stoppedReason="CannotPullContainerError"),
            Outcome.FAILED,
            "CannotPull",
        ),
        (task(0, stopCode="UserInitiated", stoppedReason="cronfleet stopped it"), Outcome.FAILED, "UserInitiated"),
        (task(0, stopCode="SpotInterruption"), Outcome.FAILED, "SpotInterruption"),
    ],
    ids=["done", "failed", "not started", "told to stop", "reclaimed"],
)
def test_a_task_succeeds_when_its_own_container_ended_by_itself_with_0(
    stopped: dict[str, Any], outcome: Outcome, word: str | None
) -> None:
    seen = seen_task(stopped, "job")
    assert seen.result is not None
    assert seen.result.outcome is outcome
    assert word is None or word in str(seen.result.error)
    assert "proxy: exit code 143" in seen.said


def test_a_task_that_was_never_heard_of_is_looked_for_by_its_name() -> None:
    running = {"lastStatus": "RUNNING", "taskArn": "arn:task"}
    stub: Any = Stubbed(list_tasks={"taskArns": ["arn:task"]}, describe_tasks={"tasks": [running]})
    one: Call = call(TASK)
    seen = EcsTasks(stub).look(one, "")
    assert (seen.phase, seen.handle) == (Phase.GOING, "arn:task")
    assert stub.asked[0][1]["startedBy"] == execution_name(KEY.run_id, 1)
    empty: Any = Stubbed(list_tasks={"taskArns": []})
    assert EcsTasks(empty).look(one, "").phase is Phase.UNKNOWN


def test_a_task_that_was_never_heard_of_and_has_stopped_is_found_among_those_of_its_family() -> None:
    one: Call = call(TASK)
    name = execution_name(KEY.run_id, 1)
    others = [task(0, taskArn="arn:other", startedBy="other"), task(0, taskArn="arn:task", startedBy=name)]

    class Stopped(Stubbed):
        def list_tasks(self, **asked: Any) -> Any:
            return {"taskArns": [] if "startedBy" in asked else ["arn:other", "arn:task"]}

    stub: Any = Stopped(describe_tasks={"tasks": others})
    seen = EcsTasks(stub).look(one, "")
    assert (seen.phase, seen.handle) == (Phase.OVER, "arn:task")
