"""Requests: who calls, under which conditions, and whether this is a repetition."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from cronfleet import bootstrap
from cronfleet.domain.errors import Invalid
from cronfleet.domain.role import Role
from cronfleet.domain.tenant import ID_PATTERN, TIERS, Tenant
from cronfleet.services.access import Caller
from cronfleet.services.changing import Conditions, Once

from .problems import unauthenticated
from .reading import parse

ADMITTED: Final = "cronfleet_caller"
"""Where in an event's `requestContext` the admitted caller stands; no gateway writes that name."""

TRACE: Final = "cronfleet_trace"
ROUTE: Final = "cronfleet_route"
"""Likewise the span of the request, and the route that it is resolved to."""

_ETAGS: Final = re.compile(r'\s*(W/)?"[\x21\x23-\x7e]{0,200}"\s*(,\s*(W/)?"[\x21\x23-\x7e]{0,200}"\s*){0,9}')
_ETAG: Final = re.compile(r'(?:W/)?"[^"]*"')
_KEY: Final = re.compile(r"[\x21-\x7e]{1,128}")


TENANT_HEADER: Final = "Cronfleet-Tenant"
"""The tenant that a platform admin acts for."""


def caller_of(event: Mapping[str, Any]) -> Caller:
    """The caller of a request that has passed `permissions.admit`; raises a 401 for one that has not."""
    admitted = event["requestContext"].get(ADMITTED)
    if not isinstance(admitted, Caller):
        raise unauthenticated()
    return admitted


def credential_of(event: Mapping[str, Any]) -> Caller:
    """The caller that the authorizer has recognised, in its own tenant; raises a 401 where it was left out."""
    context = event["requestContext"]
    known = (context.get("authorizer") or {}).get("lambda") or {}
    tenant, tier, credential = (known.get(name) for name in ("tenant", "tier", "key_id"))
    # Answers of an authorizer from before roles, which the gateway may remember for a minute, are of tenant admins.
    role = known.get("role", Role.TENANT_ADMIN)
    if not tenant or tier not in TIERS or not credential or role not in tuple(Role) or _is_over(known.get("ends_at")):
        raise unauthenticated()
    trace = context.get(TRACE)
    return Caller(
        Tenant(tenant, tier), credential, context["requestId"], Role(role), known.get("actor", ""), trace=trace
    )


def _is_over(ends_at: Any) -> bool:
    """The gateway goes on trusting the authorizer's answer for a while; an end that was known then holds at once."""
    return bool(ends_at) and int(ends_at) <= bootstrap.now()


def tenant_asked_for(event: Mapping[str, Any]) -> str | None:
    """The tenant that the request names in its header, if it names one; raises `Invalid` for what is no id."""
    named = _header(event, TENANT_HEADER.lower())
    if named is not None and not ID_PATTERN.fullmatch(named):
        raise Invalid(TENANT_HEADER, "is no tenant's id: write 1 to 64 letters, digits, dots, dashes and underscores")
    return named


def once_of(event: Mapping[str, Any]) -> Once | None:
    """The Idempotency-Key of the request, if it has one; raises `Invalid` for one of the wrong shape."""
    key = _header(event, "idempotency-key")
    if key is None:
        return None
    if not _KEY.fullmatch(key):
        raise Invalid("Idempotency-Key", "must have 1 to 128 visible ASCII characters, such as a UUID")
    said = json.dumps(parse(event["body"]), sort_keys=True) if event.get("body") else ""
    request = "\n".join(
        (event["requestContext"]["http"]["method"], event["rawPath"], event.get("rawQueryString", ""), said)
    )
    return Once(key, hashlib.sha256(request.encode()).hexdigest())


def conditions_of(event: Mapping[str, Any]) -> Conditions:
    """If-Match and If-None-Match; raises `Invalid` for a header of another shape."""
    wanted_new = _header(event, "if-none-match")
    if wanted_new is not None and wanted_new != "*":
        raise Invalid("If-None-Match", "can only be *, for a schedule that must not be there yet")
    if_match = _header(event, "if-match")
    if if_match is not None and wanted_new is not None:
        raise Invalid("If-None-Match", "contradicts If-Match; send one of them")
    return Conditions(() if if_match is None else _etags(if_match), only_new=wanted_new is not None)


def _etags(text: str) -> tuple[str, ...]:
    if text.strip() == "*":
        return ("*",)
    if not _ETAGS.fullmatch(text):
        raise Invalid("If-Match", 'must be an ETag as it was answered, in double quotes: "3-01j9…", or *')
    return tuple(_ETAG.findall(text))


def _header(event: Mapping[str, Any], name: str) -> str | None:
    for key, value in event.get("headers", {}).items():
        if key.lower() == name:
            return str(value)
    return None
