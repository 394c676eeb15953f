"""EventBridge Scheduler: what `aws scheduler get-schedule` says of each schedule, as candidates.

`list-schedules` answers with summaries, which have no expression: each is refused with the command that exports it.
Field names and meanings: the API reference of EventBridge Scheduler (GetSchedule, Target, RetryPolicy).
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cronfleet.domain import imported
from cronfleet.domain.aws_dialect import is_wrapped
from cronfleet.domain.errors import Invalid
from cronfleet.domain.imported import DEFAULT_ZONE, Candidate, Refusal, Sheet, mapping_of, whole_of
from cronfleet.domain.instant import SECOND, to_text
from cronfleet.domain.retry import MAX_ATTEMPTS
from cronfleet.domain.target import LAMBDA_FUNCTION
from cronfleet.domain.target_role import BUS, CLUSTER, MACHINE, QUEUE, ROLE, TOPIC

DEFAULT_GROUP: Final = "default"
_KINDS: Final = ("Schedules", "Name", "ScheduleExpression")
_BACKOFF: Final = {"kind": "exponential", "base_seconds": 10, "max_seconds": 3600}
_RATE_OR_AT: Final = re.compile(r"[ \t\r\n]*(rate|at)[ \t]*\(", re.IGNORECASE)
_CONTEXT: Final = "<aws.scheduler."
_CALLED: Final = {"sqs": QUEUE, "sns": TOPIC, "event_bus": BUS, "state_machine": MACHINE}


@dataclass(frozen=True, slots=True)
class Options:
    """`has_target`: the import names what is to be called where the file's own target cannot be."""

    has_target: bool = False
    role: str | None = None
    """As which role queues, topics, buses, state machines and tasks are called, where the file's own may not be."""


def read(entries: Sequence[tuple[int, object]], options: Options, notes: tuple[str, ...] = ()) -> Sheet:
    """Each entry (its line, and its JSON value) is one schedule as `get-schedule` or `list-schedules` shows it; `notes`
    are what is said of the whole.
    """
    candidates: list[Candidate] = []
    refusals: list[Refusal] = []
    for line, entry in entries:
        text = _text(entry)
        try:
            candidates.append(_candidate(mapping_of(entry), line, text, options))
        except Invalid as error:
            refusals.append(Refusal(line, text, error.reason))
    return Sheet(tuple(candidates), tuple(refusals), {"entries": len(entries)}, notes)


def entries_of(document: object) -> tuple[list[object], tuple[str, ...]]:
    """The schedules in an answer of the AWS CLI, and what is to be said of the whole; raises `Invalid`."""
    if isinstance(document, list):
        pairs = [entries_of(one) for one in document]
        return [entry for found, _ in pairs for entry in found], tuple(note for _, notes in pairs for note in notes)
    if not isinstance(document, dict):
        raise Invalid("body", "must be what list-schedules or get-schedule answer, as JSON")
    if "Rules" in document:
        raise Invalid("body", "holds rules of EventBridge; export schedules of EventBridge Scheduler (aws scheduler …)")
    if "Schedules" not in document:
        if not any(name in document for name in _KINDS):
            raise Invalid("body", "holds neither Schedules nor a Name: it is no answer of aws scheduler")
        return [document], ()
    found = document["Schedules"]
    if not isinstance(found, list):
        raise Invalid("body", "has Schedules that are no array")
    notes = ("the list goes on: it ends with a NextToken",) if document.get("NextToken") else ()
    return list(found), notes


def _text(entry: object) -> str:
    if not isinstance(entry, dict):
        return imported.shown(json.dumps(entry))
    name = f"{entry.get('GroupName', DEFAULT_GROUP)}/{entry.get('Name', '')}"
    expression = entry.get("ScheduleExpression")
    return imported.shown(f"{name}: {expression}" if expression else name)


def _candidate(entry: Mapping[str, Any], line: int, text: str, options: Options) -> Candidate:
    name, group = entry.get("Name"), str(entry.get("GroupName") or DEFAULT_GROUP)
    if not isinstance(name, str) or not name:
        raise Invalid("Name", "has no Name; a schedule is what get-schedule shows")
    expression = _expression(entry, group, name)
    target = mapping_of(entry.get("Target"))
    called, payload = _target(target, options)
    policies, notes = _policies(entry, target)
    is_once = _form(expression) == "at"
    is_off = _is_off(entry)
    labels = {"group": group, **({imported.OFF_LABEL: imported.OFF} if is_off else {})}
    return Candidate(
        line=line,
        text=text,
        name=name if group == DEFAULT_GROUP else f"{group}.{name}",
        identity=(group, name),
        trigger=_trigger(expression, entry),
        payload=payload,
        description=imported.description_of(str(entry.get("Description") or "")),
        policies=policies,
        labels={name: value for name, value in labels.items() if imported.label_of(value)},
        target=called,
        # AWS ignores both for one-time schedules.
        start_at=None if is_once else _moment(entry.get("StartDate"), "StartDate"),
        end_at=None if is_once else _moment(entry.get("EndDate"), "EndDate"),
        notes=(*notes, *_further(entry, target, called, is_off=is_off)),
    )


def _expression(entry: Mapping[str, Any], group: str, name: str) -> str:
    expression = entry.get("ScheduleExpression")
    if expression is None:
        raise Invalid(
            "ScheduleExpression",
            "is a summary of list-schedules, without its ScheduleExpression; export it with "
            f"`aws scheduler get-schedule --group-name {group} --name {name}`",
        )
    if not isinstance(expression, str) or not is_wrapped(expression.strip()):
        what = f"has ScheduleExpression {str(expression)[:64]!r}, which is none of cron(…), rate(…) and at(…)"
        raise Invalid("ScheduleExpression", what)
    return expression


def _is_off(entry: Mapping[str, Any]) -> bool:
    state = entry.get("State", "ENABLED")
    if state not in ("ENABLED", "DISABLED"):
        raise Invalid("State", f"has State {str(state)[:64]!r}; it is ENABLED or DISABLED")
    return bool(state == "DISABLED")


def _form(expression: str) -> str:
    """`rate` or `at` for such an expression, well written or not."""
    match = _RATE_OR_AT.match(expression)
    return match[1].lower() if match else ""


def _trigger(expression: str, entry: Mapping[str, Any]) -> Mapping[str, object]:
    trigger: dict[str, object] = {"cron": expression}
    if _form(expression) != "rate":
        return trigger | {"timezone": entry.get("ScheduleExpressionTimezone") or DEFAULT_ZONE}
    # A rate counts from the start date, or else from when it was made.
    anchor = _moment(entry.get("StartDate") or entry.get("CreationDate"), "StartDate")
    return trigger | {"anchor": anchor or imported.NATURAL_ANCHOR}


def _moment(value: object, field: str) -> str | None:
    """A date as the CLI (RFC 3339) or an SDK (epoch seconds) writes it."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise Invalid(field, f"has {field} {value!r}, which is no time")
    if isinstance(value, str):
        return value
    try:
        return to_text(int(value) * SECOND)
    except (ValueError, OverflowError) as error:
        raise Invalid(field, f"has {field} {value!r}, which is no time") from error


def _target(target: Mapping[str, Any], options: Options) -> tuple[Mapping[str, Any] | None, Any]:
    """What is called, if the file's own target can be, and the payload."""
    arn, given = str(target.get("Arn") or ""), target.get("Input")
    if LAMBDA_FUNCTION.fullmatch(arn):
        return {"lambda": arn}, _input(given)
    called = _as_role(arn, target, options)
    if called is not None:
        return called, _input(given)
    if not options.has_target:
        what = "a function whose name does not begin with cronfleet-target-" if ":function:" in arn else "a target"
        raise Invalid(
            "Target",
            f"calls {arn or 'nothing'}, {what} that is not called from here: name a handler, url or lambda for the "
            f"import, which gets the target and its input as the payload{_or_a_role(arn)}",
        )
    return None, {"target": {name: value for name, value in target.items() if name != "Input"}, "input": _input(given)}


def _or_a_role(arn: str) -> str:
    if not any(pattern.fullmatch(arn) for pattern in (*_CALLED.values(), CLUSTER)):
        return ""
    return "; or a role named cronfleet-target-…, as which it is called itself"


def _as_role(arn: str, target: Mapping[str, Any], options: Options) -> Mapping[str, Any] | None:
    """What is called as a role, where the file's own role may be assumed from here, or the import names one."""
    own = str(target.get("RoleArn") or "")
    role = options.role or (own if ROLE.fullmatch(own) else "")
    if not role:
        return None
    kind = next((name for name, pattern in _CALLED.items() if pattern.fullmatch(arn)), None)
    if kind == "event_bus":
        said = mapping_of(target.get("EventBridgeParameters"))
        named = {"source": said.get("Source"), "detail_type": said.get("DetailType")}
        return {kind: arn, **{name: value for name, value in named.items() if value}, "role": role}
    if kind is not None:
        return {kind: arn, "role": role}
    return _task(arn, target, role) if CLUSTER.fullmatch(arn) else None


def _task(cluster: str, target: Mapping[str, Any], role: str) -> Mapping[str, Any] | None:
    """A task; `None` where the file does not name the container, which its overrides do if it has any."""
    said = mapping_of(target.get("EcsParameters"))
    network = mapping_of(mapping_of(said.get("NetworkConfiguration")).get("awsvpcConfiguration"))
    overrides = _input(target.get("Input"))
    containers = overrides.get("containerOverrides") if isinstance(overrides, dict) else None
    if not isinstance(containers, list) or len(containers) != 1 or not isinstance(containers[0], dict):
        return None
    return {
        "ecs_task": said.get("TaskDefinitionArn"),
        "cluster": cluster,
        "container": containers[0].get("name"),
        "launch_type": said.get("LaunchType") or "FARGATE",
        "subnets": network.get("Subnets") or [],
        "security_groups": network.get("SecurityGroups") or [],
        "public_ip": network.get("AssignPublicIp") == "ENABLED",
        "role": role,
    }


def _input(given: object) -> Any:
    """The input as JSON where it is, as it mostly is; else as text."""
    if not isinstance(given, str):
        return given
    try:
        value = json.loads(given)
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return given  # what JSON cannot keep stays as it was written
    return value


def _policies(entry: Mapping[str, Any], target: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    notes: list[str] = []
    policies: dict[str, Any] = {}
    window = mapping_of(entry.get("FlexibleTimeWindow"))
    if window.get("Mode") == "FLEXIBLE":
        policies["jitter_seconds"] = whole_of(window.get("MaximumWindowInMinutes", 0), "MaximumWindowInMinutes") * 60
    retry = mapping_of(target.get("RetryPolicy"))
    if "MaximumRetryAttempts" in retry:
        attempts = whole_of(retry["MaximumRetryAttempts"], "MaximumRetryAttempts") + 1
        policies["retry"] = {"max_attempts": min(attempts, MAX_ATTEMPTS), "backoff": dict(_BACKOFF)}
        if attempts > MAX_ATTEMPTS:
            notes.append(f"MaximumRetryAttempts: {attempts - 1} is more than the {MAX_ATTEMPTS - 1} retries here")
    if "MaximumEventAgeInSeconds" in retry:
        age = whole_of(retry["MaximumEventAgeInSeconds"], "MaximumEventAgeInSeconds")
        policies["misfire"] = {"policy": "skip", "grace_seconds": max(1, age)}
    return policies, tuple(notes)


def _further(
    entry: Mapping[str, Any], target: Mapping[str, Any], called: Mapping[str, Any] | None, *, is_off: bool
) -> Iterator[str]:
    if called is not None and "role" in called:
        yield "the target gets the run's envelope (docs/targets.md), with the input as its payload, not the input alone"
    if called is not None and "ecs_task" in called:
        yield "overrides of the task are its payload, in the variable CRONFLEET_RUN, and change nothing by themselves"
    if mapping_of(target.get("SqsParameters")).get("MessageGroupId"):
        yield "MessageGroupId is not carried over: each run is a group of its own, and keeps no other back"
    if is_off:
        yield f"is disabled: it has the label {imported.OFF_LABEL}={imported.OFF}, and bulk resume leaves it out"
    queue = mapping_of(target.get("DeadLetterConfig")).get("Arn")
    if queue:
        yield f"failed runs stay in the history as dead letters and are not sent to {queue}"
    if _CONTEXT in str(target.get("Input") or ""):
        yield "`<aws.scheduler.…>` in the input is not filled in here; the target is told the time and the run's id"
    if entry.get("ActionAfterCompletion") == "DELETE":
        yield "ActionAfterCompletion DELETE: a schedule that has completed stays here, as completed"
    if entry.get("KmsKeyArn"):
        yield "KmsKeyArn is not carried over: the tables have the installation's own key"
