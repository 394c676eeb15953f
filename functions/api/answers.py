"""Answers: what callers get, as the OpenAPI document shows it. Built from `domain/form.py`, checked here."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from cronfleet.domain.crowded import Jitter
from cronfleet.domain.reason import Code
from cronfleet.domain.run import Lane, Outcome, RunStatus
from cronfleet.domain.schedule import Status
from cronfleet.domain.warning import WarningCode

Time = Annotated[
    str,
    Field(description="RFC 3339, UTC.", examples=["2026-12-01T02:00:00Z"], json_schema_extra={"format": "date-time"}),
]


class Answered(BaseModel):
    """The base of all answers."""

    model_config = ConfigDict(extra="forbid", defer_build=True)


class ReasonAnswer(Answered):
    """Why something did not simply run."""

    code: Code = Field(description="Its type; docs/reasons.md is the table.")
    text: str = Field(description="A sentence for people.")
    detail: dict[str, str | int] = Field(description="For machines, by code.")


class PausedAnswer(Answered):
    """Who paused a schedule, and until when."""

    by: str = Field(description="The id of the API key.")
    reason: str = Field(description="As it was given.")
    at: Time = Field(description="When it was paused.")
    until: Time | None = Field(description="When it resumes by itself; null: never.")


class ShadowAnswer(Answered):
    """Who had a held schedule's fires noted, and since when."""

    by: str = Field(description="The id of the API key.")
    at: Time = Field(description="Since when.")


class HoldAnswer(Answered):
    """Who registered a schedule as held, and whether it notes what it would fire."""

    by: str = Field(description="The id of the API key.")
    at: Time = Field(description="When it was registered.")
    shadow: ShadowAnswer | None = Field(description="Null: what it would have fired is not noted.")


class ThawAnswer(Answered):
    """Who ended a freeze before its time."""

    by: str = Field(description="Who.")
    at: Time = Field(description="When.")
    reason: str = Field(description="As it was given.")


class FreezeAnswer(Answered):
    """A label, a tenant or a tier in which nothing starts."""

    id: str = Field(description="Its id.")
    scope: dict[str, Any] = Field(description="What is frozen.", examples=[{"label": {"system": "billing"}}])
    reason: str = Field(description="As it was given.")
    by: str = Field(description="Who froze it.")
    at: Time = Field(description="Since when.")
    until: Time | None = Field(description="When it ends, or has ended; null: when it is thawed.")
    status: Literal["in_force", "ended"] = Field(description="Whether it holds anything now.")
    suspends_tenant: bool = Field(description="Whether only the tenant's resumption ends it.")
    thawed: ThawAnswer | None = Field(description="Set once it was ended by hand.")


class WarningAnswer(Answered):
    """What about a trigger will surprise whoever wrote it."""

    code: WarningCode = Field(description="Its type; docs/warnings.md is the table.")
    text: str = Field(description="A sentence for people, with the next dates where there are any.")


Words = Annotated[
    str,
    Field(
        description="The trigger in plain English; docs/warnings.md says how to read it.",
        examples=["At 02:00 every day, in Asia/Kolkata"],
    ),
]
Warnings = Annotated[list[WarningAnswer], Field(description="What about the trigger will surprise; mostly nothing.")]


class StretchAnswer(Answered):
    """A stretch of missed time of which every fire is still to be caught up."""

    from_nominal_at: Time = Field(description="The nominal time whose turn is next in this stretch.")
    until_nominal_at: Time = Field(description="Its last nominal time.")
    per_minute: int = Field(description="At most so many are caught up a minute.")
    window_seconds: int | None = Field(description="None runs that is older when its turn comes; null: no bound.")
    caught_up: ReasonAnswer = Field(description="What was missed from when to when, and why.")


class CatchingUpAnswer(Answered):
    """What a schedule is still to catch up, besides what it fires regularly."""

    next_turn_at: Time = Field(description="When the next of them is due.")
    stretches: list[StretchAnswer] = Field(description="Oldest first; each is caught up before the next.")


class ScheduleAnswer(Answered):
    """A schedule, with every default spelled out, and where it stands."""

    id: str = Field(description="Its name, one of its own within the tenant.", examples=["billing-nightly"])
    description: str = Field(description="What it is for, as its owner wrote it.")
    owner: str = Field(description="Who answers for it.", examples=["billing-team"])
    trigger: dict[str, Any] = Field(
        description=(
            "`cron` and `timezone` (and `calendar`; and `gap`, `overlap`, `dialect`, where they are not the default), "
            "`every` and `anchor`, or `at` (and `timezone`)."
        ),
        examples=[{"cron": "0 2 * * *", "timezone": "Asia/Kolkata"}],
    )
    target: dict[str, Any] = Field(
        description="`handler` (and `secrets`, names), `url` (and `secret`, a name), `lambda`; or with a `role` `sqs`, "
        "`sns`, `event_bus` (and `source`, `detail_type`), `state_machine`, or `ecs_task` and all that a task needs.",
        examples=[{"handler": "billing.nightly"}],
    )
    payload: Any = Field(description="What the target is given.")
    policies: dict[str, Any] = Field(description="As in the request, every default spelled out.")
    labels: dict[str, str] = Field(description="As its owner wrote them.", examples=[{"team": "billing"}])
    start_at: Time | None = Field(description="Nothing fires before; null: no bound.")
    end_at: Time | None = Field(description="Nothing fires after; null: no bound.")
    objectives: dict[str, Any] | None = Field(description="What is expected of each fire; null: nothing.")
    status: Status = Field(description="Where it stands; docs/states.md has the moves.")
    version: int = Field(description="The number of its definition; rises with each change.")
    next_fire_at: Time | None = Field(description="The calendar's next time, while it is active.")
    next_due_at: Time | None = Field(description="The same after jitter or deferral.")
    catching_up: CatchingUpAnswer | None = Field(description="What it missed and is still to catch up, if anything.")
    paused: PausedAnswer | None = Field(description="Set while it is paused.")
    hold: HoldAnswer | None = Field(description="Set while it is held.")
    parked: ReasonAnswer | None = Field(description="Why the scheduler refuses it, while it does.")
    frozen: FreezeAnswer | None = Field(description="The freeze that holds it; of several the one that lasts longest.")
    deferred: ReasonAnswer | None = Field(description="Why its next fire comes later than its time, if it does.")
    spread_offset_seconds: int | None = Field(
        description="By how much each fire is put off, always by the same; null unless `policies.spread` says so."
    )
    jitter: Jitter = Field(
        description="Whether its jitter is the default of its time, was chosen, there is none, or it is spread instead."
    )
    created_at: Time = Field(description="When this life of the id began.")
    updated_at: Time = Field(description="When it was last changed; not when it last fired.")
    words: Words
    warnings: Warnings


class SchedulesAnswer(Answered):
    """A page of schedules, by id."""

    schedules: list[ScheduleAnswer] = Field(description="By id; may be fewer than `limit` before the last page.")
    cursor: str | None = Field(description="For the next page; null on the last.")


class ExecutionAnswer(Answered):
    """What goes on elsewhere for an attempt: an execution of a state machine, or a task."""

    handle: str | None = Field(description="Its ARN; null until its service has told it.")
    began_at: Time = Field(description="When the attempt was handed over; it is started right after that.")
    deadline_at: Time = Field(description="When it is stopped.")


class AttemptAnswer(Answered):
    """One try of a run."""

    number: int = Field(description="1 for the first.")
    fence: int = Field(description="Rises with each attempt; what an earlier one still writes is refused.")
    started_at: Time = Field(description="By the worker's clock.")
    finished_at: Time | None = Field(description="Null while it goes on.")
    outcome: Outcome | None = Field(description="Null while it goes on.")
    error: str | None = Field(description="What the target or the worker said, if it failed.")
    execution: ExecutionAnswer | None = Field(description="Of a target that goes on by itself; null of any other.")


class CancelRequestAnswer(Answered):
    """The cancellation of a running run, asked for: its worker ends it, unless it succeeds first."""

    at: Time = Field(description="When it was asked for.")
    by: str = Field(description="Who asked.")
    reason: str = Field(description="Why.")


class ProgressAnswer(Answered):
    """The latest beat of an attempt."""

    beat_at: Time = Field(description="When it came; beats are written at most every five seconds.")
    fraction: float | None = Field(description="How much is done, from 0 to 1; null: it did not say.")
    text: str = Field(description="A few words of its own.")


class RunAnswer(Answered):
    """A row of the ledger: a run, a skip, or a range in which nothing fired."""

    run_id: str = Field(
        description="Its id, and the idempotency key that its target gets.",
        examples=["acme~billing-nightly~1~20261201T203000Z~schedule"],
    )
    schedule_id: str = Field(description="The schedule that it belongs to.")
    cause: str = Field(description="`schedule`, or `manual-`, `rerun-` or `backfill-` and an id.")
    nominal_at: Time = Field(description="The time that the trigger named; of a range, its first.")
    until_nominal_at: Time | None = Field(description="Of a range: its last nominal time.")
    due_at: Time = Field(description="nominal_at after jitter or deferral.")
    claimed_at: Time | None = Field(description="When a dispatcher took it on.")
    started_at: Time | None = Field(description="When its first attempt started.")
    finished_at: Time | None = Field(description="When it came to its end.")
    lag_seconds: float | None = Field(description="started_at minus due_at.")
    status: RunStatus = Field(description="docs/states.md has the moves.")
    version: int = Field(description="The version of the schedule that it runs; 0: of none.")
    is_pinned: bool = Field(description="Whether it keeps that version, whatever is current when it starts.")
    ancestor: str | None = Field(description="The run id that it repeats, of a re-run.")
    operation: str | None = Field(description="The operation that asked for it, if one did.")
    trace_id: str | None = Field(
        description="The trace that all its attempts belong to, 32 hexadecimal digits; of a range: null."
    )
    lane: Lane = Field(description="`live`, or `backfill`: it yields to live runs.")
    parents: dict[str, str] | None = Field(
        description="Of a run that parents name: how those ended that have, by their ids; else null."
    )
    retry_at: Time | None = Field(description="When the next attempt is due, while it waits for that.")
    resent_at: Time | None = Field(
        description="When the message that started it was sent again, the first being lost or late."
    )
    reason: ReasonAnswer | None = Field(description="Why it did not simply run, if so.")
    cancel_requested: CancelRequestAnswer | None = Field(
        description="Who asked for its cancellation while it was running."
    )
    progress: ProgressAnswer | None = Field(description="What the latest attempt last told of itself.")
    caught_up: ReasonAnswer | None = Field(description="Of a run of missed time: what was missed when, and why.")
    attempts: list[AttemptAnswer] = Field(description="Oldest first.")


class LogLineAnswer(Answered):
    """One line that an attempt logged or printed."""

    at: Time = Field(description="When.")
    level: str = Field(description="INFO, WARNING, ERROR and the like; what was printed is INFO.")
    text: str = Field(description="What it says; a record's extra fields and traceback stand behind its message.")


class LogPlaceAnswer(Answered):
    """Where the whole log is, in CloudWatch Logs."""

    region: str = Field(description="The AWS region.")
    group: str = Field(description="The log group.")
    stream: str | None = Field(description="The log stream, where it is known.")
    request_id: str | None = Field(description="The invocation, of a Lambda target.")
    url: str = Field(description="The console's page, with the lines of this run.")


class LogAnswer(Answered):
    """The end of what one attempt logged: at most 200 lines and 16 KB."""

    run_id: str = Field(description="The run.")
    attempt: int = Field(description="The attempt; 0: none has begun.")
    kept_at: Time | None = Field(description="When it was kept, every 30 seconds while it goes on; null: nothing is.")
    is_whole: bool = Field(description="False when something was said before the first of these lines.")
    lines: list[LogLineAnswer] = Field(description="Oldest first.")
    place: LogPlaceAnswer | None = Field(description="Where all of it is, if that is known.")


class RunsAnswer(Answered):
    """A page of a schedule's history, newest first."""

    runs: list[RunAnswer] = Field(description="Runs, skips and ranges.")
    cursor: str | None = Field(description="For the next page; null on the last.")


class ExplanationAnswer(Answered):
    """What became of one time of a schedule, or of a stretch of its fires, and why."""

    at: Annotated[str, Field(description="The time asked for; of a stretch, its first fire.")]
    until_nominal_at: Annotated[Time | None, Field(description="Of a stretch: its last fire.")]
    count: Annotated[
        int | None, Field(description="How many fires it stands for; null: more than are counted one by one.")
    ]
    code: Annotated[Code, Field(description="The reason's type; docs/reasons.md is the table.")]
    text: Annotated[str, Field(description="A sentence for people.")]
    detail: Annotated[
        dict[str, str | int | float | list[str] | None],
        Field(description="For machines, by code; times are RFC 3339 under names that end in `_at`."),
    ]
    is_named: Annotated[bool, Field(description="Whether the schedule named this time.")]
    is_decided: Annotated[bool, Field(description="Whether this is the last word on it.")]
    run: Annotated[RunAnswer | None, Field(description="The row of the ledger that says so.")]
    others: Annotated[
        list[RunAnswer], Field(description="Rows of the same time that a change of the schedule has overtaken.")
    ]


class ExplainAnswer(ExplanationAnswer):
    """Why a schedule ran at a time, or did not."""

    schedule_id: str = Field(description="The schedule that was asked about.")


class LedgerAnswer(Answered):
    """What became of every fire of a stretch of time, oldest first; each fire is in exactly one entry."""

    entries: list[ExplanationAnswer] = Field(description="Without gap or overlap.")
    cursor: Annotated[str | None, Field(description="For the next page; null on the last.")]


class FireAnswer(Answered):
    """A fire: the calendar's time, and the schedule's own after jitter."""

    nominal_at: Time = Field(description="The time that the trigger names.")
    due_at: Time = Field(description="The same after jitter.")


class NamedFireAnswer(FireAnswer):
    """A fire, and whether it is to start."""

    frozen: bool = Field(description="Whether a freeze holds it, so that it will not start, or has not.")


class FiresAnswer(Answered):
    """Fires of a schedule, oldest first."""

    fires: list[NamedFireAnswer] = Field(description="At most `limit`.")


class ImportedAnswer(Answered):
    """A schedule that a file became, as it is registered or would be."""

    line: int = Field(description="Where it stands in the file.")
    text: str = Field(description="What stands there.")
    id: str = Field(description="The same whenever the same job of the same source is imported.")
    outcome: Literal["created", "unchanged", "differs", "replaced", "pending"] = Field(
        description="New; there and the same; there and different, left as it is; there, and changed to what the file "
        "says; not reached in time, import again. In a dry run: what would be."
    )
    differs: list[str] = Field(description="The fields in which the stored one is different.")
    status: Status = Field(description="`held`, unless it was there and has been turned on since.")
    description: str = Field(description="The comment above it, or what the manifest says.")
    owner: str = Field(description="As the import named it.")
    trigger: dict[str, Any] = Field(description="As in a schedule.")
    target: dict[str, Any] = Field(description="As in a schedule.")
    payload: Any = Field(description="What the job was.")
    policies: dict[str, Any] = Field(description="As in a schedule, every default spelled out.")
    labels: dict[str, str] = Field(description="`import`, and what the file tells.")
    start_at: Time | None = Field(description="As in a schedule.")
    end_at: Time | None = Field(description="As in a schedule.")
    objectives: dict[str, Any] | None = Field(description="As in a schedule.")
    words: Words
    warnings: Warnings
    notes: list[str] = Field(description="What could not be carried over as it stood.")


class RefusedAnswer(Answered):
    """What became no schedule."""

    line: int = Field(description="Where it stands, or begins.")
    text: str = Field(description="What stands there, or its name.")
    reason: str = Field(description="Why, and what to write instead; the same words as when it is registered.")


class ImportAnswer(Answered):
    """A file, all of it: what it became, what was refused, what was none of it."""

    import_: str = Field(alias="import", description="The value of the label `import` that each schedule has.")
    dry_run: bool = Field(description="Whether nothing was changed.")
    complete: bool = Field(description="False: time was up; import the same again, and it goes on.")
    counts: dict[str, int] = Field(description="Of lines or resources, and of each outcome; they add up.")
    notes: list[str] = Field(description="What is to be known of the whole.")
    schedules: list[ImportedAnswer] = Field(description="As they stand in the file.")
    refused: list[RefusedAnswer] = Field(description="By line.")
    ignored: list[RefusedAnswer] = Field(description="Resources of other kinds.")


class PreviewAnswer(Answered):
    """Nominal times of a trigger, oldest first."""

    fires: list[Time] = Field(description="At most `limit`.")
    words: Words
    warnings: Warnings


class LintedAnswer(Answered):
    """A schedule with warnings."""

    id: str = Field(description="Its id.", examples=["billing-nightly"])
    status: Status = Field(description="Where it stands.")
    words: Words
    warnings: Warnings


class LintAnswer(Answered):
    """A page of the tenant's schedules, looked over: those with warnings."""

    schedules: list[LintedAnswer] = Field(description="By id; those of the page that have warnings, maybe none.")
    looked_at: int = Field(description="How many schedules of the page were looked over.")
    cursor: str | None = Field(description="For the next page; null on the last.")


class CrowdedMinuteAnswer(Answered):
    """A minute in which several schedules fire."""

    minute_at: Time = Field(description="Its beginning.")
    schedules: int = Field(description="How many schedules are due in it, after jitter.")
    ids: list[str] = Field(description="The first of them, by id; ten at most.")


class CrowdedAnswer(Answered):
    """The minutes of the next day in which most schedules fire."""

    minutes: list[CrowdedMinuteAnswer] = Field(description="The most crowded first; twenty at most.")
    frequent: int = Field(
        description="Schedules that fire more than 96 times in that day: they share every minute and are not counted."
    )
    looked_at: int = Field(description="How many active schedules were counted.")
    is_complete: bool = Field(description="Whether those are all; else the count ended at 1,000 schedules.")


class HealthHoldAnswer(Answered):
    """What everybody is told of an installation that is held."""

    mode: Literal["drain", "standby"] = Field(description="What it leaves.")
    at: Time | None = Field(description="Since when; null: since it was deployed.")
    reason: str = Field(description="As it was given.")


class HealthAnswer(Answered):
    """What the API says about itself."""

    status: Literal["ok", "degraded"] = Field(description="`degraded` comes with a 503.")
    version: str = Field(description="Of the code that answers.")
    tzdata: str = Field(description="The IANA release that times are worked out with.", examples=["2026f"])
    store: Literal["ok", "silent"] = Field(description="Whether the job store answers.")
    time: Time = Field(description="By the clock of the API.")
    last_sweep_at: Time | None = Field(
        description="When the scheduler last looked at itself whole, which it does each minute; null: never yet."
    )
    hold: HealthHoldAnswer | None = Field(description="Why nothing is claimed; null: the scheduler is at work.")


class FieldAnswer(Answered):
    """One field of a request and what is wrong with it."""

    field: str = Field(description="Its dotted path, or the name of a parameter or header.", examples=["trigger.cron"])
    reason: str = Field(
        description="What is wrong, and what to write instead.",
        examples=["`0 25 * * *`: hour `25` (character 3) is not in 0–23; did you mean `25 0 * * *`?"],
    )


class ProblemAnswer(Answered):
    """A refusal, as RFC 9457 has it."""

    type: str = Field(description="Names the kind of refusal.", examples=["urn:cronfleet:problem:invalid"])
    title: str = Field(description="The kind in words.", examples=["The request cannot be used as it is"])
    status: int = Field(description="The HTTP status again.", examples=[400])
    detail: str = Field(description="All of `errors` in one sentence.")
    instance: str = Field(description="The path that was asked for.", examples=["/v1/schedules"])
    errors: list[FieldAnswer] = Field(default_factory=list, description="Each part that is wrong; fifty at most.")
    quota: str = Field("", description="Of `quota-exceeded` alone: which quota.", examples=["schedules"])
    use: int = Field(0, description="Of `quota-exceeded` alone: what there is; of a size, what was asked for.")
    limit: int = Field(0, description="Of `quota-exceeded` alone: the most that there may be.")
    expected: int = Field(0, description="Of `miscounted` alone: how many schedules the request expected.")
    count: int = Field(0, description="Of `miscounted` alone: how many match now.")


class GatewayAnswer(BaseModel):
    """What the gateway says by itself, before the API sees the request."""

    message: str = Field(description="A word.", examples=["Forbidden"])
