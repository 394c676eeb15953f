"""/v1/tenants/{tenant_id}/keys: API keys of a tenant."""

import functools
from typing import Annotated, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet import bootstrap
from cronfleet.domain.role import Role
from cronfleet.services.api_keys import ApiKeys, Wish
from cronfleet.settings import from_environment

from .. import parameters as p
from ..key_answers import KeysAnswer, NewKeyAnswer
from ..key_schemas import KeyBody, RotateBody
from ..reading import JSON
from ..requests import caller_of
from ..specs import moment_of

router = APIGatewayHttpRouter()

_PLAIN_ROTATION: Final = RotateBody()


@functools.cache
def _service() -> ApiKeys:
    return bootstrap.api_keys(from_environment())


@router.post("/v1/tenants/<tenant_id>/keys", summary="Make an API key", status_code=201)
def make(tenant_id: p.TenantId, body: Annotated[KeyBody, Body()]) -> Response[NewKeyAnswer]:  # noqa: ARG001 - `admit` has put the caller into this tenant
    """It is shown here and nowhere again. Nobody makes one that may do more than the own. Not repeatable by
    Idempotency-Key: an answer that is remembered would be a key that is stored.
    """
    wish = Wish(Role(body.role), body.name, moment_of(body.expires_at, "expires_at"), body.reason)
    return Response(201, JSON, _service().make(caller_of(router.current_event.raw_event), wish).form)


@router.get("/v1/tenants/<tenant_id>/keys", summary="List API keys")
def list_keys(
    tenant_id: p.TenantId,  # noqa: ARG001 - as above
    cursor: p.Cursor = None,
    limit: p.PageLimit = p.DEFAULT_PAGE,
) -> Response[KeysAnswer]:
    """By id, with role, end and last use, and how each begins. Those that have ended are listed for a month."""
    page = _service().list(caller_of(router.current_event.raw_event), cursor=cursor, limit=limit)
    return Response(200, JSON, {"keys": list(page.items), "cursor": page.cursor})


@router.post("/v1/tenants/<tenant_id>/keys/<key_id>/rotate", summary="Replace an API key", status_code=201)
def rotate(
    tenant_id: p.TenantId,  # noqa: ARG001 - as above
    key_id: p.KeyId,
    body: Annotated[RotateBody, Body()] = _PLAIN_ROTATION,
) -> Response[NewKeyAnswer]:
    """A new one of the same name and role, shown here and nowhere again; the old one ends after `overlap_seconds`."""
    caller = caller_of(router.current_event.raw_event)
    answer = _service().rotate(caller, key_id, body.overlap_seconds, body.reason)
    return Response(201, JSON, answer.form)


@router.delete("/v1/tenants/<tenant_id>/keys/<key_id>", summary="Revoke an API key", status_code=204)
def revoke(tenant_id: p.TenantId, key_id: p.KeyId, reason: p.ReasonQuery = "") -> Response[str]:  # noqa: ARG001 - as above
    """The gateway may trust it for a minute longer. A key cannot revoke itself."""
    _service().revoke(caller_of(router.current_event.raw_event), key_id, reason)
    return Response(204, body="")  # the gateway wants text, be it empty
