"""What AWS JSON 1.0 has in its bodies: a request's fields, an answer's, and what an error says.

JSON as it stands but for one thing: bytes, which DynamoDB keeps in attributes of type B and BS, travel as base64.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import orjson
from botocore.parsers import ResponseParserError

_MAY_HOLD_BYTES: Final = (b'"B"', b'"BS"')
_SERVER_ERROR: Final = 500
_QUERY_ERROR: Final = "x-amzn-query-error"


def encoded(fields: Mapping[str, Any]) -> bytes:
    """A request's body."""
    try:
        return orjson.dumps(fields, default=_plain)
    except orjson.JSONEncodeError:
        # Half a surrogate pair, or a number of more than 64 bits: the service refuses it with a sentence of its own.
        return json.dumps(fields, default=_plain).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, bytes | bytearray):
        return b64encode(value).decode()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be sent")


def decoded(body: bytes) -> dict[str, Any]:
    """An answer's fields; raises botocore's `ResponseParserError` for what is no JSON object, half of one, or nothing.

    Nothing is what is left of an answer that was cut off in its headers. To boto3's clients it is an empty one, which
    says of an item that there is none.
    """
    try:
        fields = orjson.loads(body)
    except orjson.JSONDecodeError:
        fields = _loosely(body)
    if not isinstance(fields, dict):
        raise ResponseParserError(f"the answer is no JSON object: {body[:80]!r}")
    if any(mark in body for mark in _MAY_HOLD_BYTES):
        _read_bytes(fields)
    return fields


def _loosely(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError as error:
        raise ResponseParserError(f"the answer is not JSON ({error}): {body[:80]!r}") from error


def _read_bytes(value: Any) -> None:
    """Read attributes of type B and BS in place; an attribute of such a name holds another attribute, never text."""
    if isinstance(value, list):
        for one in value:
            _read_bytes(one)
    elif isinstance(value, dict):
        for name, one in value.items():
            if name == "B" and isinstance(one, str):
                value[name] = b64decode(one)
            elif name == "BS" and isinstance(one, list) and all(isinstance(text, str) for text in one):
                value[name] = [b64decode(text) for text in one]
            else:
                _read_bytes(one)


def refusal(status: int, headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
    """What an error answers, in the form in which boto3's `ClientError` has it; what else it says stands beside it."""
    fields = _said(body)
    code = str(fields.pop("__type", status)).partition(":")[0].rpartition("#")[2]
    error = {"Code": code, "Message": fields.get("message") or fields.get("Message") or _in_words(status, body)}
    # Once SQS spoke XML; its clients still know its errors by the names of that time.
    former, _, side = headers.get(_QUERY_ERROR, "").partition(";")
    if former and side:
        error |= {"Code": former, "QueryErrorCode": code, "Type": side}
    return {**fields, "Error": error}


def _said(body: bytes) -> dict[str, Any]:
    try:
        return decoded(body)
    except ResponseParserError:
        return {}  # A proxy, or a balancer on its way down: HTML, or half an answer.


def _in_words(status: int, body: bytes) -> str:
    if status >= _SERVER_ERROR and (not body.strip() or body.strip().startswith(b"<html>")):
        return next((one.phrase for one in HTTPStatus if one == status), "")
    return "" if body.startswith(b"{") else body.decode(errors="replace")
