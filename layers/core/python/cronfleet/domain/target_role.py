"""Target roles: as whom a tenant's queue, topic, bus, state machine or task is called.

The tenant names a role of its own account. That role must trust this installation, and only on behalf of this tenant:
STS is told an external id that we make of the installation's name and the tenant's, and that no caller can choose. A
role is lent for one thing at a time: the session's own policy allows nothing but what the target needs.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, assert_never

from cronfleet.domain.target import (
    EcsTaskTarget,
    EventBridgeTarget,
    RoleTarget,
    SnsTarget,
    SqsTarget,
    StepFunctionsTarget,
)

ROLE: Final = re.compile(r"arn:(aws[a-z-]*):iam::(\d{12}):role/cronfleet-target-[A-Za-z0-9+=,.@_-]{1,47}", re.ASCII)
"""What a worker may assume: a tenant opts a role in by its name, which lies under no path."""

INSTALLATION: Final = re.compile(r"[a-z][a-z0-9-]{0,63}", re.ASCII)
"""Neither it nor a tenant's id holds a colon: no two tenants of any two installations share an external id."""


def _arn(service: str, resource: str) -> re.Pattern[str]:
    return re.compile(rf"arn:(aws[a-z-]*):{service}:([a-z0-9-]+):(\d{{12}}):{resource}", re.ASCII)


QUEUE: Final = _arn("sqs", r"([A-Za-z0-9_-]{1,80}|[A-Za-z0-9_-]{1,75}\.fifo)")
TOPIC: Final = _arn("sns", r"([A-Za-z0-9_-]{1,256}|[A-Za-z0-9_-]{1,251}\.fifo)")
BUS: Final = _arn("events", r"event-bus/([A-Za-z0-9._/-]{1,256})")
MACHINE: Final = _arn("states", r"stateMachine:([A-Za-z0-9_-]{1,80})(?::[A-Za-z0-9_.-]{1,80})?")
TASK_DEFINITION: Final = _arn("ecs", r"task-definition/([A-Za-z0-9_-]{1,255})(?::\d{1,9})?")
CLUSTER: Final = _arn("ecs", r"cluster/([A-Za-z0-9_-]{1,255})")

SESSION_SECONDS: Final = 3600
"""As long as a session may last that one role opens as another."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a resource is."""

    partition: str
    region: str
    account: str
    name: str


def resource_of(target: RoleTarget) -> str:
    """The ARN of what `target` calls."""
    match target:
        case SqsTarget(queue):
            return queue
        case SnsTarget(topic):
            return topic
        case EventBridgeTarget(bus):
            return bus
        case StepFunctionsTarget(machine):
            return machine
        case EcsTaskTarget(definition):
            return definition
    assert_never(target)


_SHAPES: Final[Mapping[type[RoleTarget], re.Pattern[str]]] = {
    SqsTarget: QUEUE,
    SnsTarget: TOPIC,
    EventBridgeTarget: BUS,
    StepFunctionsTarget: MACHINE,
    EcsTaskTarget: TASK_DEFINITION,
}


def place_of(target: RoleTarget) -> Place:
    """Where what `target` calls is; `ValueError` for a target that `faults_of` finds fault with."""
    found = _SHAPES[type(target)].fullmatch(resource_of(target))
    if found is None:
        raise ValueError(f"{resource_of(target)!r} is not an ARN of its kind")
    return Place(found[1], found[2], found[3], found[4])


def fault_of(target: RoleTarget) -> str | None:
    """Why `target` must not be called; `None` if it may. Asked when it is written, and again before it is called."""
    role = ROLE.fullmatch(target.role)
    if role is None:
        return f"the role {target.role!r:.120} is not arn:aws:iam::<account>:role/cronfleet-target-<name>"
    if _SHAPES[type(target)].fullmatch(resource_of(target)) is None:
        return f"{resource_of(target)!r:.120} is not {_EXAMPLES[type(target)]}"
    where = place_of(target)
    if (where.partition, where.account) != (role[1], role[2]):
        return f"{resource_of(target)} is of account {where.account}, and the role of {role[2]}; they must share one"
    if isinstance(target, EcsTaskTarget):
        cluster = CLUSTER.fullmatch(target.cluster)
        if cluster is None or (cluster[1], cluster[2], cluster[3]) != (where.partition, where.region, where.account):
            return f"the cluster {target.cluster!r:.120} is not {_CLUSTER} in the task definition's account and region"
    return None


_CLUSTER: Final = "arn:aws:ecs:<region>:<account>:cluster/<name>"
_EXAMPLES: Final[Mapping[type[RoleTarget], str]] = {
    SqsTarget: "the ARN of a queue: arn:aws:sqs:<region>:<account>:<name>",
    SnsTarget: "the ARN of a topic: arn:aws:sns:<region>:<account>:<name>",
    EventBridgeTarget: "the ARN of an event bus: arn:aws:events:<region>:<account>:event-bus/<name>",
    StepFunctionsTarget: "the ARN of a state machine: arn:aws:states:<region>:<account>:stateMachine:<name>",
    EcsTaskTarget: "the ARN of a task definition: arn:aws:ecs:<region>:<account>:task-definition/<family>[:<revision>]",
}


def machine_of(target: StepFunctionsTarget) -> str:
    """The ARN of its state machine, without the version or alias that may follow."""
    return ":".join(target.machine.split(":")[:7])


def external_id(installation: str, tenant: str) -> str:
    """What a role of the tenant's must ask for. Made here alone: a tenant that could choose it could be any other."""
    if INSTALLATION.fullmatch(installation) is None:
        raise ValueError(f"{installation!r} is no name of an installation")
    return f"cronfleet:{installation}:{tenant}"


def run_digest(run_id: str) -> str:
    """A name for a run where its id is too long, or holds what must not be there: 44 letters, digits and `_`."""
    return "run_" + blake2b(run_id.encode(), digest_size=20).hexdigest()


def session_name(run_id: str) -> str:
    """What CloudTrail shows of the session: the run that opened it. Runs that follow within the hour share it."""
    return f"cronfleet-{run_digest(run_id)}"


def session_policy(target: RoleTarget) -> str:
    """The policy of the session: of all that the role may do, what this one target needs."""
    return json.dumps(policy(*_needed(target)), separators=(",", ":"))


def permissions(target: RoleTarget) -> dict[str, Any]:
    """The policy that the tenant attaches to the role, for this one target."""
    return policy(*_needed(target))


def policy(*statements: Mapping[str, Any]) -> dict[str, Any]:
    """A policy document."""
    return {"Version": "2012-10-17", "Statement": [dict(one) for one in statements]}


def _allow(actions: Sequence[str], resource: str, **condition: Any) -> dict[str, Any]:
    found = {"Effect": "Allow", "Action": list(actions), "Resource": resource}
    return {**found, "Condition": condition} if condition else found


def _needed(target: RoleTarget) -> list[dict[str, Any]]:
    arn, where = resource_of(target), place_of(target)
    prefix = f"arn:{where.partition}"
    match target:
        case SqsTarget():
            return [_allow(["sqs:SendMessage"], arn), _keys("sqs", where)]
        case SnsTarget():
            return [_allow(["sns:Publish"], arn), _keys("sns", where)]
        case EventBridgeTarget():
            return [_allow(["events:PutEvents"], arn)]
        case StepFunctionsTarget():
            executions = f"{prefix}:states:{where.region}:{where.account}:execution:{where.name}:*"
            return [
                _allow(["states:StartExecution"], arn),
                _allow(["states:DescribeStateMachine"], machine_of(target)),
                _allow(["states:DescribeExecution", "states:StopExecution"], executions),
                _keys("states", where),
            ]
        case EcsTaskTarget():
            tasks = f"{prefix}:ecs:{where.region}:{where.account}:task/{target.cluster.rpartition('/')[2]}/*"
            revision = arn if ":" in arn.rpartition("/")[2] else f"{arn}:*"
            in_cluster = {"ecs:cluster": target.cluster}
            return [
                _allow(["ecs:RunTask"], revision, ArnEquals=in_cluster),
                _allow(["ecs:DescribeTasks", "ecs:StopTask"], tasks, ArnEquals=in_cluster),
                # A list is of no task in particular.
                _allow(["ecs:ListTasks"], "*", ArnEquals=in_cluster),
                # The task's own roles, which the role says: a session never has more than its role.
                _allow(["iam:PassRole"], "*", StringEquals={"iam:PassedToService": "ecs-tasks.amazonaws.com"}),
            ]
    assert_never(target)


def _keys(service: str, where: Place) -> dict[str, Any]:
    """What an encrypted resource asks of whoever writes to it, through its service alone; the role says which keys."""
    via = {"kms:ViaService": f"{service}.{where.region}.amazonaws.com"}
    return _allow(["kms:GenerateDataKey", "kms:Decrypt"], "*", StringEquals=via)


def trust_policy(callers: Sequence[str], external: str) -> dict[str, Any]:
    """The trust policy that a tenant pastes into a role: `callers` are the ARNs of the roles of this installation.

    The account is the principal, and the callers are a condition: a role that is a principal by itself is remembered
    by an id that it loses when it is made anew, and the trust would be gone without a word.
    """
    accounts = sorted({":".join(arn.split(":")[:5]) for arn in callers})
    return policy(
        {
            "Effect": "Allow",
            "Principal": {"AWS": [f"{account}:root" for account in accounts]},
            "Action": "sts:AssumeRole",
            "Condition": {
                "StringEquals": {"sts:ExternalId": external},
                "ArnEquals": {"aws:PrincipalArn": sorted(callers)},
            },
        }
    )
