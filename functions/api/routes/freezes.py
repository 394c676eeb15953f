"""/v1/freezes: a label, a tenant or a tier in which nothing starts."""

import functools
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet import bootstrap
from cronfleet.domain.errors import Invalid
from cronfleet.services.freezing import Asked, FreezePatch, Freezing, Labels, WholeTenant, WholeTier
from cronfleet.settings import from_environment

from .. import parameters as p
from ..answers import FreezeAnswer
from ..freeze_answers import FreezesAnswer
from ..freeze_schemas import FreezeBody, FreezePatchBody, FreezeScopeBody
from ..reading import JSON
from ..requests import caller_of, once_of
from ..specs import checked_labels, moment_of

router = APIGatewayHttpRouter()


@functools.cache
def _service() -> Freezing:
    return bootstrap.freezing(from_environment())


@router.post("/v1/freezes", summary="Freeze a label, the tenant or a tier", status_code=201)
def create(
    body: Annotated[FreezeBody, Body()],
    idempotency_key: p.IdempotencyKey = None,  # noqa: ARG001 - for OpenAPI
) -> Response[FreezeAnswer]:
    """Nothing of it starts after this has returned (it takes two seconds), until it is thawed, or `until` has come.
    What runs goes on to its end, and each schedule's own pause is untouched.
    """
    event = router.current_event.raw_event
    until = moment_of(body.until, "until")
    answer = _service().freeze(
        caller_of(event), _asked(body.scope), reason=body.reason, until=until, once=once_of(event)
    )
    return Response(201, JSON, answer.form, headers={"Location": f"/v1/freezes/{answer.form['id']}"})


@router.get("/v1/freezes", summary="List freezes")
def list_freezes() -> Response[FreezesAnswer]:
    """Of your tenant and of its tier; those that have lately ended too."""
    return Response(200, JSON, {"freezes": list(_service().list(caller_of(router.current_event.raw_event)))})


@router.get("/v1/freezes/<freeze_id>", summary="Read a freeze")
def read(freeze_id: p.FreezeId) -> Response[FreezeAnswer]:
    """What is frozen, by whom and why, since when and until when."""
    return Response(200, JSON, _service().get(caller_of(router.current_event.raw_event), freeze_id))


@router.patch("/v1/freezes/<freeze_id>", summary="Change when a freeze ends, or why it is")
def patch(freeze_id: p.FreezeId, body: Annotated[FreezePatchBody, Body()]) -> Response[FreezeAnswer]:
    """What is left out stays; `"until": null` takes its end away. 409 once it has ended."""
    said = body.model_dump(exclude_unset=True)
    change = FreezePatch(body.reason, "until" in said, moment_of(body.until, "until"))
    return Response(200, JSON, _service().edit(caller_of(router.current_event.raw_event), freeze_id, change).form)


@router.delete("/v1/freezes/<freeze_id>", summary="Thaw a freeze")
def thaw(freeze_id: p.FreezeId, reason: p.ReasonQuery = "") -> Response[FreezeAnswer]:
    """What it held is on again when this returns (it takes two to three seconds). Of what it held back each schedule's
    `after_pause` says what still runs. One that suspends the tenant ends with `POST /v1/tenants/{id}/resume`.
    """
    return Response(200, JSON, _service().thaw(caller_of(router.current_event.raw_event), freeze_id, reason).form)


def _asked(scope: FreezeScopeBody) -> Asked:
    said = scope.model_dump(exclude_none=True)
    if len(said) != 1:
        raise Invalid("scope", 'takes exactly one of {"label": {…}}, {"tenant": true} and {"tier": "…"}')
    if scope.label is not None:
        return Labels(checked_labels(scope.label, "scope.label"))
    return WholeTenant() if scope.tier is None else WholeTier(scope.tier)
