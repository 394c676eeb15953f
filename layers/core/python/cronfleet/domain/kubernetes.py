"""Kubernetes: CronJob manifests (batch/v1, and its older forms) as candidates.

What the controller does is said in the documentation of CronJob and in its code, which reads `spec.schedule` with
robfig/cron v3: `CRON_TZ=` in front, `@every`, and `?` for `*`. There a day field counts as restricted as soon as it has
a step (`*/2`), so that either day matches; here only a field without a star in front does. The text is put so that it
means the same.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cronfleet.domain import imported
from cronfleet.domain.errors import Invalid
from cronfleet.domain.imported import DEFAULT_ZONE, Candidate, Refusal, Sheet, mapping_of, whole_of
from cronfleet.domain.misfire import MAX_GRACE_SECONDS
from cronfleet.domain.retry import MAX_ATTEMPTS
from cronfleet.domain.time_limit import MAX_TIMEOUT_SECONDS

DEFAULT_BACKOFF_LIMIT: Final = 6
"""How often the controller tries a job again that says nothing of it."""
_BACKOFF: Final = {"kind": "exponential", "base_seconds": 10, "max_seconds": 360}
_MAX_LABELS: Final = 12
"""Of the manifest's own; the rest of the sixteen is for the import."""

_API: Final = re.compile(r"batch/v(1|1beta1|2alpha1)")
_LISTS: Final = frozenset({"List", "CronJobList"})
_BLANKS: Final = " \t\r\n"
_ZONE: Final = re.compile(r"(?:CRON_)?TZ=(\S*)[ \t]+(.*)", re.DOTALL)
_EVERY: Final = re.compile(r"@every[ \t]+(\S+)")
_PLACEHOLDER: Final = re.compile(r"\$\{[^{}]*\}|\$\([^()]*\)|\$[A-Za-z_]\w*|<[^<>]*>|%[A-Z_]+%|%s|__\w+__|@@\w+@@|\{\{")
_LABEL_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,62}")
_NO_SUCH: Final = {
    "successfulJobsHistoryLimit": "the ledger keeps every run",
    "failedJobsHistoryLimit": "the ledger keeps every run",
}
_KNOWN: Final = frozenset(
    {"schedule", "timeZone", "suspend", "concurrencyPolicy", "startingDeadlineSeconds", "jobTemplate", *_NO_SUCH}
)


@dataclass(frozen=True, slots=True)
class Options:
    """How manifests are read. `timezone` is that of the controller, for CronJobs that name none."""

    timezone: str | None = None


def read(documents: Sequence[object], unreadable: Sequence[Refusal], options: Options) -> Sheet:
    """`documents` as YAML or JSON had them (mappings are `Marked`; None: an empty one), as a sheet."""
    candidates: list[Candidate] = []
    refusals = list(unreadable)
    ignored: list[Refusal] = []
    resources = [resource for document in documents for resource in _resources(document)]
    for resource in resources:
        line, text = getattr(resource, "line", 1), _text(resource)
        try:
            if _is_other(resource):
                ignored.append(Refusal(line, text, "is no CronJob; only CronJobs become schedules"))
            else:
                candidates.append(_candidate(resource, line, text, options))
        except Invalid as error:
            refusals.append(Refusal(line, text, error.reason))
    counts = {
        "documents": len(documents) + len(unreadable),
        "empty": sum(1 for document in documents if document is None),
        "resources": len(resources),
    }
    refusals.sort(key=lambda refusal: refusal.line)
    return Sheet(tuple(candidates), tuple(refusals), counts, tuple(_notes(candidates, options)), tuple(ignored))


def _resources(document: object) -> Iterator[object]:
    """The resources in a document: itself, or the items of a list."""
    if document is None:
        return
    if isinstance(document, list):
        for entry in document:
            yield from _resources(entry)
    elif isinstance(document, dict) and _is_list(document):
        for entry in document["items"]:
            yield from _resources(entry)
    else:
        yield document


def _is_list(document: Mapping[str, Any]) -> bool:
    kind = document.get("kind")
    return isinstance(kind, str) and kind in _LISTS and isinstance(document.get("items"), list)


def _notes(candidates: Sequence[Candidate], options: Options) -> Iterator[str]:
    if options.timezone is None and any("zone of the controller" in note for one in candidates for note in one.notes):
        yield (
            f"CronJobs without timeZone run in the zone of the controller manager, taken to be {DEFAULT_ZONE} "
            "(timezone=… to change)"
        )


def _is_other(resource: object) -> bool:
    if not isinstance(resource, dict):
        raise Invalid("", "is not a resource with apiVersion and kind")
    kind, version = resource.get("kind"), str(resource.get("apiVersion", ""))
    if kind is None:
        raise Invalid("kind", "has no kind; a resource has apiVersion and kind")
    if not isinstance(kind, str):
        raise Invalid("kind", "has a kind that is no text; a resource has apiVersion and kind")
    if kind == "Template" and isinstance(resource.get("objects"), list):
        raise Invalid("kind", "is a template of OpenShift; import what `oc process` makes of it")
    if kind == "CronJob" and not version:
        raise Invalid("apiVersion", "has no apiVersion; a CronJob has batch/v1")
    return kind != "CronJob" or not _API.fullmatch(version)


def _text(resource: object) -> str:
    """How a resource is named to people: `CronJob web/report: 0 2 * * *`."""
    if not isinstance(resource, dict):
        return imported.shown(str(resource))
    place = mapping_of(resource.get("metadata"))
    spec = mapping_of(resource.get("spec"))
    name = "/".join(part for part in (place.get("namespace"), place.get("name")) if isinstance(part, str) and part)
    schedule = f": {spec['schedule']}" if isinstance(spec.get("schedule"), str) else ""
    return imported.shown(" ".join(filter(None, (str(resource.get("kind", "")), name))) + schedule)


def _candidate(resource: Any, line: int, text: str, options: Options) -> Candidate:
    metadata, spec = mapping_of(resource.get("metadata")), mapping_of(resource.get("spec"))
    name, namespace = _name(metadata), str(metadata.get("namespace") or "")
    template = mapping_of(spec.get("jobTemplate"))
    job = mapping_of(template.get("spec"))
    _check_template(resource)
    trigger, notes = _trigger(spec, options)
    policies, more = _policies(spec, job)
    labels, too_many = _labels(metadata, namespace, is_off=_is_off(spec))
    return Candidate(
        line=line,
        text=text,
        name=".".join(filter(None, (namespace, name))),
        identity=(namespace, name),
        trigger=trigger,
        payload={"namespace": namespace or None, "name": name, "jobTemplate": _plain(template)},
        description=imported.description_of(str(mapping_of(metadata.get("annotations")).get("description", ""))),
        policies=policies,
        labels=labels,
        notes=(*notes, *more, *too_many, *_not_carried(spec)),
    )


def _name(metadata: Mapping[str, Any]) -> str:
    name = metadata.get("name") or metadata.get("generateName")
    if not name:
        raise Invalid("metadata.name", "has no metadata.name")
    for field in ("name", "namespace"):
        if isinstance(metadata.get(field), dict | list):
            raise Invalid(f"metadata.{field}", f"has a metadata.{field} that is no text; is it a template?")
    _check_filled_in(f"{name} {metadata.get('namespace') or ''}")
    return str(name)


def _check_filled_in(text: str) -> None:
    placeholder = _PLACEHOLDER.search(text)
    if placeholder:
        raise Invalid("", f"is a template: `{placeholder[0]}` is to be filled in first; import what it makes")


def _check_template(value: object) -> None:
    """Refuses what a template engine has yet to fill in, wherever it stands."""
    match value:
        case str():
            found = imported.template_in(value)
            if found:
                raise Invalid("", f"is a template: `{found}` is to be filled in first (helm template); import that")
        case dict():
            for key, inner in value.items():
                _check_template(key)
                _check_template(inner)
        case list():
            for inner in value:
                _check_template(inner)


def _plain(value: Any) -> Any:
    """`value` without the marks of its lines."""
    if isinstance(value, dict):
        return {str(name): _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


# --- when ------------------------------------------------------------------------------------------------------


def _trigger(spec: Mapping[str, Any], options: Options) -> tuple[Mapping[str, object], tuple[str, ...]]:
    schedule, zone = spec.get("schedule"), spec.get("timeZone")
    if schedule is None:
        raise Invalid("spec.schedule", "has no spec.schedule")
    if not isinstance(schedule, str):
        raise Invalid("spec.schedule", f"has a spec.schedule that is no text, {str(schedule)[:64]}: put it in quotes")
    _check_filled_in(f"{schedule} {zone or ''}")
    text = schedule.strip(_BLANKS)
    prefixed = _ZONE.fullmatch(text)
    if prefixed:
        if zone:
            raise Invalid("spec.timeZone", "names a zone twice, in spec.timeZone and in spec.schedule")
        zone, text = prefixed.groups()
    every = _EVERY.fullmatch(text)
    if every:
        said = "@every counts from the start of the controller; here from the full clock"
        return {"every": imported.every_of(every[1]), "anchor": imported.NATURAL_ANCHOR}, (said,)
    notes = () if zone else (f"read in {options.timezone or DEFAULT_ZONE}, the zone of the controller",)
    same, changed = as_here(text)
    return {"cron": same, "timezone": zone or options.timezone or DEFAULT_ZONE}, (*notes, *changed)


def as_here(text: str) -> tuple[str, tuple[str, ...]]:
    """An expression of robfig/cron as one that means the same here, and what was changed in it."""
    fields = ["*" if field == "?" else field for field in re.split("[ \t]+", text)]
    if len(fields) != 5:
        return text, ()
    days = {2: _day_field(fields[2], "1-31"), 4: _day_field(fields[4], "0-6")}
    is_either = not any(text.startswith("*") for text in days.values())
    for position, text_here in days.items():
        if is_either or text_here == "*":
            fields[position] = text_here
    same = " ".join(fields)
    if same == re.sub("[ \t]+", " ", text).replace("?", "*"):
        return text, ()
    why = "there a day field is restricted unless it holds a star without a step, and of two such either day matches"
    return same, (f"`{text}` is written `{same}`: {why}",)


def _day_field(text: str, low_high: str) -> str:
    """A day field that begins with a star if it names every day, as any list does that holds a star without a step."""
    items = text.split(",")
    if any(re.fullmatch(r"[*?](/0*1)?", item) for item in items):
        return text if text.startswith("*") else "*"
    return ",".join(re.sub(r"^[*?](?=/([2-9]|\d\d+)$)", low_high, item) for item in items)


# --- how -------------------------------------------------------------------------------------------------------


def _policies(spec: Mapping[str, Any], job: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    notes: list[str] = []
    policies: dict[str, Any] = {"overlap": _overlap(spec.get("concurrencyPolicy") or "Allow")}
    deadline = spec.get("startingDeadlineSeconds")
    if deadline is not None:
        seconds = whole_of(deadline, "spec.startingDeadlineSeconds")
        policies["misfire"] = {"policy": "skip", "grace_seconds": max(1, min(seconds, MAX_GRACE_SECONDS))}
    retries = job.get("backoffLimit", DEFAULT_BACKOFF_LIMIT)
    attempts = whole_of(DEFAULT_BACKOFF_LIMIT if retries is None else retries, "jobTemplate.spec.backoffLimit") + 1
    if attempts > MAX_ATTEMPTS:
        notes.append(f"backoffLimit: {attempts - 1} is more than the {MAX_ATTEMPTS - 1} retries that there are here")
    policies["retry"] = {"max_attempts": min(attempts, MAX_ATTEMPTS), "backoff": dict(_BACKOFF)}
    limit = job.get("activeDeadlineSeconds")
    if limit is not None:
        seconds = whole_of(limit, "jobTemplate.spec.activeDeadlineSeconds")
        policies["timeout_seconds"] = max(1, min(seconds, MAX_TIMEOUT_SECONDS))
        if seconds > MAX_TIMEOUT_SECONDS:
            notes.append(
                f"activeDeadlineSeconds: {seconds} is longer than an attempt may take here, {MAX_TIMEOUT_SECONDS} s: "
                "let the target start the work and not wait for it, or raise the limit after the import where the "
                "installation has long workers"
            )
    return policies, tuple(notes)


_OVERLAPS: Final = {"Allow": "allow", "Forbid": "skip", "Replace": "cancel_other"}


def _overlap(policy: object) -> str:
    overlap = _OVERLAPS.get(policy) if isinstance(policy, str) else None
    if overlap is None:
        raise Invalid("spec.concurrencyPolicy", f"has concurrencyPolicy {policy!r}; it is Allow, Forbid or Replace")
    return overlap


def _is_off(spec: Mapping[str, Any]) -> bool:
    suspend = spec.get("suspend")
    if suspend is not None and not isinstance(suspend, bool):
        raise Invalid("spec.suspend", f"has spec.suspend {suspend!r}, which is neither true nor false")
    return suspend is True


def _labels(metadata: Mapping[str, Any], namespace: str, *, is_off: bool) -> tuple[dict[str, str], tuple[str, ...]]:
    own = {
        name: value
        for name, text in mapping_of(metadata.get("labels")).items()
        if _LABEL_NAME.fullmatch(str(name)) and (value := imported.label_of(text)) is not None
    }
    kept = dict(list(own.items())[:_MAX_LABELS])
    notes = () if len(kept) == len(own) else (f"of {len(own)} labels the first {_MAX_LABELS} are kept",)
    kept |= {"namespace": namespace} if namespace else {}
    return kept | ({imported.OFF_LABEL: imported.OFF} if is_off else {}), notes


def _not_carried(spec: Mapping[str, Any]) -> Iterator[str]:
    if _is_off(spec):
        yield f"is suspended: it has the label {imported.OFF_LABEL}={imported.OFF}, and bulk resume leaves it out"
    for name in spec:
        if name not in _KNOWN:
            yield f"spec.{name} is not known and not carried over"
    limits = [name for name in _NO_SUCH if name in spec]
    if limits:
        yield f"{' and '.join(limits)}: {_NO_SUCH[limits[0]]}"
