"""The dossier of a schedule: what is known of it, read from the store as far as one question needs it."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from cronfleet.domain import naming
from cronfleet.domain.audit import AuditEntry, Wanted, schedule_subject
from cronfleet.domain.books import Books
from cronfleet.domain.claim import Batch, BatchId, ScheduleClaim
from cronfleet.domain.explain import explain, may_be_claimed
from cronfleet.domain.explanation import Claimed, Explanation, Facts, Replaced
from cronfleet.domain.freeze import Freeze
from cronfleet.domain.hold import Hold
from cronfleet.domain.instant import EARLIEST, LATEST, Instant
from cronfleet.domain.left_behind import CLAIMED_AHEAD
from cronfleet.domain.lifeline import Span, as_defined, earlier_spans, known_spans, span_at
from cronfleet.domain.reason import Reason
from cronfleet.domain.run import Run, RunKey, RunStatus
from cronfleet.domain.schedule import Change, Definition, Timer
from cronfleet.domain.trigger import UNCOMPUTABLE
from cronfleet.domain.zone_release import ZoneRelease
from cronfleet.domain.zone_stamp import moving_zone
from cronfleet.ports.job_store import JobStore
from cronfleet.services.changing import answer_of

ROWS_PAGE: Final = 100
MAX_ROW_PAGES: Final = 10
"""Pages of the ledger read for one stretch, in which manual runs may lie between a schedule's own."""

AUDIT_PAGE: Final = 100
MAX_AUDIT_PAGES: Final = 5
"""Pages of the schedule's audit entries read for epochs that its timer no longer remembers."""

MAX_CATCH_UPS: Final = 8
"""Later epochs that are asked for a fire which its own does not have: each resume may have passed it on."""

MAX_BATCHES: Final = 20
"""Batches of the dispatch log read for fires that are claimed and have no row."""


class Dossier:
    """One schedule as it is at `now`: its timer, epochs, definitions, rows, and its place in the dispatch log."""

    def __init__(
        self,
        store: JobStore,
        timer: Timer,
        now: Instant,
        retention: int = LATEST,
        freezes: Sequence[Freeze] = (),
        hold: Hold | None = None,
    ) -> None:
        self._store = store
        self._retention = retention
        self.timer = timer
        self.now = now
        self.freezes = freezes
        self._hold = hold
        self._spans = known_spans(timer)
        self._is_read_back = False
        self._is_zone_read = False
        self._zone_release: ZoneRelease | None = None
        self._definitions: dict[int, Definition] = {}
        self._batches: dict[str, Batch | None] = {}
        self._books: Books | None = None

    def explain(self, at: Instant, rows: Sequence[Run]) -> Explanation:
        """The explanation of `at`, whose rows and ranges are `rows`."""
        facts = self._facts(at, rows)
        if may_be_claimed(at, facts):
            facts = replace(facts, claimed=self._claimed(at, facts), zone_data=self._zone_data(facts))
            facts = replace(facts, put_off=self._put_off(rows))
        return explain(at, facts)

    def _facts(self, at: Instant, rows: Sequence[Run]) -> Facts:
        span = self.span_at(at)
        named_by = self.named_by(span) if span is not None else None
        facts = Facts(
            self.timer,
            self.now,
            span,
            named_by,
            rows,
            retention=self._retention,
            freezes=self.freezes,
            hold=self._hold,
        )
        if span is None or rows:
            return facts
        if not span.is_alive:
            return replace(facts, deletion=self._deletion(span))
        return replace(facts, replaced=self._replaced(at, span))

    # --- epochs and their definitions --------------------------------------------------------------------------

    def span_at(self, instant: Instant) -> Span | None:
        """The epoch whose own a nominal at `instant` is; `None`: further back than is looked."""
        found = span_at(self._spans, instant)
        if found is None and not self._is_read_back:
            self._is_read_back = True
            if self._spans:
                entries = self._audit(EARLIEST, self._spans[-1].since)
                self._spans += earlier_spans(self._spans, entries, self.timer.born_epoch)
            found = span_at(self._spans, instant)
        return found

    @property
    def remembered_since(self) -> Instant:
        """Since when the schedule's epochs are known."""
        return self._spans[-1].since if self._spans else self.now

    def _audit(self, since: Instant, until: Instant) -> Iterable[AuditEntry]:
        wanted = Wanted(since, until, schedule_subject(self.timer.schedule_id))
        cursor: str | None = None
        for _ in range(MAX_AUDIT_PAGES):
            read = partial(self._store.list_audit, self.timer.tenant, wanted)
            page = answer_of(partial(read, cursor=cursor, limit=AUDIT_PAGE))
            yield from page.items
            cursor = page.cursor
            if cursor is None:
                return

    def _deletion(self, span: Span) -> AuditEntry | None:
        if span.epoch == 0:
            return None
        return next((one for one in self._audit(span.since, span.since) if one.action == Change.CANCEL), None)

    def named_by(self, span: Span) -> Timer | None:
        """A timer that names what was named in `span`; `None` where nothing was."""
        if not span.is_alive:
            return None
        if span.epoch == self.timer.epoch:
            return self.timer
        definition = self._definition_at(span.since)
        return None if definition is None else as_defined(self.timer, span, definition)

    def _definition_at(self, instant: Instant) -> Definition | None:
        """The newest version that was there at `instant`: versions are numbered in the order of time."""
        low, high = 0, self.timer.version
        while low < high:
            middle = (low + high + 1) // 2
            definition = self._definition(middle)
            if definition is not None and definition.created_at <= instant:
                low = middle
            else:
                high = middle - 1
        return self._definition(low) if low else None

    def _definition(self, version: int) -> Definition | None:
        if version not in self._definitions:
            read = partial(self._store.get_definition, self.timer.tenant, self.timer.schedule_id, version)
            found = answer_of(read)
            if found is None:
                return None
            self._definitions[version] = found
        return self._definitions[version]

    def _replaced(self, at: Instant, span: Span) -> Replaced | None:
        """The definition that named `at` until it was replaced, if that is why nothing names it now."""
        after = span
        for before in self._spans[self._spans.index(span) + 1 :]:
            earlier, later = self.named_by(before), self.named_by(after)
            if earlier is None or later is None:
                return None
            if _timing(earlier) != _timing(later):
                by = self._definition(later.version)
                return Replaced(earlier.version, by, after.since) if by is not None and _named(earlier, at) else None
            after = before
        return None

    # --- rows --------------------------------------------------------------------------------------------------

    def rows(self, span: Span | None, nominals: Sequence[Instant], first_at: Instant, last_at: Instant) -> list[Run]:
        """The scheduled rows and ranges that touch `first_at` to `last_at`, which lie in `span` and hold `nominals`.

        Those of the epoch itself, of earlier ones that had claimed ahead, and of later ones that caught up. What ended
        before the tenant's retention is not among them.
        """
        rows = self._all_rows(span, nominals, first_at, last_at)
        return [row for row in rows if not row.is_over_since(self.now - self._retention)]

    def _all_rows(
        self, span: Span | None, nominals: Sequence[Instant], first_at: Instant, last_at: Instant
    ) -> list[Run]:
        if span is None:
            return self._scan(self._spans[-1].epoch - 1 if self._spans else self.timer.epoch, first_at, last_at, None)
        found = self._scan(span.epoch, first_at, last_at, span.epoch) if span.is_alive else []
        missing = [at for at in nominals if not any(row.stands_for(at) for row in found)]
        if missing:
            found += self._exact(span, missing)
        return found + self._claimed_ahead(span, first_at, last_at)

    def _scan(self, epoch: int, first_at: Instant, last_at: Instant, only: int | None) -> list[Run]:
        """Rows back from (`epoch`, `last_at`) to the first that lies before `first_at`; ranges that reach it too."""
        found: list[Run] = []
        cursor: str | None = None
        for _ in range(MAX_ROW_PAGES):
            read = partial(self._store.list_runs, self.timer.tenant, self.timer.schedule_id, through=(epoch, last_at))
            page = answer_of(partial(read, cursor=cursor, limit=ROWS_PAGE))
            for row in page.items:
                if only is not None and row.key.epoch < only:
                    return found
                if not row.key.is_scheduled:
                    continue
                if row.last_nominal_at >= first_at:
                    if row.key.nominal_at <= last_at:
                        found.append(row)
                elif row.key.nominal_at < first_at:
                    return found
            cursor = page.cursor
            if cursor is None:
                break
        return found

    def _claimed_ahead(self, span: Span, first_at: Instant, last_at: Instant) -> list[Run]:
        """Rows of earlier epochs, which had claimed a fire shortly before `span` began."""
        found: list[Run] = []
        self.span_at(first_at - CLAIMED_AHEAD)  # the epoch before may have to be read back
        for before in self._spans[self._spans.index(span) + 1 :]:
            if before.until is None or before.epoch == 0 or first_at > before.until + CLAIMED_AHEAD:
                break
            if before.is_alive:
                found += self._scan(before.epoch, first_at, last_at, before.epoch)
        return found

    def _exact(self, span: Span, missing: Sequence[Instant]) -> list[Run]:
        """Rows by their keys: past where the pages ended, and in later epochs that caught up."""
        last = self.timer.epoch
        epochs = range(span.epoch, min(span.epoch + MAX_CATCH_UPS, last) + 1)
        keys = [self._key(epoch, at) for epoch in epochs for at in missing]
        found = list(answer_of(lambda: self._store.get_runs(keys)).values())
        if len(missing) == 1 and not found:
            one = answer_of(lambda: self._store.get_run(keys[0]))
            found = [] if one is None else [one]
        for epoch in epochs[1:]:
            found += [row for row in self._scan(epoch, missing[0], missing[-1], epoch) if row not in found]
        return found

    def _key(self, epoch: int, at: Instant) -> RunKey:
        return RunKey(self.timer.tenant, self.timer.schedule_id, epoch, at)

    # --- the zone data --------------------------------------------------------------------------------------------

    def _zone_data(self, facts: Facts) -> ZoneRelease | None:
        """What the schedule is read with today; `None` where no release can change what it names."""
        if facts.named_by is None or moving_zone(facts.named_by.trigger) is None:
            return None
        if not self._is_zone_read:
            self._is_zone_read = True
            self._zone_release = answer_of(self._store.get_zone_release)
        known = self._zone_release
        return known if known is not None and known.release else None

    def _put_off(self, rows: Sequence[Run]) -> Reason | None:
        """Why the first attempt of a run that was written down beforehand waits, if it was put off."""
        row = next((row for row in rows if row.status is RunStatus.QUEUED), None)
        timer = None if row is None else answer_of(partial(self._store.find_run_timer, row.key, row.attempt + 1))
        return None if timer is None else timer.deferred

    # --- the dispatch log ----------------------------------------------------------------------------------------

    def _claimed(self, at: Instant, facts: Facts) -> Claimed | None:
        """What the log says of the claim of `at`: the timer's last batch, or one that the sweeper still holds open."""
        for batch_id in self._batch_ids(at, facts):
            batch = self._batch(batch_id)
            found = None if batch is None else self._claim_in(batch, at)
            if found is not None:
                return found
        return None

    def _batch_ids(self, at: Instant, facts: Facts) -> list[str]:
        last = [self.timer.claim_batch] if self.timer.claim_batch else []
        held = sorted(self._shard_books().open, key=lambda text: BatchId.parse(text).order)
        since = bisect_left(held, at - CLAIMED_AHEAD, key=self._claimed_at) if not facts.rows else 0
        return [*last, *held[since : since + MAX_BATCHES]]

    def _claimed_at(self, batch_id: str) -> Instant:
        batch = self._batch(batch_id)
        return EARLIEST if batch is None else batch.claimed_at

    def _claim_in(self, batch: Batch, at: Instant) -> Claimed | None:
        """What `batch` says of `at`, if it won it: the sweeper holds it as owed, or the timer names the batch."""
        batch_id = str(batch.batch_id)
        owed = self._shard_books().open.get(batch_id)
        for position, message in batch.messages().items():
            if message.key.is_scheduled and self._is_mine(message.key, at):
                if owed is not None and position in owed.positions:
                    return Claimed(batch_id, batch.claimed_at, resends=owed.resends, resend_at=owed.resend_at)
                if batch_id == self.timer.claim_batch:
                    return Claimed(batch_id, batch.claimed_at)
        if batch_id != self.timer.claim_batch:
            return None
        for claim in batch.claims:
            if not isinstance(claim, ScheduleClaim) or not self._is_mine(claim.run_key(at), at):
                continue
            for skipped in claim.skipped:
                if skipped.first_at <= at <= skipped.last_at:
                    return Claimed(batch_id, batch.claimed_at, skipped.reason)
        return None

    def _is_mine(self, key: RunKey, at: Instant) -> bool:
        return (key.tenant, key.schedule_id, key.nominal_at) == (self.timer.tenant, self.timer.schedule_id, at)

    def _batch(self, batch_id: str) -> Batch | None:
        if batch_id not in self._batches:
            self._batches[batch_id] = answer_of(partial(self._store.get_batch, BatchId.parse(batch_id)))
        return self._batches[batch_id]

    def _shard_books(self) -> Books:
        if self._books is None:
            self._books = answer_of(lambda: self._store.get_books(self.timer.shard))
        return self._books


def _named(timer: Timer, at: Instant) -> bool:
    try:
        return naming.is_inside(timer, at) and naming.names(timer.trigger, at)
    except UNCOMPUTABLE:
        return False  # What it named cannot be told any more, and its schedule was parked for that.


def _timing(timer: Timer) -> tuple[object, ...]:
    return timer.trigger, timer.start_at, timer.end_at
