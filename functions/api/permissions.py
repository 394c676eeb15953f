"""Permissions: the one table of which role each route takes, and the one place that asks it."""

import functools
from collections.abc import Mapping
from typing import Any, Final

from cronfleet import bootstrap
from cronfleet.domain.errors import Conflict, Invalid, NotFound, OnStandby, TenantSuspended
from cronfleet.domain.hold import hold_words
from cronfleet.domain.role import Role
from cronfleet.domain.tenant import ID_PATTERN, Tenant, TenantStatus
from cronfleet.services.access import Caller
from cronfleet.services.admission import Admission
from cronfleet.services.changing import answer_of
from cronfleet.services.noticeboard import Noticeboard
from cronfleet.settings import from_environment

from .requests import ADMITTED, TENANT_HEADER, credential_of, tenant_asked_for

PUBLIC: Final = None
"""In the place of a role: the route needs no credential."""

ROLES: Final[Mapping[tuple[str, str], Role | None]] = {
    ("GET", "/"): PUBLIC,
    ("GET", "/docs"): PUBLIC,
    ("GET", "/openapi.json"): PUBLIC,
    ("POST", "/v1/heartbeats/{token}"): PUBLIC,  # its token is a credential of its own
    # Reads.
    ("GET", "/v1/health"): Role.VIEWER,
    ("GET", "/v1/timezone-data"): Role.VIEWER,
    ("GET", "/v1/target-role"): Role.VIEWER,
    ("POST", "/v1/preview"): Role.VIEWER,
    ("GET", "/v1/lint"): Role.VIEWER,
    ("GET", "/v1/lint/crowded-minutes"): Role.VIEWER,
    ("GET", "/v1/forecast"): Role.VIEWER,  # that of all tenants takes a platform admin
    ("GET", "/v1/schedules"): Role.VIEWER,
    ("GET", "/v1/schedules/{schedule_id}"): Role.VIEWER,
    ("GET", "/v1/schedules/{schedule_id}/fires"): Role.VIEWER,
    ("GET", "/v1/schedules/{schedule_id}/runs"): Role.VIEWER,
    ("GET", "/v1/schedules/{schedule_id}/explain"): Role.VIEWER,
    ("GET", "/v1/schedules/{schedule_id}/ledger"): Role.VIEWER,
    ("GET", "/v1/schedules/{schedule_id}/shadow"): Role.VIEWER,
    ("GET", "/v1/schedules/{schedule_id}/heartbeat"): Role.VIEWER,
    ("GET", "/v1/schedules/{schedule_id}/dependencies"): Role.VIEWER,
    ("GET", "/v1/schedules/{schedule_id}/objectives"): Role.VIEWER,
    ("GET", "/v1/schedules/{schedule_id}/versions"): Role.VIEWER,
    ("GET", "/v1/schedules/{schedule_id}/versions/{version}"): Role.VIEWER,
    ("GET", "/v1/schedules/{schedule_id}/versions/{version}/diff"): Role.VIEWER,
    ("GET", "/v1/runs/{run_id}"): Role.VIEWER,
    ("GET", "/v1/runs/{run_id}/log"): Role.VIEWER,
    ("GET", "/v1/dead-letters"): Role.VIEWER,  # its messages that nobody can read take a platform admin
    ("GET", "/v1/dead-letters/{run_id}"): Role.VIEWER,
    ("GET", "/v1/backfills"): Role.VIEWER,
    ("GET", "/v1/backfills/{operation_id}"): Role.VIEWER,
    ("GET", "/v1/backfills/{operation_id}/dates"): Role.VIEWER,
    ("GET", "/v1/operations"): Role.VIEWER,
    ("GET", "/v1/operations/{operation_id}"): Role.VIEWER,
    ("GET", "/v1/operations/{operation_id}/results"): Role.VIEWER,
    ("GET", "/v1/calendars"): Role.VIEWER,
    ("GET", "/v1/calendars/{name}"): Role.VIEWER,
    ("GET", "/v1/calendars/{name}/versions"): Role.VIEWER,
    ("GET", "/v1/freezes"): Role.VIEWER,
    ("GET", "/v1/freezes/{freeze_id}"): Role.VIEWER,
    ("GET", "/v1/breakers"): Role.VIEWER,
    ("GET", "/v1/breakers/{breaker_id}"): Role.VIEWER,
    ("GET", "/v1/tenants/{tenant_id}"): Role.VIEWER,
    ("GET", "/v1/tenants/{tenant_id}/usage"): Role.VIEWER,
    ("GET", "/v1/channels"): Role.VIEWER,
    ("GET", "/v1/channels/{name}"): Role.VIEWER,
    ("GET", "/v1/notices/{notice_id}"): Role.VIEWER,
    ("GET", "/v1/incidents"): Role.VIEWER,
    ("GET", "/v1/incidents/{incident_id}"): Role.VIEWER,
    # What is there is stopped, started, and looked into.
    ("POST", "/v1/schedules/{schedule_id}/pause"): Role.OPERATOR,
    ("POST", "/v1/schedules/{schedule_id}/resume"): Role.OPERATOR,
    ("POST", "/v1/schedules/{schedule_id}/shadow"): Role.OPERATOR,
    ("POST", "/v1/schedules/{schedule_id}/run"): Role.OPERATOR,
    ("POST", "/v1/runs/{run_id}/cancel"): Role.OPERATOR,
    ("POST", "/v1/incidents/{incident_id}/acknowledge"): Role.OPERATOR,
    ("POST", "/v1/channels/{name}/test"): Role.OPERATOR,
    ("POST", "/v1/breakers/{breaker_id}/close"): Role.OPERATOR,
    ("POST", "/v1/dead-letters/discard"): Role.OPERATOR,
    ("POST", "/v1/dead-letters/redrive"): Role.OPERATOR,
    ("POST", "/v1/runs/{run_id}/rerun"): Role.OPERATOR,
    ("POST", "/v1/reruns"): Role.OPERATOR,
    ("POST", "/v1/backfills"): Role.OPERATOR,
    ("POST", "/v1/backfills/{operation_id}/pause"): Role.OPERATOR,
    ("POST", "/v1/backfills/{operation_id}/resume"): Role.OPERATOR,
    ("POST", "/v1/backfills/{operation_id}/cancel"): Role.OPERATOR,
    ("POST", "/v1/operations/{operation_id}/pause"): Role.OPERATOR,
    ("POST", "/v1/operations/{operation_id}/resume"): Role.OPERATOR,
    ("POST", "/v1/operations/{operation_id}/cancel"): Role.OPERATOR,
    ("POST", "/v1/bulk/pause"): Role.OPERATOR,
    ("POST", "/v1/bulk/resume"): Role.OPERATOR,
    ("GET", "/v1/audit"): Role.OPERATOR,
    # What is there becomes something else.
    ("POST", "/v1/schedules"): Role.EDITOR,
    ("PUT", "/v1/schedules/{schedule_id}"): Role.EDITOR,
    ("PATCH", "/v1/schedules/{schedule_id}"): Role.EDITOR,
    ("DELETE", "/v1/schedules/{schedule_id}"): Role.EDITOR,
    ("POST", "/v1/schedules/{schedule_id}/rollback"): Role.EDITOR,
    ("POST", "/v1/schedules/{schedule_id}/heartbeat"): Role.EDITOR,
    ("PUT", "/v1/channels/{name}"): Role.EDITOR,
    ("DELETE", "/v1/channels/{name}"): Role.EDITOR,
    ("PUT", "/v1/calendars/{name}"): Role.EDITOR,
    ("DELETE", "/v1/calendars/{name}"): Role.EDITOR,
    ("POST", "/v1/imports/crontab"): Role.EDITOR,
    ("POST", "/v1/imports/eventbridge"): Role.EDITOR,
    ("POST", "/v1/imports/kubernetes"): Role.EDITOR,
    ("POST", "/v1/imports/cronfleet"): Role.EDITOR,
    ("POST", "/v1/bulk/cancel"): Role.EDITOR,
    ("POST", "/v1/bulk/labels"): Role.EDITOR,
    # The tenant as a whole. The freeze of a tier takes a platform admin: that stands in the body.
    ("POST", "/v1/freezes"): Role.TENANT_ADMIN,
    ("PATCH", "/v1/freezes/{freeze_id}"): Role.TENANT_ADMIN,
    ("DELETE", "/v1/freezes/{freeze_id}"): Role.TENANT_ADMIN,
    ("GET", "/v1/audit/export"): Role.TENANT_ADMIN,
    ("GET", "/v1/audit/verify"): Role.TENANT_ADMIN,
    ("GET", "/v1/tenants/{tenant_id}/export"): Role.TENANT_ADMIN,
    ("PUT", "/v1/tenants/{tenant_id}/events"): Role.TENANT_ADMIN,
    ("GET", "/v1/tenants/{tenant_id}/keys"): Role.TENANT_ADMIN,
    ("POST", "/v1/tenants/{tenant_id}/keys"): Role.TENANT_ADMIN,
    ("POST", "/v1/tenants/{tenant_id}/keys/{key_id}/rotate"): Role.TENANT_ADMIN,
    ("DELETE", "/v1/tenants/{tenant_id}/keys/{key_id}"): Role.TENANT_ADMIN,
    # All tenants.
    ("GET", "/v1/hold"): Role.PLATFORM_ADMIN,
    ("POST", "/v1/hold"): Role.PLATFORM_ADMIN,
    ("DELETE", "/v1/hold"): Role.PLATFORM_ADMIN,
    ("POST", "/v1/hold/mend"): Role.PLATFORM_ADMIN,
    ("POST", "/v1/dead-letters/unreadable/{unreadable_id}/discard"): Role.PLATFORM_ADMIN,
    ("POST", "/v1/tenants"): Role.PLATFORM_ADMIN,
    ("GET", "/v1/tenants"): Role.PLATFORM_ADMIN,
    ("PATCH", "/v1/tenants/{tenant_id}"): Role.PLATFORM_ADMIN,
    ("DELETE", "/v1/tenants/{tenant_id}"): Role.PLATFORM_ADMIN,
    ("POST", "/v1/tenants/{tenant_id}/suspend"): Role.PLATFORM_ADMIN,
    ("POST", "/v1/tenants/{tenant_id}/resume"): Role.PLATFORM_ADMIN,
    ("GET", "/v1/tenants/{tenant_id}/deletion"): Role.PLATFORM_ADMIN,
}
"""The least role for each route, by method and path. A test fails for a route without a line."""


IN_A_STANDBY: Final = frozenset({("POST", "/v1/hold"), ("DELETE", "/v1/hold")})
"""The changes that can be made where nothing else can be changed."""


@functools.cache
def _board() -> Noticeboard:
    return bootstrap.noticeboard(from_environment())


@functools.cache
def _admission() -> Admission:
    return bootstrap.admission(from_environment())


def admit(event: dict[str, Any], method: str, path: str, tenant_in_path: str | None) -> None:
    """Lets the request through, with its `Caller` noted for `caller_of`.

    Raises a 401 for a request without a credential, `RateLimited`, `NotFound` for another tenant's things, `Forbidden`
    for a role that does not suffice, and in that order: who may not know of a tenant is not told which role would do.
    """
    needed = ROLES[method, path]
    if needed is PUBLIC:
        if method != "GET":
            _require_release(method, path)
        return
    reads = method == "GET" or needed is Role.VIEWER
    at_home = _admission().at_home(credential_of(event), reads=reads)
    caller = _in_tenant(event, at_home, tenant_in_path)
    caller.require(needed)
    _check_home(at_home.tenant, reads=reads)
    if caller.acting_for:
        _check_status(caller.tenant, method, path, reads=reads)
    if not reads:
        _require_release(method, path)
    event["requestContext"][ADMITTED] = caller


def _require_release(method: str, path: str) -> None:
    """Raises `OnStandby` where a change would be made beside the installation that is active."""
    if (method, path) in IN_A_STANDBY:
        return
    hold = answer_of(_board().hold)
    if hold is not None and hold.is_standby:
        raise OnStandby(hold_words(hold))


def _in_tenant(event: dict[str, Any], caller: Caller, tenant_in_path: str | None) -> Caller:
    """`caller` in the tenant that the path or the header names, which for most can be their own only."""
    in_header = tenant_asked_for(event)
    if in_header is not None and tenant_in_path not in (None, in_header):
        raise Invalid(TENANT_HEADER, f"is {in_header!r}, but the path says {tenant_in_path!r}; leave the header out")
    wanted = tenant_in_path or in_header
    if wanted is None or wanted == caller.tenant.tenant_id:
        return caller
    if not ID_PATTERN.fullmatch(wanted):
        raise NotFound("tenant", wanted)
    return _admission().acting_for(caller, wanted)


_OF_THE_GONE: Final = frozenset({("DELETE", "/v1/tenants/{tenant_id}")})
"""What a platform admin can still ask of a tenant that is being deleted, besides reading what is left."""


def _check_home(home: Tenant, *, reads: bool) -> None:
    """Refuses what the status of the credential's own tenant does not allow, wherever it is to be done.

    Those of a suspended one may read; those of one that is being deleted, or is, nothing. So a platform admin's key
    goes no further than its tenant: whoever suspends that has stopped the key.
    """
    if home.status.is_gone or (home.status is TenantStatus.SUSPENDED and not reads):
        raise TenantSuspended(home.tenant_id, home.status.value, home.reason)


def _check_status(tenant: Tenant, method: str, path: str, *, reads: bool) -> None:
    """Refuses a platform admin of another tenant changes in one that is being deleted, or is: what is left can be read.

    In a suspended one such a caller may change things.
    """
    if tenant.status.is_gone and not reads and (method, path) not in _OF_THE_GONE:
        raise Conflict(f"tenant {tenant.tenant_id!r} is {tenant.status}: nothing can be changed in it any more")
