"""/v1/hold: the installation in which nothing is claimed, for an update or as a second region."""

import functools
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet import bootstrap
from cronfleet.domain.hold import Mode
from cronfleet.services.holds import Holds
from cronfleet.settings import from_environment

from .. import parameters as p
from ..hold_answers import InstallationAnswer
from ..hold_schemas import HoldBody, MendBody
from ..reading import JSON
from ..requests import caller_of, once_of

router = APIGatewayHttpRouter()


@functools.cache
def _service() -> Holds:
    return bootstrap.holds(from_environment())


@router.get("/v1/hold", summary="See how the installation is held")
def read(region: p.RegionQuery = None) -> Response[InstallationAnswer]:
    """Whether anything is claimed, who holds it and why; while it is held, what is still going on."""
    return Response(200, JSON, _service().read(region))


@router.post("/v1/hold", summary="Hold the installation")
def hold(
    body: Annotated[HoldBody, Body()],
    region: p.RegionQuery = None,
    idempotency_key: p.IdempotencyKey = None,  # noqa: ARG001 - for OpenAPI
) -> Response[InstallationAnswer]:
    """Nothing is claimed after this has returned (it takes two seconds), until it is released. `drain` lets run what
    was claimed; in a `standby` nothing starts, and nothing but this can be changed.
    """
    event = router.current_event.raw_event
    answer = _service().hold(caller_of(event), Mode(body.mode), reason=body.reason, region=region, once=once_of(event))
    return Response(200, JSON, answer.form)


@router.post("/v1/hold/mend", summary="Look again for what a fail-over lost", status_code=202)
def mend(
    body: Annotated[MendBody, Body()],
    idempotency_key: p.IdempotencyKey = None,  # noqa: ARG001 - for OpenAPI
) -> Response[InstallationAnswer]:
    """Once the region that had failed is back, and what it had still written has come: fires and attempts that nothing
    here would start are queued. 409 where no standby was ever released.
    """
    event = router.current_event.raw_event
    return Response(202, JSON, _service().mend(caller_of(event), reason=body.reason, once=once_of(event)).form)


@router.delete("/v1/hold", summary="Release the installation")
def release(region: p.RegionQuery = None, reason: p.ReasonQuery = "") -> Response[InstallationAnswer]:
    """Claiming goes on. What came due meanwhile is missed time, of which each schedule's misfire policy decides."""
    caller = caller_of(router.current_event.raw_event)
    return Response(200, JSON, _service().release(caller, reason=reason, region=region).form)
