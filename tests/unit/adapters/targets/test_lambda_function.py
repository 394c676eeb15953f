"""Lambda functions as targets."""

import base64
import io
import json
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError

from cronfleet.adapters.system.clock import SystemClock
from cronfleet.adapters.targets.lambda_function import LambdaFunctions
from cronfleet.domain.attempt import Result
from cronfleet.domain.attempt_log import LogPlace
from cronfleet.domain.run import Outcome
from cronfleet.domain.target import LambdaTarget
from tests.support.calls import KEY, Felt, call

NAME = "cronfleet-target-billing"


LOG = "START RequestId: r-1\n\nno account 42\n"


class Functions:
    """Plays the client: answers or raises what it is told."""

    def __init__(self, answer: Any = b"null", failed: str | None = None) -> None:
        self.answer, self.failed = answer, failed
        self.waits: list[int] = []
        self.pulse = Felt()
        self.invoked: list[dict[str, Any]] = []

    def client(self, seconds: int) -> Any:
        self.waits.append(seconds)
        return self

    def invoke(self, **request: Any) -> dict[str, Any]:
        self.invoked.append(request)
        if isinstance(self.answer, Exception):
            raise self.answer
        answer: dict[str, Any] = {"StatusCode": 200, "Payload": io.BytesIO(self.answer)}
        told = {"LogResult": base64.b64encode(LOG.encode()).decode(), "ResponseMetadata": {"RequestId": "r-1"}}
        return {**answer, **told, "FunctionError": self.failed} if self.failed else answer

    def run(self, name: str = NAME, payload: Any = None) -> Result:
        target = LambdaTarget(name)
        functions = LambdaFunctions(client=self.client, clock=SystemClock(), region="us-east-1")
        return functions.call(call(target, payload, seconds=30.5), target, self.pulse)


def test_a_function_is_invoked_with_the_run_and_waited_for_until_the_deadline() -> None:
    functions = Functions()
    assert functions.run(payload={"amount": 12}) == Result(Outcome.SUCCEEDED)
    (request,) = functions.invoked
    assert (request["FunctionName"], request["InvocationType"]) == (NAME, "RequestResponse")
    assert json.loads(request["Payload"]) == {
        "run_id": KEY.run_id,
        "schedule_id": "month.end",
        "attempt": 1,
        "fence": 1,
        "nominal_at": "2026-12-01T02:00:00Z",
        "due_at": "2026-12-01T02:00:00Z",
        "payload": {"amount": 12},
    }
    assert functions.waits == [30]


def test_the_end_of_the_log_of_a_function_that_failed_is_kept_with_where_all_of_it_is() -> None:
    functions = Functions(b"boom", "Unhandled")
    functions.run("arn:aws:lambda:us-east-1:123456789012:function:cronfleet-target-bills:live")
    assert functions.pulse.said == ["START RequestId: r-1", "no account 42"]
    assert functions.pulse.place == LogPlace("us-east-1", "/aws/lambda/cronfleet-target-bills", request_id="r-1")
    assert functions.pulse.is_whole
    succeeded = Functions()
    succeeded.run()
    assert succeeded.pulse.lines == []


def test_a_function_that_raised_has_failed_with_its_error() -> None:
    body = json.dumps({"errorType": "LookupError", "errorMessage": "no account\n42"}).encode()
    assert Functions(body, "Unhandled").run() == Result(Outcome.FAILED, "LookupError: no account 42")


@pytest.mark.parametrize(("body", "said"), [(b"boom", "boom"), (b"", "the function failed and said nothing")])
def test_a_function_that_failed_in_another_form_has_failed_with_what_it_said(body: bytes, said: str) -> None:
    assert Functions(body, "Unhandled").run() == Result(Outcome.FAILED, said)


def test_a_function_that_does_not_answer_in_time_has_timed_out() -> None:
    result = Functions(ReadTimeoutError(endpoint_url="https://example.test")).run()
    assert result == Result(Outcome.TIMED_OUT, "no answer within 30 s, its time limit")


@pytest.mark.parametrize(
    ("code", "retryable"),
    [
        ("TooManyRequestsException", True),
        ("ResourceNotFoundException", True),
        ("ServiceException", True),
        ("InvalidRequestContentException", False),
        ("RequestTooLargeException", False),
    ],
)
def test_what_lambda_refuses_is_retried_unless_the_request_itself_is_wrong(code: str, retryable: bool) -> None:
    error = ClientError({"Error": {"Code": code, "Message": "why"}}, "Invoke")
    assert Functions(error).run() == Result(Outcome.FAILED, f"{code}: why", retryable)


def test_a_connection_that_fails_is_retried() -> None:
    result = Functions(EndpointConnectionError(endpoint_url="https://example.test")).run()
    assert (result.outcome, result.retryable) == (Outcome.FAILED, True)


@pytest.mark.parametrize("name", [f"{NAME}:live", f"arn:aws:lambda:eu-west-1:123456789012:function:{NAME}:7"])
def test_versions_aliases_and_arns_may_be_named(name: str) -> None:
    assert Functions().run(name).outcome is Outcome.SUCCEEDED


@pytest.mark.parametrize(
    "name", ["prod-payments", "cronfleet-worker-standard", f"x-{NAME}", f"{NAME}\n", "cronfleet-target-"]
)
def test_a_function_that_did_not_opt_in_by_its_name_is_not_called(name: str) -> None:
    functions = Functions()
    assert not functions.run(name).retryable
    assert not functions.invoked
