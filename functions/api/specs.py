"""Specs: from the caller's form to the domain's values, judged. Every refusal names its field."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from cronfleet.domain.crowded import default_jitter
from cronfleet.domain.dependency import AfterTrigger
from cronfleet.domain.errors import Invalid
from cronfleet.domain.form import Form, spec_form
from cronfleet.domain.instant import EARLIEST, Instant
from cronfleet.domain.misfire import DEFAULT_GRACE_SECONDS, Misfire, MisfirePolicy
from cronfleet.domain.objective import Objectives
from cronfleet.domain.objective_form import parse_objectives
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.progress import LONGEST_HEARTBEAT_SECONDS, SHORTEST_HEARTBEAT_SECONDS
from cronfleet.domain.quota import BOUNDS, payload_bytes
from cronfleet.domain.retry import Backoff, BackoffKind, Retry
from cronfleet.domain.schedule import (
    LONGEST_COOLDOWN_SECONDS,
    SHORTEST_COOLDOWN_SECONDS,
    BreakerPolicy,
    Policies,
    Spec,
)
from cronfleet.domain.spread import Spread, parse_spread
from cronfleet.domain.target import EcsTaskTarget, FollowedTarget, HandlerTarget, Target, WebhookTarget
from cronfleet.domain.time_limit import MAX_LONG_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS, is_long
from cronfleet.domain.time_text import parse_interval, parse_moment
from cronfleet.domain.trigger import IntervalTrigger, Trigger, describe, parse_trigger, plain_form

from .installation import Installation
from .schemas import AfterPauseBody, BreakerBody, MisfireBody, MissedBody, PoliciesBody, ScheduleBody, TriggerBody
from .targets import target_of

MAX_PAYLOAD_BYTES: Final = BOUNDS["payload_bytes"][1]
"""For whomever: a run's row may hold a payload, and each of its writes is charged by size. Quotas allow less."""

LABEL_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,62}")
_MAX_LABEL_VALUE: Final = 128

MAX_TASK_PAYLOAD: Final = 7_000
"""Of the 8,192 characters that the overrides of an ECS task may have, quotes escaped."""


def spec_of(body: ScheduleBody, current: Spec | None, now: Instant, *, tenant: str, installation: Installation) -> Spec:
    """The spec that `body` asks for; raises `Invalid`.

    What `current` has and the body does not change is taken over: an interval's anchor, a one-shot that has fired.
    """
    start_at = moment_of(body.start_at, "start_at")
    end_at = moment_of(body.end_at, "end_at")
    if end_at is not None and end_at <= (start_at if start_at is not None else EARLIEST):
        raise Invalid("end_at", "must be later than start_at")
    trigger = trigger_of(body.trigger, now, current.trigger if current else None)
    target = target_of(body.target, tenant, installation.allowed_networks)
    return Spec(
        trigger=trigger,
        target=target,
        owner=_printable(body.owner, "owner"),
        description=body.description,
        payload=_fitting(checked_payload(body.payload), target),
        policies=_policies(body.policies, trigger, target, installation),
        labels=checked_labels(body.labels),
        start_at=start_at,
        end_at=end_at,
        objectives=_objectives(body, trigger),
    )


def _objectives(body: ScheduleBody, trigger: Trigger) -> Objectives | None:
    if body.objectives is None:
        return None
    if isinstance(trigger, AfterTrigger):
        raise Invalid(
            "objectives",
            "are of fires, and a schedule that runs after others names none itself: leave them out here, and write "
            f"them where the times are, at {trigger.parents[0]} or what that runs after",
        )
    return parse_objectives(body.objectives.model_dump(exclude_none=True))


def moment_of(text: str | None, field: str) -> Instant | None:
    """The whole second that is not before the moment written; `Invalid` for anything that is none since 1970."""
    if text is None:
        return None
    hint = " (in a URL, write + as %2B)" if " " in text.strip() and "+" not in text else ""
    try:
        instant = parse_moment(text, field).rounded_up().instant(field)
    except Invalid as error:
        raise Invalid(error.field, error.reason + hint) from error
    if instant < EARLIEST:
        raise Invalid(field, "lies before 1970")
    return instant


def trigger_of(body: TriggerBody, now: Instant, current: Trigger | None = None) -> Trigger:
    """The trigger of `body`; the `current` one where the body says the same."""
    fields = body.model_dump(exclude_unset=True, by_alias=True)
    try:
        if current is not None and plain_form(fields) == describe(current):
            return current
        asked = parse_trigger(fields, now)
    except Invalid as error:
        raise error.under("trigger") from error
    if current is not None and "anchor" not in fields and _is_same_interval(asked, current):
        return current
    return asked


def _is_same_interval(asked: Trigger, current: Trigger) -> bool:
    """Whether both are intervals of one length, however it is written (`60s`, `1m`)."""
    if not isinstance(asked, IntervalTrigger) or not isinstance(current, IntervalTrigger):
        return False
    return asked.every_seconds == current.every_seconds


def _policies(body: PoliciesBody, trigger: Trigger, target: Target, installation: Installation) -> Policies:
    backoff = body.retry.backoff
    if backoff.max_seconds < backoff.base_seconds:
        raise Invalid(
            "policies.retry.backoff.max_seconds", f"must not be less than base_seconds, {backoff.base_seconds}"
        )
    return Policies(
        misfire=_misfire(body.misfire, "policies.misfire"),
        overlap=Overlap(body.overlap),
        jitter_seconds=default_jitter(trigger) if body.jitter_seconds is None else body.jitter_seconds,
        retry=Retry(
            body.retry.max_attempts, Backoff(BackoffKind(backoff.kind), backoff.base_seconds, backoff.max_seconds)
        ),
        timeout_seconds=_timeout_seconds(body.timeout_seconds, target, installation),
        after_pause=_misfire(body.after_pause, "policies.after_pause"),
        concurrency_key=body.concurrency_key or "",
        breaker=_breaker(body.breaker),
        target_breaker=body.target_breaker,
        heartbeat_seconds=_heartbeat_seconds(body.heartbeat_timeout, target),
        spread=_spread(body.spread, trigger),
    )


def _spread(written: str | None, trigger: Trigger) -> Spread | None:
    if written is None:
        return None
    if isinstance(trigger, AfterTrigger):
        raise Invalid("policies.spread", "is for schedules that name times; one that runs after others follows theirs")
    try:
        return parse_spread(written)
    except Invalid as error:
        raise Invalid("policies.spread", error.reason) from error


def _timeout_seconds(seconds: int, target: Target, installation: Installation) -> int:
    if not is_long(seconds) or isinstance(target, FollowedTarget):
        return seconds
    limit, elsewhere = MAX_TIMEOUT_SECONDS, "what goes on by itself (state_machine, ecs_task) may take longer"
    if not isinstance(target, HandlerTarget | WebhookTarget):
        raise Invalid("policies.timeout_seconds", f"must be at most {limit}; {elsewhere}")
    if not installation.has_long_workers:
        what = "longer attempts need an installation with long workers, which its operator switches on"
        raise Invalid("policies.timeout_seconds", f"must be at most {limit} here: {what}; {elsewhere}")
    if seconds > MAX_LONG_TIMEOUT_SECONDS:
        raise Invalid("policies.timeout_seconds", f"must be at most {MAX_LONG_TIMEOUT_SECONDS}; {elsewhere}")
    return seconds


def _heartbeat_seconds(written: str | None, target: Target) -> int:
    if written is None:
        return 0
    field = "policies.heartbeat_timeout"
    if not isinstance(target, HandlerTarget):
        raise Invalid(field, "is for Python handlers, which can say that they are alive; leave it out")
    return _duration(written, field, SHORTEST_HEARTBEAT_SECONDS, LONGEST_HEARTBEAT_SECONDS)


def _breaker(body: BreakerBody | None) -> BreakerPolicy | None:
    if body is None:
        return None
    field = "policies.breaker.cooldown"
    return BreakerPolicy(
        body.failures, _duration(body.cooldown, field, SHORTEST_COOLDOWN_SECONDS, LONGEST_COOLDOWN_SECONDS)
    )


def _duration(written: str, field: str, shortest: int, longest: int) -> int:
    try:
        return parse_interval(written, shortest, longest)
    except Invalid as error:
        raise Invalid(field, error.reason.replace("interval", "duration")) from error


def _misfire(body: MisfireBody | AfterPauseBody | MissedBody, field: str) -> Misfire:
    if body.policy == MisfirePolicy.CATCH_UP and "max" not in body.model_fields_set:
        raise Invalid(f"{field}.max", "is missing; with catch_up, write how many of the missed fires still run")
    grace_seconds = DEFAULT_GRACE_SECONDS if isinstance(body, MissedBody) else body.grace_seconds
    return Misfire(MisfirePolicy(body.policy), body.max, grace_seconds, body.window_seconds, body.per_minute)


def missed_of(body: MissedBody | None) -> Misfire | None:
    """What a resume still wants of the fires that a pause held back."""
    return None if body is None else _misfire(body, "missed")


def checked_labels(labels: dict[str, str], parent: str = "labels") -> dict[str, str]:
    """`labels`, if each has a name and a value that labels may have; raises `Invalid` with the field below `parent`."""
    for name, value in labels.items():
        field = f"{parent}.{name[:64]}"
        if not LABEL_NAME.fullmatch(name):
            raise Invalid(field, "is no label name: 1 to 63 letters, digits, dots, dashes, underscores and slashes")
        if len(value) > _MAX_LABEL_VALUE:
            raise Invalid(field, f"has {len(value)} characters; {_MAX_LABEL_VALUE} are allowed")
        _printable(value, field)
    return labels


def _printable(text: str, field: str) -> str:
    if not text.isprintable():
        raise Invalid(field, "holds a character that cannot be printed (a line break or a control character)")
    return text


def checked_payload(payload: Any) -> Any:
    """`payload`, if it is small enough; raises `Invalid`."""
    size = payload_bytes(payload)
    if size > MAX_PAYLOAD_BYTES:
        raise Invalid(
            "payload", f"has {size} bytes; {MAX_PAYLOAD_BYTES} are allowed. Keep large data in S3, and its address here"
        )
    return payload


def _fitting(payload: Any, target: Target) -> Any:
    """`payload`, if its target can be given it; raises `Invalid`."""
    if isinstance(target, EcsTaskTarget):
        size = len(json.dumps(json.dumps(payload)))
        if size > MAX_TASK_PAYLOAD:
            what = f"takes {size} characters in the task's environment; ECS leaves {MAX_TASK_PAYLOAD} for it"
            raise Invalid("payload", f"{what}. Keep large data in S3, and its address here")
    return payload


def caller_form(spec: Spec) -> Form:
    """What the caller would send for `spec`: what a merge patch is applied to."""
    return {name: value for name, value in spec_form(spec).items() if value is not None}


def unknown_in(
    patch: Mapping[str, Any], known: Mapping[str, frozenset[str]], path: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    """The paths in `patch` that name no field. `known` holds the fields of each object by its path: a payload and
    labels, which have names of their own, are not among them.
    """
    fields = known.get(".".join(path))
    if fields is None:
        return
    for name, value in patch.items():
        if name not in fields:
            yield (*path, name)
        elif isinstance(value, dict):
            yield from unknown_in(value, known, (*path, name))
