"""/v1/reruns, and a run's /rerun: what ran, or should have, once more."""

import functools
from typing import Annotated, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet import bootstrap
from cronfleet.domain.rerun import Version
from cronfleet.domain.run import RunStatus
from cronfleet.services.reruns import AskedRerun, Reruns
from cronfleet.services.runs import Override
from cronfleet.settings import from_environment

from .. import parameters as p
from ..answers import RunAnswer
from ..operation_answers import OperationAnswer, RerunPreviewAnswer
from ..operation_reading import override_of, subject_of
from ..operation_schemas import RerunBody, RerunsBody
from ..reading import JSON
from ..requests import caller_of, once_of
from ..specs import checked_payload, moment_of

router = APIGatewayHttpRouter()

_PLAIN: Final = RerunBody()


@functools.cache
def _service() -> Reruns:
    return bootstrap.reruns(from_environment())


@router.post("/v1/runs/<run_id>/rerun", summary="Run a run again", status_code=201)
def rerun(
    run_id: p.RunId,
    body: Annotated[RerunBody, Body()] = _PLAIN,
    idempotency_key: p.IdempotencyKey = None,  # noqa: ARG001 - for OpenAPI
) -> Response[RunAnswer]:
    """A run with an id of its own and the same nominal time, which names this one as its ancestor. One that is not over
    is refused: 409.
    """
    event = router.current_event.raw_event
    override = Override(checked_payload(body.payload)) if "payload" in body.model_fields_set else None
    answer = _service().rerun(
        caller_of(event),
        run_id,
        version=Version(body.version),
        override=override,
        flow_on=body.flow_on,
        reason=body.reason,
        once=once_of(event),
    )
    return Response(201, JSON, answer.form, headers={"Location": f"/v1/runs/{answer.form['run_id']}"})


@router.post("/v1/reruns", summary="Run many runs again", status_code=202)
def rerun_many(
    body: Annotated[RerunsBody, Body()],
    dry_run: p.DryRunQuery = "false",
    idempotency_key: p.IdempotencyKey = None,  # noqa: ARG001 - for OpenAPI
) -> Response[OperationAnswer | RerunPreviewAnswer]:
    """All that the filter takes, as an operation; first with `dry_run=true`, which counts them. Dead ones, unless the
    filter asks for others.
    """
    event = router.current_event.raw_event
    asked = _asked(body)
    if dry_run == "true":
        return Response(200, JSON, _service().preview(caller_of(event), asked))
    answer = _service().create(caller_of(event), asked, reason=body.reason, once=once_of(event))
    return Response(202, JSON, answer.form, headers={"Location": f"/v1/operations/{answer.form['id']}"})


def _asked(body: RerunsBody) -> AskedRerun:
    said = body.filter
    is_open = said.signature is not None and not said.schedule and said.labels is None
    schedule, labels = (None, {}) if is_open else subject_of(said.schedule, said.labels, "filter.")
    return AskedRerun(
        schedule,
        labels,
        moment_of(said.from_, "filter.from"),
        moment_of(said.to, "filter.to"),
        tuple(dict.fromkeys(map(RunStatus, said.status))),
        said.signature,
        Version(body.version),
        override_of(body),
        body.flow_on,
        body.rate_per_minute,
        body.max_concurrent,
        body.expected,
    )
