"""Heartbeats: a schedule's URL, and /v1/heartbeats, where a job outside says that it runs. The latter needs no key."""

import functools
import re
from collections.abc import Mapping
from typing import Annotated, Any, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet import bootstrap
from cronfleet.domain.errors import Invalid
from cronfleet.domain.heartbeat import PingState
from cronfleet.services.heartbeats import Heartbeats, Report
from cronfleet.settings import from_environment

from .. import parameters as p
from ..reading import JSON
from ..requests import caller_of, once_of
from ..shadow_answers import HeartbeatAnswer, NewHeartbeatAnswer, PingAnswer
from ..shadow_schemas import HeartbeatBody, PingBody

router = APIGatewayHttpRouter()

PUBLIC_PATH: Final = "/v1/heartbeats/<token>"
"""The one path below /v1 that has no authorizer before it."""

_PLAIN: Final = HeartbeatBody()
_BARE: Final = PingBody()
_HOST: Final = re.compile(r"[A-Za-z0-9.:\[\]-]{1,255}")


@functools.cache
def _service() -> Heartbeats:
    return bootstrap.heartbeats(from_environment())


@router.post("/v1/schedules/<schedule_id>/heartbeat", summary="Make a heartbeat URL", status_code=201)
def make(schedule_id: p.ScheduleId, body: Annotated[HeartbeatBody, Body()] = _PLAIN) -> Response[NewHeartbeatAnswer]:
    """For a job outside to ping. It is shown here and nowhere again; the one before, if any, is dead from now on."""
    event = router.current_event.raw_event
    form = _service().make(caller_of(event), schedule_id, body.reason).form
    path = f"/v1/heartbeats/{form['token']}"
    return Response(201, JSON, {**form, "path": path, "url": f"{_address(event)}{path}"})


@router.get("/v1/schedules/<schedule_id>/heartbeat", summary="Read who made the heartbeat URL, and the latest ping")
def show(schedule_id: p.ScheduleId) -> Response[HeartbeatAnswer]:
    """Without its token, which nobody keeps."""
    return Response(200, JSON, _service().show(caller_of(router.current_event.raw_event), schedule_id))


@router.post(PUBLIC_PATH, summary="Ping: say that a job starts, or how it ended")
def ping(
    token: p.HeartbeatToken,
    body: Annotated[PingBody, Body()] = _BARE,
    state: p.PingStateQuery = None,
    exit_code: p.ExitCodeQuery = None,
    idempotency_key: p.IdempotencyKey = None,  # noqa: ARG001 - for OpenAPI
) -> Response[PingAnswer]:
    """Needs no key: whoever has the URL may ping. An empty body says that the job succeeded.

    At the end of a line of a crontab: `; curl -fsS -m 10 -X POST "$URL?exit_code=$?"`.
    """
    event = router.current_event.raw_event
    said = _once_said("state", body.state, state)
    report = Report(
        None if said is None else PingState(said), _once_said("exit_code", body.exit_code, exit_code), body.message
    )
    form = _service().ping(token, report, once_of(event), event["requestContext"]["requestId"])
    return Response(200, JSON, form)


def _once_said(name: str, in_body: Any, in_query: Any) -> Any:
    if in_body is not None and in_query is not None:
        raise Invalid(name, "stands in the query and in the body; write it once")
    return in_query if in_body is None else in_body


def _address(event: Mapping[str, Any]) -> str:
    """The address that the caller used; a proxy in front says it in its own headers."""
    headers = {name.lower(): value for name, value in event.get("headers", {}).items()}
    host = headers.get("x-forwarded-host") or headers.get("host") or ""
    if not _HOST.fullmatch(host):
        host = event["requestContext"].get("domainName", "")
    return f"{'http' if headers.get('x-forwarded-proto') == 'http' else 'https'}://{host}"
