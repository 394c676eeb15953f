"""The ledger, as callers ask it: why a schedule ran at one time or did not, and every fire of a stretch of time.

Only reads, and only when asked: nothing of this is on the way of an ordinary fire.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from cronfleet.domain import naming
from cronfleet.domain.errors import Invalid, NotFound
from cronfleet.domain.explanation import Explanation
from cronfleet.domain.form import Form, explanation_form
from cronfleet.domain.instant import EARLIEST, SECOND, Instant, ceil_second, from_compact, to_compact
from cronfleet.domain.left_behind import CLAIMED_AHEAD
from cronfleet.domain.lifeline import Span
from cronfleet.domain.quota import retention_of
from cronfleet.domain.reason import FREEZING, Code
from cronfleet.domain.run import Run
from cronfleet.domain.schedule import Timer
from cronfleet.domain.trigger import UNCOMPUTABLE
from cronfleet.ports import cursors
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import JobStore, Page
from cronfleet.services.access import Caller
from cronfleet.services.changing import answer_of
from cronfleet.services.dossier import Dossier
from cronfleet.services.freeze_watch import FreezeWatch
from cronfleet.services.true_clock import refuse_wrong_clock

MAX_STRETCHES: Final = 20
"""Stretches of the ledger read for one page; then it is handed out, maybe short, with a cursor."""

LASTING: Final = frozenset({Code.PAUSED, Code.NOT_ON, Code.SHADOW, Code.CATCHING_UP, *FREEZING})
"""What holds for every later fire too while it lasts: one entry stands for all of them."""

ALIKE: Final = frozenset({Code.FORGOTTEN})
"""What is said once for a row of fires that follow one another."""


class Ledger:
    """The service behind a schedule's /explain and /ledger."""

    def __init__(self, *, store: JobStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._freezes = FreezeWatch(store, clock, consistent=True)

    def explain(self, caller: Caller, schedule_id: str, at: Instant) -> Form:
        """Why the schedule ran at `at`, or did not, or will. `NotFound` when there never was such a schedule."""
        dossier = self._dossier(caller, schedule_id)
        span = dossier.span_at(at)
        named_by = None if span is None else dossier.named_by(span)
        rows = (
            [] if at % SECOND else _of(at, named_by, dossier.rows(span, [at] if _names(named_by, at) else [], at, at))
        )
        explanation = dossier.explain(at, rows)
        last_at = explanation.until_nominal_at
        if last_at is not None and explanation.run is not None:
            first_at = explanation.run.key.nominal_at
            explanation = replace(explanation, count=None if named_by is None else _count(named_by, first_at, last_at))
        return {"schedule_id": schedule_id, **explanation_form(explanation)}

    def entries(
        self, caller: Caller, schedule_id: str, *, from_at: Instant, to_at: Instant, cursor: str | None, limit: int
    ) -> Page[Form]:
        """A page of what became of every fire from `from_at` to `to_at`, both included, oldest first.

        Each fire is in exactly one entry: one of its own, or one that stands for a stretch.
        """
        dossier = self._dossier(caller, schedule_id)
        start = max(from_at, EARLIEST) if cursor is None else _decoded(schedule_id, cursor, from_at, to_at)
        reading = _Reading(dossier, to_at, limit, ceil_second(start))
        for _ in range(MAX_STRETCHES):
            if reading.is_done:
                break
            reading.go_on()
        following = _encoded(schedule_id, reading.at) if reading.at <= to_at else None
        return Page([explanation_form(entry) for entry in reading.entries], following)

    def _dossier(self, caller: Caller, schedule_id: str) -> Dossier:
        timer = answer_of(lambda: self._store.get_timer(caller.tenant.tenant_id, schedule_id))
        if timer is None:
            raise NotFound("schedule", schedule_id)
        # Read before the clock: what is not claimed by then may have its row when the rows are read, never less.
        now = self._clock.now()
        # A clock an hour ahead would call every fire of that hour lost.
        refuse_wrong_clock(self._store)
        freezes = answer_of(lambda: self._freezes.of(timer, caller.tenant.tier))
        hold = answer_of(self._freezes.board.hold)
        return Dossier(self._store, timer, now, retention_of(caller.tenant), freezes, hold)


@dataclass
class _Reading:
    """A page in the making: goes on from `at`, stretch by stretch, until `limit` entries or `to_at`."""

    dossier: Dossier
    to_at: Instant
    limit: int
    at: Instant

    def __post_init__(self) -> None:
        self.entries: list[Explanation] = []

    @property
    def is_done(self) -> bool:
        return self.at > self.to_at or len(self.entries) >= self.limit

    def go_on(self) -> None:
        """Read one stretch: inside one epoch, and of no more fires than the page still holds."""
        span = self.dossier.span_at(self.at)
        if span is None:
            end = min(self.to_at, self.dossier.remembered_since)
            entry = self.dossier.explain(self.at, ())
            self.entries.append(replace(entry, until_nominal_at=end, count=None))
            self._pass(end)
            return
        end = self.to_at if span.until is None else min(self.to_at, span.until)
        named_by = self.dossier.named_by(span)
        left = self.limit - len(self.entries)
        nominals = [] if named_by is None else _nominals(named_by, self.at, end, left)
        if len(nominals) == left:
            end = nominals[-1]
        self._stretch(span, named_by, nominals, end)

    def _stretch(self, span: Span, named_by: Timer | None, nominals: Sequence[Instant], end: Instant) -> None:
        start = self.at
        rows = self.dossier.rows(span, nominals, start, end)
        seen = {max(row.key.nominal_at, start) for row in rows}
        for nominal_at in sorted(seen.union(nominals)):
            if nominal_at < self.at:
                self._show_beside(rows, nominal_at)  # a range before it stands for it
                continue
            if len(self.entries) >= self.limit:
                return
            here = [row for row in rows if row.stands_for(nominal_at)]
            # Shortly after a change, rows that were claimed ahead of it may stand between what lasts.
            may_last = nominal_at > span.since + CLAIMED_AHEAD
            self._add(self.dossier.explain(nominal_at, here), named_by, may_last)
        self._pass(end)
        passed = self.at - 1
        if passed > end:
            # The page ends with a range that goes on: what it passes over is in no other page.
            for row in self.dossier.rows(span, (), end + 1, passed):
                self._show_beside((row,), row.key.nominal_at)

    def _show_beside(self, rows: Sequence[Run], nominal_at: Instant) -> None:
        """Show what an earlier epoch left in the middle of a range (a fire that a change overtook) with that range."""
        last = self.entries[-1]
        shown = {run.key for run in (last.run, *last.others) if run is not None}
        more = [row for row in rows if row.key.nominal_at == nominal_at and row.key not in shown]
        if more:
            self.entries[-1] = replace(last, others=(*last.others, *more))

    def _add(self, entry: Explanation, named_by: Timer | None, may_last: bool) -> None:
        last_at = entry.until_nominal_at
        if may_last and entry.run is None and entry.code in LASTING and named_by is not None:
            last_at = _last_nominal(named_by, entry.at, self._lasts_until(entry))
        if last_at is None:
            self._append(entry, named_by)
            self._pass(entry.at)
            return
        last_at = min(last_at, self.to_at)
        count = None if named_by is None else _count(named_by, entry.at, last_at)
        self.entries.append(replace(entry, until_nominal_at=last_at, count=count))
        self._pass(last_at)

    def _lasts_until(self, entry: Explanation) -> Instant:
        timer = self.dossier.timer
        stretch = None if timer.backlog is None else timer.backlog.stretch_of(entry.at)
        if stretch is not None:
            return min(self.to_at, stretch.last_at)
        if entry.code in FREEZING:
            return min(self.to_at, self._frozen_until(str(entry.detail["freeze_id"])))
        if entry.code is Code.PAUSED and timer.due_at is not None:
            return min(self.to_at, max(timer.due_at, self.dossier.now))
        return self.to_at

    def _frozen_until(self, freeze_id: str) -> Instant:
        """The last nominal time that a freeze holds for certain, whatever the jitter of its fire."""
        ends = (one.until for one in self.dossier.freezes if one.freeze_id == freeze_id and one.until is not None)
        return next(ends, self.to_at + 1) - 1 - self.dossier.timer.jitter_seconds * SECOND

    def _append(self, entry: Explanation, named_by: Timer | None) -> None:
        last = self.entries[-1] if self.entries else None
        if last is not None and last.code == entry.code and entry.code in ALIKE and last.is_named and named_by:
            count = _count(named_by, last.at, entry.at)
            self.entries[-1] = replace(last, until_nominal_at=entry.at, count=count)
        else:
            self.entries.append(entry)

    def _pass(self, instant: Instant) -> None:
        self.at = max(self.at, ceil_second(instant + 1))


def _of(at: Instant, named_by: Timer | None, rows: list[Run]) -> list[Run]:
    """Of `rows` those that say what became of `at`.

    Between its ends a range passes over times that nothing named: a day that the calendar took away has the
    calendar for its reason, whatever else happened that week.
    """
    return [row for row in rows if at in (row.key.nominal_at, row.last_nominal_at) or _may_name(named_by, at)]


def _may_name(timer: Timer | None, at: Instant) -> bool:
    try:
        return timer is None or naming.names(timer.trigger, at)
    except UNCOMPUTABLE:
        return True


def _names(timer: Timer | None, at: Instant) -> bool:
    return timer is not None and bool(_nominals(timer, at, at, 1))


def _nominals(timer: Timer, first_at: Instant, last_at: Instant, limit: int) -> list[Instant]:
    try:
        return naming.nominals(timer, first_at, last_at, limit)
    except UNCOMPUTABLE:
        # That is why schedules are parked: such a trigger names what its timer waits for.
        waits = timer.nominal_at
        return [] if waits is None or not first_at <= waits <= last_at else [waits]


def _last_nominal(timer: Timer, first_at: Instant, last_at: Instant) -> Instant | None:
    try:
        return naming.last_nominal(timer, first_at, last_at)
    except UNCOMPUTABLE:
        return None


def _count(timer: Timer, first_at: Instant, last_at: Instant) -> int | None:
    try:
        return naming.count(timer, first_at, last_at)
    except UNCOMPUTABLE:
        return None


# --- cursors: the time to go on from ---------------------------------------------------------------------------


def _encoded(schedule_id: str, at: Instant) -> str:
    return cursors.encode([to_compact(at), schedule_id])


def _decoded(schedule_id: str, cursor: str, from_at: Instant, to_at: Instant) -> Instant:
    moment, owner = cursors.decode(cursor, 2)
    try:
        at = from_compact(moment)
    except ValueError as error:
        raise cursors.foreign() from error
    if owner != schedule_id:
        raise cursors.foreign()
    if not from_at <= at <= to_at:
        raise Invalid("cursor", "belongs to another stretch; pass it with the from and to of the page before")
    return at
