"""Messages: a run handed to a queue, a topic or an event bus. It has succeeded when its service has taken it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, assert_never

from botocore.exceptions import BotoCoreError, ClientError

from cronfleet.adapters.targets.refusals import failed, refused
from cronfleet.adapters.targets.tenant_roles import RoleRefused, RoleUnavailable, TenantRoles
from cronfleet.domain.attempt import Result
from cronfleet.domain.envelope import envelope
from cronfleet.domain.instant import to_datetime
from cronfleet.domain.run import Outcome
from cronfleet.domain.target import EventBridgeTarget, MessageTarget, SnsTarget, SqsTarget
from cronfleet.domain.target_role import place_of, run_digest
from cronfleet.domain.trace import TRACEPARENT
from cronfleet.ports.target import Call

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_sns import SNSClient
    from mypy_boto3_sqs import SQSClient

MAX_BYTES: Final[Mapping[str, int]] = {"sqs": 1024 * 1024, "sns": 256 * 1024, "events": 256 * 1024}
"""What a service takes as one message, all told."""

ATTRIBUTE_BYTES: Final = 1024
"""What a message's attributes, or an event's other fields, take at most."""

PERMANENT: Final = frozenset(
    {
        *("InvalidMessageContents", "InvalidParameterValue", "InvalidParameter", "ParameterValueInvalid"),
        *("InvalidAttributeValue", "ValidationException", "UnsupportedOperation", "MessageTooLong"),
    }
)
"""The service judged the message itself. What is missing or denied is not among them: it may be there next time."""


class Messages:
    """Sends runs as messages."""

    def __init__(self, roles: TenantRoles) -> None:
        self._roles = roles

    def call(self, call: Call, target: MessageTarget) -> Result:
        """Send once. What is sent twice because no answer came has the same run id, and the same id to a FIFO queue."""
        service, body = _service(target), envelope(call.key, call.attempt, call.due_at, call.payload)
        size = len(body.encode()) + ATTRIBUTE_BYTES
        if size > MAX_BYTES[service]:
            text = f"the message has {size} bytes with its attributes, and {service} takes {MAX_BYTES[service]}"
            return failed(f"{text}: make the payload smaller", retryable=False)
        try:
            client = self._roles.client(service, target, tenant=call.key.tenant, run_id=call.key.run_id)
            return _send(client, call, target, body)
        except RoleRefused as error:
            return failed(str(error), retryable=not error.is_for_good)
        except RoleUnavailable as error:
            return failed(str(error))
        except ClientError as error:
            return refused(error, PERMANENT)
        except BotoCoreError as error:
            return failed(f"{type(error).__name__}: {error}")


def _service(target: MessageTarget) -> str:
    match target:
        case SqsTarget():
            return "sqs"
        case SnsTarget():
            return "sns"
        case EventBridgeTarget():
            return "events"
    assert_never(target)


def _send(client: Any, call: Call, target: MessageTarget, body: str) -> Result:
    match target:
        case SqsTarget():
            return _to_queue(client, call, target, body)
        case SnsTarget():
            return _to_topic(client, call, target, body)
        case EventBridgeTarget():
            return _to_bus(client, call, target, body)
    assert_never(target)


def _to_queue(client: "SQSClient", call: Call, target: SqsTarget, body: str) -> Result:
    where = place_of(target)
    # Made of the client's own address, so that the role needs no right to ask for it.
    url = f"{client.meta.endpoint_url.rstrip('/')}/{where.account}/{where.name}"
    more = _fifo(call, target.queue)
    if call.trace is not None:
        header = {"DataType": "String", "StringValue": call.trace.xray_header}
        more["MessageSystemAttributes"] = {"AWSTraceHeader": header}
    client.send_message(QueueUrl=url, MessageBody=body, MessageAttributes=_attributes(call), **more)
    return Result(Outcome.SUCCEEDED)


def _to_topic(client: "SNSClient", call: Call, target: SnsTarget, body: str) -> Result:
    client.publish(
        TopicArn=target.topic, Message=body, MessageAttributes=_attributes(call), **_fifo(call, target.topic)
    )
    return Result(Outcome.SUCCEEDED)


def _to_bus(client: "EventBridgeClient", call: Call, target: EventBridgeTarget, body: str) -> Result:
    entry: Any = {
        "EventBusName": target.bus,
        "Source": target.source,
        "DetailType": target.detail_type,
        "Detail": body,
        "Time": to_datetime(call.due_at),
    }
    if call.trace is not None:
        entry["TraceHeader"] = call.trace.xray_header
    answer = client.put_events(Entries=[entry])
    if not answer["FailedEntryCount"]:
        return Result(Outcome.SUCCEEDED)
    told = answer["Entries"][0] if answer["Entries"] else {}
    return failed(f"{told.get('ErrorCode', 'the event was not taken')}: {told.get('ErrorMessage', '')}")


def _attributes(call: Call) -> Any:
    said = {
        "cronfleet-run-id": call.key.run_id,
        "cronfleet-schedule-id": call.key.schedule_id,
        "cronfleet-attempt": str(call.attempt),
    }
    if call.traceparent:
        said[TRACEPARENT] = call.traceparent
    return {name: {"DataType": "String", "StringValue": value} for name, value in said.items()}


def _fifo(call: Call, arn: str) -> dict[str, Any]:
    """One group for each run: one that waits keeps no other back. A digest, since an id may be longer than allowed."""
    name = run_digest(call.key.run_id)
    return {"MessageGroupId": name, "MessageDeduplicationId": name} if arn.endswith(".fifo") else {}
