"""Lambda functions: invoked and waited for."""

import base64
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError, ReadTimeoutError

from cronfleet.domain.attempt import Result
from cronfleet.domain.attempt_log import MAX_LINE_CHARACTERS, LogLine, LogPlace
from cronfleet.domain.instant import SECOND, to_text
from cronfleet.domain.run import MAX_ERROR_CHARACTERS, Outcome
from cronfleet.domain.target import LAMBDA_FUNCTION, LambdaTarget
from cronfleet.domain.trace import TRACEPARENT
from cronfleet.ports.clock import Clock
from cronfleet.ports.target import Call, Pulse

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_lambda.type_defs import InvocationResponseTypeDef

MAX_ANSWER_BYTES: Final = 64 * 1024

LOG_RESULT_CHARACTERS: Final = 4_000
"""Nearly what Lambda gives of a log at most: a text of that length is only the end of one."""

PERMANENT: Final = frozenset(
    {"InvalidRequestContentException", "InvalidParameterValueException", "RequestTooLargeException"}
)
"""Lambda judged the request itself. A missing function is not among them: it may be deployed by the next attempt."""


class LambdaFunctions:
    """Invokes functions; `client` makes a client that waits at most so many seconds for an answer."""

    def __init__(self, *, client: "Callable[[int], LambdaClient]", clock: Clock, region: str = "") -> None:
        """`region` is where this process runs; without it no link to a function's log is made."""
        self._region = region
        self._client = client
        self._clock = clock

    def call(self, call: Call, target: LambdaTarget, pulse: Pulse) -> Result:
        """Invoke once and wait. A function that outlives the deadline goes on by itself: give it a limit of its own.

        Of one that fails the end of its log is kept.
        """
        if not LAMBDA_FUNCTION.fullmatch(target.function):
            text = (
                f"the function {target.function!r} is not named cronfleet-target-…, as functions that may be called are"
            )
            return Result(Outcome.FAILED, text[:MAX_ERROR_CHARACTERS], retryable=False)
        seconds = max(1, (call.deadline_at - self._clock.now()) // SECOND)
        try:
            answer = self._client(seconds).invoke(
                FunctionName=target.function,
                InvocationType="RequestResponse",
                LogType="Tail",
                Payload=_payload(call),
            )
            failed, body = answer.get("FunctionError"), answer["Payload"].read(MAX_ANSWER_BYTES)
        except ReadTimeoutError:
            return Result(Outcome.TIMED_OUT, f"no answer within {seconds} s, its time limit")
        except ClientError as error:
            return _refused(error)
        except BotoCoreError as error:
            return Result(Outcome.FAILED, f"{type(error).__name__}: {error}"[:MAX_ERROR_CHARACTERS])
        if failed is None:
            return Result(Outcome.SUCCEEDED)
        self._keep_log(answer, target, pulse)
        return Result(Outcome.FAILED, _error(body))

    def _keep_log(self, answer: "InvocationResponseTypeDef", target: LambdaTarget, pulse: Pulse) -> None:
        """The last four kilobytes of the function's log, which Lambda gives along with its answer."""
        text = base64.b64decode(answer.get("LogResult", "")).decode("utf-8", "replace")
        now = self._clock.now()
        lines = [LogLine(now, "INFO", line[:MAX_LINE_CHARACTERS]) for line in text.splitlines() if line.strip()]
        request_id = answer["ResponseMetadata"].get("RequestId", "")
        name = target.function.rpartition(":function:")[2].partition(":")[0]
        place = LogPlace(self._region, f"/aws/lambda/{name}", request_id=request_id) if self._region else None
        # What Lambda left out it does not say; four kilobytes it cuts at.
        pulse.log(lines, is_whole=len(text) < LOG_RESULT_CHARACTERS, place=place)


def _payload(call: Call) -> bytes:
    fields = {
        "run_id": call.key.run_id,
        "schedule_id": call.key.schedule_id,
        "attempt": call.attempt,
        "fence": call.fence,
        "nominal_at": to_text(call.key.nominal_at),
        "due_at": to_text(call.due_at),
        "payload": call.payload,
    }
    if call.traceparent:
        fields[TRACEPARENT] = call.traceparent
    return json.dumps(fields, separators=(",", ":")).encode()


def _refused(error: ClientError) -> Result:
    fields = error.response.get("Error", {})
    code = fields.get("Code", "unknown error")
    text = f"{code}: {fields.get('Message', '')}"[:MAX_ERROR_CHARACTERS]
    return Result(Outcome.FAILED, text, retryable=code not in PERMANENT)


def _error(body: bytes) -> str:
    """`errorType: errorMessage` of a function that failed, else the beginning of what it said."""
    try:
        fields: Any = json.loads(body)
    except (ValueError, RecursionError):
        fields = None
    if isinstance(fields, dict) and "errorMessage" in fields:
        text = f"{fields.get('errorType', 'error')}: {fields['errorMessage']}"
    else:
        text = body.decode("utf-8", "replace")
    return " ".join(text.split())[:MAX_ERROR_CHARACTERS] or "the function failed and said nothing"
