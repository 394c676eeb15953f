"""Targets as plain JSON values: as callers write and see them, and as definitions keep them."""

from collections.abc import Mapping
from typing import Any, assert_never

from cronfleet.domain.target import (
    EcsTaskTarget,
    EventBridgeTarget,
    HandlerTarget,
    LambdaTarget,
    LaunchType,
    RoleTarget,
    SnsTarget,
    SqsTarget,
    StepFunctionsTarget,
    Target,
    WebhookTarget,
)


def target_form(target: Target) -> dict[str, Any]:
    """A target by its kind: `handler`, `url`, `lambda`, `sqs`, `sns`, `event_bus`, `state_machine` or `ecs_task`.

    `secret` and `secrets` are references.
    """
    match target:
        case HandlerTarget(name, ()):
            return {"handler": name}
        case HandlerTarget(name, secrets):
            return {"handler": name, "secrets": dict(secrets)}
        case WebhookTarget(url, None):
            return {"url": url}
        case WebhookTarget(url, secret):
            return {"url": url, "secret": secret}
        case LambdaTarget(function):
            return {"lambda": function}
        case _:
            return {**_called(target), "role": target.role}


def _called(target: RoleTarget) -> dict[str, Any]:
    match target:
        case SqsTarget(queue):
            return {"sqs": queue}
        case SnsTarget(topic):
            return {"sns": topic}
        case EventBridgeTarget(bus):
            return {"event_bus": bus, "source": target.source, "detail_type": target.detail_type}
        case StepFunctionsTarget(machine):
            return {"state_machine": machine}
        case EcsTaskTarget():
            return {
                "ecs_task": target.definition,
                "cluster": target.cluster,
                "container": target.container,
                "launch_type": target.launch_type.value,
                "subnets": list(target.subnets),
                "security_groups": list(target.security_groups),
                "public_ip": target.has_public_ip,
            }
    assert_never(target)


def role_target_of(form: Mapping[str, Any]) -> RoleTarget:
    """The reverse of `target_form` for what is called as a role; what has a default may be left out.

    Raises `KeyError` and `ValueError` where `form` is none.
    """
    role = form["role"]
    if "sqs" in form:
        return SqsTarget(form["sqs"], role)
    if "sns" in form:
        return SnsTarget(form["sns"], role)
    if "event_bus" in form:
        named = {name: form[name] for name in ("source", "detail_type") if name in form}
        return EventBridgeTarget(form["event_bus"], role, **named)
    if "state_machine" in form:
        return StepFunctionsTarget(form["state_machine"], role)
    return EcsTaskTarget(
        form["ecs_task"],
        form["cluster"],
        form["container"],
        role,
        LaunchType(form.get("launch_type", LaunchType.FARGATE)),
        tuple(form.get("subnets", ())),
        tuple(form.get("security_groups", ())),
        form.get("public_ip", False),
    )
