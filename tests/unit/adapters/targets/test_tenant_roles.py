"""Roles that tenants lend: nobody but their owner has them used, for nothing but what the target needs."""

import json
from dataclasses import replace
from typing import Any

import pytest

from cronfleet.adapters.targets.messages import Messages
from cronfleet.adapters.targets.tenant_roles import (
    REFUSED_FOR,
    RENEWED_BEFORE,
    RoleRefused,
    RoleUnavailable,
    TenantRoles,
)
from cronfleet.domain.instant import HOUR
from cronfleet.domain.run import RunKey
from cronfleet.domain.target import RoleTarget, SqsTarget, StepFunctionsTarget
from cronfleet.domain.target_role import external_id, policy, trust_policy
from cronfleet.ports.target import Call
from tests.support.settable_clock import NOON, SettableClock
from tests.support.trust import TrustingSts

WORKER = "arn:aws:iam::999999999999:role/cronfleet-worker-standard-us-east-1"
ROLE = "arn:aws:iam::123456789012:role/cronfleet-target-billing"
QUEUE = SqsTarget("arn:aws:sqs:eu-west-1:123456789012:billing", ROLE)
MACHINE = StepFunctionsTarget("arn:aws:states:eu-west-1:123456789012:stateMachine:billing:live", ROLE)


class Room:
    """Tenants' roles on an STS that heeds trust policies. `acme` has set its role up as it was told to."""

    def __init__(self, trust: Any = None) -> None:
        self.clock = SettableClock(NOON)
        told = trust_policy([WORKER], external_id("prod", "acme"))
        self.sts = TrustingSts(self.clock, WORKER, {ROLE: told if trust is None else trust})
        self.roles = TenantRoles(sts=lambda: self.sts, installation="prod", clock=self.clock)  # type: ignore[arg-type,return-value]  # it does what is asked of one

    def client(self, target: RoleTarget = QUEUE, tenant: str = "acme", run_id: str = "run-1") -> Any:
        service = "sqs" if isinstance(target, SqsTarget) else "stepfunctions"
        return self.roles.client(service, target, tenant=tenant, run_id=run_id)


def test_the_policy_that_a_tenant_is_told_to_paste_lets_its_own_runs_in() -> None:
    room = Room()
    assert room.client().meta.region_name == "eu-west-1"
    assert room.sts.opened[0]["ExternalId"] == "cronfleet:prod:acme"


def test_another_tenant_that_names_the_role_is_refused_by_it() -> None:
    room = Room()
    with pytest.raises(RoleRefused, match="AccessDenied") as refused:
        room.client(tenant="rival")
    assert not refused.value.is_for_good, "its owner may still set it up"
    assert "/v1/target-role" in str(refused.value)


def test_another_installation_is_refused_although_its_tenant_has_the_same_name() -> None:
    room = Room()
    other = TenantRoles(sts=lambda: room.sts, installation="test", clock=room.clock)  # type: ignore[arg-type,return-value]  # as above
    with pytest.raises(RoleRefused):
        other.client("sqs", QUEUE, tenant="acme", run_id="run-1")


def test_a_role_that_asks_for_no_external_id_is_used_for_nobody() -> None:
    open_door = policy(
        {"Effect": "Allow", "Principal": {"AWS": ["arn:aws:iam::999999999999:root"]}, "Action": "sts:AssumeRole"}
    )
    room = Room(open_door)
    for tenant in ("acme", "rival"):
        with pytest.raises(RoleRefused, match="on behalf of anybody"):
            room.client(tenant=tenant)
    assert {one["ExternalId"] for one in room.sts.opened} == {"cronfleet:prod:.nobody"}, "and no session was used"


def test_a_session_may_do_what_the_target_needs_and_nothing_else() -> None:
    room = Room()
    room.client()
    room.client(MACHINE)
    said = [json.loads(one["Policy"])["Statement"] for one in room.sts.opened]
    assert said[0][0] == {"Effect": "Allow", "Action": ["sqs:SendMessage"], "Resource": QUEUE.queue}
    started, described, followed = said[1][:3]
    assert started["Resource"] == MACHINE.machine
    assert described["Resource"] == MACHINE.machine.removesuffix(":live")
    assert followed["Resource"] == "arn:aws:states:eu-west-1:123456789012:execution:billing:*"
    assert all(one["Resource"] != "*" or "Condition" in one for statements in said for one in statements)


def test_a_session_is_named_after_the_run_that_opened_it_within_what_sts_takes() -> None:
    room = Room()
    room.client(run_id="acme~" + "x" * 200)
    name = room.sts.opened[0]["RoleSessionName"]
    assert name.startswith("cronfleet-run_")
    assert len(name) <= 64


def test_a_session_is_used_for_its_tenant_role_and_resource_until_shortly_before_it_ends() -> None:
    room = Room()
    first = room.client()
    assert room.client(run_id="run-2") is first
    room.clock.advance(HOUR - RENEWED_BEFORE)
    assert room.client() is not first
    assert room.client(replace(QUEUE, queue=QUEUE.queue + "2")) is not room.client()


def test_two_tenants_that_a_role_lets_in_share_no_session() -> None:
    both = trust_policy([WORKER], external_id("prod", "acme"))
    both["Statement"] += trust_policy([WORKER], external_id("prod", "daughter"))["Statement"]
    room = Room(both)
    assert room.client(tenant="acme") is not room.client(tenant="daughter")
    assert [one["ExternalId"] for one in room.sts.opened] == ["cronfleet:prod:acme", "cronfleet:prod:daughter"]


@pytest.mark.parametrize(
    "target",
    [
        replace(QUEUE, role="arn:aws:iam::123456789012:role/admin"),
        replace(QUEUE, role="arn:aws:iam::123456789012:role/cronfleet-target-x/admin"),
        replace(QUEUE, role="arn:aws:iam::123456789012:role/service/cronfleet-target-x"),
        replace(QUEUE, role=WORKER),
        replace(QUEUE, role=ROLE + "\n"),
        replace(QUEUE, queue="arn:aws:sns:eu-west-1:123456789012:billing"),
        replace(QUEUE, queue="arn:aws:sqs:eu-west-1:123456789012:*"),
        replace(QUEUE, queue="arn:aws:sqs:eu-west-1:210987654321:billing"),
        replace(MACHINE, machine="arn:aws:states:eu-west-1:123456789012:execution:billing:x"),
        replace(MACHINE, machine="arn:aws-cn:states:eu-west-1:123456789012:stateMachine:billing"),
    ],
    ids=lambda target: f"{target.role[-30:]} for {target}"[-90:],
)
def test_what_the_api_would_refuse_the_worker_refuses_too_and_asks_nobody(target: RoleTarget) -> None:
    room = Room()
    with pytest.raises(RoleRefused) as refused:
        room.client(target)
    assert refused.value.is_for_good
    assert not room.sts.opened


def test_a_role_that_refuses_is_not_asked_again_at_once_and_is_when_it_may_have_been_mended() -> None:
    room = Room()
    told = room.sts.roles.pop(ROLE)
    for _ in range(5):
        with pytest.raises(RoleRefused):
            room.client()
    assert room.sts.asked == 2, "once with an external id that is nobody's, and once with the tenant's"
    room.sts.roles[ROLE] = told
    room.clock.advance(REFUSED_FOR)
    assert room.client()


def test_an_installation_without_a_name_assumes_nothing() -> None:
    room = Room()
    nameless = TenantRoles(sts=lambda: room.sts, installation="", clock=room.clock)  # type: ignore[arg-type,return-value]  # as above
    with pytest.raises(RoleRefused, match="no name"):
        nameless.client("sqs", QUEUE, tenant="acme", run_id="run-1")


def test_an_sts_that_does_not_say_whether_a_role_is_open_is_no_sign_that_it_is_not() -> None:
    room = Room()
    room.sts.broken = "Throttling"
    with pytest.raises(RoleUnavailable):
        room.client()


def test_a_refused_role_fails_the_attempt_and_its_text_says_what_to_do() -> None:
    room = Room()
    key = RunKey("rival", "nightly", 1, NOON)
    result = Messages(room.roles).call(Call(key, 1, 1, NOON, NOON + HOUR, QUEUE, {}), QUEUE)
    assert result.retryable
    assert "lets nobody in" in str(result.error)
