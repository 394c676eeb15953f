"""Targets that are called as a role of the tenant's: which queues, topics, buses, machines and tasks one may name."""

import re
from collections.abc import Mapping
from typing import Any, Final

from cronfleet.domain.errors import Invalid
from cronfleet.domain.target import EcsTaskTarget, EventBridgeTarget, LaunchType, RoleTarget
from cronfleet.domain.target_form import role_target_of
from cronfleet.domain.target_role import CLUSTER, ROLE, fault_of

_SOURCE: Final = re.compile(r"(?!aws\.)[A-Za-z0-9._/-]{1,256}", re.ASCII)
_CONTAINER: Final = re.compile(r"[A-Za-z0-9_-]{1,255}", re.ASCII)
_SUBNET: Final = re.compile(r"subnet-[0-9a-f]{8,17}", re.ASCII)
_SECURITY_GROUP: Final = re.compile(r"sg-[0-9a-f]{8,17}", re.ASCII)


def role_target(kind: str, written: Mapping[str, Any]) -> RoleTarget:
    """The target of that kind; raises `Invalid` with the field below `target`."""
    for name in ("role", *(("cluster", "container") if kind == "ecs_task" else ())):
        if name not in written:
            raise Invalid(f"target.{name}", f"is missing; {_WHY[name]}")
    target = role_target_of(written)
    if ROLE.fullmatch(target.role) is None:
        raise Invalid("target.role", "must be arn:aws:iam::<account>:role/cronfleet-target-<name>: a role named so")
    if isinstance(target, EcsTaskTarget):
        _check_task(target)
    fault = fault_of(target)
    if fault is not None:
        raise Invalid(f"target.{kind}", f"cannot be called: {fault}")
    if isinstance(target, EventBridgeTarget):
        _check_event(target)
    return target


_WHY: Final = {
    "role": "it is called as a role of yours that trusts this installation (GET /v1/target-role says how)",
    "cluster": "write the ARN of the cluster in which the task runs",
    "container": "write the name of the container that is told of the run, and whose exit code counts",
}


def _check_event(target: EventBridgeTarget) -> None:
    if _SOURCE.fullmatch(target.source) is None:
        what = "must be letters, digits, dots, dashes, slashes and underscores, and must not begin with aws."
        raise Invalid("target.source", what)
    if not target.detail_type.isprintable():
        raise Invalid("target.detail_type", "holds a character that cannot be printed")


def _check_task(target: EcsTaskTarget) -> None:
    if CLUSTER.fullmatch(target.cluster) is None:
        raise Invalid("target.cluster", "must be the ARN of a cluster: arn:aws:ecs:<region>:<account>:cluster/<name>")
    if _CONTAINER.fullmatch(target.container) is None:
        raise Invalid("target.container", "must be a container's name: letters, digits, dashes and underscores")
    for names, pattern, field in (
        (target.subnets, _SUBNET, "subnets"),
        (target.security_groups, _SECURITY_GROUP, "security_groups"),
    ):
        for name in names:
            if pattern.fullmatch(name) is None:
                raise Invalid(f"target.{field}", f"{name[:64]!r} is no id: write {pattern.pattern[:3]}…-<hexadecimal>")
    if not target.subnets and target.launch_type is not LaunchType.EC2:
        raise Invalid("target.subnets", "are missing; a task on Fargate has a network of its own: name its subnets")
    if not target.subnets and (target.security_groups or target.has_public_ip):
        raise Invalid("target.subnets", "are missing; security_groups and public_ip are those of a network of its own")
