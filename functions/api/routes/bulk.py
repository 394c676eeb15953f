"""/v1/bulk: one change of many schedules."""

import functools
from typing import Annotated, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet import bootstrap
from cronfleet.domain.errors import Invalid
from cronfleet.domain.form import Form
from cronfleet.domain.instant import SECOND
from cronfleet.services.bulk import Asked, Bulk, Report
from cronfleet.services.bulk_deeds import Cancelling, Deed, Labelling, Pausing, Resuming
from cronfleet.settings import from_environment

from .. import parameters as p
from ..bulk_answers import BulkAnswer
from ..bulk_schemas import BulkBody, BulkCancelBody, BulkLabelsBody, BulkPauseBody, BulkResumeBody
from ..reading import JSON
from ..requests import caller_of
from ..selecting import selection_of
from ..specs import checked_labels, missed_of, moment_of

router = APIGatewayHttpRouter()

_SECONDS: Final = 20
"""How long schedules are changed; the gateway waits 29 seconds."""
_SHOWN: Final = 100


@functools.cache
def _service() -> Bulk:
    return bootstrap.bulk(from_environment())


@router.post("/v1/bulk/pause", summary="Pause many schedules")
def bulk_pause(body: Annotated[BulkPauseBody, Body()], dry_run: p.DryRunQuery = "false") -> Response[BulkAnswer]:
    """Those that are active, unless the filter asks for a status; first with `dry_run=true`, which counts them. A
    request pauses up to `limit`, and its `cursor` goes on.
    """
    until = moment_of(body.until, "until")
    if until is not None and until <= bootstrap.deadline_at(0, 0):
        raise Invalid("until", "is past; write a time that is still to come, or leave it out")
    return _answered(body, Pausing(until), dry_run)


@router.post("/v1/bulk/resume", summary="Resume many schedules, or turn held ones on")
def bulk_resume(body: Annotated[BulkResumeBody, Body()], dry_run: p.DryRunQuery = "false") -> Response[BulkAnswer]:
    """Those that are paused, unless the filter asks for a status; with `labels` alone, held ones, such as the `import`
    of an import. First with `dry_run=true`, which counts them. What was off in the old system stays as it is.
    """
    return _answered(body, Resuming(missed_of(body.missed), body.include_off), dry_run, resumes=True)


@router.post("/v1/bulk/cancel", summary="Delete many schedules")
def bulk_cancel(body: Annotated[BulkCancelBody, Body()], dry_run: p.DryRunQuery = "false") -> Response[BulkAnswer]:
    """Whatever their status; first with `dry_run=true`, which counts them. Their history stays."""
    return _answered(body, Cancelling(), dry_run)


@router.post("/v1/bulk/labels", summary="Set and remove labels of many schedules")
def bulk_labels(body: Annotated[BulkLabelsBody, Body()], dry_run: p.DryRunQuery = "false") -> Response[BulkAnswer]:
    """Whatever their status; first with `dry_run=true`, which counts them. Each is a new version of its schedule; one
    that has its labels so already is `unchanged`.
    """
    if not body.set and not body.remove:
        raise Invalid("set", "is empty, and remove is, too; write which labels come or go")
    both = sorted(body.set.keys() & set(body.remove))
    if both:
        raise Invalid("remove", f"and set both name {', '.join(both)}; leave one of them out")
    return _answered(body, Labelling(checked_labels(body.set, "set"), frozenset(body.remove)), dry_run)


def _answered(body: BulkBody, deed: Deed, dry_run: str, *, resumes: bool = False) -> Response[BulkAnswer]:
    asked = Asked(
        selection_of(body),
        dry_run == "true",
        body.limit,
        body.cursor,
        body.reason,
        bootstrap.deadline_at(_SECONDS * SECOND, 0),
        body.expected,
    )
    report = _service().carry_out(caller_of(router.current_event.raw_event), deed, asked)
    more = {"resumed": report.changed, "off": report.left_out} if resumes else {}
    return Response(200, JSON, _form(report, dry_run=asked.dry_run, more=more))


def _form(report: Report, *, dry_run: bool, more: dict[str, int]) -> Form:
    return {
        "bulk": report.bulk_id,
        "dry_run": dry_run,
        "counts": {
            "scanned": report.scanned,
            "matched": len(report.matched),
            "changed": report.changed,
            "unchanged": report.unchanged,
            "failed": len(report.failed),
            **more,
        },
        "schedules": report.matched[:_SHOWN],
        "failed": [{"id": schedule_id, "reason": reason} for schedule_id, reason in report.failed.items()],
        "cursor": report.cursor,
    }
