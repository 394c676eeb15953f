"""An explanation, and the facts that it is made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from cronfleet.domain.audit import AuditEntry
from cronfleet.domain.freeze import Freeze
from cronfleet.domain.hold import Hold
from cronfleet.domain.instant import DAY, Instant
from cronfleet.domain.lifeline import Span
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.run import Run
from cronfleet.domain.schedule import Definition, Timer
from cronfleet.domain.zone_release import ZoneRelease

Value: TypeAlias = str | int | float | list[str] | None
"""What a detail may hold; instants are RFC 3339 text, names of instants end in `_at`."""

Said: TypeAlias = tuple[Code, str, dict[str, Value]]
"""What an explanation says: its code, its sentence, its details."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What became of `at`, or will: one code, a sentence for people, details for machines.

    `is_named` says whether the schedule named this time; `is_decided` whether this is the last word on it. With
    `until_nominal_at` it stands for `count` nominals (`None`: more than are counted) from `at` on. `others` are rows
    of the same nominal under other epochs, which the one explained has overtaken.
    """

    at: Instant
    code: Code
    text: str
    detail: Mapping[str, Value] = field(default_factory=dict)
    is_named: bool = True
    is_decided: bool = False
    run: Run | None = None
    others: tuple[Run, ...] = ()
    until_nominal_at: Instant | None = None
    count: int | None = 1


@dataclass(frozen=True, slots=True)
class Claimed:
    """What the dispatch log says of a fire that has no row: who claimed it when, and what the sweeper did since."""

    batch: str
    claimed_at: Instant
    skipped: Reason | None = None
    """Why the claim dropped it; its row is about to be written."""
    resends: int = 0
    resend_at: Instant | None = None


@dataclass(frozen=True, slots=True)
class Replaced:
    """A definition that named a time and was replaced before that time came."""

    version: int
    by: Definition
    at: Instant


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known about one time of a schedule.

    `span` is the epoch whose own that time is (`None`: further back than is remembered), `named_by` the timer as it
    was then (`None` where nothing was alive), `rows` what the ledger holds for the time, as rows and as ranges.
    """

    timer: Timer
    now: Instant
    span: Span | None
    named_by: Timer | None
    rows: Sequence[Run] = ()
    claimed: Claimed | None = None
    put_off: Reason | None = None
    """Why the timer of a run that is written down, and has not started, waits longer than it was to."""
    replaced: Replaced | None = None
    deletion: AuditEntry | None = None
    retention: int = 30 * DAY
    """How far back the tenant is shown what has happened."""
    freezes: Sequence[Freeze] = ()
    """Those of the schedule that are in force, are to come to their end, or have lately ended."""
    hold: Hold | None = None
    """What holds the whole installation."""
    zone_data: ZoneRelease | None = None
    """What a zoned trigger is read with today, and since when; asked for only where a fire has no trace."""


_MISSED: Final = "cause missed_from_at missed_until_at noticed_at"
RUN_DETAILS: Final = f"run_id epoch version due_at batch claimed_at started_at lag_seconds resent_at {_MISSED}"
"""Of whatever became, or is to become, a run."""
_RANGE: Final = "from_nominal_at until_nominal_at"
_ENDED: Final = f"{RUN_DETAILS} attempts errors"
_HOLD: Final = "hold_id mode by held_at why"
_NEAR: Final = "version earlier_at later_at"
_CALENDAR: Final = "calendar calendar_version mode date day label rolled_to_at covers_until"

DETAILS: Final[Mapping[Code, str]] = {
    Code.RAN: RUN_DETAILS,
    Code.CATCHING_UP: f"{_MISSED} per_minute next_turn_at freeze_id",
    Code.RUNNING: f"{RUN_DETAILS} lease_until_at",
    Code.RETRYING: f"{RUN_DETAILS} retry_at attempts errors held_back resends resend_at",
    Code.QUEUED: RUN_DETAILS,
    Code.RESENT: f"{RUN_DETAILS} resends resend_at",
    Code.ATTEMPTS: _ENDED,
    Code.PERMANENT: _ENDED,
    Code.OVERLAP: f"{_ENDED} in_the_way",
    Code.SUPERSEDED: f"{_ENDED} {_RANGE} {_NEAR} named_by_version replaced_by_version replaced_at by why",
    Code.CANCELLED: f"{_ENDED} {_RANGE}",
    Code.TOO_OLD: _ENDED,
    Code.UNDELIVERED: f"{_ENDED} receives queue sent_at",
    Code.NO_DEFINITION: _ENDED,
    Code.PARENTS: f"{_ENDED} parents missing",
    Code.PARENT_LATE: f"{_ENDED} parents missing",
    Code.WAITS_FOR_PARENTS: f"{RUN_DETAILS} parents missing",
    Code.MISSED: f"{RUN_DETAILS} {_RANGE} {_HOLD} released_at",
    Code.HELD: f"due_at late_seconds {_HOLD}",
    Code.PAUSED: f"{_ENDED} {_RANGE} by why paused_at resume_at",
    Code.NOT_ON: f"{_ENDED} {_RANGE} status by held_at parked_code parked_at why",
    Code.SHADOW: f"{RUN_DETAILS} {_RANGE} by shadow_at",
    Code.FROZEN: f"{_ENDED} {_RANGE} freeze_id by why frozen_at until_at",
    Code.TENANT_SUSPENDED: f"{_ENDED} {_RANGE} freeze_id by why frozen_at until_at",
    Code.DUE: "due_at late_seconds",
    Code.NOT_DUE: "due_at",
    Code.TENANT_RATE: f"{RUN_DETAILS} until_at per_second",
    Code.QUOTA: f"{RUN_DETAILS} {_RANGE} outstanding",
    Code.BREAKER: f"{RUN_DETAILS} attempts errors breaker held_at",
    Code.CONCURRENCY: f"{RUN_DETAILS} limit until_at",
    Code.BEFORE_START: f"start_at {_NEAR}",
    Code.AFTER_END: f"end_at {_NEAR}",
    Code.NOT_CREATED: "created_at",
    Code.DELETED: "deleted_at by why created_at",
    Code.COMPLETED: f"fired_at {_NEAR}",
    Code.DST_GAP: f"local timezone fired_at policy {_NEAR}",
    Code.DST_OVERLAP: f"local timezone fired_at policy {_NEAR}",
    Code.ZONE_DATA: "release in_force_at timezone",
    Code.CALENDAR: f"{_CALENDAR} {_NEAR} named_by_version replaced_by_version replaced_at by why",
    Code.NOT_NAMED: _NEAR,
    Code.FORGOTTEN: "",
}
"""What an explanation's details may hold, by its code; codes that are not here explain no time."""
