"""ECS tasks: one task of a definition, started under the attempt's token, and looked at.

A start is idempotent: the same client token gives the task that is there. Its service forgets a task about an hour
after it has stopped; until then the clerk has looked many times.
"""

import json
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from cronfleet.adapters.targets.refusals import code_of, failed, is_silence, refused
from cronfleet.adapters.targets.tenant_roles import TenantRoles
from cronfleet.domain.attempt import Result
from cronfleet.domain.envelope import envelope
from cronfleet.domain.execution import execution_name
from cronfleet.domain.follow import Phase, Seen
from cronfleet.domain.instant import Instant
from cronfleet.domain.run import Outcome
from cronfleet.domain.target import EcsTaskTarget, LaunchType
from cronfleet.domain.target_role import place_of
from cronfleet.ports.executions import Unseen
from cronfleet.ports.target import Call

if TYPE_CHECKING:
    from mypy_boto3_ecs import ECSClient

RUN: Final = "CRONFLEET_RUN"
RUN_ID: Final = "CRONFLEET_RUN_ID"
"""The environment variables that tell the container of the run: the envelope, and the run's id alone."""

MAX_OVERRIDE_BYTES: Final = 8 * 1024
"""What ECS takes as overrides, as JSON."""

PERMANENT: Final = frozenset({"InvalidParameterException", "UnsupportedFeatureException", "PlatformUnknownException"})
MAX_STOPPED_PAGES: Final = 10
"""Of a hundred tasks each, among which one is looked for whose start was not heard of and that has stopped by now."""

CONFLICT: Final = "ConflictException"
BY_ITSELF: Final = "EssentialContainerExited"
"""Why a task has stopped whose work ended, one way or the other."""


class EcsTasks:
    """Starts, sees and stops tasks."""

    def __init__(self, roles: TenantRoles) -> None:
        self._roles = roles

    def _client(self, call: Call) -> "tuple[ECSClient, EcsTaskTarget]":
        target = call.target
        assert isinstance(target, EcsTaskTarget)  # noqa: S101 - `AllExecutions` gives this kind alone
        client: ECSClient = self._roles.client("ecs", target, tenant=call.key.tenant, run_id=call.key.run_id)
        return client, target

    def handle(self, call: Call) -> str:  # noqa: ARG002 - as `Executions.handle`
        """A task's ARN is drawn when it starts."""
        return ""

    def start(self, call: Call) -> str | Result:
        """See `Executions.start`."""
        client, target = self._client(call)
        overrides = overrides_of(call, target)
        size = len(json.dumps(overrides).encode())
        if size > MAX_OVERRIDE_BYTES:
            text = f"the overrides have {size} bytes, and ECS takes {MAX_OVERRIDE_BYTES}: make the payload smaller"
            return failed(text, retryable=False)
        try:
            answer = client.run_task(**request_of(call, target, overrides))
        except ClientError as error:
            taken: Any = error.response.get("resourceIds") if code_of(error) == CONFLICT else None
            if taken:
                return str(taken[0])
            if code_of(error) == CONFLICT or (is_silence(error) and not code_of(error).startswith("AccessDenied")):
                raise Unseen(_text(error)) from error
            return refused(error, PERMANENT)
        except BotoCoreError as error:
            raise Unseen(f"{type(error).__name__}: {error}") from error
        if answer["tasks"]:
            return str(answer["tasks"][0]["taskArn"])
        return _not_placed(answer.get("failures") or [{}])

    def look(self, call: Call, handle: str) -> Seen:
        """See `Executions.look`."""
        client, target = self._client(call)
        try:
            task = _describe(client, target, handle) if handle else _find(client, call, target)
        except ClientError as error:
            raise Unseen(_text(error)) from error
        except BotoCoreError as error:
            raise Unseen(f"{type(error).__name__}: {error}") from error
        if task is None:
            return Seen(Phase.UNKNOWN)
        seen = seen_of(task, target.container)
        return seen if handle else replace(seen, handle=str(task["taskArn"]))

    def stop(self, call: Call, handle: str, why: str) -> None:
        """See `Executions.stop`."""
        client, target = self._client(call)
        try:
            client.stop_task(cluster=target.cluster, task=handle, reason=why[:1024])
        except ClientError as error:
            if code_of(error) != "InvalidParameterException":  # It is forgotten.
                raise Unseen(_text(error)) from error
        except BotoCoreError as error:
            raise Unseen(f"{type(error).__name__}: {error}") from error


def _describe(client: "ECSClient", target: EcsTaskTarget, *tasks: str) -> Any:
    found = client.describe_tasks(cluster=target.cluster, tasks=list(tasks))["tasks"] if tasks else []
    return found[0] if found else None


def _find(client: "ECSClient", call: Call, target: EcsTaskTarget) -> Any:
    """The task of the attempt, whose start was not heard of.

    A list of what goes on can be asked for by who started it; a list of what has stopped cannot.
    """
    token = execution_name(call.key.run_id, call.attempt)
    going = client.list_tasks(cluster=target.cluster, startedBy=token)["taskArns"]
    if going:
        return _describe(client, target, going[0])
    page: Any = {"nextToken": ""}
    for _ in range(MAX_STOPPED_PAGES):
        more = {"nextToken": page["nextToken"]} if page["nextToken"] else {}
        family = place_of(target).name
        page = client.list_tasks(cluster=target.cluster, family=family, desiredStatus="STOPPED", **more)
        if page["taskArns"]:
            found = client.describe_tasks(cluster=target.cluster, tasks=page["taskArns"])["tasks"]
            own = [task for task in found if task.get("startedBy") == token]
            if own:
                return own[0]
        if not page.get("nextToken"):
            return None
    return None


def overrides_of(call: Call, target: EcsTaskTarget) -> Any:
    """What the container is told of the run."""
    told = {RUN: envelope(call.key, call.attempt, call.due_at, call.payload), RUN_ID: call.key.run_id}
    variables = [{"name": name, "value": value} for name, value in told.items()]
    return {"containerOverrides": [{"name": target.container, "environment": variables}]}


def request_of(call: Call, target: EcsTaskTarget, overrides: Any) -> Any:
    """The request of RunTask, the same for every try of the same attempt."""
    token = execution_name(call.key.run_id, call.attempt)
    asked: dict[str, Any] = {
        "cluster": target.cluster,
        "taskDefinition": target.definition,
        "count": 1,
        "clientToken": token,
        "startedBy": token,
        "overrides": overrides,
    }
    if target.launch_type is LaunchType.FARGATE_SPOT:
        asked["capacityProviderStrategy"] = [{"capacityProvider": LaunchType.FARGATE_SPOT.value}]
    else:
        asked["launchType"] = target.launch_type.value
    if target.subnets:
        asked["networkConfiguration"] = {
            "awsvpcConfiguration": {
                "subnets": list(target.subnets),
                "securityGroups": list(target.security_groups),
                "assignPublicIp": "ENABLED" if target.has_public_ip else "DISABLED",
            }
        }
    return asked


def _not_placed(failures: Any) -> Result:
    """A task that found no place: there may be one at the next attempt."""
    first = failures[0]
    return failed(f"the task was not placed: {first.get('reason', 'no reason given')} {first.get('detail', '')}")


def seen_of(task: Any, container: str) -> Seen:
    """What DescribeTasks says: over when it has stopped, succeeded when the container that does the work ended with 0.

    A container beside it may be told to stop when that one is done, and then ends with whatever it likes. And one that
    was told to stop before it was done may end with 0 as well.
    """
    if task["lastStatus"] != "STOPPED":
        return Seen(Phase.GOING)
    containers, stopped = task.get("containers", []), str(task.get("stoppedReason") or "")
    codes = {str(one.get("name")): one.get("exitCode") for one in containers}
    reasons = [f"{one.get('name')}: {one['reason']}" for one in containers if one.get("reason")]
    exits = [f"{name}: exit code {_shown(code)}" for name, code in codes.items()]
    said = (*exits, *reasons, *([stopped] if stopped else []))
    ended_at = _instant(task.get("stoppedAt"))
    code = str(task.get("stopCode") or BY_ITSELF)
    if codes.get(container) == 0 and code == BY_ITSELF:
        return Seen(Phase.OVER, Result(Outcome.SUCCEEDED), ended_at, said)
    wrong = f"{container}: exit code {_shown(codes.get(container))}"
    text = "; ".join(part for part in ("" if code == BY_ITSELF else code, wrong, stopped, *reasons) if part)
    return Seen(Phase.OVER, failed(text), ended_at, said)


def _shown(code: int | None) -> str:
    return "none" if code is None else str(code)


def _instant(moment: datetime | None) -> Instant | None:
    return None if moment is None else int(moment.timestamp() * 1_000)


def _text(error: ClientError) -> str:
    return f"{code_of(error)}: {error.response.get('Error', {}).get('Message', '')}"
