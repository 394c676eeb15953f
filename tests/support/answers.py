"""A client of DynamoDB that answers what it is told to, and the ways in which a request can stay without an answer."""

from collections.abc import Callable
from typing import Any

import boto3
from botocore.exceptions import ClientError, ConnectTimeoutError, EndpointConnectionError, ReadTimeoutError
from botocore.parsers import ResponseParserError


class Answers:
    """A client that gives the answers it was told to, in order, and remembers what was asked."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.meta = boto3.client("dynamodb", region_name="us-east-1").meta

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        def call(**request: Any) -> Any:
            self.requests.append((operation, request))
            answer = self._answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call


def error(code: str, status: int = 400, **fields: Any) -> ClientError:
    response: Any = {"Error": {"Code": code, "Message": ""}, "ResponseMetadata": {"HTTPStatusCode": status}, **fields}
    return ClientError(response, "UpdateItem")


URL = "http://localhost"

SILENCES = [
    error("ProvisionedThroughputExceededException"),
    error("ThrottlingException"),
    error("RequestLimitExceeded"),
    error("TransactionConflictException"),
    error("InternalServerError", 500),
    error("ServiceUnavailable", 503),
    error("SomethingNew", 502),
    ConnectTimeoutError(endpoint_url=URL),
    ReadTimeoutError(endpoint_url=URL),
    EndpointConnectionError(endpoint_url=URL),
    ResponseParserError("half an answer"),
]


def name_of(silence: Exception) -> str:
    return silence.response["Error"]["Code"] if isinstance(silence, ClientError) else type(silence).__name__
