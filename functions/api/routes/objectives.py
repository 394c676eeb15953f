"""A schedule's /objectives: what is expected of it, and how that stands."""

import functools

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet import bootstrap
from cronfleet.services.objectives import ScheduleObjectives
from cronfleet.settings import from_environment

from .. import parameters as p
from ..alert_answers import ObjectivesAnswer
from ..reading import JSON
from ..requests import caller_of

router = APIGatewayHttpRouter()


@functools.cache
def _service() -> ScheduleObjectives:
    return bootstrap.objectives(from_environment())


@router.get("/v1/schedules/<schedule_id>/objectives", summary="See how what is expected of a schedule stands")
def objectives(schedule_id: p.ScheduleId) -> Response[ObjectivesAnswer]:
    """Each objective with its state and its open incident, and what the history teaches of durations.

    An empty list: nothing is expected. docs/alerts.md has more.
    """
    caller = caller_of(router.current_event.raw_event)
    return Response(200, JSON, _service().get(caller, schedule_id))
