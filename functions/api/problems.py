"""Problems: every refusal in the form of RFC 9457, naming the field and saying what to write instead."""

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import islice
from typing import Any, Final

from aws_lambda_powertools.event_handler import Response

from cronfleet.domain.calendar_form import NAME_IN_WORDS
from cronfleet.domain.errors import (
    ClockSkewed,
    Conflict,
    Contended,
    CronfleetError,
    Exists,
    Forbidden,
    Invalid,
    KeyReused,
    Miscounted,
    NotFound,
    OnStandby,
    QuotaExceeded,
    RateLimited,
    Stale,
    TenantSuspended,
)

from .operation_schemas import ID_OR_NONE, SIGNATURE
from .parameters import ACTION, ALERT_ID, BREAKER_ID, KEY_ID, MESSAGE_ID, OPERATION_ID, PREFIX, REGION, ROLE, SUBJECT
from .reading import NotJson, TooLarge, dotted, kind_of
from .schemas import CALENDAR_NAME, ID, ID_IN_WORDS, TEXT

PROBLEM_JSON: Final = "application/problem+json"
RETRY_AFTER_SECONDS: Final = 2

MAX_ERRORS: Final = 50
"""How many fields one refusal names; what goes on after them is wrong in the same way."""

READ_ONLY: Final = frozenset(
    {
        "status",
        "version",
        "next_fire_at",
        "next_due_at",
        "catching_up",
        "paused",
        "hold",
        "parked",
        "deferred",
        "spread_offset_seconds",
        "created_at",
        "updated_at",
    }
)
"""Fields that the API answers with and nobody can write."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """One field of the request and what is wrong with it."""

    field: str
    reason: str


@dataclass(eq=False)
class Problem(Exception):
    """A refusal. `slug` names its kind: the end of the problem's `type`."""

    status: int
    slug: str
    title: str
    detail: str
    errors: tuple[FieldError, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    members: Mapping[str, Any] = field(default_factory=dict)
    """More members, as RFC 9457 allows: what a program needs to act upon."""

    def response(self, instance: str) -> Response[str]:
        """The answer of a route; `instance` is the path that was asked for."""
        return Response(self.status, PROBLEM_JSON, self._body(instance), headers=self.headers)

    def gateway_answer(self, instance: str) -> dict[str, Any]:
        """The same where no route has been looked for yet."""
        headers = {"Content-Type": PROBLEM_JSON, **self.headers}
        return {"statusCode": self.status, "headers": headers, "body": self._body(instance), "isBase64Encoded": False}

    def _body(self, instance: str) -> str:
        body: dict[str, Any] = {
            "type": f"urn:cronfleet:problem:{self.slug}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "instance": instance,
            **self.members,
        }
        if self.errors:
            body["errors"] = [{"field": error.field, "reason": error.reason} for error in self.errors]
        return json.dumps(body)


def invalid(errors: Iterable[FieldError]) -> Problem:
    """The request cannot be used as it is: 400. Names the first `MAX_ERRORS` of `errors`."""
    found = tuple(islice(errors, MAX_ERRORS))
    detail = "; ".join(f"{error.field}: {error.reason}" for error in found)
    return Problem(400, "invalid", "The request cannot be used as it is", detail, found)


def not_found(path: str) -> Problem:
    """No route has this path: 404."""
    return _one(404, "not-found", "There is no such thing", "path", f"there is nothing at {path}; see /docs")


def method_not_allowed(method: str, path: str, allowed: Iterable[str]) -> Problem:
    """The path exists, the method does not: 405."""
    methods = ", ".join(sorted(allowed))
    return Problem(
        405,
        "method-not-allowed",
        "The method is not allowed here",
        f"{method} is not allowed for {path}; it takes {methods}",
        (FieldError("method", f"{method} is not allowed; use {methods}"),),
        {"Allow": methods},
    )


def not_new(error: Exists) -> Problem:
    """If-None-Match asked for a schedule that is not there yet: 412."""
    return _one(412, "not-new", "The schedule is there already", "If-None-Match", str(error))


def unauthenticated() -> Problem:
    """The gateway let somebody through whom the authorizer has not seen: 401."""
    return Problem(
        401,
        "unauthenticated",
        "The caller is not known",
        "send an API key, Authorization: Bearer cf_<id>_<secret>, or a token that has not expired",
        (FieldError("Authorization", "holds no valid credential"),),
        {"WWW-Authenticate": "Bearer"},
    )


def internal() -> Problem:
    """An error of ours, which the caller learns nothing of: 500."""
    return Problem(
        500, "internal", "Something went wrong here", "the request was not at fault; the error has been logged"
    )


def of(error: Exception) -> Problem | None:
    """The problem that a known `error` is; `None` for any other."""
    match error:
        case Problem():
            return error
        case TooLarge():
            return _one(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too-large", "The body is too large", "body", str(error))
        case NotJson():
            return _one(415, "not-json", "The body is of another media type", error.header, str(error))
        case CronfleetError():
            return _of_domain(error)
        case _:
            return None


_NAMED_BY: Final = {
    "backfill": "operation_id",
    "calendar": "name",
    "channel": "name",
    "dead letter": "run_id",
    "deletion of tenant": "tenant_id",
    "redrive": "operation_id",
    "rerun": "operation_id",
    "unreadable message": "unreadable_id",
    "version": "version",
}
"""Which parameter of the path names a thing, where that is not its own word with `_id`."""


def _of_domain(error: CronfleetError) -> Problem:
    match error:
        case Invalid(field=name, reason=reason):
            return invalid((FieldError(name or "body", reason),))
        case NotFound(what=what, field=said):
            name = said or _NAMED_BY.get(what, f"{what}_id")
            return _one(404, "not-found", "There is no such thing", name, str(error))
        case Forbidden():
            return Problem(403, "forbidden", "The role does not suffice", str(error))
        case TenantSuspended():
            return Problem(403, f"tenant-{error.status}", f"The tenant is {error.status}", str(error))
        case Exists():
            return _one(409, "exists", "The id is taken", "id", str(error))
        case Stale():
            return _one(412, "stale", "The schedule has changed meanwhile", "If-Match", str(error))
        case KeyReused():
            return _one(422, "key-reused", "The key belongs to another request", "Idempotency-Key", str(error))
        case _:
            return _of_state(error)


def _of_state(error: CronfleetError) -> Problem:
    """The problem of a request that may be right at another time."""
    match error:
        case Conflict():
            why = (FieldError("status", str(error)),)
            return Problem(409, "conflict", "Its state does not allow this", str(error), why)
        case OnStandby():
            return Problem(409, "standby", "This installation is a standby", str(error))
        case QuotaExceeded(quota=quota, use=use, limit=limit):
            why, more = (FieldError(quota, str(error)),), {"quota": quota, "use": use, "limit": limit}
            return Problem(409, "quota-exceeded", "The quota does not allow this", str(error), why, members=more)
        case RateLimited(field=name, retry_after_seconds=seconds):
            wait, why = {"Retry-After": str(seconds)}, (FieldError(name, str(error)),)
            return Problem(429, "too-many", "Too many requests", str(error), why, wait)
        case Miscounted(expected=expected, count=count):
            why, more = (FieldError("expected", str(error)),), {"expected": expected, "count": count}
            return Problem(409, "miscounted", "Another number matches", str(error), why, members=more)
        case Contended() | ClockSkewed():
            wait = {"Retry-After": str(RETRY_AFTER_SECONDS)}
            return Problem(503, "contended", "Try again in a few seconds", str(error), headers=wait)
        case _:
            return internal()


def _one(status: int, slug: str, title: str, name: str, reason: str) -> Problem:
    return Problem(int(status), slug, title, f"{name}: {reason}", (FieldError(name, reason),))


# --- what pydantic found ---------------------------------------------------------------------------------------

_IN_BODY: Final = "body"
_IN_QUERY: Final = "query"
_CLOSE: Final = 0.7
"""From where on two names are alike enough (difflib) that one was probably meant for the other."""

_TYPES: Final = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "dict_type": "an object",
    "list_type": "an array",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "bool_type": "true or false",
}


def of_validation(errors: Iterable[Mapping[str, Any]], known: Mapping[str, frozenset[str]]) -> Problem:
    """The problem of a request that does not fit its schema. `known` holds the fields of each object by its path."""
    return invalid(field_errors(errors, known))


def field_errors(errors: Iterable[Mapping[str, Any]], known: Mapping[str, frozenset[str]]) -> list[FieldError]:
    """What is wrong with each field, of the first `MAX_ERRORS`."""
    return [_field_error(error, known) for error in islice(errors, MAX_ERRORS)]


def _field_error(error: Mapping[str, Any], known: Mapping[str, frozenset[str]]) -> FieldError:
    where, *path = [str(part) for part in error["loc"]]
    names = tuple(part for part in path if part != "[key]")
    name = dotted(names) or where
    return FieldError(name, _reason(error, names, where, known))


_BOUNDS: Final = {
    "string_too_long": ("max_length", "has more than the {} characters that are allowed"),
    "too_long": ("max_length", "has more than the {} entries that are allowed"),
    "greater_than_equal": ("ge", "must be at least {}, not {shown}"),
    "less_than_equal": ("le", "must be at most {}, not {shown}"),
    "literal_error": ("expected", "must be {}, not {shown}"),
    "enum": ("expected", "must be {}, not {shown}"),
}
_EMPTY: Final = {
    "string_too_short": "is empty; write something",
    "too_short": "is empty; write at least one entry, or leave it out",
}
PATTERNS: Final = {
    ID: f"{{shown}} is no id: write {ID_IN_WORDS}",
    CALENDAR_NAME: f"{{shown}} is no name of a calendar: write {NAME_IN_WORDS}",
    ID_OR_NONE: f"{{shown}} is no id: write {ID_IN_WORDS}",
    SIGNATURE: "{shown} is no failure signature: copy one from GET /v1/dead-letters?group=signature",
    OPERATION_ID: "{shown} is no id of an operation: copy one from GET /v1/operations",
    ALERT_ID: "{shown} is no id: copy it from GET /v1/incidents",
    BREAKER_ID: "{shown} is no id of a breaker: copy one from GET /v1/breakers",
    MESSAGE_ID: "{shown} is no id of such a message: copy one from GET /v1/dead-letters?kind=unreadable",
    KEY_ID: "{shown} is no id of an API key: copy one from GET /v1/tenants/{{id}}/keys",
    SUBJECT: "{shown} is no subject: write one as schedule:billing-nightly, or tenant",
    ACTION: "{shown} is no action: write one as GET /v1/audit shows it, such as pause",
    REGION: "{shown} is no AWS region: write one as eu-west-1",
    ROLE: "{shown} is no role that may be lent: write arn:aws:iam::<account>:role/cronfleet-target-<name>",
    PREFIX: "{shown} begins no id: write up to 64 letters, digits, dots, dashes and underscores",
    TEXT: "holds a control character; write text, with tabs and line breaks at most",
}


def _reason(error: Mapping[str, Any], names: tuple[str, ...], where: str, known: Mapping[str, frozenset[str]]) -> str:
    kind = error["type"]
    if kind == "missing":
        return "is missing" if names else "is missing: send a JSON object"
    if kind == "extra_forbidden":
        return _unknown(names, known, "parameter" if where == _IN_QUERY else "field")
    if kind in _EMPTY:
        return _EMPTY[kind]
    if kind == "string_pattern_mismatch":
        pattern = error["ctx"]["pattern"]
        return PATTERNS[pattern].format(shown=_shown(error)) if pattern in PATTERNS else f"does not match {pattern}"
    if kind in _BOUNDS:
        bound, sentence = _BOUNDS[kind]
        return sentence.format(error["ctx"][bound], shown=_shown(error))
    if kind in _TYPES and where == _IN_BODY:
        found = error.get("input")
        return f"must be {_TYPES[kind]}, not {repr(found) if isinstance(found, float) else kind_of(found)}"
    return str(error.get("msg", "cannot be used")).removeprefix("Value error, ")


def _unknown(names: tuple[str, ...], known: Mapping[str, frozenset[str]], what: str) -> str:
    *parents, name = names
    if not parents and what == "field" and name in READ_ONLY:
        return "is read-only; leave it out"
    candidates = sorted(known.get(".".join(parents), ()))
    close = difflib.get_close_matches(name.lower(), candidates, n=1, cutoff=_CLOSE)
    if close:
        return f"is no {what} here; did you mean {close[0]}?"
    return f"is no {what} here; " + (f"known are {', '.join(candidates)}" if candidates else "leave it out")


def _shown(error: Mapping[str, Any]) -> str:
    text = json.dumps(error.get("input"), default=str)
    return text if len(text) <= 80 else f"{text[:77]}…"
