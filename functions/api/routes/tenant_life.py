"""/v1/tenants/{id}/…: what happens to a tenant as a whole: it is exported, suspended, deleted."""

import functools
from typing import Annotated, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet import bootstrap
from cronfleet.services.tenant_life import TenantLife
from cronfleet.services.transfer import Transfer
from cronfleet.settings import from_environment

from .. import parameters as p
from ..reading import JSON
from ..requests import caller_of
from ..tenant_life_answers import DeletionAnswer, TenantStatusAnswer
from ..tenant_life_schemas import ResumeTenantBody, SuspendBody
from ..transfer_answers import ExportAnswer

router = APIGatewayHttpRouter()

EXPORT_SECONDS: Final = 15
"""How long a document is filled; then it has a cursor. The gateway waits 29 seconds."""

_PLAIN: Final = ResumeTenantBody()


@functools.cache
def _life() -> TenantLife:
    return bootstrap.tenant_life(from_environment())


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


@router.post("/v1/tenants/<tenant_id>/suspend", summary="Suspend a tenant")
def suspend(tenant_id: p.TenantId, body: Annotated[SuspendBody, Body()]) -> Response[TenantStatusAnswer]:  # noqa: ARG001 - the caller is in it
    """Nothing of it starts after this has answered, and its keys may read and change nothing. What runs goes on."""
    return Response(200, JSON, _life().suspend(caller_of(router.current_event.raw_event), body.reason))


@router.post("/v1/tenants/<tenant_id>/resume", summary="Resume a suspended tenant")
def resume(
    tenant_id: p.TenantId,  # noqa: ARG001 - as above
    body: Annotated[ResumeTenantBody, Body()] = _PLAIN,
) -> Response[TenantStatusAnswer]:
    """On again. Of what was held back, each schedule's `after_pause` says what still runs."""
    return Response(200, JSON, _life().resume(caller_of(router.current_event.raw_event), body.reason))


@router.delete("/v1/tenants/<tenant_id>", summary="Delete a tenant with all that it owns", status_code=202)
def delete(
    tenant_id: p.TenantId,  # noqa: ARG001 - as above
    confirm: p.ConfirmQuery,
    reason: p.ReasonQuery = "",
) -> Response[DeletionAnswer]:
    """Cannot be undone. Its keys are refused and nothing starts from now on; the rest is removed page by page, and
    `GET /v1/tenants/{id}/deletion` has the certificate when that is done. The id is never used again.
    """
    return Response(202, JSON, _life().delete(caller_of(router.current_event.raw_event), confirm, reason))


@router.get("/v1/tenants/<tenant_id>/deletion", summary="Read how far a deletion is, and its certificate")
def deletion(tenant_id: p.TenantId) -> Response[DeletionAnswer]:  # noqa: ARG001 - as above
    """Also long after: the certificate is kept with the tombstone of the tenant."""
    return Response(200, JSON, _life().deletion(caller_of(router.current_event.raw_event)))
