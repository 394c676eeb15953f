"""/v1/channels and /v1/notices: where a tenant is told of incidents."""

import functools
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet import bootstrap
from cronfleet.domain.channel import Channel, address_of
from cronfleet.domain.errors import Invalid
from cronfleet.domain.quiet_hours import QuietHours, parse_quiet_hours
from cronfleet.services.channels import Channels
from cronfleet.settings import from_environment

from .. import parameters as p
from ..alert_answers import ChannelAnswer, ChannelsAnswer, NoticeAnswer
from ..alert_schemas import ChannelBody, QuietHoursBody
from ..reading import JSON
from ..requests import caller_of, once_of
from ..targets import check_url

router = APIGatewayHttpRouter()

_FIELDS = {"sns": ("topic_arn",), "webhook": ("url", "secret"), "email": ("to",), "slack": ("url_secret", "url")}
_NEEDED = {"sns": ("topic_arn",), "webhook": ("url",), "email": ("to",), "slack": ()}


@functools.cache
def _service() -> Channels:
    return bootstrap.channels(from_environment())


@router.get("/v1/channels", summary="List channels")
def list_channels(scope: p.Scope = "tenant") -> Response[ChannelsAnswer]:
    """By name. A channel is told of incidents: where an objective names it, or as a default."""
    caller = caller_of(router.current_event.raw_event)
    return Response(200, JSON, {"channels": list(_service().list(caller, platform=scope == "platform"))})


@router.get("/v1/channels/<name>", summary="Read a channel")
def read(name: p.ChannelName, scope: p.Scope = "tenant") -> Response[ChannelAnswer]:
    """Secrets are names only."""
    caller = caller_of(router.current_event.raw_event)
    return Response(200, JSON, _service().get(caller, name, platform=scope == "platform"))


@router.put("/v1/channels/<name>", summary="Make or replace a channel")
def put(
    name: p.ChannelName, body: Annotated[ChannelBody, Body()], scope: p.Scope = "tenant"
) -> Response[ChannelAnswer]:
    """Whole: what is left out has its default. An equal one changes nothing. Try it with its `/test`."""
    caller = caller_of(router.current_event.raw_event)
    answer = _service().put(
        caller, name, lambda owner: _channel(owner, name, body), platform=scope == "platform", reason=body.reason
    )
    return Response(201 if answer.created else 200, JSON, answer.form)


@router.delete("/v1/channels/<name>", summary="Delete a channel", status_code=204)
def delete(name: p.ChannelName, scope: p.Scope = "tenant", reason: p.ReasonQuery = "") -> Response[str]:
    """It is told nothing more; what is owed to it is dropped."""
    caller = caller_of(router.current_event.raw_event)
    _service().delete(caller, name, platform=scope == "platform", reason=reason)
    return Response(204, body="")  # the gateway wants text, be it empty


@router.post("/v1/channels/<name>/test", summary="Send a test message", status_code=202)
def send_test(
    name: p.ChannelName,
    scope: p.Scope = "tenant",
    idempotency_key: p.IdempotencyKey = None,  # noqa: ARG001 - for OpenAPI
) -> Response[NoticeAnswer]:
    """It goes out in a few seconds, in quiet hours too; `GET /v1/notices/{id}` says what became of it."""
    event = router.current_event.raw_event
    answer = _service().test(caller_of(event), name, platform=scope == "platform", once=once_of(event))
    return Response(202, JSON, answer.form, headers={"Location": f"/v1/notices/{answer.form['id']}"})


@router.get("/v1/notices/<notice_id>", summary="Read what became of a message")
def read_notice(notice_id: p.NoticeId, scope: p.Scope = "tenant") -> Response[NoticeAnswer]:
    """Kept for thirty days after it has come to its end."""
    caller = caller_of(router.current_event.raw_event)
    return Response(200, JSON, _service().notice(caller, notice_id, platform=scope == "platform"))


def _channel(owner: str, name: str, body: ChannelBody) -> Channel:
    said: dict[str, Any] = body.model_dump(exclude_none=True)
    for field in ("topic_arn", "url", "secret", "url_secret", "to"):
        if field in said and field not in _FIELDS[body.kind]:
            raise Invalid(field, f"is no field of a channel of the kind {body.kind}; leave it out")
    for field in _NEEDED[body.kind]:
        if field not in said:
            raise Invalid(field, f"is missing; a channel of the kind {body.kind} needs it")
    quiet = None if body.quiet_hours is None else _quiet_hours(body.quiet_hours)
    if body.url is not None:
        check_url(body.url, "url", from_environment().webhook_allowed_networks)
    address = address_of(body.kind, said)
    return Channel(owner, name, address, body.template, quiet, body.default, body.description)


def _quiet_hours(body: QuietHoursBody) -> QuietHours:
    try:
        return parse_quiet_hours(body.start, body.end, body.timezone, body.days)
    except Invalid as error:
        raise error.under("quiet_hours") from error
