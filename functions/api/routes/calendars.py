"""/v1/calendars: named, versioned sets of dates, and what a new version changes."""

import functools
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet import bootstrap
from cronfleet.services.calendars import Calendars
from cronfleet.settings import from_environment

from .. import parameters as p
from ..calendar_answers import CalendarAnswer, CalendarChangeAnswer, CalendarsAnswer, CalendarVersionsAnswer
from ..calendar_content import content_of
from ..calendar_schemas import CalendarBody
from ..reading import JSON
from ..requests import caller_of, conditions_of

router = APIGatewayHttpRouter()


@functools.cache
def _service() -> Calendars:
    return bootstrap.calendars(from_environment())


@router.put("/v1/calendars/<name>", summary="Create a calendar, or give it a new version")
def put(
    name: p.CalendarName,
    body: Annotated[CalendarBody, Body()],
    kind: p.KindQuery = None,
    weekend: p.WeekendQuery = None,
    covers_until: p.CoversQuery = None,
    reason: p.ReasonQuery = "",
    dry_run: p.DryRunQuery = "false",
    if_match: p.IfMatch = None,  # noqa: ARG001 - for OpenAPI; read together with its opposite
) -> Response[CalendarChangeAnswer]:
    """The whole calendar, as JSON or as an iCalendar file. 201 when it is new. `changes` shows which schedules fire on
    other dates in the next year; with `dry_run=true` that is all that happens. A new version then comes to every
    schedule that follows the calendar, as a new version of its own; an equal one changes nothing.
    """
    event = router.current_event.raw_event
    fields = body.model_dump(exclude_unset=True)
    fields |= _given(kind=kind, weekend=_listed(weekend), covers_until=covers_until)
    make = functools.partial(content_of, fields)
    conditions = conditions_of(event)
    answer = _service().put(caller_of(event), name, make, conditions, reason=reason, dry_run=dry_run == "true")
    headers = {"ETag": answer.etag} if answer.etag else {}
    if answer.created:
        headers["Location"] = f"/v1/calendars/{name}"
    return Response(201 if answer.created else 200, JSON, answer.form, headers=headers)


def _listed(names: str | None) -> list[str] | None:
    """Names with commas between; nothing between them is none."""
    return names if names is None else [name.strip() for name in names.split(",") if name.strip()]


def _given(**parameters: object) -> dict[str, object]:
    return {name: value for name, value in parameters.items() if value is not None}


@router.get("/v1/calendars", summary="List calendars")
def list_calendars(cursor: p.Cursor = None, limit: p.PageLimit = p.DEFAULT_PAGE) -> Response[CalendarsAnswer]:
    """By name, page by page."""
    page = _service().list(caller_of(router.current_event.raw_event), cursor=cursor, limit=limit)
    return Response(200, JSON, {"calendars": list(page.items), "cursor": page.cursor})


@router.get("/v1/calendars/<name>", summary="Read a calendar")
def read(name: p.CalendarName, version: p.VersionQuery = None) -> Response[CalendarAnswer]:
    """The newest version, or any other; those of a deleted calendar too, for the history of its schedules."""
    answer = _service().get(caller_of(router.current_event.raw_event), name, version)
    return Response(200, JSON, answer.form, headers={"ETag": answer.etag} if answer.etag else {})


@router.get("/v1/calendars/<name>/versions", summary="List a calendar's versions")
def versions(
    name: p.CalendarName, cursor: p.Cursor = None, limit: p.PageLimit = p.DEFAULT_PAGE
) -> Response[CalendarVersionsAnswer]:
    """Newest first, at most twenty a page: by whom, when and why."""
    page = _service().versions(caller_of(router.current_event.raw_event), name, cursor=cursor, limit=limit)
    return Response(200, JSON, {"versions": list(page.items), "cursor": page.cursor})


@router.delete("/v1/calendars/<name>", summary="Delete a calendar", status_code=204)
def delete(
    name: p.CalendarName,
    reason: p.ReasonQuery = "",
    if_match: p.IfMatch = None,  # noqa: ARG001 - for OpenAPI
) -> Response[str]:
    """While a schedule uses it, it stays: 409 names the schedules. Its versions stay for the history."""
    event = router.current_event.raw_event
    _service().delete(caller_of(event), name, conditions_of(event), reason)
    return Response(204, body="")  # the gateway wants text, be it empty
