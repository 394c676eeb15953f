"""A schedule's /explain and /ledger: why it ran at a time or did not, and what became of every fire of a stretch."""

import functools

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet import bootstrap
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import Instant
from cronfleet.services.ledger import Ledger
from cronfleet.settings import from_environment

from .. import parameters as p
from ..answers import ExplainAnswer, LedgerAnswer
from ..reading import JSON
from ..requests import caller_of
from ..specs import moment_of

router = APIGatewayHttpRouter()


@functools.cache
def _service() -> Ledger:
    return bootstrap.ledger(from_environment())


@router.get("/v1/schedules/<schedule_id>/explain", summary="Ask why a schedule ran at a time, or did not")
def explain(schedule_id: p.ScheduleId, at: p.AtQuery) -> Response[ExplainAnswer]:
    """Past or future, one answer for any time: what ran, what kept it from running, or which times are named instead.

    A deleted schedule's too. The reasons are in docs/reasons.md.
    """
    caller = caller_of(router.current_event.raw_event)
    return Response(200, JSON, _service().explain(caller, schedule_id, _moment(at, "at")))


@router.get("/v1/schedules/<schedule_id>/ledger", summary="Read what became of every fire")
def ledger(
    schedule_id: p.ScheduleId,
    from_: p.FirstQuery,
    to: p.LastQuery,
    cursor: p.Cursor = None,
    limit: p.PageLimit = p.DEFAULT_PAGE,
) -> Response[LedgerAnswer]:
    """Oldest first, from `from` to `to`, both included. What is not decided yet is there as such.

    Every fire is in exactly one entry; one entry may stand for a stretch. Runs that were asked for by hand are not
    fires: /runs has them.
    """
    from_at, to_at = _moment(from_, "from"), _moment(to, "to")
    if to_at < from_at:
        raise Invalid("to", "must not be earlier than from")
    caller = caller_of(router.current_event.raw_event)
    page = _service().entries(caller, schedule_id, from_at=from_at, to_at=to_at, cursor=cursor, limit=limit)
    return Response(200, JSON, {"entries": list(page.items), "cursor": page.cursor})


def _moment(text: str, field: str) -> Instant:
    instant = moment_of(text, field)
    if instant is None:
        raise Invalid(field, "is missing; write a time such as 2026-12-01T02:00:00Z")
    return instant
