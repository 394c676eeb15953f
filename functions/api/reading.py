"""Reading: the part of a request that must be sound before any route sees it.

JSON is read strictly: no duplicate names, no NaN or infinity, no number that would be rounded, no lone surrogates, no
bottomless nesting. What comes out is the event with a body that is UTF-8 text of one JSON object, or without a body.
Where a route takes a document of another format (`documents.py`), that object holds it.
"""

import base64
import binascii
import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final
from urllib.parse import parse_qsl

from cronfleet.domain.errors import Invalid

from .documents import JSON, Document, document_of

MAX_BODY_BYTES: Final = 64 * 1024
"""A schedule is kept twice more in its audit item, and an item holds 400 KB at most."""

MAX_DEPTH: Final = 32

MAX_DIGITS: Final = 800
"""Significant digits of a number: no double has more when it is written out in full."""

MERGE_PATCH: Final = "application/merge-patch+json"
_METHODS_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})
_REPLACED: Final = "\ufffd"
"""What a gateway that hands text on puts where bytes were not UTF-8."""

Event = dict[str, Any]


class TooLarge(Exception):
    """The body is larger than any request needs."""


class NotJson(Exception):
    """The body is of another media type, or compressed; `header` says so."""

    def __init__(self, header: str, reason: str) -> None:
        super().__init__(reason)
        self.header = header


class _Duplicated(dict[str, Any]):
    """An object in which `name` stood more than once."""

    name: str


class _Unkept:
    """A number that cannot be kept as it was written, and why."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


def read(event: Mapping[str, Any]) -> Event:
    """`event` with a checked body. Raises `Invalid`, `TooLarge` or `NotJson`."""
    _check_query(event.get("rawQueryString", ""))
    method = event["requestContext"]["http"]["method"].upper()
    if method not in _METHODS_WITH_BODY:
        return dict(event)
    document = document_of(method, event["rawPath"])
    if document is not None and document.is_in(event.get("headers", {})):
        return _with_json(event, _document(event, document))
    content = _content(event, document.max_bytes if document is not None and document.or_json else MAX_BODY_BYTES)
    if not content.strip():
        # Of what type nothing is does not matter; Powertools would fail over a type that it does not know.
        return {**event, "body": None, "isBase64Encoded": False, "headers": _untyped(event)}
    _check_media_type(event, method, document)
    text = _text(content)
    if _REPLACED in text and not event.get("isBase64Encoded"):
        raise Invalid("body", "is not UTF-8 (or holds U+FFFD, which stands for what is not: write it as \\ufffd)")
    _check(parse(text))
    return _with_json(event, text)


def _with_json(event: Mapping[str, Any], text: str) -> Event:
    # Powertools knows no merge patch, and no documents; by now all of them are checked JSON.
    return {**event, "body": text, "isBase64Encoded": False, "headers": {**_untyped(event), "content-type": JSON}}


def _untyped(event: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in event.get("headers", {}).items() if name.lower() != "content-type"}


def _document(event: Mapping[str, Any], document: Document) -> str:
    _check_coding(event)
    content = _content(event, document.max_bytes)
    try:
        return json.dumps(document.fields(content))
    except UnicodeDecodeError as error:
        raise _not_utf8(error) from error


def check_unread(event: Mapping[str, Any]) -> None:
    """Raises `Invalid` for a body that the method does not read: whoever sent it thinks that it says something."""
    method = event["requestContext"]["http"]["method"].upper()
    if method not in _METHODS_WITH_BODY and _content(event).strip():
        raise Invalid("body", f"is not read by {method}: leave it out; parameters stand in the query, as in ?reason=…")


def _check_query(query: str) -> None:
    seen: set[str] = set()
    for name, _ in parse_qsl(query, keep_blank_values=True):
        if name in seen:
            raise Invalid(dotted((name,)) or "query", "is given twice; give each parameter once")
        seen.add(name)


def _content(event: Mapping[str, Any], most: int = MAX_BODY_BYTES) -> bytes:
    body = event.get("body") or ""
    if event.get("isBase64Encoded"):
        try:
            content = base64.b64decode(body, validate=True)
        except binascii.Error as error:
            raise Invalid("body", "is not valid base64, though the event says so") from error
    else:
        content = body.encode("utf-8", "surrogatepass")
    if len(content) > most:
        advice = "Keep large data in S3, and its address here" if most == MAX_BODY_BYTES else "Send it in parts"
        raise TooLarge(f"has {len(content)} bytes; {most} are allowed. {advice}")
    return content


def _check_coding(event: Mapping[str, Any]) -> None:
    coding = _header(event, "content-encoding")
    if coding.lower() not in ("", "identity"):
        raise NotJson("Content-Encoding", f"is {coding!r}; send the body as it is, not compressed")


def _header(event: Mapping[str, Any], wanted: str) -> str:
    found = (value for name, value in event.get("headers", {}).items() if name.lower() == wanted)
    return str(next(found, "")).strip()


def _check_media_type(event: Mapping[str, Any], method: str, document: Document | None) -> None:
    _check_coding(event)
    written = _header(event, "content-type")
    media_type, *parameters = (part.strip() for part in written.split(";"))
    allowed = (JSON, MERGE_PATCH) if method == "PATCH" else (JSON,)
    if document is not None:
        allowed = document.allowed
    if written and media_type.lower() not in allowed:
        raise NotJson("Content-Type", f"is {media_type!r}; send {' or '.join(allowed)}")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and value.strip(' "').lower() not in ("utf-8", "utf8"):
            raise NotJson("Content-Type", f"has {parameter!r}; JSON is UTF-8")


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise _not_utf8(error) from error


def _not_utf8(error: UnicodeDecodeError) -> Invalid:
    return Invalid("body", f"is not UTF-8: byte {error.start} is wrong")


def parse(text: str) -> Any:
    """The JSON value of `text`; an object with a duplicate name is a `_Duplicated`, a number that JSON does not have,
    or that would be rounded, an `_Unkept`.
    """
    if text.startswith("\ufeff"):
        raise Invalid("body", "begins with a byte order mark; leave it out")
    try:
        return json.loads(
            text, object_pairs_hook=_object, parse_float=_float, parse_int=_int, parse_constant=_no_constant
        )
    except json.JSONDecodeError as error:
        message = error.msg.removesuffix(" at")
        raise Invalid("body", f"is not JSON: {message} at line {error.lineno}, column {error.colno}") from error
    except RecursionError as error:
        raise Invalid("body", f"is nested deeper than {MAX_DEPTH} levels") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    duplicated = _Duplicated(made)
    names = [name for name, _ in pairs]
    duplicated.name = next(name for name in names if names.count(name) > 1)
    return duplicated


def _no_constant(name: str) -> _Unkept:
    return _Unkept(f"is {name}, which is no JSON number; write null or text")


def _int(text: str) -> int | _Unkept:
    try:
        return int(text)
    except ValueError:
        return _Unkept("is a number with more digits than can be kept; write it as text")


def _float(text: str) -> float | _Unkept:
    """The double that `text` writes: printed with as many digits, it must give the same number again."""
    value = float(text)
    if math.isinf(value):
        return _Unkept("is a number too large to be kept; write it as text")
    digits = text.lower().partition("e")[0].replace(".", "").strip("-0")
    if len(digits) > MAX_DIGITS:
        return _Unkept("is a number with more digits than can be kept; write it as text")
    if digits and (value == 0 or Decimal(f"{value:.{len(digits) - 1}e}") != Decimal(text)):
        return _Unkept(f"is a number that would be kept as {value!r}; write that, or the digits as text")
    return value


def _check(body: Any) -> None:
    if not isinstance(body, dict):
        raise Invalid("body", f"must be a JSON object, {{…}}, not {kind_of(body)}")
    check_value(body, ())


def check_value(value: Any, path: tuple[str, ...]) -> None:
    """Raises `Invalid` for what `parse` found and cannot be kept, with its path."""
    if len(path) > MAX_DEPTH:
        raise Invalid(dotted(path[:3]), f"is nested deeper than {MAX_DEPTH} levels")
    match value:
        case str():
            _check_text(value, path)
        case _Unkept():
            raise Invalid(dotted(path), value.reason)
        case dict():
            if isinstance(value, _Duplicated):
                raise Invalid(dotted((*path, value.name)), "stands there twice; write each name once")
            for name, inner in value.items():
                _check_text(name, path)
                check_value(inner, (*path, name))
        case list():
            for position, inner in enumerate(value):
                check_value(inner, (*path, str(position)))


def _check_text(text: str, path: tuple[str, ...]) -> None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise Invalid(dotted(path) or "body", "holds half of a surrogate pair, which is no character")


def dotted(path: tuple[str, ...]) -> str:
    """`trigger.cron`; each name cut to a length that fits an answer, and without what cannot be printed."""
    return ".".join(name.encode("unicode_escape").decode()[:64] for name in path)


def kind_of(value: Any) -> str:
    """What JSON calls the type of `value`."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float() | _Unkept():
            return "a number"
        case str():
            return "text"
        case list():
            return "an array"
        case _:
            return "an object"
