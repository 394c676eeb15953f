"""/v1/operations: backfills, re-runs and redrives alike: how far they are, and what is done to them."""

import functools
from typing import Annotated, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet import bootstrap
from cronfleet.domain.operation import Kind, Status, Verb
from cronfleet.services.operations import Operations
from cronfleet.settings import from_environment

from .. import parameters as p
from ..operation_answers import OperationAnswer, OperationsAnswer, ResultsAnswer
from ..operation_schemas import OperationVerbBody, ResumeOperationBody
from ..reading import JSON
from ..requests import caller_of, once_of

router = APIGatewayHttpRouter()

_PLAIN: Final = OperationVerbBody()
_PLAIN_RESUME: Final = ResumeOperationBody()


@functools.cache
def _service() -> Operations:
    return bootstrap.operations(from_environment())


@router.get("/v1/operations", summary="List operations")
def list_operations(
    kind: p.OperationKindQuery = None,
    status: p.OperationStatusQuery = None,
    cursor: p.Cursor = None,
    limit: p.PageLimit = p.DEFAULT_PAGE,
) -> Response[OperationsAnswer]:
    """Newest first. A page may have fewer than asked for, and still a `cursor`."""
    page = _service().list(
        caller_of(router.current_event.raw_event),
        kind=None if kind is None else Kind(kind),
        status=None if status is None else Status(status),
        cursor=cursor,
        limit=limit,
    )
    return Response(200, JSON, {"operations": list(page.items), "cursor": page.cursor})


@router.get("/v1/operations/<operation_id>", summary="Read an operation")
def read(operation_id: p.OperationId) -> Response[OperationAnswer]:
    """How far it is, by the states of its runs when it last looked: every few seconds, a minute at the latest."""
    return Response(200, JSON, _service().get(caller_of(router.current_event.raw_event), operation_id))


@router.get("/v1/operations/<operation_id>/results", summary="Read what became of each")
def results(
    operation_id: p.OperationId, cursor: p.Cursor = None, limit: p.PageLimit = p.DEFAULT_PAGE
) -> Response[ResultsAnswer]:
    """In the order in which it comes to them, as their runs stand now."""
    caller = caller_of(router.current_event.raw_event)
    page = _service().results(caller, operation_id, cursor=cursor, limit=limit)
    return Response(200, JSON, {"results": list(page.items), "cursor": page.cursor})


@router.post("/v1/operations/<operation_id>/pause", summary="Pause an operation")
def pause(
    operation_id: p.OperationId,
    body: Annotated[OperationVerbBody, Body()] = _PLAIN,
    idempotency_key: p.IdempotencyKey = None,  # noqa: ARG001 - for OpenAPI
) -> Response[OperationAnswer]:
    """Nothing new is begun; what was begun goes on."""
    return _turned(operation_id, Verb.PAUSE, body)


@router.post("/v1/operations/<operation_id>/resume", summary="Resume an operation")
def resume(
    operation_id: p.OperationId,
    body: Annotated[ResumeOperationBody, Body()] = _PLAIN_RESUME,
    idempotency_key: p.IdempotencyKey = None,  # noqa: ARG001 - for OpenAPI
) -> Response[OperationAnswer]:
    """One that is paused, or has stopped by itself, goes on where it was; a redrive without the failures named."""
    return _turned(operation_id, Verb.RESUME, body, tuple(body.exclude_signatures))


@router.post("/v1/operations/<operation_id>/cancel", summary="Cancel an operation")
def cancel(
    operation_id: p.OperationId,
    body: Annotated[OperationVerbBody, Body()] = _PLAIN,
    idempotency_key: p.IdempotencyKey = None,  # noqa: ARG001 - for OpenAPI
) -> Response[OperationAnswer]:
    """Nothing new is begun; what is queued, or waits for a retry, is cancelled within seconds; what runs goes on."""
    return _turned(operation_id, Verb.CANCEL, body)


def _turned(
    operation_id: str, verb: Verb, body: OperationVerbBody | ResumeOperationBody, excluded: tuple[str, ...] = ()
) -> Response[OperationAnswer]:
    event = router.current_event.raw_event
    turn = functools.partial(_service().turn, caller_of(event), operation_id, verb)
    answer = turn(reason=body.reason, excluded=excluded, once=once_of(event))
    return Response(200, JSON, answer.form)
