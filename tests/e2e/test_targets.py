"""Runs that go elsewhere, on the deployed product: a message, an execution, a task, each as a role of the tenant's."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from local.aws import Aws
from tests.e2e.conftest import NEVER, PATIENCE_SECONDS, Caller

pytestmark = pytest.mark.e2e

ACCOUNT = "000000000000"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/cronfleet-target-e2e"
LOOK_SECONDS = 1


class Elsewhere:
    """The tenant's account, which on the emulator is the installation's own."""

    def __init__(self, endpoint: str) -> None:
        aws = Aws(endpoint)
        self.sqs, self.states, self.ecs = aws.client("sqs"), aws.client("stepfunctions"), aws.client("ecs")
        trust = {"Version": "2012-10-17", "Statement": []}
        aws.client("iam").create_role(RoleName=ROLE.rpartition("/")[2], AssumeRolePolicyDocument=json.dumps(trust))
        self.queue = self.sqs.create_queue(QueueName="e2e-billing")["QueueUrl"]

    def machine(self, name: str, **state: Any) -> str:
        definition = {"StartAt": "Only", "States": {"Only": {**state}}}
        made = self.states.create_state_machine(name=name, definition=json.dumps(definition), roleArn=ROLE)
        return str(made["stateMachineArn"])

    def task(self) -> dict[str, Any]:
        cluster = self.ecs.create_cluster(clusterName="e2e")["cluster"]["clusterArn"]
        container = {"name": "job", "image": "busybox", "memory": 64}
        made = self.ecs.register_task_definition(family="e2e", containerDefinitions=[container])
        arn = made["taskDefinition"]["taskDefinitionArn"]
        return {"ecs_task": arn, "cluster": cluster, "container": "job", "subnets": ["subnet-12345678"]}


@pytest.fixture(scope="module")
def elsewhere(stack: Any) -> Elsewhere:
    return Elsewhere(stack.facts["emulator"])


def begin(api: Caller, name: str, target: dict[str, Any], **policies: Any) -> str:
    """Register a schedule with that target, and run it now: the run's id."""
    retry = {"max_attempts": 1}
    api.put(
        name, trigger=NEVER, target={**target, "role": ROLE}, payload={"day": 1}, policies={"retry": retry, **policies}
    )
    ran = api.ask("POST", f"/v1/schedules/{name}/run", {})
    assert ran.status == 201, ran
    return str(ran.body["run_id"])


def until(api: Caller, run_id: str, enough: Callable[[Any], bool]) -> Any:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not enough(run := api.ask("GET", f"/v1/runs/{run_id}").body):
        assert time.monotonic() < deadline, run
        time.sleep(LOOK_SECONDS)
    return run


def goes_on(run: Any) -> bool:
    return run["status"] == "running" and bool(run["attempts"] and run["attempts"][-1]["execution"])


def is_over(run: Any) -> bool:
    return run["status"] in ("succeeded", "dead", "cancelled")


def test_a_run_is_a_message_an_execution_or_a_task_and_ends_as_that_does(api: Caller, elsewhere: Elsewhere) -> None:
    at = f"us-east-1:{ACCOUNT}"
    sent = begin(api, "sent", {"sqs": f"arn:aws:sqs:{at}:e2e-billing"})
    done = begin(
        api, "done", {"state_machine": elsewhere.machine("e2e-done", Type="Pass", Result={"paid": 3}, End=True)}
    )
    fails = begin(api, "fails", {"state_machine": elsewhere.machine("e2e-fails", Type="Fail", Error="Billing.No")})
    slow = begin(
        api,
        "slow",
        {"state_machine": elsewhere.machine("e2e-slow", Type="Wait", Seconds=3600, End=True)},
        timeout_seconds=7200,
    )
    late = begin(api, "late", elsewhere.task(), timeout_seconds=5)

    assert until(api, sent, is_over)["status"] == "succeeded"
    [message] = elsewhere.sqs.receive_message(QueueUrl=elsewhere.queue, WaitTimeSeconds=5)["Messages"]
    assert (json.loads(message["Body"])["run_id"], json.loads(message["Body"])["payload"]) == (sent, {"day": 1})

    execution = until(api, slow, goes_on)["attempts"][0]["execution"]["handle"]
    assert api.ask("POST", f"/v1/runs/{slow}/cancel", {"reason": "enough"}).status == 202
    assert until(api, slow, is_over)["status"] == "cancelled"
    assert elsewhere.states.describe_execution(executionArn=execution)["status"] == "ABORTED"

    assert until(api, done, is_over)["status"] == "succeeded"
    assert "paid" in api.ask("GET", f"/v1/runs/{done}/log").body["lines"][0]["text"]
    assert until(api, fails, is_over)["attempts"][0]["error"] == "failed: Billing.No"

    timed_out = until(api, late, is_over)["attempts"][0]
    assert timed_out["outcome"] == "timed_out"
    [task] = elsewhere.ecs.describe_tasks(cluster="e2e", tasks=[timed_out["execution"]["handle"]])["tasks"]
    assert task["lastStatus"] == "STOPPED"
