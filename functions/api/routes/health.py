"""/v1/health: whether the API and its store are up."""

import functools

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet import bootstrap
from cronfleet.domain.hold import Hold
from cronfleet.domain.instant import to_text
from cronfleet.services.health import Health
from cronfleet.settings import from_environment

from ..answers import HealthAnswer
from ..reading import JSON
from ..requests import caller_of

router = APIGatewayHttpRouter()


@functools.cache
def _service() -> Health:
    return bootstrap.health(from_environment())


def _said_of(hold: Hold | None) -> dict[str, str | None] | None:
    if hold is None:
        return None
    return {"mode": hold.mode.value, "at": to_text(hold.at) if hold.at else None, "reason": hold.reason}


@router.get("/v1/health", summary="Ask whether all is well")
def health() -> Response[HealthAnswer]:
    """503 when the job store does not answer."""
    report = _service().check(caller_of(router.current_event.raw_event))
    body = {
        "status": "ok" if report.store_answers else "degraded",
        "version": report.version,
        "tzdata": report.tzdata,
        "store": "ok" if report.store_answers else "silent",
        "time": to_text(report.time_at),
        "last_sweep_at": None if report.last_sweep_at is None else to_text(report.last_sweep_at),
        "hold": _said_of(report.hold),
    }
    return Response(200 if report.store_answers else 503, JSON, body)
