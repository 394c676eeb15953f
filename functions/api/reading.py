"""Reading: the part of a request that must be sound before any route sees it.

JSON is read strictly: no duplicate names, no NaN or infinity, no lone surrogates, no bottomless nesting. What comes
out is the event with a body that is UTF-8 text of one JSON object, or without a body.
"""

import base64
import binascii
import json
import math
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

from cronfleet.domain.errors import Invalid

MAX_BODY_BYTES: Final = 64 * 1024
"""A schedule is kept twice more in its audit item, and an item holds 400 KB at most."""

MAX_DEPTH: Final = 32

JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
_METHODS_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})

Event = dict[str, Any]


class TooLarge(Exception):
    """The body is larger than any request needs."""


class NotJson(Exception):
    """The body is of another media type."""


class _Duplicated(dict[str, Any]):
    """An object in which `name` stood more than once."""

    name: str


def read(event: Mapping[str, Any]) -> Event:
    """`event` with a checked body. Raises `Invalid`, `TooLarge` or `NotJson`."""
    _check_query(event.get("rawQueryString", ""))
    method = event["requestContext"]["http"]["method"].upper()
    content = _content(event) if method in _METHODS_WITH_BODY else b""
    sound: Event = {**event, "body": None, "isBase64Encoded": False}
    if not content.strip():
        return sound
    _check_media_type(event, method)
    text = _text(content)
    _check(parse(text))
    others = {name: value for name, value in event.get("headers", {}).items() if name.lower() != "content-type"}
    # Powertools knows no merge patch; by now both are checked JSON.
    return {**sound, "body": text, "headers": {**others, "content-type": JSON}}


def _check_query(query: str) -> None:
    names = [name for name, _ in parse_qsl(query, keep_blank_values=True)]
    for name in names:
        if names.count(name) > 1:
            raise Invalid(dotted((name,)), "is given twice; give each parameter once")


def _content(event: Mapping[str, Any]) -> bytes:
    body = event.get("body") or ""
    if event.get("isBase64Encoded"):
        try:
            content = base64.b64decode(body, validate=True)
        except binascii.Error as error:
            raise Invalid("body", "is not valid base64, though the event says so") from error
    else:
        content = body.encode("utf-8", "surrogatepass")
    if len(content) > MAX_BODY_BYTES:
        raise TooLarge(
            f"has {len(content)} bytes; {MAX_BODY_BYTES} are allowed. Keep large data in S3, and its address here"
        )
    return content


def _check_media_type(event: Mapping[str, Any], method: str) -> None:
    headers = {name.lower(): value for name, value in event.get("headers", {}).items()}
    written = headers.get("content-type", "").strip()
    media_type, _, parameters = written.partition(";")
    allowed = (JSON, MERGE_PATCH) if method == "PATCH" else (JSON,)
    if media_type.strip().lower() not in ("", *allowed):
        raise NotJson(f"is {media_type.strip()!r}; send {' or '.join(allowed)}")
    charset = parameters.replace(" ", "").strip('"').lower()
    if charset.startswith("charset=") and charset.removeprefix("charset=").strip('"') not in ("utf-8", "utf8"):
        raise NotJson(f"has {parameters.strip()!r}; JSON is UTF-8")


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise Invalid("body", f"is not UTF-8: byte {error.start} is wrong") from error


def parse(text: str) -> Any:
    """The JSON value of `text`; an object with a duplicate name is a `_Duplicated`."""
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise Invalid("body", f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from error
    except RecursionError as error:
        raise Invalid("body", f"is nested deeper than {MAX_DEPTH} levels") from error
    except ValueError as error:
        raise Invalid("body", "holds a number with more digits than can be kept; write it as text") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    duplicated = _Duplicated(made)
    names = [name for name, _ in pairs]
    duplicated.name = next(name for name in names if names.count(name) > 1)
    return duplicated


def _no_constant(name: str) -> Any:
    raise Invalid("body", f"holds {name}, which is no JSON number; write null or text")


def _check(body: Any) -> None:
    if not isinstance(body, dict):
        raise Invalid("body", f"must be a JSON object, {{…}}, not {kind_of(body)}")
    _check_value(body, ())


def _check_value(value: Any, path: tuple[str, ...]) -> None:
    if len(path) > MAX_DEPTH:
        raise Invalid(dotted(path[:3]), f"is nested deeper than {MAX_DEPTH} levels")
    match value:
        case str():
            _check_text(value, path)
        case float() if not math.isfinite(value):
            raise Invalid(dotted(path), "is a number too large to be kept; write it as text")
        case dict():
            if isinstance(value, _Duplicated):
                raise Invalid(dotted((*path, value.name)), "stands there twice; write each name once")
            for name, inner in value.items():
                _check_text(name, path)
                _check_value(inner, (*path, name))
        case list():
            for position, inner in enumerate(value):
                _check_value(inner, (*path, str(position)))


def _check_text(text: str, path: tuple[str, ...]) -> None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise Invalid(dotted(path) or "body", "holds half of a surrogate pair, which is no character")


def dotted(path: tuple[str, ...]) -> str:
    """`trigger.cron`; each name cut to a length that fits an answer, and without what cannot be printed."""
    return ".".join(name.encode("ascii", "backslashreplace").decode()[:64] for name in path)


def kind_of(value: Any) -> str:
    """What JSON calls the type of `value`."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "an array"
        case _:
            return "an object"
