"""Step Functions: an execution of a standard workflow, started under the attempt's name, and looked at.

A start is idempotent: the same name and input give the execution that is there, and a name that is taken by one that
has ended is refused as such. An express workflow is neither, and its executions cannot be looked at; it is refused
before anything is started.
"""

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
from cronfleet.domain.target import StepFunctionsTarget
from cronfleet.domain.target_role import machine_of, place_of
from cronfleet.ports.executions import Unseen
from cronfleet.ports.target import Call

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient

MAX_INPUT_BYTES: Final = 256 * 1024
MAX_SAID: Final = 4_000
"""Characters of an output or a cause that are kept: its end."""

PERMANENT: Final = frozenset(
    {"InvalidArn", "InvalidExecutionInput", "InvalidName", "ValidationException", "StateMachineTypeNotSupported"}
)
GONE: Final = frozenset({"ExecutionDoesNotExist", "StateMachineDoesNotExist"})
TAKEN: Final = "ExecutionAlreadyExists"
GOING: Final = frozenset({"RUNNING", "PENDING_REDRIVE"})


class StepFunctions:
    """Starts, sees and stops executions. Which state machines are express is remembered: a type never changes."""

    def __init__(self, roles: TenantRoles) -> None:
        self._roles = roles
        self._standard: set[tuple[str, str]] = set()

    def _client(self, call: Call) -> "tuple[SFNClient, StepFunctionsTarget]":
        target = call.target
        assert isinstance(target, StepFunctionsTarget)  # noqa: S101 - `AllExecutions` gives this kind alone
        client: SFNClient = self._roles.client("stepfunctions", target, tenant=call.key.tenant, run_id=call.key.run_id)
        return client, target

    def handle(self, call: Call) -> str:
        """The ARN that the execution will have."""
        target = call.target
        assert isinstance(target, StepFunctionsTarget)  # noqa: S101 - as above
        where = place_of(target)
        base = f"arn:{where.partition}:states:{where.region}:{where.account}:execution:{where.name}"
        return f"{base}:{execution_name(call.key.run_id, call.attempt)}"

    def start(self, call: Call) -> str | Result:
        """See `Executions.start`."""
        given = envelope(call.key, call.attempt, call.due_at, call.payload)
        if len(given.encode()) > MAX_INPUT_BYTES:
            text = f"the input has {len(given.encode())} bytes, and Step Functions takes {MAX_INPUT_BYTES}"
            return failed(f"{text}: make the payload smaller", retryable=False)
        client, target = self._client(call)
        try:
            if self._is_express(client, call, target):
                text = f"{target.machine} is an express workflow, which cannot be followed: use a standard one"
                return failed(text, retryable=False)
            traced: Any = {} if call.trace is None else {"traceHeader": call.trace.xray_header}
            name = execution_name(call.key.run_id, call.attempt)
            answer = client.start_execution(stateMachineArn=target.machine, name=name, input=given, **traced)
        except ClientError as error:
            if code_of(error) == TAKEN:
                return self.handle(call)
            if is_silence(error) and not _is_denied(error):
                raise Unseen(_text(error)) from error
            return refused(error, PERMANENT)
        except BotoCoreError as error:
            raise Unseen(f"{type(error).__name__}: {error}") from error
        return str(answer["executionArn"])

    def _is_express(self, client: "SFNClient", call: Call, target: StepFunctionsTarget) -> bool:
        machine = machine_of(target)  # An alias cannot be described so.
        known = (call.key.tenant, machine)
        if known in self._standard:
            return False
        if client.describe_state_machine(stateMachineArn=machine)["type"] == "EXPRESS":
            return True
        self._standard.add(known)
        return False

    def look(self, call: Call, handle: str) -> Seen:
        """See `Executions.look`."""
        client, _ = self._client(call)
        try:
            found = client.describe_execution(executionArn=handle or self.handle(call))
        except ClientError as error:
            if code_of(error) in GONE:
                return Seen(Phase.UNKNOWN)
            raise Unseen(_text(error)) from error
        except BotoCoreError as error:
            raise Unseen(f"{type(error).__name__}: {error}") from error
        return seen_of(found)

    def stop(self, call: Call, handle: str, why: str) -> None:
        """See `Executions.stop`."""
        client, _ = self._client(call)
        try:
            client.stop_execution(executionArn=handle or self.handle(call), error="Cronfleet.Stopped", cause=why)
        except ClientError as error:
            if code_of(error) not in GONE:
                raise Unseen(_text(error)) from error
        except BotoCoreError as error:
            raise Unseen(f"{type(error).__name__}: {error}") from error


def seen_of(found: Any) -> Seen:
    """What DescribeExecution says."""
    status = found["status"]
    if status in GOING:
        return Seen(Phase.GOING)
    ended_at = _instant(found.get("stopDate"))
    if status == "SUCCEEDED":
        output = str(found.get("output") or "")
        return Seen(Phase.OVER, Result(Outcome.SUCCEEDED), ended_at, _lines(output))
    error, cause = found.get("error") or status, str(found.get("cause") or "")
    outcome = Outcome.TIMED_OUT if status == "TIMED_OUT" else Outcome.FAILED
    text = failed(f"{status.lower()}: {error}: {cause}" if cause else f"{status.lower()}: {error}").error
    return Seen(Phase.OVER, Result(outcome, text), ended_at, (str(error), *_lines(cause)))


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line for line in text[-MAX_SAID:].splitlines() if line.strip())


def _instant(moment: datetime | None) -> Instant | None:
    return None if moment is None else int(moment.timestamp() * 1_000)


def _is_denied(error: ClientError) -> bool:
    return code_of(error) in ("AccessDenied", "AccessDeniedException")


def _text(error: ClientError) -> str:
    return f"{code_of(error)}: {error.response.get('Error', {}).get('Message', '')}"
