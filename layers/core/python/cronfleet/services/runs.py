"""Runs: what callers see of them, run now, and cancellation."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from cronfleet.domain.audit import schedule_subject
from cronfleet.domain.cancel_request import CancelRequest
from cronfleet.domain.claim import first_attempt
from cronfleet.domain.dispatch_plan import first_fire
from cronfleet.domain.errors import Conflict, Invalid, NotFound
from cronfleet.domain.form import Form, run_form
from cronfleet.domain.frozen import frozen_reason, in_force
from cronfleet.domain.instant import Instant, floor_second
from cronfleet.domain.lane_wait import is_left, why_left
from cronfleet.domain.log_form import log_form
from cronfleet.domain.quota import quotas_of, retention_of
from cronfleet.domain.reason import Reason
from cronfleet.domain.run import MANUAL_CAUSE, MESSAGE_MAX_AGE, Run, RunKey, RunStatus
from cronfleet.domain.schedule import Change, Status, Timer, moved
from cronfleet.ports.clock import Clock, Ids
from cronfleet.ports.job_store import InsertRun, InsertRunTimer, JobStore, NoAnswer, Page, ReplaceRun, Write
from cronfleet.services.access import Caller
from cronfleet.services.changing import (
    NO_CONDITIONS,
    Answer,
    Changing,
    Conditions,
    Draft,
    Once,
    answer_of,
    audit,
)
from cronfleet.services.endings import Endings
from cronfleet.services.execution_errands import woken
from cronfleet.services.freeze_watch import FreezeWatch
from cronfleet.services.quotas import TenantQuotas
from cronfleet.services.telling import Telling

CANCEL_RUN: Final = "cancel_run"
"""The audit log's word for the cancellation of one run."""

RANGE_PAGE: Final = 100
MAX_RANGE_PAGES: Final = 5
"""How far back the history is read to see whether a nominal without a row lies in a range."""


@dataclass(frozen=True, slots=True)
class Override:
    """The payload of one manual run, instead of its schedule's."""

    payload: Any


class Runs:
    """The service behind /v1/runs, and behind a schedule's /runs and /run."""

    def __init__(self, *, store: JobStore, clock: Clock, ids: Ids, telling: Telling | None = None) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        self._changing = Changing(store, clock, telling)
        self._freezes = FreezeWatch(store, clock, consistent=True)
        self._quotas = TenantQuotas(store)
        self._endings = Endings(store)

    def get(self, caller: Caller, run_id: str) -> Form:
        """The run; `queued` while it is claimed and no worker has written its row.

        One whose attempt has been deferred has the reason of that: its timer knows it, its row does not. One that
        yields to live traffic and is left waiting has what leaves it no place, which nothing has written down.
        `Invalid` when `run_id` is none, `NotFound` when there is no such run, or it is another tenant's.
        """
        run, is_stored = self._require(caller, run_id)
        deferred = self._deferred(caller, run) if is_stored else None
        return run_form(run if deferred is None else replace(run, reason=deferred))

    def log(self, caller: Caller, run_id: str, attempt: int | None = None) -> Form:
        """The end of what an attempt said, the latest one's if none is named; without lines where nothing is kept.

        `Invalid` for an attempt that the run has not had, and as `get`.
        """
        run, _ = self._require(caller, run_id)
        number = run.attempt if attempt is None else attempt
        if attempt is not None and attempt not in {one.number for one in run.attempts}:
            raise Invalid("attempt", f"the run has had {run.attempt} attempts; name one of them")
        kept = answer_of(lambda: self._store.get_log(run.key, number))
        return log_form(run.key, number, kept)

    def _deferred(self, caller: Caller, run: Run) -> Reason | None:
        """Why the attempt that `run` waits for comes later than it might: its tenant's rate, or no slot."""
        if run.status not in (RunStatus.QUEUED, RunStatus.WAITING):
            return None
        timer = answer_of(lambda: self._store.find_run_timer(run.key, run.attempt + 1))
        now = self._clock.now()
        if timer is None or not is_left(timer, now):
            return None if timer is None else timer.deferred
        quotas = quotas_of(self._quotas.tenant_of(caller))
        is_limited = quotas.concurrent_runs is not None
        slots = answer_of(lambda: self._store.get_slots(run.key.tenant)) if is_limited else ()
        return why_left(timer, quotas, slots, now)

    def history(self, caller: Caller, schedule_id: str, *, cursor: str | None, limit: int) -> Page[Form]:
        """A page of the schedule's ledger, newest first; a deleted schedule's too."""
        tenant = caller.tenant.tenant_id
        if answer_of(lambda: self._store.get_timer(tenant, schedule_id)) is None:
            raise NotFound("schedule", schedule_id)
        page = answer_of(lambda: self._store.list_runs(tenant, schedule_id, cursor=cursor, limit=limit))
        shown = [run for run in page.items if not self._is_past(caller, run)]
        # Newest first: where the page ends with what is past the retention, all that follows is.
        is_over = bool(page.items) and self._is_past(caller, page.items[-1])
        return Page([run_form(run) for run in shown], None if is_over else page.cursor)

    def _is_past(self, caller: Caller, run: Run) -> bool:
        """Whether the tenant's retention no longer reaches back to the run."""
        return run.is_over_since(self._clock.now() - retention_of(caller.tenant))

    def run_now(
        self,
        caller: Caller,
        schedule_id: str,
        *,
        override: Override | None = None,
        reason: str = "",
        conditions: Conditions = NO_CONDITIONS,
        once: Once | None = None,
    ) -> Answer:
        """A run with a cause of its own, due now; the dispatcher takes it from there. A pause does not stop it."""

        def decide(now: Instant) -> Draft:
            timer = answer_of(lambda: self._store.get_timer(caller.tenant.tenant_id, schedule_id))
            if timer is None or timer.status is Status.CANCELLED:
                raise NotFound("schedule", schedule_id)
            conditions.check(timer)
            moved(timer.status, Change.RUN)
            self._refuse_frozen(caller, timer, now)
            if override is not None:
                self._quotas.check_payload(self._quotas.tenant_of(caller), override.payload)
            return self._manual(caller, timer, override, reason, now)

        return self._changing.change(caller, once, decide)

    def _refuse_frozen(self, caller: Caller, timer: Timer, now: Instant) -> None:
        """Nothing passes a freeze; a run that was asked for before it came waits for the thaw."""
        freezes = answer_of(lambda: self._freezes.of(timer, caller.tenant.tier))
        freeze = in_force(freezes, now)
        if freeze is not None:
            raise Conflict(f"{frozen_reason(freeze).text} (freeze {freeze.freeze_id}); run it after the thaw")

    def _manual(self, caller: Caller, timer: Timer, override: Override | None, reason: str, now: Instant) -> Draft:
        change_id = self._ids.unique()
        due_at = floor_second(now)
        cause = f"{MANUAL_CAUSE}-{change_id}"
        run = Run(
            RunKey(timer.tenant, timer.schedule_id, timer.epoch, due_at, cause),
            RunStatus.QUEUED,
            due_at=due_at,
            tier=timer.tier,
            version=timer.version,
            payload=override.payload if override else None,
            has_payload=override is not None,
            origin=caller.trace,
        )
        form = run_form(run)
        seen = form | {"payload": override.payload} if override else form
        writes: list[Write] = [
            InsertRun(run),
            InsertRunTimer(first_attempt(run.key, timer, due_at, run.carried)),
            audit(caller, change_id, now, Change.RUN, schedule_subject(timer.schedule_id), after=seen, reason=reason),
        ]
        return Draft(writes, Answer(form, created=True))

    def cancel(self, caller: Caller, run_id: str, *, reason: str = "", once: Once | None = None) -> Answer:
        """Cancel a run: at once if it is queued, claimed or waiting for its next attempt.

        Of one that is running it is asked for (`status` stays `running`): its worker ends it, unless it succeeds first.
        Asking again changes nothing. `Conflict` for one that is over.
        """
        draft: Draft | None = None

        def decide(now: Instant) -> Draft:
            nonlocal draft
            draft = self._cancelled(caller, *self._require(caller, run_id), reason, now)
            return draft

        answer = self._changing.change(caller, once, decide)
        if draft is not None:
            self._let_gate_go(draft.writes)
        return answer

    def _cancelled(self, caller: Caller, run: Run, is_stored: bool, reason: str, now: Instant) -> Draft:
        if run.is_terminal:
            raise Conflict(f"the run is over ({run.status}): there is nothing left to cancel")
        asked = run.asked_to_cancel(CancelRequest(now, caller.actor, reason))
        form = run_form(asked)
        if asked is run:
            return Draft([], Answer(form))
        change_id = self._ids.unique()
        writes: list[Write] = [
            ReplaceRun(asked) if is_stored else InsertRun(asked),
            audit(
                caller,
                change_id,
                now,
                CANCEL_RUN,
                schedule_subject(run.key.schedule_id),
                before=run_form(run),
                after=form,
                reason=reason,
            ),
        ]
        if asked.is_terminal:
            writes += answer_of(lambda: self._follows(run if is_stored else None, asked))
        else:
            writes += answer_of(lambda: woken(self._store, asked, now))
        return Draft(writes, Answer(form))

    def _follows(self, before: Run | None, ended: Run) -> Sequence[Write]:
        """What follows from the end of a run, in the transaction that ends it."""
        timer = self._store.get_timer(ended.key.tenant, ended.key.schedule_id)
        return self._endings.writes_for(before, ended, timer)

    def _let_gate_go(self, writes: Sequence[Write]) -> None:
        for write in writes:
            if isinstance(write, ReplaceRun) and write.run.finished_at is not None:
                key = write.run.key
                try:
                    self._store.release_gate(key.tenant, key.schedule_id, key.run_id, write.run.finished_at)
                except NoAnswer:
                    # The next run that wants the gate sees that its holder is terminal, and takes it.
                    return

    # --- runs without a row ------------------------------------------------------------------------------------

    def _require(self, caller: Caller, run_id: str) -> tuple[Run, bool]:
        """The run, and whether it has a row."""
        key = RunKey.parse(run_id)
        if key.tenant != caller.tenant.tenant_id:
            raise NotFound("run", run_id)
        row = answer_of(lambda: self._store.get_run(key))
        if row is not None and self._is_past(caller, row):
            raise NotFound("run", run_id)
        if row is not None:
            return row, True
        claimed = self._claimed(key)
        if claimed is None:
            raise NotFound("run", run_id)
        return claimed, False

    def _claimed(self, key: RunKey) -> Run | None:
        """The run of a fire that was claimed and has no row yet."""
        timer = answer_of(lambda: self._store.get_timer(key.tenant, key.schedule_id))
        if timer is None or not _may_be_claimed(timer, key, self._clock.now()):
            return None
        fire = first_fire(timer, key.nominal_at - 1)
        if fire is None or fire.nominal_at != key.nominal_at or self._lies_in_range(timer, key):
            return None
        return Run(key, RunStatus.QUEUED, due_at=fire.due_at, tier=timer.tier, rev=0, version=timer.version)

    def _lies_in_range(self, timer: Timer, key: RunKey) -> bool:
        """Whether a range of the history accounts for the nominal of `key`."""
        cursor: str | None = None
        for _ in range(MAX_RANGE_PAGES):
            page = answer_of(
                partial(self._store.list_runs, key.tenant, key.schedule_id, cursor=cursor, limit=RANGE_PAGE)
            )
            for row in page.items:
                if row.until_nominal_at is not None and row.stands_for(key.nominal_at):
                    return True
                if _is_past(row, timer, key):
                    return False
            cursor = page.cursor
            if cursor is None:
                return False
        return False


def _may_be_claimed(timer: Timer, key: RunKey, now: Instant) -> bool:
    """Whether `timer` has moved past the nominal of `key`, lately enough for its message to be under way."""
    if not key.is_scheduled or key.epoch != timer.epoch or now - key.nominal_at > MESSAGE_MAX_AGE:
        return False
    if timer.backlog is not None and timer.backlog.stretch_of(key.nominal_at) is not None:
        return False
    if timer.nominal_at is None and timer.backlog is None and timer.status is not Status.COMPLETED:
        return False
    if timer.nominal_at is not None and key.nominal_at >= timer.nominal_at:
        return False
    caught_up = timer.caught_up_from is not None and key.nominal_at >= timer.caught_up_from
    return caught_up or key.nominal_at > _began_at(timer)


def _began_at(timer: Timer) -> Instant:
    """Since when the epoch's fires count, but for those that a resume asked for."""
    return max(timer.epoch_since, timer.created_at)


def _is_past(row: Run, timer: Timer, key: RunKey) -> bool:
    """Whether no older row can account for the nominal of `key`."""
    if key.nominal_at > _began_at(timer):
        return (row.key.epoch, row.key.nominal_at) < (key.epoch, key.nominal_at)
    return row.key.epoch < key.epoch - 1
