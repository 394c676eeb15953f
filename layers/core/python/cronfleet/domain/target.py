"""Targets: what a run calls. The set is open: a new kind is one dataclass here and one adapter."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

LAMBDA_FUNCTION: Final = re.compile(
    r"(arn:aws[a-z-]*:lambda:[a-z0-9-]+:\d{12}:function:)?cronfleet-target-[A-Za-z0-9_-]{1,48}"
    r"(:[A-Za-z0-9$_-]{1,128})?",
    re.ASCII,
)
"""What a worker may invoke: an installation opts a function in by its name. A version or alias may follow."""


_SECRET: Final = re.compile(r"(?!.*\.\.)[A-Za-z0-9/_+=.@-]{1,400}", re.ASCII)


def secret_prefix(tenant: str) -> str:
    """How the names of a tenant's secrets begin in Secrets Manager."""
    return f"cronfleet/{tenant}/"


def may_read(tenant: str, secret: str) -> bool:
    """Whether `secret` is the name of a secret of the tenant's own."""
    prefix = secret_prefix(tenant)
    return secret.startswith(prefix) and _SECRET.fullmatch(secret.removeprefix(prefix)) is not None


SECRET_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
"""How a job calls a secret of its own."""

MAX_SECRETS: Final = 8
"""Secrets of one job; each may cost a request before it starts."""


@dataclass(frozen=True, slots=True)
class HandlerTarget:
    """A Python function registered by `name` with `cronfleet.sdk.handler`.

    `secrets` are pairs of what the job calls a secret and the reference to it, sorted; never a value.
    """

    name: str
    secrets: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class WebhookTarget:
    """An HTTPS request, signed as Standard Webhooks asks with the key that `secret` refers to."""

    url: str
    secret: str | None = None


@dataclass(frozen=True, slots=True)
class LambdaTarget:
    """A Lambda function, by name or ARN, invoked and waited for."""

    function: str


@dataclass(frozen=True, slots=True)
class SqsTarget:
    """A message to the queue with the ARN `queue`, sent as `role`, which is the tenant's own."""

    queue: str
    role: str


@dataclass(frozen=True, slots=True)
class SnsTarget:
    """A message to the topic with the ARN `topic`, published as `role`."""

    topic: str
    role: str


@dataclass(frozen=True, slots=True)
class EventBridgeTarget:
    """An event on the bus with the ARN `bus`, put as `role`."""

    bus: str
    role: str
    source: str = "cronfleet"
    detail_type: str = "cronfleet.run"


@dataclass(frozen=True, slots=True)
class StepFunctionsTarget:
    """An execution of the state machine with the ARN `machine`, started as `role` and watched to its end."""

    machine: str
    role: str


class LaunchType(StrEnum):
    """Where an ECS task runs."""

    FARGATE = "FARGATE"
    FARGATE_SPOT = "FARGATE_SPOT"
    EC2 = "EC2"


@dataclass(frozen=True, slots=True)
class EcsTaskTarget:
    """A task of the definition with the ARN `definition` in `cluster`, started as `role` and watched to its end.

    `container` is told of the run; `subnets` and `security_groups` are those of its network, if it has its own.
    """

    definition: str
    cluster: str
    container: str
    role: str
    launch_type: LaunchType = LaunchType.FARGATE
    subnets: tuple[str, ...] = ()
    security_groups: tuple[str, ...] = ()
    has_public_ip: bool = False


MessageTarget: TypeAlias = SqsTarget | SnsTarget | EventBridgeTarget
"""Done as soon as its service has taken the message."""

FollowedTarget: TypeAlias = StepFunctionsTarget | EcsTaskTarget
"""Goes on by itself once it is started, and is followed to its end."""

RoleTarget: TypeAlias = MessageTarget | FollowedTarget
"""Called as a role that the tenant names (`domain/target_role.py`)."""

Target: TypeAlias = HandlerTarget | WebhookTarget | LambdaTarget | RoleTarget
