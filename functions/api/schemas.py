"""Schemas: what callers may send, field by field. Strict: no type is turned into another, no field is unknown.

Shapes and bounds stand here; what a trigger or target means is judged in `specs.py`.
"""

import functools
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

from cronfleet.domain.calendar import NAME_PATTERN, Mode
from cronfleet.domain.cron_grammar import LONGEST_EXPRESSION
from cronfleet.domain.dependency import MAX_PARENTS
from cronfleet.domain.execution import MAX_EXECUTION_SECONDS
from cronfleet.domain.jitter import MAX_JITTER_SECONDS
from cronfleet.domain.misfire import (
    DEFAULT_GRACE_SECONDS,
    DEFAULT_PER_MINUTE,
    MAX_CATCH_UP,
    MAX_GRACE_SECONDS,
    MAX_PER_MINUTE,
    MAX_WINDOW_SECONDS,
)
from cronfleet.domain.outlook import DEFAULT_FIRES, MAX_FIRES
from cronfleet.domain.overlap import CONCURRENCY_KEY
from cronfleet.domain.retry import MAX_ATTEMPTS, MAX_BACKOFF_SECONDS
from cronfleet.domain.schedule import DEFAULT_COOLDOWN, MAX_FAILURES
from cronfleet.domain.selection import MAX_LABELS
from cronfleet.domain.target import MAX_SECRETS
from cronfleet.domain.tenant import ID_PATTERN
from cronfleet.domain.time_limit import DEFAULT_TIMEOUT_SECONDS, MAX_LONG_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS
from cronfleet.domain.time_text import LONGEST_MOMENT

from .objective_schemas import ObjectivesBody

MAX_URL: Final = 2_048
ID_IN_WORDS: Final = "1 to 64 letters, digits, dots, dashes and underscores, a letter or digit first"
ID: Final = f"^{ID_PATTERN.pattern}$"
CALENDAR_NAME: Final = f"^{NAME_PATTERN.pattern}$"
TEXT: Final = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$"
"""Text of any script; of the control characters only tabs and line breaks, since people read it in terminals."""

EXAMPLE: Final[JsonDict] = {
    "id": "billing-nightly",
    "owner": "billing-team",
    "trigger": {"cron": "0 2 * * *", "timezone": "Asia/Kolkata"},
    "target": {"handler": "billing.nightly"},
    "payload": {"accounts": ["mumbai", "pune"]},
    "policies": {"misfire": {"policy": "fire_once", "grace_seconds": 300}, "overlap": "skip", "jitter_seconds": 60},
    "labels": {"team": "billing"},
}


def left_out(schema: JsonDict) -> None:
    """Empty is how we note that it was left out; whoever writes it is refused, so the document must not offer it."""
    schema.pop("default", None)


def _modes(schema: JsonDict) -> None:
    schema.pop("default", None)
    schema["enum"] = [mode.value for mode in Mode]


Reason = Annotated[str, Field(max_length=500, pattern=TEXT, description="Why; kept in the audit log.")]
Moment = Annotated[
    str,
    Field(
        max_length=LONGEST_MOMENT,
        description="RFC 3339, such as 2026-12-01T02:00:00+05:30.",
        examples=["2030-12-01T02:00:00+05:30"],
        json_schema_extra={"format": "date-time"},
    ),
]


def shown(*examples: JsonDict, **more: Any) -> ConfigDict:
    """A model's configuration, with `examples` and `more` for its schema in the document."""
    return ConfigDict(json_schema_extra={"examples": list(examples), **more})


class Strict(BaseModel):
    """The base of all bodies."""

    model_config = ConfigDict(strict=True, extra="forbid", defer_build=True)

    def __repr__(self) -> str:
        """Without the fields: Powertools writes a body into a debug message that nobody reads, at every request."""
        return f"{type(self).__name__}(…)"


class CalendarUse(Strict):
    """How a cron uses a calendar."""

    model_config = shown({"name": "uk", "mode": "roll_forward"}, {"name": "uk", "mode": "nth_business_day", "nth": -1})

    name: str = Field("", max_length=32, description="The calendar's name.", json_schema_extra=left_out)
    mode: str = Field(
        "",
        max_length=32,
        description="`exclude`: not on its holidays. `business_days`: only on business days, which neither its weekend "
        "nor a holiday takes away. `roll_forward`, `roll_back`: on the next, or the last, business day instead. "
        "`nth_business_day`: on the nth of each month, at the cron's times. Freezes take away whatever the mode.",
        json_schema_extra=_modes,
    )
    nth: int = Field(
        0,
        description="For `nth_business_day`: 1 is the first of the month, -1 the last.",
        json_schema_extra=left_out,
    )
    version: int = Field(0, description="Left out: the newest.", json_schema_extra=left_out)
    pinned: bool = Field(False, description="Whether the schedule stays with this version when there is a newer one.")


_ONLY_CRON: Final[JsonDict] = {"gap": False, "overlap": False, "dialect": False, "calendar": False}
_ONLY_AFTER: Final[JsonDict] = {"after": False, "on": False, "within": False, "else": False}


class TriggerBody(Strict):
    """Exactly one of `cron` (with `timezone`), `every`, `at` and `after`."""

    model_config = shown(
        {"cron": "0 2 * * *", "timezone": "Asia/Kolkata"},
        {"cron": "30 2 * * *", "timezone": "Europe/Paris", "gap": "skip", "overlap": "both"},
        {"cron": "cron(0 9 ? * MON-FRI *)", "timezone": "Europe/Paris"},
        {"every": "10s"},
        {"at": "2030-12-01T02:00:00+05:30"},
        {"after": ["load", "clean"], "on": "success", "within": "2h", "else": "skip"},
        oneOf=[
            {
                "required": ["cron"],
                "properties": {"every": False, "at": False, **_ONLY_AFTER},
                "anyOf": [
                    {"required": ["timezone"], "properties": {"anchor": False}},
                    {"properties": {"cron": {"pattern": r"^\s*rate\("}, **_ONLY_CRON, "dialect": True}},
                ],
            },
            {"required": ["every"], "properties": {"timezone": False, **_ONLY_CRON, **_ONLY_AFTER}},
            {"required": ["at"], "properties": {"anchor": False, **_ONLY_CRON, **_ONLY_AFTER}},
            {"required": ["after"], "properties": {"timezone": False, "anchor": False, **_ONLY_CRON}},
        ],
    )

    cron: str = Field(
        "",
        max_length=LONGEST_EXPRESSION,
        examples=["0 2 * * *"],
        description=(
            "Minute, hour, day of month, month, day of week; or a macro such as `@daily`; or `cron(…)`, `rate(…)` or "
            "`at(…)` as AWS EventBridge Scheduler has them. `timezone` is needed, but for a `rate(…)`."
        ),
        json_schema_extra=left_out,
    )
    calendar: CalendarUse | None = Field(
        None,
        description="A calendar that takes away or moves days which `cron` names; null or left out: none.",
    )
    timezone: str = Field(
        "",
        max_length=64,
        examples=["Asia/Kolkata"],
        description="An IANA name: the zone of `cron`, or of an `at` without an offset.",
        json_schema_extra=left_out,
    )
    every: str = Field(
        "",
        max_length=16,
        examples=["10s"],
        description="A whole number and s, m, h or d: from 1s to 366d.",
        json_schema_extra=left_out,
    )
    anchor: str = Field(
        "",
        max_length=LONGEST_MOMENT,
        examples=["2026-12-01T00:00:00Z"],
        description="A time, RFC 3339, from which `every` counts in both directions; left out: the registration.",
        json_schema_extra=left_out,
    )
    at: str = Field(
        "",
        max_length=LONGEST_MOMENT,
        examples=["2030-12-01T02:00:00+05:30"],
        description="One instant, RFC 3339; or a local time without an offset, in `timezone`.",
        json_schema_extra=left_out,
    )
    gap: Literal["skip", "after"] = Field(
        "after",
        description=(
            "What a `cron` at a fixed time does where the clock skips that time: nothing, or one fire right after the "
            "gap. Left out: `after`, in the AWS dialect `skip`."
        ),
        json_schema_extra=left_out,
    )
    overlap: Literal["first", "second", "both"] = Field(
        "first",
        description="Which pass counts where the clock shows the time of a `cron` at a fixed time twice.",
        json_schema_extra=left_out,
    )
    dialect: Literal["cron", "aws"] = Field(
        "cron",
        description="`aws`: `cron` holds the six fields of AWS without `cron(…)` around them.",
        json_schema_extra=left_out,
    )
    after: list[Annotated[str, Field(max_length=128)]] = Field(
        [],
        max_length=MAX_PARENTS,
        examples=[["load", "clean"]],
        description="Ids of the schedules that it runs after: once for each nominal time of their runs.",
        json_schema_extra=left_out,
    )
    on: Literal["success", "failure", "finished"] = Field(
        "success",
        description="Of `after`: when each parent succeeded, one of them failed, or each has ended.",
        json_schema_extra=left_out,
    )
    within: str = Field(
        "24h",
        max_length=16,
        examples=["2h"],
        description="Of `after`: how long after the nominal time the parents may take, up to 7d.",
        json_schema_extra=left_out,
    )
    otherwise: Literal["skip", "run", "fail"] = Field(
        "skip",
        alias="else",
        description="Of `after`: what becomes of a run whose parents ended otherwise, or too late.",
        json_schema_extra=left_out,
    )


SecretReference = Annotated[str, Field(max_length=512, description="The name of a secret in Secrets Manager.")]


TARGET_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    "handler": frozenset({"secrets"}),
    "url": frozenset({"secret"}),
    "lambda": frozenset(),
    "sqs": frozenset({"role"}),
    "sns": frozenset({"role"}),
    "event_bus": frozenset({"role", "source", "detail_type"}),
    "state_machine": frozenset({"role"}),
    "ecs_task": frozenset(
        {"role", "cluster", "container", "launch_type", "subnets", "security_groups", "public_ip"},
    ),
}
"""What goes with each kind of target."""

ACCOUNT: Final = "arn:aws:iam::123456789012:role/cronfleet-target-billing"
MAX_ARN: Final = 400


def _one_of_targets() -> list[Any]:
    """For each kind of target, what must be there and what must not."""
    every = frozenset().union(*TARGET_FIELDS.values())
    needed = {"role", "cluster", "container"}
    return [
        {
            "required": [kind, *sorted(needed & fields)],
            "properties": dict.fromkeys(sorted((every | (TARGET_FIELDS.keys() - {kind})) - fields), False),
        }
        for kind, fields in TARGET_FIELDS.items()
    ]


class TargetBody(Strict):
    """Exactly one of `handler`, `url`, `lambda`, `sqs`, `sns`, `event_bus`, `state_machine` and `ecs_task`."""

    model_config = shown(
        {"handler": "billing.nightly"},
        {"handler": "billing.nightly", "secrets": {"API_TOKEN": "cronfleet/acme/billing-token"}},
        {"url": "https://example.com/hooks/billing", "secret": "cronfleet/acme/billing-hook"},
        {"lambda": "cronfleet-target-billing"},
        {"sqs": "arn:aws:sqs:us-east-1:123456789012:billing", "role": ACCOUNT},
        {"state_machine": "arn:aws:states:us-east-1:123456789012:stateMachine:billing", "role": ACCOUNT},
        oneOf=_one_of_targets(),
    )

    handler: str = Field(
        "",
        max_length=128,
        examples=["billing.nightly"],
        description="A Python function of the worker, by the name that it is registered under.",
        json_schema_extra=left_out,
    )
    url: str = Field(
        "",
        max_length=MAX_URL,
        examples=["https://example.com/hooks/billing"],
        description="Where a webhook is sent: https, a public host, no password, no fragment.",
        json_schema_extra=left_out,
    )
    secret: str = Field(
        "",
        max_length=512,
        examples=["cronfleet/acme/billing-hook"],
        description="The name, in Secrets Manager, of the key that signs the webhook; never the key itself.",
        json_schema_extra=left_out,
    )
    secrets: dict[str, SecretReference] = Field(
        {},
        max_length=MAX_SECRETS,
        examples=[{"API_TOKEN": "cronfleet/acme/billing-token"}],
        description="What a handler calls its secrets, and their names in Secrets Manager; never a secret itself.",
        json_schema_extra=left_out,
    )
    function: str = Field(
        "",
        alias="lambda",
        max_length=170,
        examples=["cronfleet-target-billing"],
        description="A Lambda function named cronfleet-target-…, or its ARN; a version or alias may follow.",
        json_schema_extra=left_out,
    )
    sqs: str = Field(
        "",
        max_length=MAX_ARN,
        examples=["arn:aws:sqs:us-east-1:123456789012:billing"],
        description="The ARN of an SQS queue that gets a message.",
        json_schema_extra=left_out,
    )
    sns: str = Field(
        "",
        max_length=MAX_ARN,
        examples=["arn:aws:sns:us-east-1:123456789012:billing"],
        description="The ARN of an SNS topic on which a message is published.",
        json_schema_extra=left_out,
    )
    event_bus: str = Field(
        "",
        max_length=MAX_ARN,
        examples=["arn:aws:events:us-east-1:123456789012:event-bus/default"],
        description="The ARN of an EventBridge bus on which an event is put.",
        json_schema_extra=left_out,
    )
    source: str = Field("cronfleet", min_length=1, max_length=256, description="Of an event: its source; not `aws.…`.")
    detail_type: str = Field("cronfleet.run", min_length=1, max_length=128, description="Of an event: its detail type.")
    state_machine: str = Field(
        "",
        max_length=MAX_ARN,
        examples=["arn:aws:states:us-east-1:123456789012:stateMachine:billing"],
        description="The ARN of a standard state machine whose execution is started and followed to its end.",
        json_schema_extra=left_out,
    )
    ecs_task: str = Field(
        "",
        max_length=MAX_ARN,
        examples=["arn:aws:ecs:us-east-1:123456789012:task-definition/billing:3"],
        description="The ARN of an ECS task definition, with or without a revision, of which a task is started and "
        "followed to its end.",
        json_schema_extra=left_out,
    )
    role: str = Field(
        "",
        max_length=MAX_ARN,
        examples=[ACCOUNT],
        description="The role as which all that has an ARN is called: yours, named cronfleet-target-…, trusting this "
        "installation on your behalf (GET /v1/target-role).",
        json_schema_extra=left_out,
    )
    cluster: str = Field(
        "",
        max_length=MAX_ARN,
        examples=["arn:aws:ecs:us-east-1:123456789012:cluster/billing"],
        description="Of a task: the ARN of its cluster.",
        json_schema_extra=left_out,
    )
    container: str = Field(
        "",
        max_length=255,
        examples=["job"],
        description="Of a task: the container that is told of the run, and whose exit code counts.",
        json_schema_extra=left_out,
    )
    launch_type: Literal["FARGATE", "FARGATE_SPOT", "EC2"] = Field("FARGATE", description="Of a task: where it runs.")
    subnets: list[Annotated[str, Field(max_length=32)]] = Field(
        default_factory=list, max_length=16, description="Of a task: its subnets; on Fargate it needs some."
    )
    security_groups: list[Annotated[str, Field(max_length=32)]] = Field(
        default_factory=list, max_length=5, description="Of a task: its security groups; without one, the VPC's own."
    )
    public_ip: bool = Field(False, description="Of a task: whether it gets a public address.")


MAX_IN_WORDS: Final = "For `catch_up`, which needs it: the newest this many."
Window = Annotated[
    int | None,
    Field(
        ge=1,
        le=MAX_WINDOW_SECONDS,
        description="None runs that is older than this when its turn comes. Left out: however old it is.",
        examples=[3600],
    ),
]
PerMinute = Annotated[
    int,
    Field(ge=1, le=MAX_PER_MINUTE, description="How many are caught up a minute, besides what fires regularly."),
]


class MisfireBody(Strict):
    """What happens after an outage of the scheduler to fires that could not start within the grace."""

    policy: Literal["skip", "fire_once", "catch_up"] = Field(
        "fire_once", description="None of them runs; the newest; the newest `max`."
    )
    max: int = Field(1, ge=1, le=MAX_CATCH_UP, description=MAX_IN_WORDS)
    window_seconds: Window = None
    per_minute: PerMinute = DEFAULT_PER_MINUTE
    grace_seconds: int = Field(
        DEFAULT_GRACE_SECONDS, ge=1, le=MAX_GRACE_SECONDS, description="How late a fire may start and still be on time."
    )


class AfterPauseBody(Strict):
    """What happens after a pause to the fires that it held back, unless the resume says otherwise."""

    policy: Literal["skip", "fire_once", "catch_up"] = Field(
        "skip", description="None of them runs; the newest; the newest `max`."
    )
    max: int = Field(1, ge=1, le=MAX_CATCH_UP, description=MAX_IN_WORDS)
    window_seconds: Window = None
    per_minute: PerMinute = DEFAULT_PER_MINUTE
    grace_seconds: int = Field(
        DEFAULT_GRACE_SECONDS,
        ge=1,
        le=MAX_GRACE_SECONDS,
        description="Without effect after a pause, which held everything back on purpose.",
    )


class BackoffBody(Strict):
    """How long a failed run waits for its next attempt."""

    kind: Literal["exponential", "fixed"] = Field(
        "exponential",
        description="Doubled with each attempt, and drawn from one second up to that; or always the same.",
    )
    base_seconds: int = Field(10, ge=1, le=MAX_BACKOFF_SECONDS, description="The first wait.")
    max_seconds: int = Field(
        3600, ge=1, le=MAX_BACKOFF_SECONDS, description="The longest wait; not less than base_seconds."
    )


class RetryBody(Strict):
    """How often a failed run is tried in all."""

    max_attempts: int = Field(3, ge=1, le=MAX_ATTEMPTS, description="The first one counts: 1 means no retry.")
    backoff: BackoffBody = Field(default_factory=BackoffBody, description="The waits between attempts.")


class BreakerBody(Strict):
    """When a schedule whose runs die one after the other is paused, and for how long."""

    failures: int = Field(ge=1, le=MAX_FAILURES, description="Runs in a row that died.")
    cooldown: str = Field(
        DEFAULT_COOLDOWN,
        max_length=LONGEST_MOMENT,
        description="How long it is paused then: 1m to 7d.",
    )


class PoliciesBody(Strict):
    """How a schedule behaves when things are late, overlap or fail."""

    misfire: MisfireBody = Field(default_factory=MisfireBody, description="What becomes of fires that are late.")
    after_pause: AfterPauseBody = Field(
        default_factory=AfterPauseBody, description="What becomes of fires that a pause held back."
    )
    overlap: Literal["allow", "skip", "buffer_one", "cancel_other"] = Field(
        "allow",
        description="What becomes of a run while an earlier one is still going: both run; it is skipped; one waits and "
        "later ones are skipped; the earlier one is cancelled.",
    )
    concurrency_key: str | None = Field(
        None,
        max_length=64,
        pattern=f"^{CONCURRENCY_KEY.pattern}$",
        description="Of all the tenant's schedules with the same key one run goes on at a time; with `overlap` `allow` "
        "the others wait for their turn.",
    )
    jitter_seconds: int | None = Field(
        None,
        ge=0,
        le=MAX_JITTER_SECONDS,
        description="Each fire is put off by up to this, always by the same. Left out: 60 for a cron expression that "
        "names midnight sharp, as very many do, and 0 for every other trigger.",
    )
    spread: str | None = Field(
        None,
        max_length=16,
        examples=["auto", "auto:30m"],
        description="`auto`: every fire is put off by the same offset, at most an hour (`auto:30m`: half an hour) and "
        "never past the next fire, drawn once so that the installation's peak gets flatter; in the place of jitter. "
        "It stays until the trigger or this is changed. docs/triggers.md has more.",
    )
    breaker: BreakerBody | None = Field(
        None, description="Pauses the schedule by itself after so many dead runs in a row. Null: never."
    )
    target_breaker: bool = Field(
        True, description="Whether runs wait while their target fails again and again, whoever called it."
    )
    retry: RetryBody = Field(default_factory=RetryBody, description="What happens when a run fails.")
    timeout_seconds: int = Field(
        DEFAULT_TIMEOUT_SECONDS,
        ge=1,
        le=MAX_EXECUTION_SECONDS,
        description=f"An attempt that takes longer is stopped. Up to {MAX_TIMEOUT_SECONDS}; of a Python handler or a "
        f"webhook up to {MAX_LONG_TIMEOUT_SECONDS} where the installation has long workers; of an execution or a task, "
        f"which goes on by itself, up to {MAX_EXECUTION_SECONDS}.",
    )
    heartbeat_timeout: str | None = Field(
        None,
        max_length=LONGEST_MOMENT,
        description="Of a Python handler: an attempt that says nothing of itself for so long is stopped; 5s to 15m. "
        "Null: it need not.",
    )


class ScheduleBody(Strict):
    """A schedule as its caller writes it."""

    model_config = shown(EXAMPLE)

    id: str | None = Field(
        None,
        pattern=ID,
        examples=["billing-nightly"],
        description=f"{ID_IN_WORDS}. Left out: one is made up, or it is that of the path.",
    )
    description: str = Field("", max_length=2_000, pattern=TEXT, description="What it is for; may have line breaks.")
    owner: str = Field("", max_length=128, description="Who answers for it; printable.", examples=["billing-team"])
    trigger: TriggerBody = Field(description="When it fires.")
    target: TargetBody = Field(description="What it calls.")
    payload: Any = Field(None, description="Any JSON, up to the quota `payload_bytes`; the target gets it.")
    policies: PoliciesBody = Field(default_factory=PoliciesBody, description="What is left out has its default.")
    labels: dict[str, str] = Field(
        default_factory=dict,
        max_length=MAX_LABELS,
        description="Names of 1 to 63 letters, digits, `.`, `-`, `_`, `/`; printable values of up to 128 characters.",
        examples=[{"team": "billing"}],
    )
    start_at: Moment | None = Field(None, description="RFC 3339; nothing fires before.")
    end_at: Moment | None = Field(None, description="RFC 3339; nothing fires after. Later than start_at.")
    objectives: ObjectivesBody | None = Field(None, description="What is expected; a break opens an incident.")


class NewScheduleBody(ScheduleBody):
    """A schedule as its caller registers it."""

    held: bool = Field(
        False, description="Register it and do not turn it on: nothing fires until it is resumed. For a new one."
    )
    shadow: bool = Field(
        False, description="With `held`: note what it would have fired, and never send it. For a new one."
    )


class PauseBody(Strict):
    """Why a schedule is paused, and until when."""

    model_config = shown({"reason": "month end", "until": "2030-12-01T08:00:00+05:30"})

    reason: str = Field(
        min_length=1, max_length=300, pattern=TEXT, description="Kept with the schedule and its history."
    )
    until: Moment | None = Field(None, description="RFC 3339; when it resumes by itself. Left out: never.")


class MissedBody(Strict):
    """Which of the fires that a pause held back still run."""

    policy: Literal["skip", "fire_once", "catch_up"] = Field(description="None; the newest; the newest `max`.")
    max: int = Field(1, ge=1, le=MAX_CATCH_UP, description=MAX_IN_WORDS)
    window_seconds: Window = None
    per_minute: PerMinute = DEFAULT_PER_MINUTE


class ResumeBody(Strict):
    """What becomes of the fires missed while paused: without `missed`, what `policies.after_pause` says."""

    model_config = shown({"missed": {"policy": "catch_up", "max": 3}, "reason": "month end is over"})

    missed: MissedBody | None = Field(None, description="Left out: as `policies.after_pause` says.")
    reason: Reason = ""


class PreviewBody(Strict):
    """A trigger to look ahead with."""

    model_config = shown(
        {
            "trigger": {"cron": "0 2 * * *", "timezone": "Asia/Kolkata"},
            "after": "2026-12-01T00:00:00Z",
            "until": "2027-01-01T00:00:00Z",
            "limit": 5,
        }
    )

    trigger: TriggerBody = Field(description="As in a schedule.")
    after: Moment | None = Field(None, description="RFC 3339; fires strictly later than this. Left out: now.")
    until: Moment | None = Field(None, description="RFC 3339; fires up to and including this. Left out: no bound.")
    limit: int = Field(DEFAULT_FIRES, ge=1, le=MAX_FIRES, description="At most this many.")


@functools.cache
def fields_by_path(model: type[BaseModel]) -> Mapping[str, frozenset[str]]:
    """The names of the fields of `model` and of each model inside it, by its dotted path (`""` for itself)."""
    found: dict[str, frozenset[str]] = {"": frozenset(info.alias or name for name, info in model.model_fields.items())}
    for name, info in model.model_fields.items():
        for inner in (info.annotation, *get_args(info.annotation)):
            if isinstance(inner, type) and issubclass(inner, BaseModel):
                for path, names in fields_by_path(inner).items():
                    found[f"{name}.{path}".removesuffix(".")] = names
    return found
