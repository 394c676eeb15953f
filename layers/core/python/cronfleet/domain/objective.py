"""Objectives: what is expected of a schedule, and whether a fire met it. Pure: fires, rows and pings in, verdicts out.

A fire is judged once its deadline has come. What no policy wants to run is no break: a fire that a pause, a freeze, an
overlap or a caller kept from running is excused. What the scheduler missed, refused or never got to is a break, and so
is a run that died.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cronfleet.domain.incident import IncidentKind
from cronfleet.domain.instant import MINUTE, SECOND, Instant, to_text
from cronfleet.domain.quiet_hours import next_time_of_day, time_of_day
from cronfleet.domain.reason import Code
from cronfleet.domain.run import Run, RunStatus
from cronfleet.domain.time_text import interval_text

LONGEST_SECONDS: Final = 31 * 86_400
"""Of an objective: as long as rows live at least."""

MAX_NAMED_CHANNELS: Final = 10

LEARNED_FROM: Final = 50
"""Successes that the expected duration is learned from, the newest …"""
LEARNED_LEAST: Final = 5
"""… and how many there must be."""

PING_EARLY: Final = MINUTE
"""A ping may come this long before its fire: the clock of the job elsewhere is its own."""

_EXCUSED: Final = frozenset(
    {
        RunStatus.PAUSED,
        RunStatus.HELD,
        RunStatus.SHADOW,
        RunStatus.FROZEN,
        RunStatus.CANCELLED,
        RunStatus.SKIPPED,
    }
)


@dataclass(frozen=True, slots=True)
class Objectives:
    """What is expected of each fire of a schedule; `None`: nothing of that kind. `channels` are told of a break.

    `succeeds_by` is a time of day in minutes, on the clock of the schedule's own zone (of UTC where it has none).
    `learns_longest` takes the longest time a run may take from the schedule's history.
    """

    starts_within_seconds: int | None = None
    succeeds_within_seconds: int | None = None
    succeeds_by: int | None = None
    longest_seconds: int | None = None
    learns_longest: bool = False
    ping_within_seconds: int | None = None
    channels: tuple[str, ...] = ()

    @property
    def kinds(self) -> tuple[IncidentKind, ...]:
        """The kinds that are watched."""
        said = {
            IncidentKind.STARTS_WITHIN: self.starts_within_seconds,
            IncidentKind.SUCCEEDS_WITHIN: self.succeeds_within_seconds,
            IncidentKind.SUCCEEDS_BY: self.succeeds_by,
            IncidentKind.RUNS_TOO_LONG: self.longest_seconds or self.learns_longest or None,
            IncidentKind.PING_WITHIN: self.ping_within_seconds,
        }
        return tuple(kind for kind, value in said.items() if value is not None)


@dataclass(frozen=True, slots=True)
class Learned:
    """How long runs took: `limit_seconds` is what is taken as too long."""

    count: int
    median_ms: int
    p95_ms: int

    @property
    def limit_seconds(self) -> int:
        """Half as long again as the slowest ones, and a minute more at least than those."""
        return math.ceil(max(self.p95_ms * 3 // 2, 2 * self.median_ms, self.p95_ms + MINUTE) / SECOND)


def learned(rows: Iterable[Run]) -> Learned | None:
    """What the newest successes among `rows` (newest first) teach; `None`: there are too few."""
    took = [lasted for row in rows if row.status is RunStatus.SUCCEEDED and (lasted := duration_ms(row)) is not None]
    took = sorted(took[:LEARNED_FROM])
    if len(took) < LEARNED_LEAST:
        return None
    return Learned(len(took), took[(len(took) - 1) // 2], took[math.ceil(len(took) * 0.95) - 1])


def duration_ms(row: Run) -> int | None:
    """How long the latest attempt of a run that is over took."""
    if not row.attempts or row.attempts[-1].finished_at is None:
        return None
    return row.attempts[-1].finished_at - row.attempts[-1].started_at


class Verdict(StrEnum):
    """What became of a fire, seen by one objective."""

    PENDING = "pending"
    MET = "met"
    BROKEN = "broken"
    EXCUSED = "excused"


@dataclass(frozen=True, slots=True)
class Expected:
    """One fire with what is known of it: its row (`None`: there is none yet) and the ping that answers it."""

    nominal_at: Instant
    due_at: Instant
    row: Run | None = None
    repeats: tuple[Run, ...] = ()
    """Runs that repeat it: re-runs whose ancestor it is."""
    pinged_at: Instant | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """One fire seen by one objective. `met_at` is when it was met, maybe after the `deadline_at`."""

    kind: IncidentKind
    nominal_at: Instant
    deadline_at: Instant
    verdict: Verdict
    met_at: Instant | None = None
    text: str = ""


def judge(
    objectives: Objectives, kind: IncidentKind, fire: Expected, *, now: Instant, timezone: str, history: Learned | None
) -> Judged:
    """What became of `fire`, seen by the objective of this kind."""
    deadline_at, limit = _deadline(objectives, kind, fire, timezone, history)
    if deadline_at is None:
        return Judged(kind, fire.nominal_at, fire.due_at, Verdict.EXCUSED)
    met_at = _met_at(kind, fire)
    verdict = _verdict(kind, fire, deadline_at, met_at, now)
    text = "" if verdict is not Verdict.BROKEN else _sentence(kind, fire, limit, deadline_at)
    return Judged(kind, fire.nominal_at, deadline_at, verdict, met_at, text)


def _deadline(
    objectives: Objectives, kind: IncidentKind, fire: Expected, timezone: str, history: Learned | None
) -> tuple[Instant | None, str]:
    """By when, and the limit in words; `None`: nothing can be asked of this fire (too little was learned)."""
    match kind:
        case IncidentKind.SUCCEEDS_BY:
            minutes = objectives.succeeds_by or 0
            return next_time_of_day(fire.due_at, minutes, timezone), f"by {time_of_day(minutes)} {timezone}"
        case IncidentKind.RUNS_TOO_LONG:
            seconds = _longest(objectives, history)
            began_at = _began_at(fire.row)
            start = fire.due_at if began_at is None else began_at
            return (None, "") if seconds is None else (start + seconds * SECOND, interval_text(seconds))
        case IncidentKind.STARTS_WITHIN:
            return _within(fire, objectives.starts_within_seconds)
        case IncidentKind.PING_WITHIN:
            return _within(fire, objectives.ping_within_seconds)
    return _within(fire, objectives.succeeds_within_seconds)


def _within(fire: Expected, seconds: int | None) -> tuple[Instant, str]:
    return fire.due_at + (seconds or 0) * SECOND, interval_text(seconds or 0)


def _longest(objectives: Objectives, history: Learned | None) -> int | None:
    if objectives.longest_seconds is not None:
        return objectives.longest_seconds
    return None if history is None else history.limit_seconds


def _began_at(row: Run | None) -> Instant | None:
    return row.attempts[-1].started_at if row is not None and row.attempts else None


def _met_at(kind: IncidentKind, fire: Expected) -> Instant | None:
    row = fire.row
    match kind:
        case IncidentKind.PING_WITHIN:
            return fire.pinged_at
        case IncidentKind.STARTS_WITHIN:
            return None if row is None or not row.attempts else row.attempts[0].started_at
        case IncidentKind.RUNS_TOO_LONG:
            return None if row is None or not row.is_terminal else row.finished_at
    done = [one.finished_at for one in (row, *fire.repeats) if one is not None and one.status is RunStatus.SUCCEEDED]
    return min((at for at in done if at is not None), default=None)


def _verdict(kind: IncidentKind, fire: Expected, deadline_at: Instant, met_at: Instant | None, now: Instant) -> Verdict:
    row = fire.row
    if kind is IncidentKind.RUNS_TOO_LONG:
        if row is not None and row.is_terminal and not row.attempts:
            return Verdict.EXCUSED
        if row is None or not row.attempts or row.status in (RunStatus.QUEUED, RunStatus.WAITING):
            return Verdict.PENDING
    elif kind is not IncidentKind.PING_WITHIN and met_at is None and row is not None and is_excused(row):
        return Verdict.EXCUSED
    if met_at is not None and met_at <= deadline_at:
        return Verdict.MET
    return Verdict.BROKEN if deadline_at <= now else Verdict.PENDING


def is_excused(row: Run) -> bool:
    """Whether the row's fire was kept from running by what somebody wanted."""
    return row.status in _EXCUSED and not (row.reason is not None and row.reason.code is Code.QUOTA)


_FAULTS: Final[Mapping[RunStatus, str]] = {
    RunStatus.DEAD: "its run died",
    RunStatus.MISSED: "nobody dispatched it in time",
    RunStatus.REFUSED: "the scheduler refused it",
    RunStatus.SKIPPED: "too many fires of the schedule waited",
    RunStatus.RUNNING: "its run is still going on",
    RunStatus.WAITING: "its run waits for another attempt",
    RunStatus.QUEUED: "its run waits to be started",
}


def _sentence(kind: IncidentKind, fire: Expected, limit: str, deadline_at: Instant) -> str:
    named = f"the fire of {to_text(fire.nominal_at)}"
    match kind:
        case IncidentKind.STARTS_WITHIN:
            said = f"{named} did not start within {limit}"
        case IncidentKind.SUCCEEDS_WITHIN:
            said = f"{named} did not succeed within {limit}"
        case IncidentKind.SUCCEEDS_BY:
            said = f"{named} did not succeed {limit}"
        case IncidentKind.PING_WITHIN:
            return f"no ping of success answered {named} within {limit}, that is by {to_text(deadline_at)}"
        case _:
            return f"the run of {named.removeprefix('the fire of ')} takes longer than {limit}"
    fault = "it was not started" if fire.row is None else _FAULTS.get(fire.row.status, "it was late")
    return f"{said}: {fault}"


# --- what the verdicts of many fires say -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Finding:
    """What one objective says now: the fire that `broke` it since it was last judged, and whether it `is_whole`."""

    kind: IncidentKind
    broke: Judged | None
    is_whole: bool
    whole_text: str = ""


def finding(kind: IncidentKind, judged: Sequence[Judged], *, judged_until: Instant, now: Instant) -> Finding:
    """What the verdicts of one objective, oldest fire first, say together.

    The newest fire of which anything is known decides whether it is whole; one that was met late makes it whole too.
    """
    fresh = [one for one in judged if one.verdict is Verdict.BROKEN and judged_until < one.deadline_at <= now]
    known = [one for one in judged if one.verdict is Verdict.MET or one.verdict is Verdict.BROKEN]
    newest = known[-1] if known else None
    is_whole = newest is not None and newest.met_at is not None
    return Finding(kind, fresh[0] if fresh else None, is_whole, _whole_text(newest) if newest and is_whole else "")


def _whole_text(judged: Judged) -> str:
    at = "" if judged.met_at is None else f" at {to_text(judged.met_at)}"
    when = f"the fire of {to_text(judged.nominal_at)}"
    late = judged.verdict is Verdict.BROKEN
    match judged.kind:
        case IncidentKind.STARTS_WITHIN:
            return f"{when} started{' late,' if late else ''}{at}"
        case IncidentKind.PING_WITHIN:
            return f"{when} was answered by a ping{' late,' if late else ''}{at}"
        case IncidentKind.RUNS_TOO_LONG:
            return f"the run of {to_text(judged.nominal_at)} ended{at}" if late else f"{when} took as long as expected"
    return f"{when} succeeded{' late,' if late else ''}{at}"
