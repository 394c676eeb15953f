"""Carrying out: a shard's batches are written down, announced, claimed and sent, as far side by side as that is safe.

The order is the promise (docs/architecture.md, Dispatch): a batch is written, then announced, and only then claimed; so
whoever takes the shard after a crash finds the one open batch, issues its claims again under the same batch id, and
knows for each whether it was won. An announcement closes the batch before: it comes once every claim of that has its
answer, its winners are in their queues and its rows are written.

What may overlap is what no other of these waits for: the claims of one batch with one another; then the sends of its
winners, its rows, and the writing down of the next batch, which names the losers of this one, and means nothing until
it is announced. The calls are made by `SideBySide`; everything else here happens on one thread, in between
(docs/decisions/0033-what-may-overlap.md).
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Final, NamedTuple

from cronfleet.domain.claim import MAX_BATCH_ENTRIES, Batch, BatchId, Claim, ClaimOutcome, ScheduleClaim
from cronfleet.domain.held_time import attributed
from cronfleet.domain.hold import Switch
from cronfleet.domain.holding import skipped_row
from cronfleet.domain.instant import Instant
from cronfleet.domain.late import Cause
from cronfleet.domain.lease import BATCH_LEASE, ShardLease
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.run import Run, RunMessage
from cronfleet.ports.claiming import CLAIMS_AT_ONCE
from cronfleet.ports.job_store import JobStore, NoAnswer
from cronfleet.ports.queues import SENDS_AT_ONCE, DelayedMessage, RunQueue, delay_until
from cronfleet.ports.side_by_side import SideBySide, in_parts
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.asking import ask
from cronfleet.services.noticeboard import Noticeboard
from cronfleet.services.own_changes import OwnChanges
from cronfleet.services.serving import Closed, Serving
from cronfleet.services.telling import Telling
from cronfleet.services.tenant_rules import TenantRules
from cronfleet.services.tick_report import TickReport

MAX_ROUNDS: Final = 5
"""How often what got no answer is asked, and what the run queue did not take is sent, within a tick."""


@dataclass(frozen=True, slots=True)
class Portions:
    """How much goes together: claims in a batch, claims in a request, messages in a request."""

    batch: int = MAX_BATCH_ENTRIES
    claims: int = CLAIMS_AT_ONCE
    sends: int = SENDS_AT_ONCE


WHOLE: Final = Portions()
"""As much as the store and the queues take. Smaller portions are for small worlds, to have many batches there too."""


class Held(Exception):
    """The installation is held since this tick began: nothing more is announced."""


class LeaseLost(Exception):
    """Another dispatcher has the shard: this one stops where it is."""


class _Skip(NamedTuple):
    """A row of what a claim skipped."""

    claim: ScheduleClaim
    row: Run


class _Left(NamedTuple):
    """What a round has left for the next: messages to send, and writes to make."""

    messages: Sequence[DelayedMessage] = ()
    writes: Sequence[Callable[[], object]] = ()


class CarryingOut:
    """Carries out what a dispatcher has decided to claim. Holds nothing between ticks."""

    def __init__(  # noqa: PLR0913 - what a dispatcher has, of which this is a part
        self,
        *,
        store: JobStore,
        run_queue: RunQueue,
        side_by_side: SideBySide,
        telemetry: Telemetry,
        true_now: Callable[[int], Instant],
        rules: TenantRules,
        board: Noticeboard,
        changes: OwnChanges,
        telling: Telling | None,
        portions: Portions = WHOLE,
    ) -> None:
        """`true_now` reads the clock for a shard; it raises `ClockSkewed` and `NoAnswer`, as `true_clock.true_now`."""
        self._store = store
        self._run_queue = run_queue
        self._side_by_side = side_by_side
        self._telemetry = telemetry
        self._true_now = true_now
        self._rules = rules
        self._board = board
        self._changes = changes
        self._telling = telling
        self._portions = portions

    def stop_if_held(self) -> Switch:
        """How the installation lately was held; raises `Held` where it is."""
        switch = self._board.switch()
        if switch.in_force(self._store.here) is not None:
            raise Held
        return switch

    def go_through(
        self, lease: ShardLease, serving: Serving, batches: Iterator[Sequence[Claim]], report: TickReport
    ) -> None:
        """Carry out one batch of claims after the other. Nothing is under way when the first is asked for, or the last
        is done; the others are asked for while the winners of the one before wait to be sent.

        Raises `Held`, `LeaseLost`, `ClockSkewed` and `NoAnswer`: what was announced by then is finished by the next
        tick, unless it is done; what was only written down means nothing.
        """
        switch = self.stop_if_held()
        logged = self._next(lease, serving, batches, switch)
        if logged is not None:
            ask(partial(self._store.put_batch, logged))
        while logged is not None:
            switch = self._announce(lease, serving, logged)
            report.batches += 1
            outcomes = self._claim_all(logged)
            losers = _losers(outcomes)
            serving.closed = Closed(logged.batch_id, losers, tuple(logged.claims[place] for place in sorted(losers)))
            following = self._next(lease, serving, batches, switch)
            self._settle(logged, outcomes, report, following)
            logged = following

    def finish(self, batch_id: BatchId, report: TickReport) -> Closed:
        """Issue every claim of a predecessor's batch again under its own id: won means success or that id."""
        batch = ask(lambda: self._store.get_batch(batch_id))
        if batch is None:
            # It was announced after it was written, so only its expiry (weeks later) can have removed it.
            self._telemetry.alarm("batch_gone", batch=str(batch_id))
            return Closed(batch_id)
        report.finished_for_predecessor += 1
        outcomes = self._claim_all(batch)
        self._settle(batch, outcomes, report)
        return Closed(batch_id, _losers(outcomes))

    # --- writing down and announcing ---------------------------------------------------------------------------

    def _next(
        self, lease: ShardLease, serving: Serving, batches: Iterator[Sequence[Claim]], switch: Switch
    ) -> Batch | None:
        """The next batch, made once the claims of the one before have their answers: it names the losers of those.

        It asks nobody, unless this clock was set: the winners of the one before wait for it.
        """
        claims = next(batches, None)
        if claims is None:
            return None
        before = serving.closed
        serving.written += 1
        claimed_at = self._true_now(lease.shard)
        if switch.ended:
            claims = [attributed(claim, switch.ended, claimed_at) for claim in claims]
        batch_id = BatchId(lease.shard, lease.fence, serving.written)
        return Batch(batch_id, before.batch_id, claimed_at, tuple(claims), before.losers)

    def _announce(self, lease: ShardLease, serving: Serving, batch: Batch) -> Switch:
        """Make `batch` the open one, which closes the one before. Raises `Held`, `LeaseLost`."""
        switch = self.stop_if_held()
        until = self._true_now(lease.shard) + BATCH_LEASE
        serving.slots.logged(batch.claims)
        if not ask(partial(self._store.announce, lease, batch.batch_id, until)):
            serving.slots.close()
            raise LeaseLost
        serving.slots.lost(serving.closed.lost)
        return switch

    # --- claiming ----------------------------------------------------------------------------------------------

    def _claim_all(self, batch: Batch) -> list[ClaimOutcome]:
        """The outcome of every claim; those without an answer are asked again. Raises `NoAnswer` past the limit."""
        outcomes = [ClaimOutcome.UNANSWERED] * len(batch.claims)
        for _ in range(MAX_ROUNDS):
            silent = [place for place, outcome in enumerate(outcomes) if outcome is ClaimOutcome.UNANSWERED]
            if not silent:
                return outcomes
            calls = [
                partial(self._store.claim, batch.batch_id, [batch.claims[place] for place in part])
                for part in in_parts(silent, self._portions.claims)
            ]
            answers = self._side_by_side.run(calls)
            for place, outcome in zip(silent, chain.from_iterable(answers), strict=True):
                outcomes[place] = outcome
        if ClaimOutcome.UNANSWERED in outcomes:
            # Nothing is known to be lost: the batch stays open, and the next tick asks again.
            raise NoAnswer(f"batch {batch.batch_id}: {outcomes.count(ClaimOutcome.UNANSWERED)} claims unanswered")
        return outcomes

    # --- sending, rows, and the next batch ---------------------------------------------------------------------

    def _settle(
        self, batch: Batch, outcomes: Sequence[ClaimOutcome], report: TickReport, following: Batch | None = None
    ) -> None:
        """Send the winners and write the rows of what is skipped, while `following` is written down."""
        losers = _losers(outcomes)
        messages = list(batch.messages(losers).values())
        skips = list(self._skips(batch, losers))
        writes = [] if following is None else [partial(self._store.put_batch, following)]
        # A row that is there already was written by a predecessor's hand for the same claim.
        rows = [partial(self._store.insert_run, skip.row) for skip in skips]
        shard = batch.batch_id.shard
        self._make(_Left(self._delayed(messages, shard), [*writes, *rows]), shard)
        for skip in skips:
            self._tell(skip, report)
        for claim, outcome in zip(batch.claims, outcomes, strict=True):
            if outcome is ClaimOutcome.IMPOSSIBLE:
                self._park(claim, report)
        _count(messages, len(outcomes), len(losers), report)

    def _delayed(self, messages: Sequence[RunMessage], shard: int) -> Sequence[DelayedMessage]:
        if not messages:
            return ()
        now = self._true_now(shard)
        return [
            DelayedMessage(self._rules.kept(message, now), delay_until(message.due_at, now)) for message in messages
        ]

    def _delayed_anew(self, messages: Sequence[DelayedMessage], shard: int) -> Sequence[DelayedMessage]:
        """What a queue did not take, with the delays that are left by now: a round without an answer takes seconds."""
        now = self._true_now(shard) if messages else 0
        return [replace(one, delay_seconds=delay_until(one.message.due_at, now)) for one in messages]

    def _make(self, left: _Left, shard: int) -> None:
        """Send and write what is `left`, in rounds. Raises `NoAnswer` for what is left after the last."""
        for turn in range(MAX_ROUNDS):
            if turn:
                left = left._replace(messages=self._delayed_anew(left.messages, shard))
            sends = [partial(self._send, request) for request in self._in_requests(left.messages)]
            calls = [*sends, *(partial(_write, write) for write in left.writes)]
            if not calls:
                return
            parts = self._side_by_side.run(calls)
            left = _Left(
                list(chain.from_iterable(part.messages for part in parts)),
                list(chain.from_iterable(part.writes for part in parts)),
            )
        if left.messages or left.writes:
            # The batch stays open: the next tick wins its claims again under the same id, and sends them.
            raise NoAnswer(f"{len(left.messages)} messages were not taken, {len(left.writes)} writes not answered")

    def _in_requests(self, messages: Sequence[DelayedMessage]) -> Iterator[Sequence[DelayedMessage]]:
        """Requests as full as they may be, whoever's the messages are: a queue takes those of all tenants together."""
        queues: defaultdict[str, list[DelayedMessage]] = defaultdict(list)
        for one in messages:
            queues[one.message.queue].append(one)
        for ours in queues.values():
            yield from in_parts(ours, self._portions.sends)

    def _send(self, request: Sequence[DelayedMessage]) -> _Left:
        return _Left(messages=self._run_queue.send(request))

    def _skips(self, batch: Batch, losers: frozenset[int]) -> Iterator[_Skip]:
        for place, claim in enumerate(batch.claims):
            if place in losers or not isinstance(claim, ScheduleClaim):
                continue
            for skipped in claim.skipped:
                row = self._rules.kept(skipped_row(claim, skipped, batch.claimed_at), batch.claimed_at)
                yield _Skip(claim, row)

    def _tell(self, skip: _Skip, report: TickReport) -> None:
        """Tell of a row once it is there; also where a predecessor's hand wrote it, for the same claim."""
        claim, row = skip
        if self._telling is not None:
            self._telling.written(row)
        report.noted += claim.is_shadow
        reason = row.reason
        if reason is not None and not claim.is_shadow:
            report.note_skip(reason.code.value)
        event = "fires_noted_in_shadow" if claim.is_shadow else "fires_skipped"
        self._telemetry.event(event, run_id=row.key.run_id, reason="" if reason is None else reason.text)

    def _park(self, claim: Claim, report: TickReport) -> None:
        if not isinstance(claim, ScheduleClaim):
            self._telemetry.alarm("timer_impossible", run_id=claim.timer.key.run_id)
            return
        reason = Reason(Code.UNREADABLE, "the store refuses to write its next fire")
        report.parks += self._changes.park_refused(claim, reason, self._true_now(report.shard))


def _losers(outcomes: Sequence[ClaimOutcome]) -> frozenset[int]:
    return frozenset(place for place, outcome in enumerate(outcomes) if outcome is not ClaimOutcome.WON)


def _write(write: Callable[[], object]) -> _Left:
    """One that gets no answer costs the others nothing."""
    try:
        write()
    except NoAnswer:
        return _Left(writes=[write])
    return _Left()


def _count(messages: Sequence[RunMessage], claims: int, losers: int, report: TickReport) -> None:
    report.claims_won += claims - losers
    report.claims_lost += losers
    report.fires += len(messages)
    report.caught_up += sum(one.late is not None and one.late.cause is not Cause.RATE for one in messages)
