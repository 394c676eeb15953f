"""Applying: a tenant's document judged as every schedule is judged, carried out, and told to the caller."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from pydantic import ValidationError

from cronfleet.domain.beginning import SIMPLY_ACTIVE, Beginning
from cronfleet.domain.calendar_change import rule_of
from cronfleet.domain.calendar_form import Content, name_of, parse_content
from cronfleet.domain.dependency import AfterTrigger
from cronfleet.domain.errors import Invalid
from cronfleet.domain.form import Form
from cronfleet.domain.instant import EARLIEST, SECOND, Instant
from cronfleet.domain.schedule import Hold, Pause, Shadow, Spec
from cronfleet.domain.tenant import ID_PATTERN
from cronfleet.domain.tenant_document import FORMAT, moved_target
from cronfleet.services.access import Caller
from cronfleet.services.imports import Imports, Mode, Outcome, Result, Wanted
from cronfleet.services.transfer import AppliedCalendar, Transfer

from .installation import Installation
from .problems import field_errors
from .reading import check_value, parse
from .specs import moment_of, spec_of
from .transfer_schemas import ScheduleEntry, TenantDocument

MAX_SCHEDULES: Final = 2_000
MAX_CALENDARS: Final = 500
SECONDS: Final = 20
"""How long schedules are written; the gateway waits 29 seconds."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the caller wants: `held` has new schedules come in held, whatever the document says."""

    dry_run: bool
    replace: bool
    held: bool
    installation: Installation


@dataclass(frozen=True, slots=True)
class _Refused:
    """An entry that became nothing, and why."""

    entry: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class _Sheet:
    """A document, read: its calendars by name and version, its schedules by id with their places."""

    tenant: str
    calendars: Mapping[str, Mapping[int, Content]]
    schedules: dict[str, tuple[str, Any]]
    refused: list[_Refused]


def carry_out(transfer: Transfer, imports: Imports, caller: Caller, text: str, options: Options, now: Instant) -> Form:
    """The answer to an applied document; raises `Invalid` for one that is none."""
    sheet = _sheet(text)
    reason = f"apply the export of {sheet.tenant or 'a tenant'}"
    deadline_at = now + SECONDS * SECOND
    mode = Mode(options.dry_run, options.replace, False, deadline_at, reason, of_any_status=True)
    calendars = transfer.apply_calendars(caller, sheet.calendars, mode)
    numbers = {one.name: one.numbers for one in calendars}
    refused, wanted = list(sheet.refused), list[Wanted]()
    for name, (place, entry) in sheet.schedules.items():
        try:
            wanted.append(_wanted(entry, sheet, numbers, caller, options, now))
        except Invalid as error:
            refused.append(_Refused(place, name, f"{error.field} {error.reason}"))
    results = list(zip(wanted, imports.carry_out(caller, wanted, mode), strict=True))
    return _answer(sheet, options, calendars, results, refused)


# --- reading the document ----------------------------------------------------------------------------------------


def _sheet(text: str) -> _Sheet:
    if not text.strip():
        raise Invalid("body", "is missing: send what GET /v1/tenants/{id}/export answers")
    value = parse(text)
    check_value(value, ())
    document = _validated(TenantDocument, value)
    if document.format != FORMAT:
        raise Invalid("format", f"is {document.format!r:.40}; this release reads {FORMAT!r}")
    if document.tenant and not ID_PATTERN.fullmatch(document.tenant):
        raise Invalid("tenant", "is no tenant's id")
    if len(document.schedules) > MAX_SCHEDULES:
        raise Invalid("schedules", f"are {len(document.schedules)}; {MAX_SCHEDULES} are applied at a time")
    if len(document.calendars) > MAX_CALENDARS:
        raise Invalid("calendars", f"are {len(document.calendars)}; {MAX_CALENDARS} are applied at a time")
    calendars, refused = _calendars(document.calendars)
    sheet = _Sheet(document.tenant, calendars, {}, refused)
    for place, entry in enumerate(document.schedules):
        _take(sheet, f"schedules.{place}", entry)
    return sheet


def _take(sheet: _Sheet, place: str, entry: Any) -> None:
    name = entry.get("id") if isinstance(entry, dict) else None
    if not isinstance(name, str):
        sheet.refused.append(_Refused(place, "", "id is missing: a schedule keeps its own"))
    elif name in sheet.schedules:
        sheet.refused.append(_Refused(place, name, f"id is there twice; {sheet.schedules[name][0]} has it as well"))
    else:
        sheet.schedules[name] = (place, entry)


def _validated(model: Any, value: Any) -> Any:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        found = field_errors([{**one, "loc": ("body", *one["loc"])} for one in error.errors()], {})
        raise Invalid(found[0].field, found[0].reason) from error


def _calendars(entries: Sequence[Any]) -> tuple[dict[str, dict[int, Content]], list[_Refused]]:
    """Calendars by name and version, and what is none."""
    found: dict[str, dict[int, Content]] = {}
    refused: list[_Refused] = []
    for place, entry in enumerate(entries):
        where = f"calendars.{place}"
        try:
            name, versions = _calendar(entry)
        except Invalid as error:
            named = entry.get("name") if isinstance(entry, dict) else None
            shown = named if isinstance(named, str) else ""
            refused.append(_Refused(where, shown[:64], f"{error.field} {error.reason}"))
            continue
        found.setdefault(name, {}).update(versions)
    return found, refused


def _calendar(entry: Any) -> tuple[str, dict[int, Content]]:
    if not isinstance(entry, dict) or not isinstance(entry.get("versions"), list) or set(entry) != {"name", "versions"}:
        raise Invalid("calendar", "is none: write its name, and an array of versions")
    name = name_of(entry.get("name"), "name")
    if not entry["versions"]:
        raise Invalid("versions", "holds none")
    return name, dict(_version(f"versions.{place}", one) for place, one in enumerate(entry["versions"]))


_CONTENT: Final = frozenset({"version", "description", "weekend", "covers_until", "holidays", "workdays", "freezes"})


def _version(place: str, entry: Any) -> tuple[int, Content]:
    if not isinstance(entry, dict):
        raise Invalid(place, "is no object")
    number = entry.get("version")
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= 999_999:
        raise Invalid(f"{place}.version", "must be a whole number from 1 to 999,999")
    unknown = sorted(set(entry) - _CONTENT)
    if unknown:
        raise Invalid(
            f"{place}.{unknown[0][:64]}", f"is no field of a version; known are {', '.join(sorted(_CONTENT))}"
        )
    try:
        return number, parse_content({name: value for name, value in entry.items() if name != "version"})
    except Invalid as error:
        raise error.under(place) from error


# --- schedules ---------------------------------------------------------------------------------------------------


def _wanted(
    entry: Any,
    sheet: _Sheet,
    numbers: Mapping[str, Mapping[int, int]],
    caller: Caller,
    options: Options,
    now: Instant,
) -> Wanted:
    tenant = caller.tenant.tenant_id
    moved = _pinned(_moved(entry, sheet.tenant, tenant), sheet, numbers)
    body: ScheduleEntry = _validated(ScheduleEntry, moved)
    beginning = _beginning(body, caller, options, now)
    make = partial(_spec, body, tenant, options.installation, beginning.may_be_over)
    trigger = make(None, now).trigger
    rule = rule_of(trigger)
    parents = trigger.parents if isinstance(trigger, AfterTrigger) else ()
    return Wanted(
        body.id,
        make,
        beginning,
        brings_calendar=rule is not None and bool(numbers.get(rule.name)),
        parents=parents,
        brings=frozenset(parents) & sheet.schedules.keys(),
    )


def _moved(entry: Any, from_tenant: str, to_tenant: str) -> Any:
    if not from_tenant or not isinstance(entry.get("target"), dict):
        return entry
    return {**entry, "target": moved_target(entry["target"], from_tenant, to_tenant)}


def _pinned(entry: Any, sheet: _Sheet, numbers: Mapping[str, Mapping[int, int]]) -> Any:
    """`entry` with the number that the version it is pinned to has here; raises `Invalid` where it has none."""
    trigger = entry.get("trigger")
    use = trigger.get("calendar") if isinstance(trigger, dict) else None
    if not isinstance(use, dict) or use.get("pinned") is not True:
        return entry
    name, version = use.get("name"), use.get("version")
    # What is no name or no number is for those to refuse who judge the entry.
    if not isinstance(name, str) or isinstance(version, bool) or not isinstance(version, int):
        return entry
    if name not in sheet.calendars:
        return entry
    here = numbers.get(name, {}).get(version)
    if here is None:
        raise Invalid(
            "trigger.calendar.version",
            f"{version!r:.20} of calendar {name!r} is not to be had here: what is there says something else",
        )
    return {**entry, "trigger": {**trigger, "calendar": {**use, "version": here}}}


def _beginning(body: ScheduleEntry, caller: Caller, options: Options, now: Instant) -> Beginning:
    if options.held or body.status in ("held", "parked"):
        shadow = body.hold is not None and body.hold.shadow and not options.held
        return Beginning(Hold(caller.actor, now, Shadow(caller.actor, now) if shadow else None))
    if body.status == "paused":
        until = None if body.paused is None else moment_of(body.paused.until, "paused.until")
        pause = Pause(caller.actor, now, "" if body.paused is None else body.paused.reason, until)
        # A pause that has ended meanwhile has ended here as well.
        return SIMPLY_ACTIVE if until is not None and until <= now else Beginning(pause=pause)
    return Beginning(may_be_over=body.status == "completed")


def _spec(
    body: ScheduleEntry,
    tenant: str,
    installation: Installation,
    may_be_over: bool,
    current: Spec | None,
    now: Instant,
) -> Spec:
    """What `body` asks for. A trigger that follows its calendar says what the current one says, whichever version."""
    begun_at = EARLIEST if may_be_over else now
    spec = spec_of(body, current, begun_at, tenant=tenant, installation=installation)
    rule, before = rule_of(spec.trigger), None if current is None else rule_of(current.trigger)
    if current is None or rule is None or before is None or rule.pinned or before.pinned:
        return spec
    same = replace(spec.trigger, calendar=replace(rule, version=before.version)) == current.trigger  # type: ignore[call-arg,arg-type]  # only a cron has a rule
    return replace(spec, trigger=current.trigger) if same else spec


# --- the answer --------------------------------------------------------------------------------------------------


def _answer(
    sheet: _Sheet,
    options: Options,
    calendars: Sequence[AppliedCalendar],
    results: Sequence[tuple[Wanted, Result]],
    refused: list[_Refused],
) -> Form:
    for wanted, result in results:
        if result.outcome is Outcome.FAILED:
            refused.append(_Refused(sheet.schedules[wanted.schedule_id][0], wanted.schedule_id, result.reason))
    refused += [_Refused("calendars", one.name, one.reason) for one in calendars if one.outcome == Outcome.FAILED]
    done = [(wanted, result) for wanted, result in results if result.outcome is not Outcome.FAILED]
    counts = {outcome.value: 0 for outcome in Outcome if outcome is not Outcome.FAILED}
    for _, result in done:
        counts[result.outcome.value] += 1
    pending = counts[Outcome.PENDING.value] or any(one.outcome == Outcome.PENDING for one in calendars)
    return {
        "tenant": sheet.tenant,
        "dry_run": options.dry_run,
        "complete": not pending,
        "counts": {"schedules": len(done), "refused": len(refused), **counts},
        "calendars": [
            {"name": one.name, "outcome": one.outcome, "version": one.version}
            for one in calendars
            if one.outcome != Outcome.FAILED
        ],
        "schedules": [
            {
                "id": wanted.schedule_id,
                "outcome": result.outcome.value,
                "status": _status(wanted, result),
                "differs": list(result.differs),
            }
            for wanted, result in done
        ],
        "refused": [{"entry": one.entry, "id": one.name, "reason": one.reason} for one in refused],
    }


def _status(wanted: Wanted, result: Result) -> str:
    """How it stands; of a new one, how it begins."""
    beginning = wanted.beginning
    if result.outcome is not Outcome.CREATED or beginning is None:
        return result.status.value
    if beginning.hold is not None:
        return "held"
    if beginning.pause is not None:
        return "paused"
    return "completed" if beginning.may_be_over else "active"
