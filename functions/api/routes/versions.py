"""A schedule's /versions and /rollback: what it has said over time, and back to that."""

import functools
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet import bootstrap
from cronfleet.domain.instant import Instant
from cronfleet.domain.schedule import Spec
from cronfleet.services.versions import Versions
from cronfleet.settings import from_environment

from .. import parameters as p
from ..answers import ScheduleAnswer
from ..effect_answers import TriedScheduleAnswer
from ..reading import JSON
from ..requests import caller_of, conditions_of, once_of
from ..specs import caller_form
from ..version_answers import VersionAnswer, VersionDiffAnswer, VersionsAnswer
from ..version_schemas import RollbackBody
from . import schedules

router = APIGatewayHttpRouter()


@functools.cache
def _service() -> Versions:
    return bootstrap.versions(from_environment())


@router.get("/v1/schedules/<schedule_id>/versions", summary="List a schedule's versions")
def list_versions(
    schedule_id: p.ScheduleId, cursor: p.Cursor = None, limit: p.PageLimit = p.DEFAULT_PAGE
) -> Response[VersionsAnswer]:
    """Newest first: who made each, when and why, and which fields it changed."""
    caller = caller_of(router.current_event.raw_event)
    page = _service().list(caller, schedule_id, cursor=cursor, limit=limit)
    return Response(200, JSON, {"versions": list(page.items), "cursor": page.cursor})


@router.get("/v1/schedules/<schedule_id>/versions/<version>", summary="Read a version of a schedule")
def read_version(schedule_id: p.ScheduleId, version: p.VersionInPath) -> Response[VersionAnswer]:
    """All that it says. A version never changes."""
    caller = caller_of(router.current_event.raw_event)
    return Response(200, JSON, _service().get(caller, schedule_id, version))


@router.get("/v1/schedules/<schedule_id>/versions/<version>/diff", summary="Compare two versions of a schedule")
def diff(
    schedule_id: p.ScheduleId, version: p.VersionInPath, to: p.OtherVersionQuery = None
) -> Response[VersionDiffAnswer]:
    """What has changed from `version` to `to`: a merge patch, and each field with what stood there before and after."""
    caller = caller_of(router.current_event.raw_event)
    return Response(200, JSON, _service().diff(caller, schedule_id, version, to))


@router.post("/v1/schedules/<schedule_id>/rollback", summary="Bring a version of a schedule back")
def rollback(
    schedule_id: p.ScheduleId,
    body: Annotated[RollbackBody, Body()],
    dry_run: p.TryQuery = "false",
    idempotency_key: p.IdempotencyKey = None,  # noqa: ARG001 - for OpenAPI
    if_match: p.IfMatch = None,  # noqa: ARG001 - for OpenAPI
) -> Response[ScheduleAnswer | TriedScheduleAnswer]:
    """A new version that says what that one said; whether the schedule is on stays as it is. `dry_run=true` changes
    nothing and shows which fires come and go.
    """
    event = router.current_event.raw_event
    answer = schedules.service(dry_run).roll_back(
        caller_of(event),
        schedule_id,
        body.version,
        _check,
        conditions=conditions_of(event),
        reason=body.reason,
        once=once_of(event),
    )
    return schedules.ok(answer)


def _check(old: Spec, now: Instant) -> None:
    """Judges an old spec as if its caller sent it today: limits and networks may be others by now."""
    schedules.judged(schedules.whole(caller_form(old)), old, now)
