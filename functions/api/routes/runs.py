"""/v1/runs, and a schedule's history: what ran, what did not and why; run now; cancel."""

import functools
from typing import Annotated, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet import bootstrap
from cronfleet.services.runs import Override, Runs
from cronfleet.settings import from_environment

from .. import parameters as p
from ..answers import LogAnswer, RunAnswer, RunsAnswer
from ..reading import JSON
from ..requests import caller_of, conditions_of, once_of
from ..run_schemas import CancelBody, RunBody
from ..specs import checked_payload

router = APIGatewayHttpRouter()

_PLAIN_RUN: Final = RunBody()
_PLAIN_CANCEL: Final = CancelBody()


@functools.cache
def _service() -> Runs:
    return bootstrap.runs(from_environment())


@router.post("/v1/schedules/<schedule_id>/run", summary="Run a schedule now", status_code=201)
def run_now(
    schedule_id: p.ScheduleId,
    body: Annotated[RunBody, Body()] = _PLAIN_RUN,
    idempotency_key: p.IdempotencyKey = None,  # noqa: ARG001 - for OpenAPI
    if_match: p.IfMatch = None,  # noqa: ARG001 - for OpenAPI
) -> Response[RunAnswer]:
    """A run with a cause of its own, besides what the trigger names. A pause does not stop it."""
    event = router.current_event.raw_event
    override = Override(checked_payload(body.payload)) if "payload" in body.model_fields_set else None
    answer = _service().run_now(
        caller_of(event),
        schedule_id,
        override=override,
        reason=body.reason,
        conditions=conditions_of(event),
        once=once_of(event),
    )
    return Response(201, JSON, answer.form, headers={"Location": f"/v1/runs/{answer.form['run_id']}"})


@router.get("/v1/schedules/<schedule_id>/runs", summary="Read a schedule's history")
def history(
    schedule_id: p.ScheduleId, cursor: p.Cursor = None, limit: p.PageLimit = p.DEFAULT_PAGE
) -> Response[RunsAnswer]:
    """Newest first: runs, skips, and ranges in which nothing fired. A deleted schedule's history stays."""
    caller = caller_of(router.current_event.raw_event)
    page = _service().history(caller, schedule_id, cursor=cursor, limit=limit)
    return Response(200, JSON, {"runs": list(page.items), "cursor": page.cursor})


@router.get("/v1/runs/<run_id>", summary="Read a run")
def read(run_id: p.RunId) -> Response[RunAnswer]:
    """With every attempt. A run that is claimed and not yet written down is `queued`."""
    return Response(200, JSON, _service().get(caller_of(router.current_event.raw_event), run_id))


@router.get("/v1/runs/<run_id>/log", summary="Read what a run logged")
def read_log(run_id: p.RunId, attempt: p.AttemptNumber = None) -> Response[LogAnswer]:
    """The end of what one attempt logged and printed, and where all of it is. A job that says nothing has no lines.

    Of a webhook or a Lambda function only what failed is kept: the answer, or the end of the function's log.
    """
    return Response(200, JSON, _service().log(caller_of(router.current_event.raw_event), run_id, attempt))


@router.post("/v1/runs/<run_id>/cancel", summary="Cancel a run")
def cancel(
    run_id: p.RunId,
    body: Annotated[CancelBody, Body()] = _PLAIN_CANCEL,
    idempotency_key: p.IdempotencyKey = None,  # noqa: ARG001 - for OpenAPI
) -> Response[RunAnswer]:
    """One that is queued, or waiting for its next attempt, is over at once: 200.

    Of one that is running it is asked for: 202, and `cancel_requested` says so. The handler learns of it at its next
    heartbeat, progress or receipt and has ten seconds left then; one that tells nothing is stopped at its time limit.
    The run ends as `cancelled`, without another attempt, unless it succeeds first. What is over is refused: 409.
    """
    event = router.current_event.raw_event
    answer = _service().cancel(caller_of(event), run_id, reason=body.reason, once=once_of(event))
    return Response(202 if answer.form["status"] == "running" else 200, JSON, answer.form)
