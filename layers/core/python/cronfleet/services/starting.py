"""Starting: whether a message may start an attempt here and now, and the write that gives it its lease."""

from functools import partial
from typing import Final, cast

from cronfleet.domain.attempt import Drop, Refuse, Start, decide_start
from cronfleet.domain.errors import ClockSkewed, Contended
from cronfleet.domain.hold import Hold
from cronfleet.domain.instant import SECOND, Instant
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.run import Run, RunKey, RunMessage, RunStatus
from cronfleet.ports.clock import Clock, Ids
from cronfleet.ports.job_store import InsertRun, JobStore, Refused
from cronfleet.ports.own_writes import proves_commit
from cronfleet.ports.queues import DelayedMessage, RunQueue, delay_until
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.asking import ask
from cronfleet.services.attempt_report import AttemptReport
from cronfleet.services.endings import Endings
from cronfleet.services.slots import Slots, held_by
from cronfleet.services.true_clock import true_now

MAX_START_ROUNDS: Final = 5
"""How often a start is decided anew because the row changed between reading and writing it."""

OVER: Final = frozenset({Code.FINISHED, Code.OUT_OF_TURN})
"""Why messages are dropped whose attempt is over: a slot that was taken for it is let go of, if nobody has done so."""

PASS_ON_SECONDS: Final = 10
"""How long a message rests that came to a worker whose clock is wrong: it may be the only one."""


class NotSent(Exception):
    """The run queue did not take back a message that came before its time; its delivery must fail instead."""


class Starting:
    """From a message to an attempt under a lease of ours."""

    def __init__(
        self,
        *,
        store: JobStore,
        run_queue: RunQueue,
        endings: Endings,
        slots: Slots,
        clock: Clock,
        ids: Ids,
        telemetry: Telemetry,
        report: AttemptReport,
    ) -> None:
        self._store = store
        self._run_queue = run_queue
        self._slots = slots
        self._clock = clock
        self._ids = ids
        self._telemetry = telemetry
        self._report = report
        self._endings = endings

    def _now(self, key: RunKey) -> Instant:
        return true_now(self._store, self._clock, self._telemetry, lambda: self._store.get_run(key))

    # --- before anything is written ------------------------------------------------------------------------

    def start_if_due(self, message: RunMessage) -> Start | None:
        """The start that was written; `None` when nothing is to start now, or not here."""
        try:
            now = self._now(message.key)
            if now >= message.due_at:
                return self._start(message)
            self._send_back(message, now)
        except ClockSkewed:
            self._pass_on(message)
        return None

    def lay_aside(self, message: RunMessage, hold: Hold) -> None:
        """Queue a message again that came to a standby: nothing starts, nothing is written. Raises `NotSent`."""
        delay = hold.rest(self._clock.now()) // SECOND
        if self._run_queue.send([DelayedMessage(message, delay)]):
            raise NotSent(f"{message.key.run_id} came to a standby, and the run queue did not take it back")
        self._telemetry.count("messages_laid_aside", tier=message.tier)

    def _pass_on(self, message: RunMessage) -> None:
        """Leave a message to a worker whose clock is right.

        One that fails fast gets more than its share. What it did not delete would be hidden for as long as attempts
        may last, or be lost until the sweeper sends it again, a few a minute.
        """
        if self._run_queue.send([DelayedMessage(message, PASS_ON_SECONDS)]):
            raise NotSent(f"{message.key.run_id} came to a wrong clock, and the run queue did not take it back")
        self._telemetry.count("messages_passed_on", tier=message.tier)

    def _send_back(self, message: RunMessage, now: Instant) -> None:
        """Queue a message that came too early again, with the delay that is left."""
        delay = delay_until(message.due_at, now)
        if self._run_queue.send([DelayedMessage(message, delay)]):
            raise NotSent(f"{message.key.run_id} came {delay} s early, and the run queue did not take it back")
        self._report.dropped(message, Reason(Code.EARLY, f"sent again with a delay of {delay} s"))

    # --- start: the lease ----------------------------------------------------------------------------------

    def _start(self, message: RunMessage) -> Start | None:
        """The start, written: a new attempt under a lease of ours; `None` when this message has nothing to start."""
        owner = self._ids.unique()
        # An ordinary fire has no row yet, so its start is a blind insert: one write and no read.
        fresh = message.attempt == 1 and message.key.is_scheduled
        row = None if fresh else ask(lambda: self._store.get_run(message.key))
        for _ in range(MAX_START_ROUNDS):
            # A clock that was set meanwhile would take a live lease for an ended one.
            decision = decide_start(row, message, owner, self._now(message.key))
            if isinstance(decision, Drop):
                self._report.dropped(message, decision.reason)
                if decision.reason.code in OVER:
                    self._slots.release(message.key.tenant, held_by(message), self._clock.now())
                return None
            before, row = row, self._write(row, decision.run)
            if row is None or proves_commit(InsertRun(decision.run), row):
                return self._started(decision, message, before)
        raise Contended(f"{message.key.run_id} changed {MAX_START_ROUNDS} times while it was being started")

    def _write(self, before: Run | None, run: Run) -> Run | None:
        """Write what was decided on `before`: `None` when it is done, else the row that is there."""
        if run.is_terminal:
            timer = ask(lambda: self._store.get_timer(run.key.tenant, run.key.schedule_id))
            try:
                self._endings.write(before, run, timer)
            except Refused as refused:
                return cast("Run", refused.stored)
            return None
        return ask(partial(self._store.insert_run if before is None else self._store.replace_run, run))

    def _started(self, decision: Start | Refuse, message: RunMessage, before: Run | None) -> Start | None:
        if isinstance(decision, Refuse):
            self._report.ended(decision.run)
            self._slots.release(message.key.tenant, held_by(message), self._clock.now())
            return None
        has_waited = before is not None and before.status is RunStatus.WAITING
        self._report.started(decision.run, is_long=message.is_long, has_waited=has_waited)
        return decision
