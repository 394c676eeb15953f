"""Schemas: what callers may send, field by field. Strict: no type is turned into another, no field is unknown.

Shapes and bounds stand here; what a trigger or target means is judged in `specs.py`.
"""

import functools
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from cronfleet.domain.misfire import DEFAULT_GRACE_SECONDS, MAX_CATCH_UP
from cronfleet.domain.outlook import DEFAULT_FIRES, MAX_FIRES
from cronfleet.domain.retry import MAX_ATTEMPTS, MAX_BACKOFF_SECONDS
from cronfleet.domain.schedule import DEFAULT_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS

MAX_JITTER_SECONDS: Final = 86_400
MAX_GRACE_SECONDS: Final = 30 * 86_400
MAX_LABELS: Final = 16
MAX_URL: Final = 2_048
ID_IN_WORDS: Final = "1 to 64 letters, digits, dots, dashes and underscores, a letter or digit first"
ID: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
TEXT: Final = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$"
"""Text of any script; of the control characters only tabs and line breaks, since people read it in terminals."""

Reason = Annotated[str, Field(max_length=500, pattern=TEXT, description="Why; kept in the audit log.")]
Moment = Annotated[str, Field(max_length=64, description="RFC 3339, such as 2026-12-01T02:00:00+05:30.")]


class Strict(BaseModel):
    """The base of all bodies."""

    model_config = ConfigDict(strict=True, extra="forbid", defer_build=True)


class TriggerBody(Strict):
    """Exactly one of `cron` (with `timezone`), `every` and `at`."""

    cron: Annotated[str, Field(max_length=256, examples=["0 2 * * *"], description="Five fields or a macro.")] = ""
    timezone: Annotated[str, Field(max_length=64, examples=["Asia/Kolkata"], description="An IANA name.")] = ""
    every: Annotated[str, Field(max_length=16, examples=["10s"], description="A number and s, m, h or d.")] = ""
    anchor: Annotated[str, Field(max_length=64, description="Where `every` counts from; the registration.")] = ""
    at: Annotated[str, Field(max_length=64, description="One instant, with an offset or a `timezone`.")] = ""


class TargetBody(Strict):
    """Exactly one of `handler`, `url` and `lambda`."""

    handler: Annotated[str, Field(max_length=128, examples=["billing.nightly"])] = ""
    url: Annotated[str, Field(max_length=MAX_URL, examples=["https://example.com/hooks/billing"])] = ""
    secret: Annotated[
        str,
        Field(
            max_length=512,
            examples=["cronfleet/acme/billing-hook"],
            description="The name, in Secrets Manager, of the key that signs the webhook; never the key itself.",
        ),
    ] = ""
    function: Annotated[str, Field(alias="lambda", max_length=170, examples=["cronfleet-target-billing"])] = ""


class MisfireBody(Strict):
    """What happens to fires that could not start within the grace window."""

    policy: Literal["skip", "fire_once", "catch_up"] = "fire_once"
    max: Annotated[int, Field(ge=1, le=MAX_CATCH_UP, description="For `catch_up`: the newest this many.")] = 1
    grace_seconds: Annotated[int, Field(ge=1, le=MAX_GRACE_SECONDS)] = DEFAULT_GRACE_SECONDS


class BackoffBody(Strict):
    """How long a failed run waits for its next attempt."""

    kind: Literal["exponential", "fixed"] = "exponential"
    base_seconds: Annotated[int, Field(ge=1, le=MAX_BACKOFF_SECONDS)] = 10
    max_seconds: Annotated[int, Field(ge=1, le=MAX_BACKOFF_SECONDS)] = 3600


class RetryBody(Strict):
    """How often a failed run is tried in all."""

    max_attempts: Annotated[int, Field(ge=1, le=MAX_ATTEMPTS)] = 3
    backoff: BackoffBody = Field(default_factory=BackoffBody)


class PoliciesBody(Strict):
    """How a schedule behaves when things are late, overlap or fail."""

    misfire: MisfireBody = Field(default_factory=MisfireBody)
    overlap: Literal["allow", "skip"] = "allow"
    jitter_seconds: Annotated[int, Field(ge=0, le=MAX_JITTER_SECONDS)] = 0
    retry: RetryBody = Field(default_factory=RetryBody)
    timeout_seconds: Annotated[int, Field(ge=1, le=MAX_TIMEOUT_SECONDS)] = DEFAULT_TIMEOUT_SECONDS


class ScheduleBody(Strict):
    """A schedule as its caller writes it."""

    id: Annotated[str | None, Field(pattern=ID, description=f"{ID_IN_WORDS}.")] = None
    description: Annotated[str, Field(max_length=2_000, pattern=TEXT)] = ""
    owner: Annotated[str, Field(max_length=128)] = ""
    trigger: TriggerBody
    target: TargetBody
    payload: Annotated[Any, Field(description="Any JSON, up to 32 KB; the target gets it.")] = None
    policies: PoliciesBody = Field(default_factory=PoliciesBody)
    labels: Annotated[dict[str, str], Field(max_length=MAX_LABELS)] = Field(default_factory=dict)
    start_at: Moment | None = None
    end_at: Moment | None = None


class PauseBody(Strict):
    """Why a schedule is paused, and until when."""

    reason: Annotated[
        str, Field(min_length=1, max_length=300, pattern=TEXT, description="Kept with the schedule and its history.")
    ]
    until: Annotated[Moment | None, Field(description="When it resumes by itself; left out: never.")] = None


class MissedBody(Strict):
    """Which of the fires that a pause held back still run."""

    policy: Literal["skip", "fire_once", "catch_up"]
    max: Annotated[int, Field(ge=1, le=MAX_CATCH_UP, description="For `catch_up`: the newest this many.")] = 1


class ResumeBody(Strict):
    """What becomes of the fires missed while paused: without `missed`, they are skipped."""

    missed: MissedBody | None = None
    reason: Reason = ""


class RunBody(Strict):
    """One run now."""

    payload: Annotated[Any, Field(description="Instead of the schedule's; up to 32 KB.")] = None
    reason: Reason = ""


class CancelBody(Strict):
    """Why a run is cancelled."""

    reason: Reason = ""


class PreviewBody(Strict):
    """A trigger to look ahead with."""

    trigger: TriggerBody
    after: Annotated[Moment | None, Field(description="Fires strictly later than this; now, if left out.")] = None
    until: Moment | None = None
    limit: Annotated[int, Field(ge=1, le=MAX_FIRES)] = DEFAULT_FIRES


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
