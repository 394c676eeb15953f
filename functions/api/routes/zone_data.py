"""/v1/timezone-data: the release of the zone data at work, and how far schedules have been looked at again."""

import functools

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet import bootstrap
from cronfleet.services.zone_data import ZoneData
from cronfleet.settings import from_environment

from ..reading import JSON
from ..requests import caller_of
from ..zone_data_answers import ZoneDataAnswer

router = APIGatewayHttpRouter()


@functools.cache
def _service() -> ZoneData:
    return bootstrap.zone_data(from_environment())


@router.get("/v1/timezone-data", summary="See which zone data is at work")
def zone_data() -> Response[ZoneDataAnswer]:
    """After an upgrade, which release is coming, and how far the schedules have been looked at again; the same for new
    versions of the tenant's calendars.
    """
    return Response(200, JSON, _service().report(caller_of(router.current_event.raw_event)))
