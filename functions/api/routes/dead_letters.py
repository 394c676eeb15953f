"""/v1/dead-letters: runs that ended without having done their work, looked at and let go of."""

import functools
from collections.abc import Sequence
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet import bootstrap
from cronfleet.domain.dead_letter import Kind, LetterFilter
from cronfleet.domain.errors import Invalid
from cronfleet.domain.freeze import label_hashes
from cronfleet.domain.instant import Instant
from cronfleet.domain.redrive import AskedRedrive
from cronfleet.domain.rerun import Version
from cronfleet.domain.run import RunKey
from cronfleet.services.dead_letters import DeadLetters
from cronfleet.services.redrives import Redrives
from cronfleet.settings import from_environment

from .. import parameters as p
from ..letter_answers import (
    DiscardAnswer,
    GroupsAnswer,
    LetterDetailAnswer,
    LettersAnswer,
    RedrivePreviewAnswer,
    UnreadableAnswer,
)
from ..letter_schemas import DiscardBody, DiscardMessageBody, LetterFilterBody, RedriveBody
from ..operation_answers import OperationAnswer
from ..operation_reading import override_of
from ..reading import JSON
from ..requests import caller_of, once_of
from ..selecting import labels_of
from ..specs import checked_labels, moment_of

router = APIGatewayHttpRouter()


@functools.cache
def _service() -> DeadLetters:
    return bootstrap.dead_letters(from_environment())


@functools.cache
def _redrives() -> Redrives:
    return bootstrap.redrives(from_environment())


@router.get("/v1/dead-letters", summary="List dead letters, or group them by what went wrong")
def list_letters(  # noqa: PLR0913 - a parameter of the query each
    group: p.GroupQuery = None,
    schedule: p.LetterScheduleQuery = None,
    label: p.LetterLabelQuery = None,
    signature: p.SignatureQuery = None,
    kind: p.LetterKindQuery = None,
    from_: p.DiedFromQuery = None,
    to: p.DiedToQuery = None,
    cursor: p.Cursor = None,
    limit: p.PageLimit = p.DEFAULT_PAGE,
) -> Response[LettersAnswer | GroupsAnswer]:
    """Runs that are dead or refused and not settled, newest first; with `group=signature` how many there are of each
    failure. `kind=unreadable` shows messages that nobody can read, and takes a platform admin.
    """
    caller = caller_of(router.current_event.raw_event)
    if kind == p.UNREADABLE:
        _check_alone(group=group, schedule=schedule, label=label, signature=signature, to=to, **{"from": from_})
        page = _service().unreadable(caller, cursor=cursor, limit=limit)
        return Response(200, JSON, {"dead_letters": list(page.items), "cursor": page.cursor})
    asked = LetterFilter(
        schedule,
        label_hashes(labels_of(label)),
        signature,
        None if kind is None else Kind(kind),
        *_stretch(from_, to, ""),
    )
    if group is not None:
        return Response(200, JSON, _service().groups(caller, asked, cursor=cursor))
    page = _service().page(caller, asked, cursor=cursor, limit=limit)
    return Response(200, JSON, {"dead_letters": list(page.items), "cursor": page.cursor})


@router.get("/v1/dead-letters/<run_id>", summary="Read a dead letter")
def read(run_id: p.RunId) -> Response[LetterDetailAnswer]:
    """Every attempt with its error, the payload, what was called; of one that is settled, what became of it."""
    return Response(200, JSON, _service().get(caller_of(router.current_event.raw_event), run_id))


@router.post("/v1/dead-letters/discard", summary="Discard dead letters")
def discard(
    body: Annotated[DiscardBody, Body()],
    dry_run: p.DryRunQuery = "false",
    idempotency_key: p.IdempotencyKey = None,  # noqa: ARG001 - for OpenAPI
) -> Response[DiscardAnswer]:
    """They leave the view, and their runs stay in the history as they are, with who let go of them and why. By a filter
    500 at a time: `more` says whether to ask again; first with `dry_run=true`, which counts them.
    """
    event = router.current_event.raw_event
    caller, once = caller_of(event), once_of(event)
    if (body.run_ids is None) == (body.filter is None):
        raise Invalid("filter", "or run_ids: write one of them; {} as a filter means every dead letter")
    if body.run_ids is not None:
        _check_run_ids(body.run_ids)
        if body.expected not in (None, len(body.run_ids)):
            raise Invalid("expected", f"is {body.expected}, and run_ids names {len(body.run_ids)}")
        if dry_run == "true":
            raise Invalid("dry_run", "counts what a filter means; leave it out where run_ids names them")
        return Response(200, JSON, _service().discard(caller, body.run_ids, reason=body.reason, once=once).form)
    asked = filter_of(body.filter or LetterFilterBody())
    if dry_run == "true":
        counted = _service().count(caller, asked)
        return Response(200, JSON, {"discarded": counted.count, "more": not counted.is_complete})
    answer = _service().discard_all(caller, asked, reason=body.reason, expected=body.expected, once=once)
    return Response(200, JSON, answer.form)


@router.post("/v1/dead-letters/unreadable/<unreadable_id>/discard", summary="Discard a message that nobody can read")
def discard_unreadable(
    unreadable_id: p.UnreadableId,
    body: Annotated[DiscardMessageBody, Body()],
    idempotency_key: p.IdempotencyKey = None,  # noqa: ARG001 - for OpenAPI
) -> Response[UnreadableAnswer]:
    """It leaves the view, with who let go of it and why. Takes a platform admin."""
    event = router.current_event.raw_event
    answer = _service().discard_unreadable(caller_of(event), unreadable_id, reason=body.reason, once=once_of(event))
    return Response(200, JSON, answer.form)


@router.post("/v1/dead-letters/redrive", summary="Run dead letters again", status_code=202)
def redrive(
    body: Annotated[RedriveBody, Body()],
    dry_run: p.DryRunQuery = "false",
    idempotency_key: p.IdempotencyKey = None,  # noqa: ARG001 - for OpenAPI
) -> Response[OperationAnswer | RedrivePreviewAnswer]:
    """Each as a run of its own, those that died first before the others, as an operation (`/v1/operations/{id}`); first
    with `dry_run=true`, which counts them. It stops by itself when 5 of its last 20 runs died in one and the same way.
    """
    event = router.current_event.raw_event
    asked = _asked(body)
    if dry_run == "true":
        return Response(200, JSON, _redrives().preview(caller_of(event), asked))
    answer = _redrives().create(caller_of(event), asked, reason=body.reason, once=once_of(event))
    return Response(202, JSON, answer.form, headers={"Location": f"/v1/operations/{answer.form['id']}"})


def _asked(body: RedriveBody) -> AskedRedrive:
    if (body.run_ids is None) == (body.filter is None):
        raise Invalid("filter", "or run_ids: write one of them; {} as a filter means every dead letter")
    _check_run_ids(body.run_ids or ())
    said = body.filter or LetterFilterBody()
    override = override_of(body)
    return AskedRedrive(
        None if body.run_ids is None else tuple(body.run_ids),
        said.schedule,
        checked_labels(said.labels, "filter.labels"),
        said.signature,
        moment_of(said.from_, "filter.from"),
        moment_of(said.to, "filter.to"),
        Version(body.version),
        () if override is None else (override.payload,),
        body.flow_on,
        body.rate_per_minute,
        body.max_concurrent,
        body.expected,
    )


def _check_alone(**others: str | None) -> None:
    """Raises `Invalid` for what says nothing of a message that nobody can read."""
    for name, value in others.items():
        if value is not None:
            raise Invalid(name, "is not known of what nobody can read; leave it out, or kind=unreadable")


def _stretch(from_: str | None, to: str | None, parent: str) -> tuple[Instant | None, Instant | None]:
    from_at, to_at = moment_of(from_, f"{parent}from"), moment_of(to, f"{parent}to")
    if from_at is not None and to_at is not None and to_at <= from_at:
        raise Invalid(f"{parent}to", f"is not after {parent}from; write the first moment that is not meant any more")
    return from_at, to_at


def _check_run_ids(run_ids: Sequence[str]) -> None:
    for place, run_id in enumerate(run_ids):
        try:
            RunKey.parse(run_id)
        except Invalid as error:
            raise Invalid(f"run_ids.{place}", error.reason) from error


def filter_of(body: LetterFilterBody) -> LetterFilter:
    """Which letters `body` means; raises `Invalid`."""
    return LetterFilter(
        body.schedule,
        label_hashes(checked_labels(body.labels, "filter.labels")),
        body.signature,
        None,
        *_stretch(body.from_, body.to, "filter."),
    )
