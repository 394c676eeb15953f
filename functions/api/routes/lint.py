"""/v1/lint: a whole tenant looked over."""

import functools

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet import bootstrap
from cronfleet.domain.instant import to_text
from cronfleet.domain.lint import WarningCode, lint_form
from cronfleet.services.lint import LintService
from cronfleet.settings import from_environment

from .. import parameters as p
from ..answers import CrowdedAnswer, LintAnswer
from ..reading import JSON
from ..requests import caller_of

router = APIGatewayHttpRouter()


@functools.cache
def _service() -> LintService:
    return bootstrap.lint(from_environment())


@router.get("/v1/lint", summary="Look all schedules over")
def lint(
    code: p.WarningFilter = None, cursor: p.Cursor = None, limit: p.PageLimit = p.DEFAULT_PAGE
) -> Response[LintAnswer]:
    """Page by page, by id: the schedules with warnings. A page looks `limit` schedules over and may list none of them.

    Completed schedules have nothing left to warn of. The warnings are in docs/warnings.md.
    """
    wanted = None if code is None else WarningCode(code)
    page = _service().page(caller_of(router.current_event.raw_event), code=wanted, cursor=cursor, limit=limit)
    found = [
        {"id": one.timer.schedule_id, "status": one.timer.status.value, **lint_form(one.lint)} for one in page.found
    ]
    return Response(200, JSON, {"schedules": found, "looked_at": page.looked_at, "cursor": page.cursor})


@router.get("/v1/lint/crowded-minutes", summary="See in which minutes many schedules fire")
def crowded_minutes() -> Response[CrowdedAnswer]:
    """Of the next 24 hours: how many active schedules are due in the same minute, after jitter.

    The first 1,000 schedules by id are counted; `is_complete` says whether those are all.
    """
    crowding = _service().crowding(caller_of(router.current_event.raw_event))
    minutes = [
        {"minute_at": to_text(one.minute_at), "schedules": one.schedules, "ids": list(one.ids)}
        for one in crowding.minutes
    ]
    said = {"frequent": crowding.frequent, "looked_at": crowding.looked_at, "is_complete": crowding.is_complete}
    return Response(200, JSON, {"minutes": minutes, **said})
