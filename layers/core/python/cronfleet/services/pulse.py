"""The pulse of one attempt: what it tells goes into the run's row, and what the row says comes back with that.

One write does it all: it proves that the lease is still ours, shows the progress, and is refused with the row as it is
when somebody has asked for the run's cancellation. An attempt that tells nothing costs nothing; but for a long one,
whose short lease the same write renews.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from cronfleet.domain.attempt import is_still_held
from cronfleet.domain.attempt_log import AttemptLog, LogLine, LogPlace, tail_of
from cronfleet.domain.cancel_request import CancelRequest
from cronfleet.domain.instant import SECOND, Instant
from cronfleet.domain.long_run import is_clock_behind, is_to_be_renewed, renewed, stops_at
from cronfleet.domain.progress import BEAT_SECONDS, LISTEN_SECONDS, LOG_SECONDS, Progress
from cronfleet.domain.run import Run, RunStatus
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import JobStore, NoAnswer, Refused
from cronfleet.ports.shift import OneMessage, Shift
from cronfleet.ports.target import FenceLost, Interrupted
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.true_clock import known_now

Keep: TypeAlias = Callable[[Run], bool]
"""Keeps what the attempt holds besides its lease for as long as the row that is about to be written says; False when
nobody answered. Raises `Interrupted`."""


class RunPulse:
    """Implements `Pulse` on the job store."""

    def __init__(
        self,
        *,
        store: JobStore,
        clock: Clock,
        telemetry: Telemetry,
        run: Run,
        listens: bool = False,
        keep: Keep | None = None,
        shift: Shift | None = None,
    ) -> None:
        """`listens`: the row is read now and then although the attempt is silent. With `keep` its lease is short, and
        renewed; `keep` is called before that.
        """
        self._keeps = keep
        self._shift = shift or OneMessage()
        self._store = store
        self._clock = clock
        self._telemetry = telemetry
        self._row = run
        self._listens = listens
        self._told: Progress | None = None
        self._log: AttemptLog | None = None
        self._log_is_kept = False
        # An attempt that is over within one beat costs no write for having beaten.
        self._written_at = self._heard_at = self._log_kept_at = clock.now()

    @property
    def row(self) -> Run:
        """The row as it is to our knowledge, with what the attempt told last: its end is written on top of it."""
        return self._row if self._told is None else replace(self._row, progress=self._told)

    @property
    def cancel(self) -> CancelRequest | None:
        """See `Pulse.cancel`."""
        return self._row.cancel

    @property
    def is_stopping(self) -> bool:
        """See `Pulse.is_stopping`."""
        return self._shift.ends_at is not None

    # --- while it goes on -----------------------------------------------------------------------------------

    def beat(self, fraction: float | None = None, text: str | None = None) -> None:
        """See `Pulse.beat`."""
        now = self._in_time()
        self._told = (self._told or self._row.progress or Progress(now)).beaten(now, fraction, text)
        self._write_if_due(now)

    def look(self) -> None:
        """See `Pulse.look`."""
        self._shift.look()
        now = self._in_time()
        if self._told is not None or self._is_lease_old(now):
            self._write_if_due(now)
        elif self._listens and self.cancel is None and _is_over(self._heard_at, LISTEN_SECONDS, now):
            self._hear(now)
        if self._log is not None and not self._log_is_kept and _is_over(self._log_kept_at, LOG_SECONDS, now):
            self._in_time()
            self._keep(now)

    def log(self, lines: Sequence[LogLine], *, is_whole: bool, place: LogPlace | None = None) -> None:
        """See `Pulse.log`."""
        tail, is_all = tail_of(lines)
        run = self._row
        whole = is_whole and is_all
        log = AttemptLog(run.key, run.attempt, self._clock.now(), tail, whole, place, run.kept_days)
        self._log_is_kept = self._log is not None and self._log_is_kept and self._log.lines == tail
        self._log = log

    def _in_time(self) -> Instant:
        """Now. Raises `Interrupted` when the worker has no time left for the attempt, or its lease has not enough."""
        now, ends_at = self._clock.now(), self._shift.ends_at
        if ends_at is not None and now >= ends_at:
            raise Interrupted("its worker was stopped before it was done")
        if self._keeps is None:
            return now
        # By a clock that was set back a lease would last until long after another has the run.
        known = known_now(self._store, self._clock, lambda: self._store.get_run(self._row.key))
        if known is None:
            raise Interrupted("its worker's clock is not the store's")
        if known >= stops_at(self._row):
            raise Interrupted("its worker could not renew its lease in time")
        if is_clock_behind(self._row, known):
            raise Interrupted("its worker's clock was set back, so that nobody knows when its lease ends")
        return known

    def _is_lease_old(self, now: Instant) -> bool:
        return self._keeps is not None and is_to_be_renewed(self._row, now)

    # --- when it is over ------------------------------------------------------------------------------------

    def close(self, *, is_written: bool) -> None:
        """Keep the log, once the attempt's end is written, or another has the run.

        Of a run whose tenant was deleted meanwhile nothing is left behind.
        """
        log = self._log
        if log is None or not log.lines:
            return
        try:
            has_row = is_written or self._store.get_run(log.key) is not None
        except NoAnswer:
            has_row = True
        if not has_row:
            self._quietly(partial(self._store.forget_log, log.key, log.attempt))
        elif not self._log_is_kept:
            self._keep(self._clock.now())

    # --- the store ------------------------------------------------------------------------------------------

    def _write_if_due(self, now: Instant) -> None:
        if not _is_over(self._written_at, BEAT_SECONDS, now):
            return
        self._written_at = self._heard_at = now
        wanted = self._wanted(now)
        if self._keeps is not None:
            if not self._keeps(wanted):
                return
            self._in_time()
        try:
            stored = self._store.replace_run(wanted)
        except NoAnswer:
            self._telemetry.count("beats_unanswered")
            return
        except Refused as gone:
            raise FenceLost(f"the row of {wanted.key.run_id} is gone") from gone
        if stored is None or stored == wanted:
            # A lease counts from before its write was sent: it ends in the store no sooner than here.
            self._row, self._told = wanted, None
        else:
            self._adopt(stored)

    def _wanted(self, now: Instant) -> Run:
        told = self._row.progress if self._told is None else self._told
        if self._keeps is None:
            return self._row.moved(RunStatus.RUNNING, progress=told)
        return replace(renewed(self._row, now), progress=told)

    def _hear(self, now: Instant) -> None:
        self._heard_at = now
        try:
            stored = self._store.get_run(self._row.key)
        except NoAnswer:
            return
        if stored is None:
            raise FenceLost(f"the row of {self._row.key.run_id} is gone")
        self._adopt(stored)

    def _adopt(self, stored: Run) -> None:
        if not is_still_held(self._row, stored):
            raise FenceLost(f"fence {self._row.fence} is not the fence of {stored.key.run_id} any more")
        self._row = stored

    def _keep(self, now: Instant) -> None:
        log = self._log
        if log is not None:
            self._log_kept_at, self._log_is_kept = now, True
            self._quietly(partial(self._store.put_log, replace(log, kept_at=now)))

    def _quietly(self, write: "partial[None]") -> None:
        try:
            write()
        except NoAnswer:
            # The function's own log has all of it.
            self._telemetry.count("logs_left")


def _is_over(since: Instant, seconds: int, now: Instant) -> bool:
    """Whether so much time has passed; by a clock that was set back, it has."""
    return not 0 <= now - since < seconds * SECOND
