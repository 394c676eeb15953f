"""/v1/forecast: what is due in the next days."""

import functools

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet import bootstrap
from cronfleet.services.forecasts import By, Forecasts
from cronfleet.settings import from_environment

from .. import parameters as p
from ..forecast_answers import ForecastAnswer, forecast_form
from ..reading import JSON
from ..requests import caller_of
from ..specs import moment_of

router = APIGatewayHttpRouter()


@functools.cache
def _service() -> Forecasts:
    return bootstrap.forecasts(from_environment())


@router.get("/v1/forecast", summary="See how many fires are due in the next days")
def forecast(
    from_: p.FromQuery = None,
    to: p.ToQuery = None,
    by: p.ByQuery = "minute",
    scope: p.Scope = "tenant",
    cursor: p.Cursor = None,
) -> Response[ForecastAnswer]:
    """From what the triggers say, jitter and spread included; at most seven days ahead, a day if `to` is left out.

    A tenant's own is counted as its schedules stand now: the next 2,000 by id, or fewer where they fire very often;
    add what the `cursor` leads to. Of all tenants, it is what the sweeper counted last, which it does once an hour:
    `as_of` says when; 503 before the first time. docs/forecast.md says what is not counted.
    """
    caller = caller_of(router.current_event.raw_event)
    found = _service().ahead(
        caller,
        moment_of(from_, "from"),
        moment_of(to, "to"),
        By(by),
        platform=scope == "platform",
        cursor=cursor,
    )
    return Response(200, JSON, forecast_form(found, scope))
