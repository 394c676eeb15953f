"""Parameters: what paths, queries and headers may hold, each with its bounds and its description."""

import re
from typing import Annotated, Any, Final, Literal

from aws_lambda_powertools.event_handler.openapi.params import Header, Path, Query
from pydantic import BeforeValidator

from cronfleet.domain.calendar import DateKind
from cronfleet.domain.dead_letter import Kind
from cronfleet.domain.heartbeat import PingState
from cronfleet.domain.incident import IncidentStatus
from cronfleet.domain.instant import SECOND
from cronfleet.domain.operation import Kind as OperationKind
from cronfleet.domain.operation import Status as OperationStatus
from cronfleet.domain.outlook import MAX_FIRES
from cronfleet.domain.shadow_comparison import MAX_TOLERANCE, State
from cronfleet.domain.target_role import ROLE as TARGET_ROLE
from cronfleet.domain.time_text import LONGEST_MOMENT
from cronfleet.domain.warning import WarningCode

from .operation_schemas import SIGNATURE
from .schemas import CALENDAR_NAME, ID, MAX_ARN, TEXT

SUBJECT: Final = r"^(tenant|[a-z_]{1,32}:[A-Za-z0-9][A-Za-z0-9._~-]{0,255})$"
OPERATION_ID: Final = r"^o[0-9a-f]{20}$"
ROLE: Final = rf"^{TARGET_ROLE.pattern}$"
ALERT_ID: Final = r"^[0-9a-z]{1,40}$"
"""Of an incident, or of a notice."""
BREAKER_ID: Final = rf"^(?:[a-z_]{{1,16}}-[0-9a-f]{{16}}|schedule-{ID[1:-1]})$"
MESSAGE_ID: Final = r"^[0-9]{15}\.[A-Za-z0-9_-]{1,100}$"
KEY_ID: Final = r"^[A-Za-z0-9-]{1,64}$"
REGION: Final = r"^[a-z]{2}(?:-[a-z]{1,12}){1,3}-[0-9]{1,2}$"
ACTION: Final = "^[a-z_]{0,64}$"
PREFIX: Final = r"^[A-Za-z0-9._-]{0,64}$"

MAX_PAGE: Final = 100
MAX_ATTEMPT: Final = 999
"""More than a run can have: takeovers count as attempts, too."""
MAX_ENTRIES: Final = 1_000
DEFAULT_PAGE: Final = 50

_DIGITS: Final = re.compile(r"[0-9]{1,9}")


def _whole_number(value: Any) -> Any:
    if isinstance(value, str) and not _DIGITS.fullmatch(value):
        raise ValueError(f"{value[:32]!r} is no whole number; write it in digits")
    return value


ScheduleId = Annotated[str, Path(pattern=ID, description="A schedule's id.")]
ChannelName = Annotated[str, Path(pattern=ID, description="A channel's name.")]
NoticeId = Annotated[str, Path(pattern=ALERT_ID, description="A notice's id.")]
IncidentId = Annotated[str, Path(pattern=ALERT_ID, description="An incident's id.")]
Scope = Annotated[
    Literal["tenant", "platform"],
    Query(description="`platform`: the installation's own instead of the tenant's; takes a platform admin."),
]
IncidentStatusQuery = Annotated[IncidentStatus | None, Query(description="Those that stand so.")]
IncidentScheduleQuery = Annotated[str | None, Query(pattern=ID, description="Those about this schedule.")]
KeyId = Annotated[str, Path(pattern=KEY_ID, description="The id of an API key.")]
TenantId = Annotated[str, Path(pattern=ID, description="A tenant's id.")]
UnreadableId = Annotated[
    str,
    Path(pattern=MESSAGE_ID, description="The id of a message that nobody can read."),
]
BreakerId = Annotated[
    str,
    Path(
        pattern=BREAKER_ID,
        description="A breaker's id; a schedule's is `schedule-` with the schedule's own.",
    ),
]
RegionQuery = Annotated[
    str | None,
    Query(pattern=REGION, description="An AWS region that shares these tables; left out: the one that answers."),
]
FreezeId = Annotated[str, Path(pattern=ID, description="A freeze's id.")]
CalendarName = Annotated[str, Path(pattern=CALENDAR_NAME, description="A calendar's name.")]
VersionQuery = Annotated[
    int | None, BeforeValidator(_whole_number), Query(ge=1, le=999_999_999, description="Left out: the newest.")
]
VersionInPath = Annotated[
    int, BeforeValidator(_whole_number), Path(ge=1, le=999_999_999, description="The number of a version.")
]
OtherVersionQuery = Annotated[
    int | None,
    BeforeValidator(_whole_number),
    Query(ge=1, le=999_999_999, description="The version to compare with. Left out: the current one."),
]
KindQuery = Annotated[
    Literal[tuple(kind.value for kind in DateKind)] | None,
    Query(description="What the dates of an iCalendar file are. Left out: holidays."),
]
WeekendQuery = Annotated[
    str | None,
    Query(max_length=80, description="Weekdays with commas between, empty for none; left out: saturday,sunday."),
]
CoversQuery = Annotated[
    str | None,
    Query(max_length=10, description="The last date that the calendar claims to know; left out: the last listed."),
]
OperationId = Annotated[str, Path(pattern=OPERATION_ID, description="The id of a backfill, re-run or redrive.")]
OperationKindQuery = Annotated[
    Literal[tuple(kind.value for kind in OperationKind)] | None, Query(alias="kind", description="Only these.")
]
OperationStatusQuery = Annotated[
    Literal[tuple(status.value for status in OperationStatus)] | None,
    Query(alias="status", description="Only these."),
]
RunId = Annotated[str, Path(max_length=256, description="A run's id, as the history shows it.")]
AttemptNumber = Annotated[
    int | None,
    BeforeValidator(_whole_number),
    Query(ge=1, le=MAX_ATTEMPT, description="Which attempt; left out: the latest."),
]
PageLimit = Annotated[int, BeforeValidator(_whole_number), Query(ge=1, le=MAX_PAGE, description="Entries of a page.")]
FiresLimit = Annotated[int, BeforeValidator(_whole_number), Query(ge=1, le=MAX_FIRES, description="At most this many.")]
Cursor = Annotated[
    str | None, Query(min_length=1, max_length=2_048, description="The `cursor` that the page before gave.")
]
Prefix = Annotated[str, Query(pattern=PREFIX, description="How the id begins.")]
LabelQuery = Annotated[
    str | None,
    Query(
        max_length=2_048,
        description="Only those with this label, as `team=billing`; with several, commas between, all of them.",
    ),
]
OwnerFilter = Annotated[
    str | None, Query(max_length=128, description="Only those of this owner; empty: those without one.")
]
StatusFilter = Annotated[
    Literal["active", "paused", "held", "parked", "completed"] | None, Query(description="Only these.")
]
WarningFilter = Annotated[
    Literal[tuple(code.value for code in WarningCode)] | None, Query(description="Only those with such a warning.")
]
ReasonQuery = Annotated[str, Query(max_length=500, pattern=TEXT, description="Why; kept in the audit log.")]
FromQuery = Annotated[
    str | None, Query(alias="from", max_length=LONGEST_MOMENT, description="RFC 3339; a + is written %2B in a URL.")
]
ToQuery = Annotated[str | None, Query(max_length=LONGEST_MOMENT, description="RFC 3339; a + is written %2B in a URL.")]
ByQuery = Annotated[Literal["minute", "shard", "tenant"], Query(description="What the fires are counted by.")]
AtQuery = Annotated[str, Query(max_length=LONGEST_MOMENT, description="RFC 3339; a + is written %2B in a URL.")]
FirstQuery = Annotated[
    str, Query(alias="from", max_length=LONGEST_MOMENT, description="RFC 3339, included; a + is written %2B in a URL.")
]
LastQuery = Annotated[
    str, Query(alias="to", max_length=LONGEST_MOMENT, description="RFC 3339, included; a + is written %2B in a URL.")
]
HeartbeatToken = Annotated[str, Path(description="As the URL has it.")]
PingStateQuery = Annotated[
    Literal[tuple(state.value for state in PingState)] | None, Query(alias="state", description="As in the body.")
]
ExitCodeQuery = Annotated[
    int | None,
    BeforeValidator(_whole_number),
    Query(ge=0, le=255, description="As in the body; a shell writes `exit_code=$?`."),
]
ToleranceQuery = Annotated[
    int,
    BeforeValidator(_whole_number),
    Query(ge=0, le=MAX_TOLERANCE // SECOND, description="How far a ping and its fire may lie apart."),
]
ComparedStateQuery = Annotated[
    Literal[tuple(state.value for state in State)] | None,
    Query(description="Only entries of this state; the summary stays as it is."),
]
EntriesLimit = Annotated[
    int, BeforeValidator(_whole_number), Query(ge=0, le=MAX_ENTRIES, description="At most this many entries.")
]
ScheduleQuery = Annotated[str | None, Query(pattern=ID, description="Only changes of this schedule and its runs.")]
SubjectQuery = Annotated[
    str | None,
    Query(
        pattern=SUBJECT,
        description="Only changes of this: `schedule:<id>`, `calendar:<name>`, `key:<id>`, `tenant`, …",
    ),
]
ActorQuery = Annotated[str, Query(max_length=256, pattern=TEXT, description="Only changes by this actor.")]
ActionQuery = Annotated[str, Query(pattern=ACTION, description="Only changes of this kind, such as `pause`.")]
AuditLimit = Annotated[
    int, BeforeValidator(_whole_number), Query(ge=1, le=MAX_ENTRIES, description="Entries of a page, at most.")
]
UNREADABLE: Final = "unreadable"
"""A kind of dead letter that is no run's."""
GroupQuery = Annotated[Literal["signature"] | None, Query(description="Group them by failure signature.")]
LetterScheduleQuery = Annotated[str | None, Query(pattern=ID, description="Only those of this schedule.")]
LetterLabelQuery = Annotated[
    str | None, Query(max_length=2_048, description="Only those of schedules with this label, as `team=billing`.")
]
SignatureQuery = Annotated[str | None, Query(pattern=SIGNATURE, description="Only those of this failure signature.")]
LetterKindQuery = Annotated[
    Literal[*(kind.value for kind in Kind), UNREADABLE] | None,
    Query(description="Only these; `unreadable`: messages that are no run's."),
]
DiedFromQuery = Annotated[
    str | None,
    Query(alias="from", max_length=LONGEST_MOMENT, description="RFC 3339; only those that died then or later."),
]
DiedToQuery = Annotated[
    str | None, Query(alias="to", max_length=LONGEST_MOMENT, description="RFC 3339; only those that died before.")
]
IdempotencyKey = Annotated[
    str | None,
    Header(alias="Idempotency-Key", description="A repeated request under the same key gets the first one's answer."),
]
IfMatch = Annotated[
    str | None, Header(alias="If-Match", description="The ETag that the schedule must still have, or *.")
]
IfNoneMatch = Annotated[
    str | None, Header(alias="If-None-Match", description="* alone: the schedule must not be there yet.")
]

ZoneQuery = Annotated[
    str | None,
    Query(
        max_length=64,
        description="An IANA name: the zone of the machine or cluster that the file comes from, for times that it "
        "names no zone for. Left out: UTC, and the answer says so.",
    ),
]
FormQuery = Annotated[
    Literal["user", "system"] | None,
    Query(description="Whether a user stands before each command. Left out: found out, and the answer says how."),
]
TzQuery = Annotated[
    Literal["times", "command"] | None,
    Query(description="What an assignment of TZ is the zone of. Left out: the command, if `timezone` is given."),
]
SourceQuery = Annotated[
    str,
    Query(
        max_length=200,
        pattern=TEXT,
        description="Where the file comes from, such as web1:/etc/crontab: it keeps the ids of several sources apart, "
        "names the import, and tells the form of a crontab.",
    ),
]
TargetQuery = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=4_096,
        description="What is called: a handler's name, a webhook's URL, cronfleet-target-…, or a target as JSON.",
    ),
]
RoleQuery = Annotated[
    str | None,
    Query(
        pattern=ROLE,
        max_length=MAX_ARN,
        description="The ARN of a role named cronfleet-target-…, as which queues, topics, buses, state machines and "
        "tasks of the file are called; else only those are whose own role is named so.",
    ),
]
OwnerQuery = Annotated[str, Query(max_length=128, description="Who answers for the schedules.")]
ExistingQuery = Annotated[
    Literal["keep", "replace"],
    Query(description="What becomes of a schedule that is there, held, and says something else than the file."),
]
AppliedQuery = Annotated[
    Literal["replace", "keep"],
    Query(description="What becomes of a schedule or calendar that is there and says something else."),
]
ConfirmQuery = Annotated[str, Query(max_length=64, description="The tenant's id, repeated.")]
HeldQuery = Annotated[
    Literal["true", "false"], Query(description="`true` has new schedules come in held, however they stood.")
]
FlagQuery = Annotated[
    Literal["true", "false"], Query(description="Whether new schedules note what they would fire, from now on.")
]
TryQuery = Annotated[
    Literal["true", "false"],
    Query(description="`true` changes nothing, and the answer has the change's `effect` beside what would be."),
]
DryRunQuery = Annotated[
    Literal["true", "false"], Query(description="`true` changes nothing and shows the same answer.")
]
