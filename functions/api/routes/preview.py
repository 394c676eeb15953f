"""/v1/preview: when would this fire?"""

import functools
from typing import Annotated, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet import bootstrap
from cronfleet.domain.calendar_change import check_fires, rule_of
from cronfleet.domain.crowded import default_jitter
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import Instant, to_text
from cronfleet.domain.lint import lint_form, look_over
from cronfleet.domain.outlook import nominals_of
from cronfleet.domain.trigger import Trigger
from cronfleet.services.access import Caller
from cronfleet.services.calendars import Calendars
from cronfleet.settings import from_environment

from ..answers import PreviewAnswer
from ..reading import JSON
from ..requests import caller_of
from ..schemas import PreviewBody
from ..specs import moment_of, trigger_of

router = APIGatewayHttpRouter()

PATH: Final = "/v1/preview"


@functools.cache
def _calendars() -> Calendars:
    return bootstrap.calendars(from_environment())


@router.post(PATH, summary="See when a trigger would fire")
def preview(body: Annotated[PreviewBody, Body()]) -> Response[PreviewAnswer]:
    """Nothing is stored. The nominal times strictly later than `after` (now, if left out), and what will surprise."""
    event = router.current_event.raw_event
    caller = caller_of(event)
    written = moment_of(body.after, "after")
    after = event["requestContext"]["timeEpoch"] if written is None else written
    until = moment_of(body.until, "until")
    if until is not None and until <= after:
        raise Invalid("until", "must be later than after")
    trigger = _bound(caller, trigger_of(body.trigger, after), after)
    found = nominals_of(trigger, after, until, body.limit)
    fires = [to_text(nominal_at) for nominal_at in found]
    # As a schedule with this trigger would be spread that says nothing of it.
    lint = look_over(trigger, after, jitter_seconds=default_jitter(trigger))
    return Response(200, JSON, {"fires": fires, **lint_form(lint)})


def _bound(caller: Caller, trigger: Trigger, after: Instant) -> Trigger:
    """`trigger` with what its calendar holds; only one that has a calendar needs the store."""
    if rule_of(trigger) is None:
        return trigger
    bound = _calendars().bound(caller, trigger)
    try:
        check_fires(bound, after)
    except Invalid as error:
        raise error.under("trigger") from error
    return bound
