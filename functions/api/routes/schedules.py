"""/v1/schedules: register, read, change, pause, resume, delete."""

import functools
from typing import Annotated, Any, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter
from pydantic import ValidationError

from cronfleet import bootstrap
from cronfleet.domain.errors import Exists, Invalid
from cronfleet.domain.form import named_fire_form
from cronfleet.domain.instant import Instant
from cronfleet.domain.outlook import DEFAULT_FIRES
from cronfleet.domain.schedule import Spec, Status
from cronfleet.domain.selection import Selection
from cronfleet.domain.version_diff import merged
from cronfleet.services.changing import Answer
from cronfleet.services.schedules import Schedules, SpecMaker
from cronfleet.settings import Settings, from_environment

from .. import parameters as p
from ..answers import FiresAnswer, ScheduleAnswer, SchedulesAnswer
from ..effect_answers import TriedScheduleAnswer
from ..installation import installation_of
from ..problems import not_new, of_validation
from ..reading import JSON
from ..requests import caller_of, conditions_of, once_of
from ..schemas import NewScheduleBody, PauseBody, ResumeBody, ScheduleBody, fields_by_path
from ..selecting import labels_of
from ..shadow_schemas import ShadowBody
from ..specs import caller_form, missed_of, moment_of, spec_of, unknown_in

router = APIGatewayHttpRouter()

_PLAIN_RESUME: Final = ResumeBody()


@functools.cache
def _settings() -> Settings:
    return from_environment()


@functools.cache
def _service() -> Schedules:
    return bootstrap.schedules(_settings())


def service(dry_run: str = "false") -> Schedules:
    """The service; with `dry_run`, one whose changes write nothing and tell their effect."""
    return _service().tried() if dry_run == "true" else _service()


@router.post("/v1/schedules", summary="Register a schedule", status_code=201)
def create(
    body: Annotated[NewScheduleBody, Body()],
    dry_run: p.TryQuery = "false",
    idempotency_key: p.IdempotencyKey = None,  # noqa: ARG001 - for OpenAPI
) -> Response[ScheduleAnswer | TriedScheduleAnswer]:
    """Without `id`, one is made up. Under an id that is taken, nothing is changed: 409. `dry_run=true` registers
    nothing and shows the schedule as it would be, with its `effect`: 200.
    """
    event = router.current_event.raw_event
    answer = service(dry_run).create(
        caller_of(event), body.id, _maker(body), once_of(event), held=body.held, shadow=body.shadow
    )
    return _created_or_ok(answer)


@router.get("/v1/schedules", summary="List schedules")
def list_schedules(
    status: p.StatusFilter = None,
    prefix: p.Prefix = "",
    label: p.LabelQuery = None,
    owner: p.OwnerFilter = None,
    cursor: p.Cursor = None,
    limit: p.PageLimit = p.DEFAULT_PAGE,
) -> Response[SchedulesAnswer]:
    """By id, page by page. By label or owner a request looks through 1,000 schedules: its page may then be short, or
    empty, and still have a `cursor`.
    """
    wanted = Selection(labels_of(label), owner, None if status is None else Status(status), prefix)
    page = _service().list(caller_of(router.current_event.raw_event), wanted, cursor=cursor, limit=limit)
    return Response(200, JSON, {"schedules": list(page.items), "cursor": page.cursor})


@router.get("/v1/schedules/<schedule_id>", summary="Read a schedule")
def read(schedule_id: p.ScheduleId) -> Response[ScheduleAnswer]:
    """Its ETag moves with every change, not when it fires."""
    return ok(_service().get(caller_of(router.current_event.raw_event), schedule_id))


@router.put("/v1/schedules/<schedule_id>", summary="Create or replace a schedule")
def put(
    schedule_id: p.ScheduleId,
    body: Annotated[NewScheduleBody, Body()],
    reason: p.ReasonQuery = "",
    dry_run: p.TryQuery = "false",
    if_match: p.IfMatch = None,  # noqa: ARG001 - for OpenAPI; read together with its opposite
    if_none_match: p.IfNoneMatch = None,  # noqa: ARG001 - as above
) -> Response[ScheduleAnswer | TriedScheduleAnswer]:
    """201 when it is new, 200 when it was there. An equal schedule changes nothing and makes no new version.
    `dry_run=true` changes nothing and shows the schedule as it would be, with its `effect`.
    """
    event = router.current_event.raw_event
    _check_id(body, schedule_id)
    try:
        answer = service(dry_run).put(
            caller_of(event),
            schedule_id,
            _maker(body),
            conditions_of(event),
            reason,
            held=body.held,
            shadow=body.shadow,
        )
    except Exists as error:
        raise not_new(error) from error
    return _created_or_ok(answer)


@router.patch("/v1/schedules/<schedule_id>", summary="Change a part of a schedule")
def patch(
    schedule_id: p.ScheduleId,
    body: Annotated[dict[str, Any], Body()],
    reason: p.ReasonQuery = "",
    dry_run: p.TryQuery = "false",
    if_match: p.IfMatch = None,  # noqa: ARG001 - for OpenAPI
) -> Response[ScheduleAnswer | TriedScheduleAnswer]:
    """A JSON merge patch (RFC 7396): what is left out stays, `null` takes a field back to its default. `dry_run=true`
    changes nothing and shows the schedule as it would be, with its `effect`.
    """
    event = router.current_event.raw_event
    caller = caller_of(event)
    _refuse_unknown(body)

    def make(current: Spec | None, now: Instant) -> Spec:
        base = {} if current is None else caller_form(current)
        asked = whole(merged(base, body))
        _check_id(asked, schedule_id)
        return judged(asked, current, now)

    return ok(service(dry_run).edit(caller, schedule_id, make, conditions_of(event), reason))


@router.delete("/v1/schedules/<schedule_id>", summary="Delete a schedule", status_code=204)
def delete(
    schedule_id: p.ScheduleId,
    reason: p.ReasonQuery = "",
    if_match: p.IfMatch = None,  # noqa: ARG001 - for OpenAPI
) -> Response[str]:
    """Nothing starts after this has returned. Its history stays."""
    event = router.current_event.raw_event
    _service().delete(caller_of(event), schedule_id, conditions_of(event), reason)
    return Response(204, body="")  # the gateway wants text, be it empty


@router.post("/v1/schedules/<schedule_id>/pause", summary="Pause a schedule")
def pause(
    schedule_id: p.ScheduleId,
    body: Annotated[PauseBody, Body()],
    dry_run: p.TryQuery = "false",
    idempotency_key: p.IdempotencyKey = None,  # noqa: ARG001 - for OpenAPI
    if_match: p.IfMatch = None,  # noqa: ARG001 - for OpenAPI
) -> Response[ScheduleAnswer | TriedScheduleAnswer]:
    """Nothing starts after this has returned, until it is resumed, or `until` has come. `dry_run=true` pauses nothing
    and shows the fires that it would cost.
    """
    event = router.current_event.raw_event
    answer = service(dry_run).pause(
        caller_of(event),
        schedule_id,
        reason=body.reason,
        until=moment_of(body.until, "until"),
        conditions=conditions_of(event),
        once=once_of(event),
    )
    return ok(answer)


@router.post("/v1/schedules/<schedule_id>/resume", summary="Resume a schedule")
def resume(
    schedule_id: p.ScheduleId,
    body: Annotated[ResumeBody, Body()] = _PLAIN_RESUME,
    dry_run: p.TryQuery = "false",
    idempotency_key: p.IdempotencyKey = None,  # noqa: ARG001 - for OpenAPI
    if_match: p.IfMatch = None,  # noqa: ARG001 - for OpenAPI
) -> Response[ScheduleAnswer | TriedScheduleAnswer]:
    """On from the next regular time. `missed` says which of the fires held back still run: by default none.
    `dry_run=true` changes nothing and shows the fires that come, and what would be caught up.
    """
    event = router.current_event.raw_event
    answer = service(dry_run).resume(
        caller_of(event),
        schedule_id,
        missed=missed_of(body.missed),
        reason=body.reason,
        conditions=conditions_of(event),
        once=once_of(event),
    )
    return ok(answer)


@router.post("/v1/schedules/<schedule_id>/shadow", summary="Note what a held schedule would fire, or no longer")
def shadow(
    schedule_id: p.ScheduleId,
    body: Annotated[ShadowBody, Body()],
    idempotency_key: p.IdempotencyKey = None,  # noqa: ARG001 - for OpenAPI
    if_match: p.IfMatch = None,  # noqa: ARG001 - for OpenAPI
) -> Response[ScheduleAnswer]:
    """In shadow, each fire of a held schedule gets its entry in the ledger and is never sent."""
    event = router.current_event.raw_event
    answer = _service().shadow(
        caller_of(event),
        schedule_id,
        is_on=body.on,
        reason=body.reason,
        conditions=conditions_of(event),
        once=once_of(event),
    )
    return ok(answer)


@router.get("/v1/schedules/<schedule_id>/fires", summary="See when a schedule fires")
def fires(
    schedule_id: p.ScheduleId,
    from_: p.FromQuery = None,
    to: p.ToQuery = None,
    limit: p.FiresLimit = DEFAULT_FIRES,
) -> Response[FiresAnswer]:
    """What its trigger names from `from` (now, if left out) to `to`, both included, whatever its status."""
    from_at, to_at = moment_of(from_, "from"), moment_of(to, "to")
    caller = caller_of(router.current_event.raw_event)
    found = _service().fires(caller, schedule_id, from_at=from_at, to_at=to_at, limit=limit)
    return Response(200, JSON, {"fires": [named_fire_form(fire) for fire in found]})


def _maker(body: ScheduleBody) -> SpecMaker:
    return functools.partial(judged, body)


def judged(body: ScheduleBody, current: Spec | None, now: Instant) -> Spec:
    """The spec that `body` asks for, of the caller's tenant; raises `Invalid`."""
    tenant = caller_of(router.current_event.raw_event).tenant.tenant_id
    return spec_of(body, current, now, tenant=tenant, installation=installation_of(_settings()))


def _refuse_unknown(patch: dict[str, Any]) -> None:
    """A field that is misspelt and null would be taken back from where it never was, without a word."""
    known = fields_by_path(ScheduleBody)
    found = [{"loc": ("body", *path), "type": "extra_forbidden"} for path in unknown_in(patch, known)]
    if found:
        raise of_validation(found, known)


def whole(form: dict[str, Any]) -> ScheduleBody:
    """The body that `form` is; raises a 400 that names each field."""
    try:
        return ScheduleBody.model_validate(form)
    except ValidationError as error:
        found = [{**one, "loc": ("body", *one["loc"])} for one in error.errors()]
        raise of_validation(found, fields_by_path(ScheduleBody)) from error


def _check_id(body: ScheduleBody, schedule_id: str) -> None:
    if body.id not in (None, schedule_id):
        raise Invalid("id", f"is {body.id!r}, but the path says {schedule_id!r}; an id cannot be changed")


def ok(answer: Answer) -> Response[Any]:
    """The schedule; of a dry run, with the ETag of what is there, if anything is."""
    return Response(200, JSON, answer.form, headers={"ETag": answer.etag} if answer.etag else {})


def _created_or_ok(answer: Answer) -> Response[Any]:
    if not answer.created:
        return ok(answer)
    headers = {"ETag": answer.etag, "Location": f"/v1/schedules/{answer.form['id']}"}
    return Response(201, JSON, answer.form, headers=headers)
