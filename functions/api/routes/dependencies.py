"""A schedule's /dependencies: what it runs after, what runs after it, and how they stand."""

import functools

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet import bootstrap
from cronfleet.services.lineage import Lineage
from cronfleet.settings import from_environment

from .. import parameters as p
from ..dependency_answers import DependenciesAnswer
from ..reading import JSON
from ..requests import caller_of

router = APIGatewayHttpRouter()


@functools.cache
def _service() -> Lineage:
    return bootstrap.lineage(from_environment())


@router.get(
    "/v1/schedules/<schedule_id>/dependencies", summary="See what a schedule runs after, and what runs after it"
)
def dependencies(schedule_id: p.ScheduleId) -> Response[DependenciesAnswer]:
    """Parents and dependants, each with its latest run; of a run that waits, the parents that are missing.

    docs/dependencies.md has more.
    """
    caller = caller_of(router.current_event.raw_event)
    return Response(200, JSON, _service().get(caller, schedule_id))
