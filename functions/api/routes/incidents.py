"""/v1/incidents: what is, or was, broken."""

import functools
from typing import Annotated, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet import bootstrap
from cronfleet.services.incidents import Incidents, Sought
from cronfleet.settings import from_environment

from .. import parameters as p
from ..alert_answers import IncidentAnswer, IncidentsAnswer, ToldIncidentAnswer
from ..alert_schemas import AcknowledgeBody
from ..reading import JSON
from ..requests import caller_of, once_of

router = APIGatewayHttpRouter()

_NO_NOTE: Final = AcknowledgeBody()


@functools.cache
def _service() -> Incidents:
    return bootstrap.incidents(from_environment())


@router.get("/v1/incidents", summary="List incidents")
def list_incidents(
    status: p.IncidentStatusQuery = None,
    schedule: p.IncidentScheduleQuery = None,
    scope: p.Scope = "tenant",
    cursor: p.Cursor = None,
    limit: p.PageLimit = p.DEFAULT_PAGE,
) -> Response[IncidentsAnswer]:
    """Newest first; with `status=open` by their subjects, however long ago they opened."""
    caller = caller_of(router.current_event.raw_event)
    sought = Sought(status, schedule)
    page = _service().list(caller, sought, platform=scope == "platform", cursor=cursor, limit=limit)
    return Response(200, JSON, {"incidents": list(page.items), "cursor": page.cursor})


@router.get("/v1/incidents/<incident_id>", summary="Read an incident")
def read(incident_id: p.IncidentId, scope: p.Scope = "tenant") -> Response[ToldIncidentAnswer]:
    """With what became of each of its messages. Kept for ninety days after its end."""
    caller = caller_of(router.current_event.raw_event)
    return Response(200, JSON, _service().get(caller, incident_id, platform=scope == "platform"))


@router.post("/v1/incidents/<incident_id>/acknowledge", summary="Say that somebody has seen an incident")
def acknowledge(
    incident_id: p.IncidentId,
    body: Annotated[AcknowledgeBody, Body()] = _NO_NOTE,
    scope: p.Scope = "tenant",
    idempotency_key: p.IdempotencyKey = None,  # noqa: ARG001 - for OpenAPI
) -> Response[IncidentAnswer]:
    """It changes nothing but the record: the incident ends when what is broken is whole. 409 once it has."""
    event = router.current_event.raw_event
    answer = _service().acknowledge(
        caller_of(event), incident_id, body.note, platform=scope == "platform", once=once_of(event)
    )
    return Response(200, JSON, answer.form)
