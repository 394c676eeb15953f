"""A client for the few operations of the hot path, several times cheaper than boto3's.

It takes the same keyword arguments, gives the same answers and raises the same errors, so that whoever uses it cannot
tell (one suite of tests runs on both). What it leaves out, and why it pays, is in
docs/decisions/0034-a-thinner-client.md: models of the services, and what is done by them for each request. Tokens that
make a request repeatable are the caller's to give.

Signatures, credentials, endpoints, connections and retries are botocore's own.
"""

import time
from binascii import crc32
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from itertools import count
from types import SimpleNamespace
from typing import Any, Final
from urllib.parse import urlsplit

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.handlers import add_recursion_detection_header
from botocore.hooks import first_non_none_response
from botocore.parsers import ResponseParserError
from botocore.session import Session

from cronfleet.adapters.aws.bodies import decoded, encoded, refusal
from cronfleet.adapters.aws.place import place_of
from cronfleet.adapters.aws.retries import Retries
from cronfleet.adapters.aws.wire import Headers, Reply, Request, sign

JSON: Final = "application/x-amz-json-1.0"
CHECKSUM: Final = "x-amz-crc32"


@dataclass(frozen=True, slots=True)
class Service:
    """What distinguishes one service of AWS JSON 1.0 from another."""

    name: str
    target: str
    operations: Mapping[str, str]
    """Of boto3's methods those that are offered, with the operation's name."""
    headers: Mapping[str, str]


def _named(*methods: str) -> dict[str, str]:
    return {method: "".join(word.capitalize() for word in method.split("_")) for method in methods}


_DYNAMODB: Final = Service(
    "dynamodb",
    "DynamoDB_20120810",
    _named(
        "batch_execute_statement",
        "batch_get_item",
        "batch_write_item",
        "delete_item",
        "get_item",
        "put_item",
        "query",
        "scan",
        "transact_write_items",
        "update_item",
    ),
    {},
)
_SQS: Final = Service("sqs", "AmazonSQS", _named("send_message_batch"), {"x-amzn-query-mode": "true"})
SERVICES: Final = {one.name: one for one in (_DYNAMODB, _SQS)}


def client(service: str, session: Session, config: Config) -> Any:
    """A client of one of `SERVICES` in the place of boto3's; raises botocore's `NoRegionError`."""
    return LeanClient(SERVICES[service], session, config)


class LeanClient:
    """One service, for one session's credentials and region; threads may share it.

    Its methods are the service's `operations`. `meta.events` is botocore's: `request-created`, `before-send` and
    `response-received` are told, with what boto3's client tells them.
    """

    def __init__(self, service: Service, session: Session, config: Config) -> None:
        """Raises botocore's `NoRegionError`."""
        options: Any = config  # Its attributes are set from a table, which the stubs know in part.
        self.service = service
        self._place = place_of(service.name, session, config)
        self._retries = Retries(service.name, options.retries["total_max_attempts"])
        self._headers = {
            **service.headers,
            "Host": urlsplit(self._place.url).netloc,
            "Content-Type": JSON,
            "User-Agent": self._place.user_agent,
        }
        self.meta = SimpleNamespace(events=self._place.events, endpoint_url=self._place.url)
        for method, operation in service.operations.items():
            setattr(self, method, partial(self._ask, operation))

    def _ask(self, operation: str, **request: Any) -> dict[str, Any]:
        return self.call(operation, request)

    def call(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to `operation`; raises botocore's `ClientError`, `BotoCoreError` or `ResponseParserError`."""
        body = encoded(request)
        context: dict[str, Any] = {}
        for attempt in count(1):
            reply, failure = self._attempt(operation, body, context)
            if reply is not None and reply.status_code < HTTPStatus.MULTIPLE_CHOICES and _is_whole(reply):
                self._retries.good(reply, context)
                return _answer(reply, attempt)
            pause = self._retries.pause(operation, attempt, context, _refused(reply), failure)
            if pause is None:
                raise failure or _error(operation, reply, attempt)
            time.sleep(pause)
        raise AssertionError("counting ends")

    def _attempt(
        self, operation: str, body: bytes, context: dict[str, Any]
    ) -> tuple[Reply | None, BotoCoreError | None]:
        place, emit, name = self._place, self._place.events.emit, f"{self.service.name}.{operation}"
        request = self._request(operation, body, context)
        emit(f"request-created.{name}", request=request, operation_name=operation)
        sign(request, place.credentials, self.service.name, place.region)
        reply, failure = None, None
        try:
            reply = first_non_none_response(emit(f"before-send.{name}", request=request)) or place.wire.send(request)
        except BotoCoreError as error:
            failure = error
        told = None if reply is None else {"headers": reply.headers, "status_code": reply.status_code}
        emit(f"response-received.{name}", response_dict=told, context=context, exception=failure)
        return reply, failure

    def _request(self, operation: str, body: bytes, context: dict[str, Any]) -> Request:
        headers = Headers(self._headers)
        headers["X-Amz-Target"] = f"{self.service.target}.{operation}"
        # By this header Lambda finds loops of functions that feed each other.
        add_recursion_detection_header({"headers": headers})
        return Request(self._place.url, headers, body, context)


def _is_whole(reply: Reply) -> bool:
    told = reply.headers.get(CHECKSUM)
    return told is None or told == str(crc32(reply.content))


def _answer(reply: Reply, attempt: int) -> dict[str, Any]:
    return {**decoded(reply.content), "ResponseMetadata": _metadata(reply, attempt)}


def _metadata(reply: Reply, attempt: int) -> dict[str, Any]:
    return {
        "RequestId": reply.headers.get("x-amzn-requestid", ""),
        "HTTPStatusCode": reply.status_code,
        "RetryAttempts": attempt - 1,
    }


def _refused(reply: Reply | None) -> tuple[Reply, dict[str, Any]] | None:
    """An answer that is no success with what it says, as botocore's retries ask about it."""
    if reply is None:
        return None
    if reply.status_code < HTTPStatus.MULTIPLE_CHOICES:
        return reply, {}  # Its checksum is wrong.
    return reply, refusal(reply.status_code, reply.headers, reply.content)


def _error(operation: str, reply: Reply | None, attempt: int) -> Exception:
    if reply is None or reply.status_code < HTTPStatus.MULTIPLE_CHOICES:
        return ResponseParserError(f"the checksum of the answer to {operation} is wrong")
    said = refusal(reply.status_code, reply.headers, reply.content)
    told: Any = {**said, "ResponseMetadata": _metadata(reply, attempt)}
    return ClientError(told, operation)
