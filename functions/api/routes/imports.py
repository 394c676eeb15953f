"""/v1/imports: what other schedulers' files become: held schedules, or refusals."""

import functools
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from cronfleet import bootstrap
from cronfleet.domain import crontab, eventbridge, kubernetes
from cronfleet.domain.crontab_form import Form
from cronfleet.services.imports import Imports
from cronfleet.services.transfer import Transfer
from cronfleet.settings import Settings, from_environment

from .. import applying, json_reading, yaml_reading
from .. import parameters as p
from ..answers import ImportAnswer
from ..applying import Options
from ..import_schemas import CrontabBody, DocumentBody
from ..importing import Request, carry_out, target_of_text, zone_of_text
from ..installation import installation_of
from ..reading import JSON
from ..requests import caller_of
from ..transfer_answers import AppliedAnswer

router = APIGatewayHttpRouter()


@functools.cache
def _settings() -> Settings:
    return from_environment()


@functools.cache
def _service() -> Imports:
    return bootstrap.imports(_settings())


@functools.cache
def _transfer() -> Transfer:
    return bootstrap.transfer(_settings())


@router.post("/v1/imports/crontab", summary="Import a crontab")
def import_crontab(  # noqa: PLR0913 - each is a parameter of the query
    body: Annotated[CrontabBody, Body()],
    timezone: p.ZoneQuery = None,
    form: p.FormQuery = None,
    tz: p.TzQuery = None,
    source: p.SourceQuery = "",
    target: p.TargetQuery = None,
    owner: p.OwnerQuery = "",
    existing: p.ExistingQuery = "keep",
    shadow: p.FlagQuery = "false",
    dry_run: p.DryRunQuery = "false",
) -> Response[ImportAnswer]:
    """A whole file, a user's or the system's. Each job becomes a held schedule, or is refused with its reason; the same
    again creates nothing. The payload is the command, its standard input, its user and its environment.
    """
    options = crontab.Options(
        timezone=zone_of_text(timezone),
        form=None if form is None else Form(form),
        path=source,
        tz_is_of_times=None if tz is None else tz == "times",
    )
    sheet = crontab.read(body.document, options, frozenset(body.not_utf8))
    request = _request("crontab", source, target, owner, existing, shadow, dry_run)
    return _answered(sheet, request)


@router.post("/v1/imports/eventbridge", summary="Import schedules of EventBridge Scheduler")
def import_eventbridge(
    body: Annotated[DocumentBody, Body()],
    source: p.SourceQuery = "",
    target: p.TargetQuery = None,
    role: p.RoleQuery = None,
    owner: p.OwnerQuery = "",
    existing: p.ExistingQuery = "keep",
    shadow: p.FlagQuery = "false",
    dry_run: p.DryRunQuery = "false",
) -> Response[ImportAnswer]:
    """What `aws scheduler get-schedule` says: one answer, several of them, or an array. Summaries of `list-schedules`
    have no expression, and are refused with the command that exports each.
    """
    request = _request("eventbridge", source, target, owner, existing, shadow, dry_run)
    entries, notes = json_reading.schedules_of(body.document)
    options = eventbridge.Options(has_target=request.target is not None, role=role)
    sheet = eventbridge.read(entries, options, notes)
    return _answered(sheet, request)


@router.post("/v1/imports/kubernetes", summary="Import Kubernetes CronJobs")
def import_kubernetes(
    body: Annotated[DocumentBody, Body()],
    timezone: p.ZoneQuery = None,
    source: p.SourceQuery = "",
    target: p.TargetQuery = None,
    owner: p.OwnerQuery = "",
    existing: p.ExistingQuery = "keep",
    shadow: p.FlagQuery = "false",
    dry_run: p.DryRunQuery = "false",
) -> Response[ImportAnswer]:
    """Manifests as YAML (several documents, lists) or as `kubectl get cronjobs -o json` answers. CronJobs become held
    schedules; what is of another kind is named under `ignored`.
    """
    documents, unreadable = yaml_reading.read(body.document)
    sheet = kubernetes.read(documents, unreadable, kubernetes.Options(timezone=zone_of_text(timezone)))
    return _answered(sheet, _request("kubernetes", source, target, owner, existing, shadow, dry_run))


@router.post("/v1/imports/cronfleet", summary="Apply the export of a tenant")
def import_cronfleet(
    body: Annotated[DocumentBody, Body()],
    existing: p.AppliedQuery = "replace",
    held: p.HeldQuery = "false",
    dry_run: p.DryRunQuery = "false",
) -> Response[AppliedAnswer]:
    """What `GET /v1/tenants/{id}/export` answers, sent as it is. What is not there is created as it stood there; what
    is there and says something else says what the document says, and keeps its status; the same again changes nothing.
    """
    options = Options(
        dry_run=dry_run == "true",
        replace=existing == "replace",
        held=held == "true",
        installation=installation_of(_settings()),
    )
    event = router.current_event.raw_event
    now = bootstrap.deadline_at(0, 0)
    form = applying.carry_out(_transfer(), _service(), caller_of(event), body.document, options, now)
    return Response(200, JSON, form)


def _request(
    kind: str, source: str, target: str | None, owner: str, existing: str, shadow: str, dry_run: str
) -> Request:
    return Request(
        kind=kind,
        source=source,
        target=target_of_text(target),
        owner=owner,
        dry_run=dry_run == "true",
        replace=existing == "replace",
        shadow=shadow == "true",
        installation=installation_of(_settings()),
    )


def _answered(sheet: Any, request: Request) -> Response[ImportAnswer]:
    event = router.current_event.raw_event
    now = bootstrap.deadline_at(0, 0)
    return Response(200, JSON, carry_out(_service(), caller_of(event), sheet, request, now))
