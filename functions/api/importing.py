"""Importing: a sheet of candidates judged as every schedule is judged, carried out, and told to the caller."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from pydantic import ValidationError

from cronfleet.domain import zones
from cronfleet.domain.errors import Invalid
from cronfleet.domain.form import Form, spec_form
from cronfleet.domain.imported import IMPORT_LABEL, Candidate, Refusal, Sheet, label_of, schedule_id, shown, slug
from cronfleet.domain.instant import SECOND, Instant
from cronfleet.domain.lint import lint_form, look_over
from cronfleet.domain.schedule import Spec
from cronfleet.services.access import Caller
from cronfleet.services.imports import Imports, Mode, Outcome, Result, Wanted

from .installation import Installation
from .problems import field_errors
from .reading import TooLarge
from .schemas import ScheduleBody, TargetBody
from .specs import spec_of

MAX_SCHEDULES: Final = 1_000
"""Jobs of one file."""
MAX_ANSWER_BYTES: Final = 5 * 1024 * 1024
"""A function answers with six megabytes at most."""
SECONDS: Final = 20
"""How long schedules are registered; the gateway waits 29 seconds."""


_NAMED: Final = frozenset({"start_at", "end_at", "payload", "target", "policies", "labels", "owner", "description"})


@dataclass(frozen=True, slots=True)
class Request:
    """What the caller wants of an import, whatever the format."""

    kind: str
    source: str
    target: Mapping[str, str] | None
    owner: str
    dry_run: bool
    replace: bool
    shadow: bool
    installation: Installation


@dataclass(frozen=True, slots=True)
class _Judged:
    candidate: Candidate
    wanted: Wanted
    spec: Spec
    looked_over: Form


def zone_of_text(text: str | None) -> str | None:
    """`?timezone=`: the name of the zone; raises `Invalid` for one that is none."""
    return None if text is None else zones.load(text).name


def target_of_text(text: str | None) -> Mapping[str, str] | None:
    """`?target=`: a JSON object as in a schedule, or a webhook's URL, a Lambda function, a handler's name."""
    if text is None:
        return None
    if not text.startswith("{"):
        kind = "url" if "://" in text else "lambda" if text.startswith(("cronfleet-target-", "arn:")) else "handler"
        return {kind: text}
    try:
        return TargetBody.model_validate_json(text).model_dump(exclude_unset=True, by_alias=True)
    except ValidationError as error:
        found = [{**one, "loc": ("query", "target", *one["loc"])} for one in error.errors()]
        raise Invalid("target", field_errors(found, {})[0].reason) from error


def carry_out(service: Imports, caller: Caller, sheet: Sheet, request: Request, now: Instant) -> Form:
    """The answer to an import; raises `Invalid` or `TooLarge` where the file is too much for one request."""
    if len(sheet.candidates) > MAX_SCHEDULES:
        raise Invalid("body", f"holds {len(sheet.candidates)} jobs; {MAX_SCHEDULES} are imported at a time")
    import_id = _import_id(sheet, request)
    refusals = list(sheet.refusals)
    judged: list[_Judged] = []
    seen: dict[str, int] = {}
    for candidate in sheet.candidates:
        try:
            one = _judge(candidate, import_id, request, caller, now)
            _check_new(one, seen)
        except Invalid as error:
            refusals.append(Refusal(candidate.line, candidate.text, _reason(error)))
        else:
            seen[one.wanted.schedule_id] = candidate.line
            judged.append(one)
    _check_size(judged, [*refusals, *sheet.ignored])
    mode = Mode(request.dry_run, request.replace, request.shadow, now + SECONDS * SECOND, f"import {import_id}")
    results = service.carry_out(caller, [one.wanted for one in judged], mode)
    return _answer(sheet, import_id, request, list(zip(judged, results, strict=True)), refusals)


def _reason(error: Invalid) -> str:
    """What a schedule like it would be refused with, and the field, which all but a trigger leave to be named."""
    return f"{error.field} {error.reason}" if error.field.split(".")[0] in _NAMED else error.reason


def _check_new(one: _Judged, seen: Mapping[str, int]) -> None:
    if one.wanted.schedule_id in seen:
        raise Invalid("id", f"is there twice: line {seen[one.wanted.schedule_id]} has a job of the same name")


def _import_id(sheet: Sheet, request: Request) -> str:
    """The source's name; without one a crontab's own, made of its jobs, so that two machines' files stay apart."""
    if named := slug(request.source):
        return named
    if request.kind != "crontab":
        return request.kind
    jobs = [*(one.text for one in sheet.candidates), *(one.text for one in sheet.refusals)]
    digest = hashlib.blake2b("\n".join(sorted(jobs)).encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{request.kind}-{digest}"


def _judge(candidate: Candidate, import_id: str, request: Request, caller: Caller, now: Instant) -> _Judged:
    body = _body(candidate, import_id, request)
    tenant = caller.tenant.tenant_id
    make = partial(_spec, body, tenant, request.installation)
    spec = make(None, now)
    found = look_over(spec.trigger, now, jitter_seconds=spec.policies.jitter_seconds)
    name = schedule_id(request.kind, import_id if request.source or request.kind == "crontab" else "", candidate)
    return _Judged(candidate, Wanted(name, make), spec, lint_form(found))


def _spec(body: ScheduleBody, tenant: str, installation: Installation, current: Spec | None, now: Instant) -> Spec:
    return spec_of(body, current, now, tenant=tenant, installation=installation)


def _body(candidate: Candidate, import_id: str, request: Request) -> ScheduleBody:
    form = {
        "description": candidate.description,
        "owner": request.owner,
        "trigger": dict(candidate.trigger),
        "target": dict(candidate.target or request.target or {"handler": f"imported.{request.kind}"}),
        "payload": candidate.payload,
        # The other scheduler put nothing off that it did not say.
        "policies": {"jitter_seconds": 0, **candidate.policies},
        "labels": {**candidate.labels, IMPORT_LABEL: label_of(import_id) or request.kind},
        "start_at": candidate.start_at,
        "end_at": candidate.end_at,
    }
    try:
        return ScheduleBody.model_validate(form)
    except ValidationError as error:
        first = field_errors([{**one, "loc": ("body", *one["loc"])} for one in error.errors()], {})[0]
        raise Invalid(
            first.field, first.reason if first.field.split(".")[0] in _NAMED else f"{first.field} {first.reason}"
        ) from error


# --- the answer ------------------------------------------------------------------------------------------------


def _check_size(judged: Sequence[_Judged], refusals: Sequence[Refusal]) -> None:
    size = sum(len(json.dumps([spec_form(one.spec), one.looked_over, one.candidate.notes])) for one in judged)
    size += sum(len(json.dumps(_refused(one))) for one in refusals)
    if size > MAX_ANSWER_BYTES:
        raise TooLarge(
            f"makes an answer of {size} bytes, and {MAX_ANSWER_BYTES} can be sent: what stands in each job's payload, "
            "such as assignments, counts for each. Send it in parts"
        )


def _answer(
    sheet: Sheet,
    import_id: str,
    request: Request,
    done: Sequence[tuple[_Judged, Result]],
    refusals: list[Refusal],
) -> Form:
    for judged, result in done:
        if result.outcome is Outcome.FAILED:
            refusals.append(Refusal(judged.candidate.line, judged.candidate.text, result.reason))
    kept = [(judged, result) for judged, result in done if result.outcome is not Outcome.FAILED]
    outcomes = {outcome.value: 0 for outcome in Outcome if outcome is not Outcome.FAILED}
    for _, result in kept:
        outcomes[result.outcome.value] += 1
    refusals.sort(key=lambda refusal: refusal.line)
    return {
        "import": import_id,
        "dry_run": request.dry_run,
        "complete": outcomes[Outcome.PENDING.value] == 0,
        "counts": {
            **sheet.counts,
            "schedules": len(kept),
            "refused": len(refusals),
            "ignored": len(sheet.ignored),
            **outcomes,
        },
        "notes": [*sheet.notes, *_missing(request, kept)],
        "schedules": [_entry(judged, result) for judged, result in kept],
        "refused": [_refused(refusal) for refusal in refusals],
        "ignored": [_refused(refusal) for refusal in sheet.ignored],
    }


def _missing(request: Request, kept: Sequence[tuple[_Judged, Result]]) -> Iterator[str]:
    """What is still to be done before they can be turned on."""
    if request.target is None and any(judged.candidate.target is None for judged, _ in kept):
        yield (
            f"no target was named: the schedules call the handler imported.{request.kind}, which is yours to write; or "
            "import again with target=… and existing=replace"
        )
    if any(result.outcome is Outcome.DIFFERS for _, result in kept):
        yield "what differs was left as it is; existing=replace has held schedules say what the file says"


def _entry(judged: _Judged, result: Result) -> Form:
    return {
        "line": judged.candidate.line,
        "text": judged.candidate.text,
        "id": judged.wanted.schedule_id,
        "outcome": result.outcome.value,
        "differs": list(result.differs),
        "status": result.status.value,
        **spec_form(judged.spec),
        **judged.looked_over,
        "notes": list(judged.candidate.notes),
    }


def _refused(refusal: Refusal) -> dict[str, Any]:
    return {"line": refusal.line, "text": shown(refusal.text), "reason": refusal.reason}
