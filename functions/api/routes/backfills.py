"""/v1/backfills: dates of the past, run once."""

import functools
from typing import Annotated, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet import bootstrap
from cronfleet.domain.backfill import Mode, Order
from cronfleet.domain.instant import EARLIEST
from cronfleet.domain.operation import Kind, Status, Verb
from cronfleet.services.backfills import AskedBackfill, Backfills
from cronfleet.services.operations import Operations
from cronfleet.settings import from_environment

from .. import parameters as p
from ..operation_answers import BackfillPreviewAnswer, DatesAnswer, OperationAnswer, OperationsAnswer
from ..operation_reading import override_of, subject_of
from ..operation_schemas import BackfillBody, OperationVerbBody
from ..reading import JSON
from ..requests import caller_of, once_of
from ..specs import moment_of

router = APIGatewayHttpRouter()

_PLAIN: Final = OperationVerbBody()


@functools.cache
def _service() -> Backfills:
    return bootstrap.backfills(from_environment())


@functools.cache
def _operations() -> Operations:
    return bootstrap.operations(from_environment())


@router.post("/v1/backfills", summary="Run dates of the past", status_code=201)
def create(
    body: Annotated[BackfillBody, Body()],
    dry_run: p.DryRunQuery = "false",
    idempotency_key: p.IdempotencyKey = None,  # noqa: ARG001 - for OpenAPI
) -> Response[OperationAnswer | BackfillPreviewAnswer]:
    """One run for each date that the trigger, as it is now, names in the stretch. The same call again answers 200 with
    the backfill that is there, and creates nothing. With `dry_run=true` it is counted, and nothing is done.
    """
    event = router.current_event.raw_event
    asked = _asked(body)
    if dry_run == "true":
        return Response(200, JSON, _service().preview(caller_of(event), asked))
    answer = _service().create(caller_of(event), asked, reason=body.reason, once=once_of(event))
    location = {"Location": f"/v1/backfills/{answer.form['id']}"}
    return Response(201 if answer.created else 200, JSON, answer.form, headers=location)


@router.get("/v1/backfills", summary="List backfills")
def list_backfills(
    status: p.OperationStatusQuery = None, cursor: p.Cursor = None, limit: p.PageLimit = p.DEFAULT_PAGE
) -> Response[OperationsAnswer]:
    """Newest first. A page may have fewer than asked for, and still a `cursor`."""
    wanted = None if status is None else Status(status)
    caller = caller_of(router.current_event.raw_event)
    page = _operations().list(caller, kind=Kind.BACKFILL, status=wanted, cursor=cursor, limit=limit)
    return Response(200, JSON, {"operations": list(page.items), "cursor": page.cursor})


@router.get("/v1/backfills/<operation_id>", summary="Read a backfill")
def read(operation_id: p.OperationId) -> Response[OperationAnswer]:
    """How far it is, by the states of its runs when it last looked: every few seconds, a minute at the latest."""
    return Response(
        200, JSON, _operations().get(caller_of(router.current_event.raw_event), operation_id, Kind.BACKFILL)
    )


@router.get("/v1/backfills/<operation_id>/dates", summary="Read what became of each date")
def dates(
    operation_id: p.OperationId, cursor: p.Cursor = None, limit: p.PageLimit = p.DEFAULT_PAGE
) -> Response[DatesAnswer]:
    """In the backfill's order, as the dates' runs stand now."""
    caller = caller_of(router.current_event.raw_event)
    page = _operations().results(caller, operation_id, kind=Kind.BACKFILL, cursor=cursor, limit=limit)
    return Response(200, JSON, {"dates": list(page.items), "cursor": page.cursor})


@router.post("/v1/backfills/<operation_id>/pause", summary="Pause a backfill")
def pause(
    operation_id: p.OperationId,
    body: Annotated[OperationVerbBody, Body()] = _PLAIN,
    idempotency_key: p.IdempotencyKey = None,  # noqa: ARG001 - for OpenAPI
) -> Response[OperationAnswer]:
    """Nothing new is begun; what was begun goes on."""
    return _turned(operation_id, Verb.PAUSE, body)


@router.post("/v1/backfills/<operation_id>/resume", summary="Resume a backfill")
def resume(
    operation_id: p.OperationId,
    body: Annotated[OperationVerbBody, Body()] = _PLAIN,
    idempotency_key: p.IdempotencyKey = None,  # noqa: ARG001 - for OpenAPI
) -> Response[OperationAnswer]:
    """It goes on where it was."""
    return _turned(operation_id, Verb.RESUME, body)


@router.post("/v1/backfills/<operation_id>/cancel", summary="Cancel a backfill")
def cancel(
    operation_id: p.OperationId,
    body: Annotated[OperationVerbBody, Body()] = _PLAIN,
    idempotency_key: p.IdempotencyKey = None,  # noqa: ARG001 - for OpenAPI
) -> Response[OperationAnswer]:
    """Nothing new is begun; what is queued, or waits for a retry, is cancelled within seconds; what runs goes on."""
    return _turned(operation_id, Verb.CANCEL, body)


def _turned(operation_id: str, verb: Verb, body: OperationVerbBody) -> Response[OperationAnswer]:
    event = router.current_event.raw_event
    answer = _operations().turn(
        caller_of(event), operation_id, verb, kind=Kind.BACKFILL, reason=body.reason, once=once_of(event)
    )
    return Response(200, JSON, answer.form)


def _asked(body: BackfillBody) -> AskedBackfill:
    schedule, labels = subject_of(body.schedule, body.labels, "")
    return AskedBackfill(
        moment_of(body.from_, "from") or EARLIEST,
        moment_of(body.to, "to") or EARLIEST,
        schedule,
        labels,
        Order(body.order),
        Mode(body.mode),
        body.version,
        override_of(body),
        body.flow_on,
        body.again,
        body.max_concurrent,
        body.rate_per_minute,
    )
