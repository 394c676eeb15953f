"""/v1/tenants/{id}/…: what happens to a tenant as a whole: it is exported, suspended, deleted."""

import functools

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet import bootstrap
from cronfleet.services.transfer import Transfer
from cronfleet.settings import from_environment

from .. import parameters as p
from ..reading import JSON
from ..requests import caller_of
from ..transfer_answers import ExportAnswer

router = APIGatewayHttpRouter()

EXPORT_SECONDS = 15
"""How long a document is filled; then it has a cursor. The gateway waits 29 seconds."""


@functools.cache
def _transfer() -> Transfer:
    return bootstrap.transfer(from_environment())


@router.get("/v1/tenants/<tenant_id>/export", summary="Export a tenant's schedules and calendars")
def export(tenant_id: p.TenantId, cursor: p.Cursor = None) -> Response[ExportAnswer]:  # noqa: ARG001 - the caller is in it
    """One document, or with a `cursor` several, of which each can be applied by itself, in their order. It holds what
    the tenant wants, not what has happened: no history, no keys, no heartbeat URLs.
    """
    caller = caller_of(router.current_event.raw_event)
    form = _transfer().export(caller, cursor=cursor, deadline_at=bootstrap.deadline_at(EXPORT_SECONDS * 1_000, 0))
    return Response(200, JSON, form)
