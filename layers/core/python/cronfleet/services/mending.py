"""Mending: after a fail-over, what the copy of the tables lacks is made up for, schedule by schedule.

Copies are made item by item, in no order, and what was written in the last moments before the cut never arrives: a
timer may have passed a fire whose batch and row are nowhere, a row wait for an attempt whose timer is not there. Nobody
would ever look at them again. Each fire that the timer has passed and nothing accounts for is queued, as if somebody
had asked for it; each run that is not over gets a timer. Whether it had run in the other region nobody here can know:
then it runs twice, under the same run id.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from cronfleet.domain.audit import SCHEDULER_ACTOR
from cronfleet.domain.change import written
from cronfleet.domain.claim import BatchId, RunTimer, ScheduleClaim, TimerKind, first_attempt
from cronfleet.domain.dependency import AfterTrigger
from cronfleet.domain.explanation import Explanation
from cronfleet.domain.form import schedule_form
from cronfleet.domain.holding import skipped_row
from cronfleet.domain.instant import LATEST, SECOND, Instant, ceil_second
from cronfleet.domain.late import Cause, Late
from cronfleet.domain.lifeline import Span
from cronfleet.domain.naming import nominals
from cronfleet.domain.reason import Code
from cronfleet.domain.retiming import Retiming
from cronfleet.domain.run import Run, RunKey, RunStatus
from cronfleet.domain.schedule import Definition, Timer
from cronfleet.domain.trigger import UNCOMPUTABLE, latest_fires
from cronfleet.ports.clock import Clock
from cronfleet.ports.gates import MoveRunTimer
from cronfleet.ports.job_store import InsertDefinition, InsertRun, InsertRunTimer, JobStore, Refused, Write
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.asking import ask
from cronfleet.services.dossier import Dossier
from cronfleet.services.execution_errands import made_up_for
from cronfleet.services.retimed import Retimed

MAX_STRETCHES: Final = 20
NOMINALS: Final = 500
"""Of one stretch, that is one epoch of a schedule, as many are looked at."""

MAX_VERSIONS: Final = 20
"""So many are looked for that may stand in for one that is lost."""

ROWS_PAGE: Final = 100
MAX_ROW_PAGES: Final = 10

UNACCOUNTED: Final = frozenset({Code.QUEUED, Code.RESENT})
"""What is said of a fire that the timer has passed, and that has no row."""


class MendStep:
    """The step of a job after a fail-over. It changes a schedule only where what that says has not come."""

    def __init__(self, store: JobStore, clock: Clock, telemetry: Telemetry) -> None:
        self._store = store
        self._clock = clock
        self._telemetry = telemetry

    def concerns(self, job: Retiming, timer: Timer) -> bool:
        """Whether it came due or was changed since the copy may lack something; of a dependant its runs alone tell."""
        if timer.updated_at >= _since(job):
            return True
        try:
            return isinstance(timer.trigger, AfterTrigger) or bool(
                latest_fires(timer.trigger, _since(job) - 1, job.started_at, 1)
            )
        except UNCOMPUTABLE:
            return False

    def decide(self, job: Retiming, timer: Timer, now: Instant) -> Retimed | None:
        """Writes what is missing. Done again, it finds nothing to do."""
        self._note_skips(timer)
        for run in self._going_on(job, timer):
            self._mend_run(job, run, timer, now)
        for key in self._unaccounted(job, timer):
            self._mend_fire(key, timer, now)
        return self._stand_in(job, timer, now)

    # --- what the schedule says ----------------------------------------------------------------------------------

    def _stand_in(self, job: Retiming, timer: Timer, now: Instant) -> Retimed | None:
        """A new version that says what the last one says that is there, where the timer's own has not come.

        None of its runs could begin without. What it fires, and when, stands in the timer, and stays.
        """
        if self._definition(timer, timer.version) is not None:
            return None
        earlier = range(timer.version - 1, max(0, timer.version - 1 - MAX_VERSIONS), -1)
        found = next((one for number in earlier if (one := self._definition(timer, number)) is not None), None)
        if found is None:
            about = {"tenant": timer.tenant, "schedule_id": timer.schedule_id}
            self._telemetry.alarm("definition_lost", **about, version=timer.version)
            return None
        reason = f"version {timer.version} was lost with the other region; version {found.version} stands in for it"
        after = written(replace(timer, version=timer.version + 1), job.job_id, now)
        spec = replace(found.spec, trigger=timer.trigger)
        definition = replace(
            found, version=after.version, spec=spec, author=SCHEDULER_ACTOR, created_at=now, reason=reason
        )
        self._told("definitions_mended", RunKey(timer.tenant, timer.schedule_id, timer.epoch, now))
        before_form, after_form = schedule_form(timer, found), schedule_form(after, definition)
        return Retimed(after, before_form, after_form, reason, [InsertDefinition(definition)])

    def _definition(self, timer: Timer, version: int) -> Definition | None:
        return ask(partial(self._store.get_definition, timer.tenant, timer.schedule_id, version))

    # --- fires that nothing accounts for -------------------------------------------------------------------------

    def _note_skips(self, timer: Timer) -> None:
        """The rows of what its last claim skipped: the claim has arrived, and its rows may not have."""
        if timer.claim_batch is None:
            return
        batch = ask(partial(self._store.get_batch, BatchId.parse(timer.claim_batch)))
        if batch is None:
            return
        own = (timer.tenant, timer.schedule_id)
        claims = (claim for claim in batch.claims if isinstance(claim, ScheduleClaim))
        for claim in (claim for claim in claims if (claim.tenant, claim.schedule_id) == own):
            for skipped in claim.skipped:
                ask(partial(self._store.insert_run, skipped_row(claim, skipped, batch.claimed_at)))

    def _unaccounted(self, job: Retiming, timer: Timer) -> Iterator[RunKey]:
        """The fires up to the release that the timer has passed, and of which neither a row nor the log knows."""
        dossier = Dossier(self._store, timer, self._clock.now(), LATEST)
        at = _since(job)
        for _ in range(MAX_STRETCHES):
            if at > job.started_at:
                return
            span = dossier.span_at(at)
            if span is None:
                at = dossier.remembered_since + 1
                continue
            last_at = job.started_at if span.until is None else min(job.started_at, span.until)
            named_by = dossier.named_by(span)
            named = [] if named_by is None else nominals(named_by, at, last_at, NOMINALS)
            for nominal_at in self._without_row(dossier, span, named, last_at):
                if _is_lost(dossier.explain(nominal_at, ())):
                    yield RunKey(timer.tenant, timer.schedule_id, span.epoch, nominal_at)
            at = (named[-1] if len(named) == NOMINALS else last_at) + 1

    def _without_row(self, dossier: Dossier, span: Span, named: Sequence[Instant], last_at: Instant) -> list[Instant]:
        rows = dossier.rows(span, named, named[0], last_at) if named else []
        return [nominal_at for nominal_at in named if not any(row.stands_for(nominal_at) for row in rows)]

    def _mend_fire(self, key: RunKey, timer: Timer, now: Instant) -> None:
        """A row and a timer for a fire that may, or may not, have run in the other region."""
        late = Late(Cause.HOLD, key.nominal_at, key.nominal_at, now)
        row = Run(
            key, RunStatus.QUEUED, due_at=key.nominal_at, tier=timer.tier, rev=1, version=timer.version, late=late
        )
        waits = replace(first_attempt(key, timer, ceil_second(now)), version=timer.version)
        if self._wrote([InsertRun(row), InsertRunTimer(waits)]):
            self._told("fires_mended", key)

    # --- runs that are not over --------------------------------------------------------------------------------

    def _going_on(self, job: Retiming, timer: Timer) -> Iterator[Run]:
        cursor: str | None = None
        for _ in range(MAX_ROW_PAGES):
            read = partial(self._store.list_runs, timer.tenant, timer.schedule_id, cursor=cursor, limit=ROWS_PAGE)
            page = ask(read)
            yield from (row for row in page.items if not row.is_terminal)
            cursor = page.cursor
            if cursor is None or page.items[-1].key.nominal_at < _since(job):
                return

    def _mend_run(self, job: Retiming, run: Run, timer: Timer, now: Instant) -> None:
        """The timer of its next attempt, or the errand of what goes on elsewhere, where there is none to wake it."""
        if run.execution is not None:
            errand = ask(partial(made_up_for, self._store, run.key, timer.shard, now))
            if errand is not None and self._wrote([errand]):
                self._told("runs_mended", run.key)
            return
        due_at = ceil_second(max(now, run.retry_at or 0, 0 if run.lease_until is None else run.lease_until + SECOND))
        kind = TimerKind.RETRY if run.attempt else TimerKind.QUEUED
        waits = replace(
            first_attempt(run.key, timer, due_at),
            kind=kind,
            attempt=run.attempt + 1,
            version=run.version or timer.version,
        )
        try:
            ask(lambda: self._store.commit([InsertRunTimer(waits)]))
        except Refused as refused:
            stored = refused.stored
            if not isinstance(stored, RunTimer) or not self._is_lost(stored, job):
                return
            if not self._wrote([MoveRunTimer(replace(stored, claim_batch=None, due_at=due_at), stored)]):
                return
        self._told("runs_mended", run.key)

    def _is_lost(self, stored: RunTimer, job: Retiming) -> bool:
        """Whether a timer was claimed before the fail-over: what was sent went to a queue of the other region."""
        if stored.claim_batch is None:
            return False
        batch = ask(partial(self._store.get_batch, BatchId.parse(stored.claim_batch)))
        return batch is None or batch.claimed_at < job.started_at

    def _wrote(self, writes: Sequence[Write]) -> bool:
        try:
            ask(lambda: self._store.commit(writes))
        except Refused:
            return False  # It is there already, or somebody has come to it.
        return True

    def _told(self, what: str, key: RunKey) -> None:
        self._telemetry.count(what)
        self._telemetry.event(what, run_id=key.run_id)


def _since(job: Retiming) -> Instant:
    return job.version * SECOND


def _is_lost(explanation: Explanation) -> bool:
    return explanation.code in UNACCOUNTED and explanation.run is None
