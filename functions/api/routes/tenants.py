"""/v1/tenants: the tenants of the installation, their quotas, and what they use of them."""

import functools
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet import bootstrap
from cronfleet.services.tenants import TenantPatch, Tenants
from cronfleet.settings import from_environment

from .. import parameters as p
from ..reading import JSON
from ..requests import caller_of, conditions_of, once_of
from ..tenant_answers import TenantAnswer, TenantsAnswer, UsageAnswer
from ..tenant_schemas import EventsBody, TenantBody, TenantPatchBody

router = APIGatewayHttpRouter()


@functools.cache
def _service() -> Tenants:
    return bootstrap.tenants(from_environment())


@router.post("/v1/tenants", summary="Create a tenant", status_code=201)
def create(
    body: Annotated[TenantBody, Body()],
    idempotency_key: p.IdempotencyKey = None,  # noqa: ARG001 - for OpenAPI
) -> Response[TenantAnswer]:
    """Its keys come next: `POST /v1/tenants/{id}/keys`. 409 when there is, or ever was, a tenant of this id."""
    event = router.current_event.raw_event
    answer = _service().create(caller_of(event), body.id, _patch(body), once_of(event))
    headers = {"ETag": answer.etag, "Location": f"/v1/tenants/{body.id}"}
    return Response(201, JSON, answer.form, headers=headers)


@router.get("/v1/tenants", summary="List tenants")
def list_tenants(cursor: p.Cursor = None, limit: p.PageLimit = p.DEFAULT_PAGE) -> Response[TenantsAnswer]:
    """By id, page by page, deleted ones too. Tenants whose keys are older than records come once they have one."""
    page = _service().list(cursor=cursor, limit=limit)
    return Response(200, JSON, {"tenants": list(page.items), "cursor": page.cursor})


@router.get("/v1/tenants/<tenant_id>", summary="Read a tenant")
def read(tenant_id: p.TenantId) -> Response[TenantAnswer]:  # noqa: ARG001 - the caller is in it
    """Its tier, status and quotas."""
    answer = _service().get(caller_of(router.current_event.raw_event))
    return Response(200, JSON, answer.form, headers={"ETag": answer.etag})


@router.patch("/v1/tenants/<tenant_id>", summary="Change a tenant's name, tier or quotas")
def patch(
    tenant_id: p.TenantId,  # noqa: ARG001 - the caller is in it
    body: Annotated[TenantPatchBody, Body()],
    reason: p.ReasonQuery = "",
    if_match: p.IfMatch = None,  # noqa: ARG001 - for OpenAPI
) -> Response[TenantAnswer]:
    """A JSON merge patch (RFC 7396): what is left out stays, `null` goes back to the default. Holds everywhere within
    half a minute, for schedules that are there too.
    """
    event = router.current_event.raw_event
    answer = _service().edit(caller_of(event), _patch(body), conditions_of(event), reason)
    return Response(200, JSON, answer.form, headers={"ETag": answer.etag})


@router.put("/v1/tenants/<tenant_id>/events", summary="Turn a tenant's lifecycle events on or off")
def put_events(
    tenant_id: p.TenantId,  # noqa: ARG001 - the caller is in it
    body: Annotated[EventsBody, Body()],
) -> Response[TenantAnswer]:
    """On, it is told of its runs and schedules on the installation's bus of events (docs/events.md), from two seconds
    later on; off, it costs nothing. Done again it changes nothing.
    """
    patch = TenantPatch({"lifecycle_events": body.enabled})
    answer = _service().edit(caller_of(router.current_event.raw_event), patch, reason=body.reason)
    return Response(200, JSON, answer.form, headers={"ETag": answer.etag})


@router.get("/v1/tenants/<tenant_id>/usage", summary="See what a tenant uses of its quotas")
def usage(tenant_id: p.TenantId) -> Response[UsageAnswer]:  # noqa: ARG001 - the caller is in it
    """Each quota with its use and its limit. `use` is null where nothing is counted, `limit` where there is none."""
    return Response(200, JSON, _service().usage(caller_of(router.current_event.raw_event)))


def _patch(body: TenantPatchBody) -> TenantPatch:
    fields: dict[str, Any] = body.model_dump(exclude_unset=True)
    fields.pop("id", None)
    return TenantPatch(fields)
