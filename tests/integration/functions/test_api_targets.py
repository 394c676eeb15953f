"""Targets that are called as a role, over HTTP: as they are written and read, and the trust that they need."""

from typing import Any

import pytest

from cronfleet import settings
from tests.support.api import NIGHTLY, Api, api_on_memory

CALLERS = (
    "arn:aws:iam::999999999999:role/cronfleet-worker-standard-us-east-1",
    "arn:aws:iam::999999999999:role/cronfleet-clerk-us-east-1",
)
ROLE = "arn:aws:iam::123456789012:role/cronfleet-target-billing"
AT = "us-east-1:123456789012"
QUEUE = {"sqs": f"arn:aws:sqs:{AT}:billing", "role": ROLE}
MACHINE = {"state_machine": f"arn:aws:states:{AT}:stateMachine:billing:live", "role": ROLE}
TASK = {
    "ecs_task": f"arn:aws:ecs:{AT}:task-definition/billing:3",
    "cluster": f"arn:aws:ecs:{AT}:cluster/billing",
    "container": "job",
    "launch_type": "FARGATE_SPOT",
    "subnets": ["subnet-12345678"],
    "security_groups": [],
    "public_ip": False,
    "role": ROLE,
}
BUS = {"event_bus": f"arn:aws:events:{AT}:event-bus/default", "role": ROLE}
TOPIC = {"sns": f"arn:aws:sns:{AT}:billing.fifo", "role": ROLE}


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    told = {settings.INSTALLATION: "cronfleet-prod", settings.TARGET_CALLERS: ",".join(CALLERS)}
    return api_on_memory(monkeypatch, **told)


@pytest.mark.parametrize("target", [QUEUE, TOPIC, BUS, MACHINE, TASK], ids=lambda target: next(iter(target)))
def test_a_target_is_read_as_it_was_written_with_its_defaults(api: Api, target: dict[str, Any]) -> None:
    registered = api.register(id="billing", target=target)
    assert registered.status == 201, registered.text
    read = api.call("GET", "/v1/schedules/billing").json["target"]
    defaults = {"source": "cronfleet", "detail_type": "cronfleet.run"} if "event_bus" in target else {}
    assert read == {**defaults, **target}
    body = {**NIGHTLY, "id": "billing", "target": read}
    assert api.call("PUT", "/v1/schedules/billing", body).json["target"] == read, "and may be sent back"


def test_what_goes_on_by_itself_may_take_a_week(api: Api) -> None:
    assert api.register(id="billing", target=MACHINE, policies={"timeout_seconds": 604_800}).status == 201
    timer = api.store.get_timer("acme", "billing")
    assert timer.timeout_seconds == 60, "while a worker has a minute to hand it over"


def test_a_tenant_is_told_the_trust_policy_with_an_external_id_that_it_did_not_choose(api: Api) -> None:
    answer = api.call("GET", "/v1/target-role")
    assert answer.status == 200, answer.text
    told = answer.json
    assert told["external_id"] == "cronfleet:cronfleet-prod:acme"
    assert told["callers"] == list(CALLERS)
    [statement] = told["trust_policy"]["Statement"]
    assert statement["Principal"] == {"AWS": ["arn:aws:iam::999999999999:root"]}
    assert statement["Action"] == "sts:AssumeRole"
    assert statement["Condition"] == {
        "StringEquals": {"sts:ExternalId": "cronfleet:cronfleet-prod:acme"},
        "ArnEquals": {"aws:PrincipalArn": sorted(CALLERS)},
    }
    assert told["permissions"] is None


def test_with_a_schedule_it_is_told_what_its_role_must_be_permitted(api: Api) -> None:
    api.register(id="billing", target=TASK)
    told = api.call("GET", "/v1/target-role?schedule=billing").json["permissions"]["Statement"]
    assert told[0] == {
        "Effect": "Allow",
        "Action": ["ecs:RunTask"],
        "Resource": TASK["ecs_task"],
        "Condition": {"ArnEquals": {"ecs:cluster": TASK["cluster"]}},
    }
    assert told[1]["Resource"] == f"arn:aws:ecs:{AT}:task/billing/*"


def test_a_schedule_that_calls_nothing_as_a_role_or_is_not_there_is_refused(api: Api) -> None:
    api.register(id="handled")
    assert api.call("GET", "/v1/target-role?schedule=handled").status == 400
    assert api.call("GET", "/v1/target-role?schedule=nobody").status == 404


def test_an_installation_that_assumes_no_roles_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(settings.INSTALLATION, raising=False)
    answer = api_on_memory(monkeypatch).call("GET", "/v1/target-role")
    assert answer.status == 409
    assert "assumes no roles" in answer.text
