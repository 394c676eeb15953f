"""Changing: decide on what is there, write it in one transaction, and decide again when somebody was faster."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from cronfleet.domain.audit import AuditEntry
from cronfleet.domain.errors import Contended, KeyReused, QuotaExceeded, Stale
from cronfleet.domain.form import Form
from cronfleet.domain.instant import DAY, EARLIEST, SECOND, Instant
from cronfleet.domain.quota import kept_days
from cronfleet.domain.run import Run
from cronfleet.domain.schedule import Timer
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import (
    IdempotencyRecord,
    InsertAudit,
    InsertIdempotency,
    InsertRun,
    NoAnswer,
    Refused,
    ScheduleStore,
    Write,
)
from cronfleet.ports.schedule_counts import Full
from cronfleet.services.access import Caller
from cronfleet.services.asking import ask
from cronfleet.services.telling import Telling
from cronfleet.services.true_clock import refuse_wrong_clock

MAX_DECISIONS: Final = 20
"""How often a change is decided anew because somebody else's write came first."""

MAX_DECISION: Final = 10 * SECOND
"""How old the time of a decision may be when it is written."""

ANSWERS_KEPT: Final = DAY
"""How long the answer to a request with an Idempotency-Key is remembered."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Once:
    """An Idempotency-Key, and the digest that tells a repeated request from another one."""

    key: str
    digest: str


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a caller asks to hold before anything is changed: ETags of If-Match (`*`: any), If-None-Match: `*`."""

    if_match: tuple[str, ...] = ()
    only_new: bool = False

    def check(self, timer: Timer) -> None:
        """Raises `Stale` unless `timer` is what the caller has seen."""
        if self.if_match and "*" not in self.if_match and timer.etag not in self.if_match:
            raise Stale(self.if_match, timer.etag)


NO_CONDITIONS: Final = Conditions()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a caller gets: the form of the thing, its ETag where it has one, whether it is new."""

    form: Form
    etag: str = ""
    created: bool = False

    def record(self) -> dict[str, Any]:
        """The answer as it is remembered under an Idempotency-Key; `Answer(**record)` is its reverse."""
        return {"form": self.form, "etag": self.etag, "created": self.created}


@dataclass(frozen=True, slots=True)
class Draft:
    """A decided change: the writes of its transaction (none: there is nothing to change) and its answer.

    Of a schedule also its timer `before` (`None`: there was none) and `after`.
    """

    writes: Sequence[Write]
    answer: Answer
    before: Timer | None = None
    after: Timer | None = None


def answer_of(call: Callable[[], Result]) -> Result:
    """What the store answers; `Contended` when it stays silent."""
    try:
        return ask(call)
    except NoAnswer as silence:
        raise Contended("the job store did not answer; try again in a few seconds") from silence


def audit(caller: Caller, change_id: str, now: Instant, action: str, subject: str, **said: Any) -> InsertAudit:
    """The audit item of one change of `subject` (`schedule_subject(id)`, `subject("key", id)`, `TENANT_SUBJECT`).

    `said` holds `before`, `after` and `reason`.
    """
    tenant = caller.tenant.tenant_id
    entry = AuditEntry(
        tenant,
        change_id,
        now,
        caller.actor,
        action,
        subject,
        caller.request_id,
        credential=caller.credential,
        home_tenant=caller.home_tenant if caller.acting_for else "",
        **said,
    )
    return InsertAudit(entry)


def _kept(write: Write, caller: Caller) -> Write:
    """`write`; a row of a run with how long its tenant has it kept."""
    if not isinstance(write, InsertRun):
        return write
    return InsertRun(replace(write.run, kept_days=kept_days(caller.tenant)))


def too_many(full: Full) -> QuotaExceeded:
    """What a caller is told whose tenant has as many schedules as it may have."""
    hint = f"there are {full.use:,}. Delete what is no longer needed (what has completed counts as well)"
    return QuotaExceeded("schedules", full.use, full.limit, hint)


class Changing:
    """Carries changes out for the services that callers talk to."""

    def __init__(self, store: ScheduleStore, clock: Clock, telling: Telling | None = None) -> None:
        self._store = store
        self._clock = clock
        self._telling = telling

    def change(self, caller: Caller, once: Once | None, decide: Callable[[Instant], Draft]) -> Answer:
        """Decide for a moment, and commit. A request that was answered before under the same key gets that answer.

        A fire that a worker started while its end was being written is decided upon again, from its time on.

        `Contended` when others kept being faster, or the store did not answer; `ClockSkewed` before anything is
        written when this process's clock is off.
        """
        not_before: Instant = EARLIEST
        for _ in range(MAX_DECISIONS):
            answered = None if once is None else self._answered(caller, once)
            if answered is not None:
                return answered
            now = self._clock.now()
            draft = decide(max(now, not_before))
            # A resume an hour ahead would swallow an hour of fires. Deciding has read the store, and heard its time.
            refuse_wrong_clock(self._store)
            if not 0 <= self._clock.now() - now <= MAX_DECISION:
                continue  # The clock jumped, or this process stood still: what it decided for is not now any more.
            refused = self._commit(caller, once, draft)
            if refused is None:
                if self._telling is not None:
                    self._telling.committed(draft.writes, caller.tenant)
                return draft.answer
            if isinstance(refused.stored, Full):
                raise too_many(refused.stored)
            if isinstance(refused.stored, Run):
                not_before = max(not_before, refused.stored.due_at)
        raise Contended("other changes of the same schedule kept coming first; try again in a few seconds")

    def _answered(self, caller: Caller, once: Once) -> Answer | None:
        record = answer_of(lambda: self._store.find_idempotency(caller.tenant.tenant_id, once.key))
        if record is None:
            return None
        if record.request_digest != once.digest:
            raise KeyReused(once.key)
        return Answer(**record.answer)

    def _commit(self, caller: Caller, once: Once | None, draft: Draft) -> Refused | None:
        """`None` once it is done; else what somebody else's faster write left there."""
        if not draft.writes:
            return None
        writes = [_kept(write, caller) for write in draft.writes]
        if once is not None:
            writes.append(InsertIdempotency(self._record(caller, once, draft.answer)))
        try:
            ask(lambda: self._store.commit(writes))
        except Refused as refused:
            return refused
        except NoAnswer as silence:
            raise Contended(
                "the job store did not confirm the change; read the schedule again to see whether it was made"
            ) from silence
        return None

    def _record(self, caller: Caller, once: Once, answer: Answer) -> IdempotencyRecord:
        expires_at = self._clock.now() + ANSWERS_KEPT
        return IdempotencyRecord(caller.tenant.tenant_id, once.key, once.digest, answer.record(), expires_at)
