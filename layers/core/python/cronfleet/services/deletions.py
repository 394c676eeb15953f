"""Deletions: the jobs that remove all that a tenant owns, carried on by the sweeper, page by page.

A page is noted, then removed, then counted with the note of the next (`domain/deletion.py`). A job that a crash cut
short goes on where it was; of two sweeps that carry on one job, the note lets one go on.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from cronfleet.domain.audit import SCHEDULER_ACTOR, AuditEntry, subject
from cronfleet.domain.deletion import MAX_PAGE, Deletion, Stage, certificate
from cronfleet.domain.freeze import Thaw, with_freeze
from cronfleet.domain.instant import Instant
from cronfleet.domain.tenant import TenantStatus
from cronfleet.ports.clock import Clock, Ids
from cronfleet.ports.job_store import (
    InsertAudit,
    InsertDeletion,
    JobStore,
    PutFreezeDirectory,
    PutFreezeList,
    PutTenant,
    Refused,
    Write,
)
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.asking import ask
from cronfleet.services.true_clock import require_true_clock

MAX_JOBS: Final = 20
"""Deletions that one sweep looks at; the others wait until one of them is over."""
MAX_STEPS: Final = 5_000
"""Pages of one sweep."""

DELETED: Final = "delete_tenant_done"
"""The action under which the certificate is filed."""


@dataclass(slots=True)
class DeletionReport:
    """What one sweep removed, in counts."""

    jobs: int = 0
    removed: int = 0
    finished: int = 0


class Deletions:
    """Carries deletions on; they start with the request (`services/tenant_life.py`)."""

    def __init__(self, *, store: JobStore, clock: Clock, ids: Ids, telemetry: Telemetry) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        self._telemetry = telemetry

    def advance(self, until: Instant) -> DeletionReport:
        """Carry every open deletion on by a page in turn, until it is over, must wait, or it is `until`.

        Raises `NoAnswer` when the store stays silent, and `ClockSkewed`: the next sweep goes on where this one was.
        """
        report = DeletionReport()
        jobs = ask(lambda: self._store.open_deletions(MAX_JOBS))
        report.jobs = len(jobs)
        if jobs:
            require_true_clock(self._store, self._telemetry)
        going = list(jobs)
        for _ in range(MAX_STEPS):
            if not going or self._clock.now() >= until:
                break
            job = self._step(going.pop(0), report)
            if job is not None:
                going.append(job)
        return report

    def _step(self, job: Deletion, report: DeletionReport) -> Deletion | None:
        """The job a page on; `None` when there is nothing to do now, or another sweep does it."""
        if job.pending:
            ask(partial(self._store.erase, job.pending))
        now = self._clock.now()
        if now < job.waits_until():
            return self._noted(job.announcing(()), report, going_on=False) if job.pending else None
        found = ask(partial(self._store.owned, job.tenant, job.stage, job.cursor, MAX_PAGE))
        if found.items:
            return self._noted(replace(job, cursor=found.cursor).announcing(found.items), report)
        if found.cursor is not None:
            return job.on_to(found.cursor)
        if job.stage is Stage.AGAIN:
            self._thaw(job, now)
        if not job.is_in_last_stage:
            return self._noted(job.in_next_stage(now), report)
        self._end(job, now, report)
        return None

    def _noted(self, job: Deletion, report: DeletionReport, *, going_on: bool = True) -> Deletion | None:
        if not ask(lambda: self._store.put_deletion(job)):
            self._telemetry.event("deletion_noted_by_another", tenant=job.tenant)
            return None
        report.removed += len(job.pending)
        return job if going_on else None

    def _thaw(self, job: Deletion, now: Instant) -> None:
        """End the tenant's freezes: nothing is left that they hold, and everybody need not read them for ever."""
        for _ in range(MAX_STEPS):
            kept = ask(lambda: self._store.get_freeze_list(job.tenant))
            lasting = [freeze for freeze in kept.freezes if not freeze.has_ended(now)]
            if not lasting:
                return
            ended = lasting[0].thawed_at(now, Thaw(SCHEDULER_ACTOR, now, "the tenant was deleted"))
            directory = ask(self._store.get_freeze_directory)
            after, marked = with_freeze(kept, directory, ended, now=now, change_id=self._ids.unique())
            self._commit([PutFreezeList(after), PutFreezeDirectory(marked)])

    def _end(self, job: Deletion, now: Instant, report: DeletionReport) -> None:
        """Leave the tombstone, the certificate beside it, and an entry in the log of the tenant that asked."""
        tenant = ask(lambda: self._store.get_tenant(job.tenant))
        known = ask(lambda: self._store.get_deletion(job.tenant))
        if tenant is not None and (known is None or known.is_open):
            ended = job.ended(now)
            gone = replace(
                tenant, status=TenantStatus.DELETED, updated_at=now, rev=tenant.rev + 1, change_id=self._ids.unique()
            )
            writes: list[Write] = [PutTenant(gone, tenant), InsertDeletion(ended), self._entry(ended, now)]
            if not self._commit(writes):
                return
            self._telemetry.event("tenant_deleted", tenant=job.tenant, removed=sum(ended.removed.values()))
            report.finished += 1
        ask(lambda: self._store.close_deletion(job.tenant))

    def _entry(self, job: Deletion, now: Instant) -> InsertAudit:
        request = job.request
        entry = AuditEntry(
            request.home_tenant,
            self._ids.unique(),
            now,
            SCHEDULER_ACTOR,
            DELETED,
            subject("tenant", job.tenant),
            request.request_id,
            after=certificate(job),
            reason=request.reason,
        )
        return InsertAudit(entry)

    def _commit(self, writes: list[Write]) -> bool:
        """False when somebody else wrote meanwhile: what is there is looked at anew."""
        try:
            ask(lambda: self._store.commit(writes))
        except Refused:
            return False
        return True
