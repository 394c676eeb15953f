"""A look at a schedule: which of its fires are to be judged now, and when something could be broken next. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from cronfleet.domain import jitter
from cronfleet.domain.freeze import Freeze
from cronfleet.domain.incident import IncidentKind
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND, Instant, ceil_second
from cronfleet.domain.objective import (
    Expected,
    Finding,
    Judged,
    Learned,
    Objectives,
    Verdict,
    finding,
    judge,
)
from cronfleet.domain.run import Run
from cronfleet.domain.schedule import Status, Timer
from cronfleet.domain.trigger import CronTrigger, latest_fires

MAX_FIRES: Final = 200
"""Fires that one look judges, the newest; more than that between two looks are judged by these."""

MAX_PINGED: Final = 20
"""Fires of those whose pings are looked for, the newest."""

GRACE: Final = 2 * SECOND
"""How long after a deadline is looked: what was written just in time can be read by then."""

LEAST_SLEEP: Final = MINUTE
"""Between two looks; a schedule that fires more often is judged several fires at a time."""

LONGEST_SLEEP: Final = 6 * HOUR
"""A change of zone data or of a calendar moves fires without waking the watch: it finds out by then."""

LOOK_AGAIN: Final = 5 * MINUTE
"""While a run that should end has not, or has not begun, and a freeze holds the schedule."""

MAX_AGE: Final = 30 * DAY
"""Fires older than this are judged no more: rows may be gone."""


def watched_kinds(objectives: Objectives, timer: Timer) -> tuple[IncidentKind, ...]:
    """The kinds that are judged as the schedule stands: a held one fires nothing, but a job elsewhere may ping."""
    if timer.status is Status.HELD:
        return tuple(kind for kind in objectives.kinds if kind is IncidentKind.PING_WITHIN)
    return () if timer.status in (Status.PAUSED, Status.CANCELLED) else objectives.kinds


def zone_of(timer: Timer) -> str:
    """On whose clock a time of day is meant."""
    return timer.trigger.timezone if isinstance(timer.trigger, CronTrigger) else "UTC"


def longest_wait(objectives: Objectives, timer: Timer, history: Learned | None) -> int:
    """How long after its nominal time the latest deadline of a fire may lie, in milliseconds."""
    learned = history.limit_seconds if history is not None and objectives.learns_longest else 0
    seconds = max(
        objectives.starts_within_seconds or 0,
        objectives.succeeds_within_seconds or 0,
        objectives.longest_seconds or 0,
        objectives.ping_within_seconds or 0,
        learned,
    )
    by_day = 26 * HOUR if objectives.succeeds_by is not None else 0
    return max(seconds * SECOND, by_day) + timer.jitter_seconds * SECOND


def fires_to_judge(timer: Timer, since: Instant, until: Instant) -> list[tuple[Instant, Instant]]:
    """The nominal and due times of the newest fires of this epoch in (`since`, `until`], oldest first."""
    since = max(since, timer.epoch_since, (timer.start_at or 0) - 1)
    nominals = latest_fires(timer.trigger, since, timer.capped(until), MAX_FIRES)
    following = timer.trigger.next_after(nominals[-1]) if nominals else None
    pairs = [*pairwise(nominals), *([(nominals[-1], following)] if nominals else [])]
    return [(nominal_at, _due_at(timer, nominal_at, after)) for nominal_at, after in pairs]


def next_fire(timer: Timer, after: Instant) -> tuple[Instant, Instant] | None:
    """The nominal and due time of the first fire later than `after`."""
    nominal_at = timer.trigger.next_after(max(after, (timer.start_at or 0) - 1))
    if nominal_at is None or (timer.end_at is not None and nominal_at > timer.end_at):
        return None
    return nominal_at, _due_at(timer, nominal_at, timer.trigger.next_after(nominal_at))


def _due_at(timer: Timer, nominal_at: Instant, following: Instant | None) -> Instant:
    return jitter.due_at(
        timer.key, nominal_at, following, timer.jitter_seconds, timer.end_at, is_spread=timer.is_spread
    )


def with_rows(fires: Sequence[tuple[Instant, Instant]], rows: Sequence[Run], epoch: int) -> list[Expected]:
    """Fires with the ledger's word on each: its own row, or the range around it, and the runs that repeat it."""
    own = {row.key.nominal_at: row for row in rows if row.key.is_scheduled and row.key.epoch == epoch}
    ranges = [row for row in own.values() if row.until_nominal_at is not None]
    asked = [row for row in rows if not row.key.is_scheduled]
    found = []
    for nominal_at, due_at in fires:
        row = own.get(nominal_at) or next((one for one in ranges if one.stands_for(nominal_at)), None)
        repeats = tuple(one for one in asked if _repeats(one, row, nominal_at))
        found.append(Expected(nominal_at, due_at, row, repeats))
    return found


def _repeats(run: Run, row: Run | None, nominal_at: Instant) -> bool:
    """Whether `run` was asked for in place of the fire of `nominal_at`."""
    if row is not None and run.ancestor == row.key.run_id:
        return True
    return run.key.nominal_at == nominal_at


@dataclass(frozen=True, slots=True)
class Look:
    """What one look at a schedule says: a finding for each kind that is watched, and when to look next.

    `next_at` is `None` when nothing can be broken any more.
    """

    findings: tuple[Finding, ...]
    next_at: Instant | None


@dataclass(frozen=True, slots=True)
class Question:
    """What a look judges by. `broken` has the nominal time of the fire that broke each kind with an open incident;
    `judged_until` is where the last look ended.
    """

    timer: Timer
    objectives: Objectives
    fires: Sequence[Expected]
    history: Learned | None
    freezes: Sequence[Freeze]
    broken: Mapping[IncidentKind, Instant]
    judged_until: Instant
    now: Instant


def look(question: Question, pinged: Callable[[Expected, Instant], Expected]) -> Look:
    """Judge every fire by every objective. `pinged` adds the ping that answers a fire, given its deadline."""
    kinds = watched_kinds(question.objectives, question.timer)
    judged = {kind: _judged(question, kind, pinged) for kind in kinds}
    findings = [
        finding(kind, verdicts, judged_until=question.judged_until, now=question.now)
        for kind, verdicts in judged.items()
    ]
    broken = [*question.broken.values(), *(one.broke.nominal_at for one in findings if one.broke is not None)]
    return Look(tuple(findings), _next_at(question, judged, broken))


def _judged(question: Question, kind: IncidentKind, pinged: Callable[[Expected, Instant], Expected]) -> list[Judged]:
    fires = question.fires
    if kind is IncidentKind.PING_WITHIN:
        fires = fires[-MAX_PINGED:]
    found = []
    for fire in fires:
        one = _verdict(question, kind, fire)
        if kind is IncidentKind.PING_WITHIN:
            one = _verdict(question, kind, pinged(fire, one.deadline_at))
        found.append(one)
    return found


def _verdict(question: Question, kind: IncidentKind, fire: Expected) -> Judged:
    zone = zone_of(question.timer)
    one = judge(question.objectives, kind, fire, now=question.now, timezone=zone, history=question.history)
    was_frozen = any(_touches(freeze, fire.nominal_at, one.deadline_at) for freeze in question.freezes)
    excused = one.verdict is Verdict.BROKEN and was_frozen
    return replace(one, verdict=Verdict.EXCUSED) if excused else one


def _touches(freeze: Freeze, start: Instant, end: Instant) -> bool:
    return freeze.at <= end and (freeze.until is None or start < freeze.until)


def _next_at(
    question: Question, judged: Mapping[IncidentKind, Sequence[Judged]], broken: Sequence[Instant]
) -> Instant | None:
    """The next moment at which something could be broken, or be whole again."""
    now = question.now
    waits = [one.deadline_at for some in judged.values() for one in some if one.verdict is Verdict.PENDING]
    ahead = next_fire(question.timer, now) if question.timer.status is not Status.COMPLETED else None
    if ahead is not None:
        fire = Expected(*ahead)
        waits += [_verdict(question, kind, fire).deadline_at for kind in judged]
    times = [at + GRACE if at + GRACE > now else now + LOOK_AGAIN for at in waits]
    times += [now + _patience(now - max(broken))] if broken else []
    if not times:
        return None
    return ceil_second(min(max(min(times), now + LEAST_SLEEP), now + LONGEST_SLEEP))


def _patience(broken_for: int) -> int:
    """How long the next look waits while something is broken: a minute at first, the longer it lasts the longer."""
    return min(max(LEAST_SLEEP, broken_for // 12), HOUR)
