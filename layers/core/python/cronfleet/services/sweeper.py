"""The sweeper: closes the books between the dispatch log and the runs, revives dead leases, ticks quiet shards.

It is invoked directly each minute, not through a queue: queue polling itself has been down for hours in a real
incident (AWS, 19 October 2025).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from cronfleet.domain.attempt import Refuse, decide_start
from cronfleet.domain.books import (
    Books,
    Owed,
    Standing,
    is_full,
    is_to_be_revived,
    once_each,
    standing,
)
from cronfleet.domain.claim import Batch, BatchId
from cronfleet.domain.instant import SECOND, Instant
from cronfleet.domain.lease import ShardLease, slot_of
from cronfleet.domain.reason import Code
from cronfleet.domain.run import MESSAGE_MAX_AGE, Run, RunMessage
from cronfleet.domain.self_watch import Waiting, waits_for_worker
from cronfleet.ports.clock import Clock
from cronfleet.ports.events import Events
from cronfleet.ports.job_store import Damaged, JobStore, NoAnswer, Refused
from cronfleet.ports.queues import DelayedMessage, RunQueue, Tick
from cronfleet.ports.side_by_side import SideBySide
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.asking import ask
from cronfleet.services.book_reading import BookReading, Owing
from cronfleet.services.deletions import Deletions
from cronfleet.services.dispatcher import Dispatcher
from cronfleet.services.endings import Endings
from cronfleet.services.forecaster import Forecaster
from cronfleet.services.letter_watch import LetterWatch
from cronfleet.services.noticeboard import Noticeboard
from cronfleet.services.pace import Pace
from cronfleet.services.retiming import Retimings
from cronfleet.services.sealing import Sealer
from cronfleet.services.self_watch import SelfWatch
from cronfleet.services.shard_watch import ShardWatch
from cronfleet.services.sweep_report import SweepReport, looks_at_board, tell_board, tell_waiting
from cronfleet.services.telling import told_by
from cronfleet.services.tenant_rules import TenantRules
from cronfleet.services.true_clock import require_true_clock, true_now

QUIET_AFTER: Final = 30 * SECOND
"""A shard whose last served slot is older than this has lost its ticks."""

RETIMING_TIME: Final = 30 * SECOND
"""What a sweep gives at most to schedules that must be looked at again: after everything else, and before its end."""

SEALING_TIME: Final = 20 * SECOND
"""What a sweep gives at most to the seals of the audit log."""
DELETING_TIME: Final = 30 * SECOND
"""What a sweep gives at most to tenants that are being deleted, likewise."""

LETTERS_TIME: Final = 10 * SECOND
"""What a sweep gives at most to dead letters that are about to go, likewise."""

FORECAST_TIME: Final = 20 * SECOND
"""What a sweep gives at most to counting what is ahead, likewise."""

DONE: Final = frozenset({Standing.SETTLED, Standing.EXPIRED})
"""What is owed nothing more."""


@dataclass(slots=True)
class _Open:
    """A batch that is not settled: what is owed of it, where each owed fire stands, and their messages."""

    batch: Batch
    owed: Owed
    messages: Mapping[int, RunMessage]
    standings: Mapping[int, Standing]
    dead: Sequence[int]
    """Of those under a lease that has ended, which are to be sent again by this sweep."""

    @property
    def is_long(self) -> bool:
        """Whether only long workers owe it something."""
        return all(message.is_long for message in self.messages.values())


@dataclass(slots=True)
class _Reading:
    """What the first pass finds in a shard."""

    books: Books
    now: Instant
    pace: Pace
    closed_through: BatchId | None
    open: list[_Open] = field(default_factory=list)
    settled: int = 0


class _StandsBy(Exception):
    """The installation is a standby: nothing of it may be read as if it were this one's to do."""


class Sweeper:
    """Sweeps every shard in two passes: read, revive and note all; then, each tier's pace known, send again.

    What a shard's reading found is noted before the next is read, so that a sweeper that dies gets on all the same.
    """

    def __init__(  # noqa: PLR0913 - the last ones are duties of their own, each of which may be left out
        self,
        *,
        store: JobStore,
        run_queue: RunQueue,
        dispatcher: Dispatcher,
        side_by_side: SideBySide,
        clock: Clock,
        telemetry: Telemetry,
        shards: int,
        retimings: Retimings | None = None,
        sealer: Sealer | None = None,
        deletions: Deletions | None = None,
        shard_watch: ShardWatch | None = None,
        letter_watch: LetterWatch | None = None,
        self_watch: SelfWatch | None = None,
        forecaster: Forecaster | None = None,
        events: Events | None = None,
    ) -> None:
        self._letter_watch = letter_watch
        self._forecaster = forecaster
        self._shard_watch = shard_watch
        self._self_watch = self_watch
        self._served: dict[int, Instant] = {}
        self._overdue: dict[int, Sequence[Waiting]] = {}
        self._sealer = sealer
        self._retimings = retimings
        self._deletions = deletions
        self._endings = Endings(store, told_by(store, clock, telemetry, events))
        self._store = store
        self._book_reading = BookReading(store, side_by_side)
        self._run_queue = run_queue
        self._dispatcher = dispatcher
        self._clock = clock
        self._telemetry = telemetry
        self._shards = shards
        self._rules = TenantRules(store)
        self._board = Noticeboard(store, clock, telemetry, consistent=False)
        self._asks_for_holds = False

    def sweep(self, deadline_at: Instant) -> SweepReport:
        """One sweep, stopping before `deadline_at`. A shard that cannot be read is left to the next, and alarmed.

        While the installation is drained nothing is sent, and nobody told that fires wait; a standby does nothing.
        """
        report = SweepReport()
        self._asks_for_holds = bool(self._store.here.standby) or looks_at_board(self._clock.now())
        try:
            self._sweep(deadline_at, report)
        except _StandsBy:
            # It is heard of all the same.
            self._telemetry.count("sweeps")
        if self._asks_for_holds:
            self._count_hold(self._clock.now())
        return report

    def _sweep(self, deadline_at: Instant, report: SweepReport) -> None:
        self._stop_in_a_standby()
        now = true_now(self._store, self._clock, self._telemetry, lambda: self._store.get_lease(0))
        pace = Pace(now)
        self._served.clear()
        self._overdue.clear()
        readings = []
        for shard in self._in_turn(now):
            if self._clock.now() >= deadline_at:
                self._telemetry.alarm("sweep_cut_short", shards_done=report.shards, shards=self._shards)
                break
            try:
                self._wake_if_quiet(shard, now, deadline_at, report)
                reading = self._read(shard, now, pace)
                self._note(reading, report)
                readings.append(reading)
                report.shards += 1
            except (NoAnswer, Damaged) as error:
                report.failed_shards += 1
                self._telemetry.alarm("sweep_failed", shard=shard, error=str(error))
        for reading in readings:
            self._settle(reading, report)
        for name in ("quiet_shards", "revived", "resent"):
            if getattr(report, name):
                self._telemetry.count(name, getattr(report, name))
        self._tell_served(now)
        self._watch_itself(readings, report, now)
        self._seal(deadline_at, report)
        self._retime(deadline_at, report)
        self._delete(deadline_at, report)
        self._tell_of_letters(deadline_at)
        self._forecast(deadline_at)

    def _stop_in_a_standby(self) -> None:
        """Raises `_StandsBy` where nothing may be done. An installation that was never held pays no read for that: each
        of its shards says so.
        """
        if self._asks_for_holds and self._board.is_standby():
            raise _StandsBy

    def _count_hold(self, now: Instant) -> None:
        """How long the installation has been drained, for the alarm that says that nobody has released it."""
        hold = self._board.hold()
        if hold is not None:
            self._telemetry.count("held", mode=hold.mode.value)
            if not hold.is_standby:
                self._telemetry.measure("drained", (now - hold.at) / SECOND)

    def _is_held(self) -> bool:
        return self._board.hold() is not None

    def _is_late_by_hold(self, now: Instant) -> bool:
        """Whether what is overdue is so because of a hold, or one that has just been released."""
        return self._is_held() or self._board.switch().just_ended(now)

    def _seal(self, deadline_at: Instant, report: SweepReport) -> None:
        """Seal the audit log. Whatever is wrong there costs the other duties nothing."""
        if self._sealer is None:
            return
        try:
            report.sealed = self._sealer.seal(min(deadline_at, self._clock.now() + SEALING_TIME)).chains
        except (NoAnswer, Damaged) as error:
            self._telemetry.alarm("sealing_stopped", error=str(error))

    def _delete(self, deadline_at: Instant, report: SweepReport) -> None:
        """Carry on what removes tenants. Whatever is wrong there costs the other duties nothing."""
        if self._deletions is None:
            return
        try:
            until = min(deadline_at, self._clock.now() + DELETING_TIME)
            report.deleted = self._deletions.advance(until).removed
        except (NoAnswer, Damaged, RuntimeError) as error:
            self._telemetry.alarm("deletion_stopped", error=str(error))

    def _retime(self, deadline_at: Instant, report: SweepReport) -> None:
        """Carry on what looks at schedules again. Whatever is wrong there costs the other duties nothing."""
        if self._retimings is None:
            return
        try:
            done = self._retimings.advance(min(deadline_at, self._clock.now() + RETIMING_TIME)).tally
        except (NoAnswer, Damaged, RuntimeError) as error:
            self._telemetry.alarm("retiming_stopped", error=str(error))
            return
        report.retiming_seen, report.retimed, report.retiming_failed = done.seen, done.changed, done.failed

    def _tell_of_letters(self, deadline_at: Instant) -> None:
        """Tell of dead letters that are about to go. Whatever is wrong there costs the other duties nothing."""
        if self._letter_watch is None:
            return
        try:
            self._letter_watch.look(min(deadline_at, self._clock.now() + LETTERS_TIME))
        except (NoAnswer, Damaged) as error:
            self._telemetry.alarm("letter_watch_stopped", error=str(error))

    def _forecast(self, deadline_at: Instant) -> None:
        """Count what is ahead. Whatever is wrong there costs the other duties nothing."""
        if self._forecaster is None:
            return
        try:
            self._forecaster.advance(min(deadline_at, self._clock.now() + FORECAST_TIME), self._shards)
        except (NoAnswer, Damaged) as error:
            self._telemetry.alarm("forecast_stopped", error=str(error))

    def _in_turn(self, now: Instant) -> Iterator[int]:
        """Every shard, beginning at another one each minute: a sweep that is cut short starves none.

        With those that another deployment served: the lease of shard 0, which comes by the way, says how many.
        """
        known = self._shards
        first = now // (60 * SECOND) % known
        yield from (*range(first, known), *range(first))
        yield from range(known, self._shards)

    def _wake_if_quiet(self, shard: int, now: Instant, deadline_at: Instant, report: SweepReport) -> None:
        lease = ask(lambda: self._store.get_lease(shard))
        if lease is not None and lease.shut_rev and lease.shut_in == self._store.here.region:
            self._asks_for_holds = True
            self._stop_in_a_standby()
        require_true_clock(self._store, self._telemetry, shard=shard)
        self._shards = max(self._shards, 0 if lease is None else lease.shards)
        if lease is not None and lease.slot_at > now - QUIET_AFTER:
            self._served[shard] = lease.slot_at
            self._look_overdue(shard, now)
            return
        report.quiet_shards += 1
        self._tell_stopped(shard, lease, now)
        self._dispatcher.tick(Tick(shard, slot_of(now), self._shards), deadline_at)

    def _tell_stopped(self, shard: int, lease: ShardLease | None, now: Instant) -> None:
        """Whom it harms is told before it is dispatched here. Whatever is wrong with that costs the shard nothing."""
        if self._shard_watch is None or self._is_late_by_hold(now):
            return
        try:
            self._shard_watch.stopped(shard, lease, now)
        except (NoAnswer, Damaged) as error:
            self._telemetry.alarm("shard_watch_stopped", shard=shard, error=str(error))

    def _tell_served(self, now: Instant) -> None:
        """What was told of shards that are served again is over. Whatever is wrong there costs the others nothing."""
        if self._shard_watch is None:
            return
        try:
            self._shard_watch.served(self._served, now)
        except (NoAnswer, Damaged) as error:
            self._telemetry.alarm("shard_watch_stopped", error=str(error))

    def _look_overdue(self, shard: int, now: Instant) -> None:
        """See what a shard that is served leaves unclaimed. Whatever is wrong there costs the shard nothing."""
        if self._self_watch is None:
            return
        try:
            found = self._self_watch.overdue(shard, now)
            if not found or not self._is_late_by_hold(now):
                self._overdue[shard] = found
        except (NoAnswer, Damaged) as error:
            self._telemetry.alarm("self_watch_stopped", shard=shard, error=str(error))

    def _watch_itself(self, readings: Sequence[_Reading], report: SweepReport, now: Instant) -> None:
        """Tell how claiming and starting stand, and that this sweep was whole. Nothing wrong there stops the others."""
        is_all = report.shards == self._shards
        if is_all:
            self._telemetry.count("sweeps")
        tell_board(self._telemetry, self._board, now)
        if self._self_watch is None:
            return
        overdue = [one for found in self._overdue.values() for one in found]
        tell_waiting(self._telemetry, overdue, _unstarted(readings), report.open, now)
        is_all_claims = len(self._overdue) == self._shards
        try:
            self._self_watch.judge(overdue, _unstarted(readings), now, is_all_claims=is_all_claims, is_all=is_all)
            if is_all:
                self._self_watch.beat(now)
        except (NoAnswer, Damaged) as error:
            self._telemetry.alarm("self_watch_stopped", error=str(error))

    def _read(self, shard: int, now: Instant, pace: Pace) -> _Reading:
        """Where every fire stands that the shard's closed batches won and that is not settled yet."""
        lease = ask(lambda: self._store.get_lease(shard))
        books = ask(lambda: self._store.get_books(shard))
        reading = _Reading(books, now, pace, books.closed_through)
        for owing in self._book_reading.carried(books):
            self._look_at(owing, reading)
        for owing in self._book_reading.newly_closed(lease, books, now) if lease else ():
            if is_full(item.is_long for item in reading.open):
                self._telemetry.alarm("books_full", shard=shard, open=len(reading.open))
                break
            self._look_at(owing, reading)
            reading.closed_through = owing.batch.batch_id
        return reading

    def _look_at(self, owing: Owing, reading: "_Reading") -> None:
        """Keep of a batch what is not settled yet."""
        messages, rows = owing.messages, owing.rows
        standings = {i: self._standing(message, owing, reading.now) for i, message in messages.items()}
        for i, message in messages.items():
            reading.pace.saw(message, rows.get(message.key), standings[i])
        standings |= dict.fromkeys(self._of_the_gone(messages, standings, reading.now), Standing.SETTLED)
        unsettled = {i: where for i, where in standings.items() if where not in DONE}
        self._refuse_expired([messages[i] for i, where in standings.items() if where is Standing.EXPIRED], reading.now)
        reading.settled += len(standings) - len(unsettled)
        if unsettled:
            left = replace(owing.owed, positions=tuple(unsettled))
            ended = [i for i, where in unsettled.items() if where is Standing.DEAD_LEASE]
            dead = [i for i in ended if is_to_be_revived(messages[i], rows[messages[i].key], reading.now)]
            reading.open.append(_Open(owing.batch, left, {i: messages[i] for i in unsettled}, unsettled, dead))

    def _standing(self, message: RunMessage, owing: Owing, now: Instant) -> Standing:
        """Where a fire stands. One whose row cannot be read is carried on, for whoever mends it, as long as rows last:
        neither is it known to have ended, nor may it be sent again.
        """
        error = owing.damaged.get(message.key)
        if error is None:
            return standing(message, owing.rows.get(message.key), now)
        self._telemetry.alarm("row_damaged", run_id=message.key.run_id, error=error)
        return Standing.SETTLED if now - message.claimed_at > MESSAGE_MAX_AGE else Standing.GOING

    def _of_the_gone(
        self, messages: Mapping[int, RunMessage], standings: Mapping[int, Standing], now: Instant
    ) -> Sequence[int]:
        """Which fires without a row belong to tenants that are deleted: nothing of those is sent, or noted, again."""
        rowless = [i for i, where in standings.items() if where in (Standing.UNSTARTED, Standing.EXPIRED)]
        tenants = self._rules.of({messages[i].key.tenant for i in rowless}, now) if rowless else {}
        return [i for i in rowless if tenants[messages[i].key.tenant].status.is_gone]

    def _refuse_expired(self, messages: Sequence[RunMessage], now: Instant) -> None:
        """A fire that no worker ever took, although it was sent again for days, ends in the ledger too."""
        for message in messages:
            decision = decide_start(None, self._rules.kept(message, now), owner="", now=now)
            if isinstance(decision, Refuse):
                self._refuse(decision.run)

    def _refuse(self, run: Run) -> None:
        timer = ask(lambda: self._store.get_timer(run.key.tenant, run.key.schedule_id))
        try:
            self._endings.write(None, run, timer)
        except Refused:
            # A worker has the run after all; its row says what became of it.
            return
        self._telemetry.alarm("run_refused", run_id=run.key.run_id, reason=Code.TOO_OLD)

    def _note(self, reading: _Reading, report: SweepReport) -> None:
        """Revive dead leases at once, and write down how far the shard is settled."""
        for messages in once_each([[item.messages[i] for i in item.dead] for item in reading.open]):
            if messages and self._is_held():
                continue
            report.revived += self._send(messages, "lease_revived")
        report.settled += reading.settled
        report.open += len(reading.open)
        self._write(reading, {str(item.batch.batch_id): item.owed for item in reading.open})

    def _settle(self, reading: _Reading, report: SweepReport) -> None:
        """Send again what must be, then write the books: a crash in between sends a copy, which is harmless."""
        still_open = {str(item.batch.batch_id): self._resend(item, reading, report) for item in reading.open}
        self._write(reading, still_open)

    def _write(self, reading: _Reading, still_open: Mapping[str, Owed]) -> None:
        books = replace(
            reading.books, rev=reading.books.rev + 1, closed_through=reading.closed_through, open=still_open
        )
        if replace(books, rev=reading.books.rev) == reading.books:
            return
        try:
            if ask(lambda: self._store.put_books(books)):
                reading.books = books
            else:
                self._telemetry.event("books_written_by_another", shard=books.shard)
        except NoAnswer as error:
            self._telemetry.alarm("sweep_failed", shard=books.shard, error=str(error))

    def _resend(self, item: _Open, reading: _Reading, report: SweepReport) -> Owed:
        """Send again what no worker has started, as far as this sweep may; each before any for the second time."""
        lost = [i for i, where in item.standings.items() if where is Standing.UNSTARTED]
        if not lost or reading.now < item.owed.resend_at or self._is_held():
            return item.owed
        turn = {i: item.messages[i] for i in lost if i not in item.owed.sent}
        pace = reading.pace
        again = {i: m for i, m in turn.items() if not pace.is_draining(m, item.batch) and pace.may_resend(m)}
        copies = [replace(message, resent_at=reading.now) for message in again.values()]
        report.resent += self._send(copies, "message_resent")
        return item.owed.resent(again, lost, reading.now)

    def _send(self, messages: list[RunMessage], event: str) -> int:
        if not messages:
            return 0
        now = self._clock.now()
        unsent = self._run_queue.send([DelayedMessage(self._rules.kept(message, now), 0) for message in messages])
        for message in messages:
            self._telemetry.event(event, run_id=message.key.run_id, attempt=message.attempt, batch=message.batch)
        # What was not accepted is still owed, and comes up again with the next sweep.
        return len(messages) - len(unsent)


def _unstarted(readings: Sequence[_Reading]) -> Sequence[Waiting]:
    """What the sweep found claimed and not started."""
    found = [
        waits_for_worker(item.messages[position])
        for reading in readings
        for item in reading.open
        for position, where in item.standings.items()
        if where is Standing.UNSTARTED
    ]
    return [one for one in found if one is not None]
