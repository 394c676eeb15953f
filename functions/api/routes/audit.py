"""/v1/audit: who changed what, when and why; and whether anybody has changed that since."""

import functools
from typing import Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet import bootstrap
from cronfleet.domain.audit import Wanted, schedule_subject
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import EARLIEST, LATEST
from cronfleet.services.audit_log import AuditLog
from cronfleet.settings import from_environment

from .. import parameters as p
from ..audit_answers import AuditAnswer, AuditVerdictAnswer
from ..reading import JSON
from ..requests import caller_of
from ..specs import moment_of

router = APIGatewayHttpRouter()

LINES: Final = "application/x-ndjson"
_AS_LINES: Final = {200: {"description": "Here it is.", "content": {LINES: {"schema": {"type": "string"}}}}}


@functools.cache
def _service() -> AuditLog:
    return bootstrap.audit_log(from_environment())


@router.get("/v1/audit", summary="Read who changed what, when and why")
def entries(
    schedule: p.ScheduleQuery = None,
    subject: p.SubjectQuery = None,
    actor: p.ActorQuery = "",
    action: p.ActionQuery = "",
    from_: p.FromQuery = None,
    to: p.ToQuery = None,
    cursor: p.Cursor = None,
    limit: p.PageLimit = p.DEFAULT_PAGE,
) -> Response[AuditAnswer]:
    """Newest first, from `from` to `to`, both included. A page may be short where other entries lie between."""
    since, until = moment_of(from_, "from"), moment_of(to, "to")
    if since is not None and until is not None and until < since:
        raise Invalid("to", "must not be earlier than from")
    wanted = Wanted(
        EARLIEST if since is None else since,
        LATEST if until is None else until,
        _subject(schedule, subject),
        actor,
        action,
    )
    page = _service().entries(caller_of(router.current_event.raw_event), wanted, cursor=cursor, limit=limit)
    return Response(200, JSON, {"entries": list(page.items), "cursor": page.cursor})


def _subject(schedule: str | None, subject: str | None) -> str:
    if schedule is None:
        return subject or ""
    if subject is not None:
        raise Invalid("subject", "and schedule both say what changed; leave one of them out")
    return schedule_subject(schedule)


@router.get("/v1/audit/verify", summary="Check that nobody has touched the audit log")
def verify(cursor: p.Cursor = None) -> Response[AuditVerdictAnswer]:
    """Every entry against its hash, its chain and the seals over it. A call checks for up to twenty seconds; with a
    `cursor` in its answer the next one goes on from there.
    """
    return Response(200, JSON, _service().verify(caller_of(router.current_event.raw_event), cursor))


@router.get("/v1/audit/export", summary="Export the audit log, to be kept and checked elsewhere", responses=_AS_LINES)
def export(cursor: p.Cursor = None, limit: p.AuditLimit = p.MAX_ENTRIES) -> Response[str]:
    """A JSON object a line: entries, oldest first, then seals; the last line of a page has the `cursor` of the next, or
    null. docs/audit.md says how to check it; `python -m cronfleet.verify_audit` does.
    """
    text = _service().export(caller_of(router.current_event.raw_event), cursor=cursor, limit=limit)
    return Response(200, LINES, text)
