"""/v1/breakers: targets and schedules that fail again and again, and are left alone for a while."""

import functools
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet import bootstrap
from cronfleet.services.breakers import Breakers
from cronfleet.settings import from_environment

from .. import parameters as p
from ..breaker_answers import BreakerAnswer, BreakersAnswer
from ..breaker_schemas import CloseBody
from ..reading import JSON
from ..requests import caller_of, once_of

router = APIGatewayHttpRouter()

_PLAIN: CloseBody = CloseBody()


@functools.cache
def _service() -> Breakers:
    return bootstrap.breakers(from_environment())


@router.get("/v1/breakers", summary="List breakers")
def list_breakers(cursor: p.Cursor = None, limit: p.PageLimit = p.DEFAULT_PAGE) -> Response[BreakersAnswer]:
    """Of targets whose calls failed lately, open or not; then the schedules that their own breaker has paused. A page
    may be short and still have a cursor.
    """
    page = _service().list(caller_of(router.current_event.raw_event), cursor=cursor, limit=limit)
    return Response(200, JSON, {"breakers": list(page.items), "cursor": page.cursor})


@router.get("/v1/breakers/<breaker_id>", summary="Read a breaker")
def read(breaker_id: p.BreakerId) -> Response[BreakerAnswer]:
    """What it guards, what failed last, and when it is tried next."""
    return Response(200, JSON, _service().get(caller_of(router.current_event.raw_event), breaker_id))


@router.post("/v1/breakers/<breaker_id>/close", summary="Close a breaker")
def close(
    breaker_id: p.BreakerId,
    body: Annotated[CloseBody, Body()] = _PLAIN,
    idempotency_key: p.IdempotencyKey = None,  # noqa: ARG001 - for OpenAPI
) -> Response[BreakerAnswer]:
    """Its failures are forgotten, and every worker calls the target again within a second. Runs that wait come when
    they would have. A schedule that its breaker has paused is resumed. One that is closed stays as it is.
    """
    event = router.current_event.raw_event
    answer = _service().close(caller_of(event), breaker_id, reason=body.reason, once=once_of(event))
    return Response(200, JSON, answer.form)
