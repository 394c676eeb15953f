"""/v1/bulk: one change of many schedules."""

import functools
from typing import Annotated, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet import bootstrap
from cronfleet.domain.instant import SECOND
from cronfleet.services.bulk import Bulk, Choice
from cronfleet.settings import from_environment

from .. import parameters as p
from ..answers import BulkAnswer
from ..reading import JSON
from ..requests import caller_of
from ..schemas import BulkResumeBody

router = APIGatewayHttpRouter()

_SECONDS: Final = 20
"""How long schedules are turned on; the gateway waits 29 seconds."""
_SHOWN: Final = 100


@functools.cache
def _service() -> Bulk:
    return bootstrap.bulk(from_environment())


@router.post("/v1/bulk/resume", summary="Turn held schedules on")
def bulk_resume(body: Annotated[BulkResumeBody, Body()], dry_run: p.DryRunQuery = "false") -> Response[BulkAnswer]:
    """Those that have all the labels, such as the `import` of an import; first with `dry_run=true`, which counts them.
    A request turns on up to `limit`; the same again goes on. What was off in the old system stays held.
    """
    event = router.current_event.raw_event
    report = _service().resume(
        caller_of(event),
        Choice(body.labels, body.include_off),
        dry_run=dry_run == "true",
        limit=body.limit,
        cursor=body.cursor,
        reason=body.reason,
        deadline_at=bootstrap.deadline_at(_SECONDS * SECOND, 0),
    )
    resumed = 0 if dry_run == "true" else len(report.matched) - len(report.failed)
    answer = {
        "dry_run": dry_run == "true",
        "counts": {
            "scanned": report.scanned,
            "matched": len(report.matched),
            "resumed": resumed,
            "failed": len(report.failed),
            "off": report.off,
        },
        "schedules": report.matched[:_SHOWN],
        "failed": [{"id": schedule_id, "reason": reason} for schedule_id, reason in report.failed.items()],
        "cursor": report.cursor,
    }
    return Response(200, JSON, answer)
