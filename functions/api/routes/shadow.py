"""A schedule's /shadow: what it would have fired, beside what the old system's job said of itself."""

import functools

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet import bootstrap
from cronfleet.domain.instant import SECOND
from cronfleet.domain.shadow_comparison import DEFAULT_TOLERANCE, State
from cronfleet.services.shadow import Asked, Shadows
from cronfleet.settings import from_environment

from .. import parameters as p
from ..reading import JSON
from ..requests import caller_of
from ..shadow_answers import ShadowComparisonAnswer
from ..specs import moment_of

router = APIGatewayHttpRouter()


@functools.cache
def _service() -> Shadows:
    return bootstrap.shadows(from_environment())


@router.get("/v1/schedules/<schedule_id>/shadow", summary="Compare what would have fired with what the old system ran")
def compare(
    schedule_id: p.ScheduleId,
    from_: p.FromQuery = None,
    to: p.ToQuery = None,
    tolerance_seconds: p.ToleranceQuery = DEFAULT_TOLERANCE // SECOND,
    state: p.ComparedStateQuery = None,
    limit: p.EntriesLimit = p.MAX_PAGE,
) -> Response[ShadowComparisonAnswer]:
    """From when it is in shadow and has a heartbeat URL until now, or between `from` and `to`, both included.

    A ping and a fire are paired one to one, in order, within the tolerance. docs/shadow.md has more.
    """
    asked = Asked(
        moment_of(from_, "from"),
        moment_of(to, "to"),
        tolerance_seconds,
        None if state is None else State(state),
        limit,
    )
    caller = caller_of(router.current_event.raw_event)
    return Response(200, JSON, _service().compare(caller, schedule_id, asked))
