"""Tenant life: a tenant is suspended, resumed, and deleted with all that it owns.

Suspension is two things in one transaction: the status, by which its keys may only read, and a freeze of the tenant,
by which nothing starts; so dispatchers and workers need to know no more than what is frozen.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from cronfleet.domain.audit import TENANT_SUBJECT, AuditEntry, subject
from cronfleet.domain.deletion import Deletion, Request, deletion_form
from cronfleet.domain.errors import Conflict, Invalid, NotFound
from cronfleet.domain.form import Form
from cronfleet.domain.freeze import OBEYED_AFTER, Freeze, FreezeList, TenantScope, Thaw, with_freeze
from cronfleet.domain.instant import Instant, ceil_second, to_text
from cronfleet.domain.tenant import Tenant, TenantStatus
from cronfleet.ports.clock import Ids, WaitingClock
from cronfleet.ports.job_store import (
    InsertAudit,
    InsertDeletion,
    JobStore,
    PutFreezeDirectory,
    PutFreezeList,
    PutTenant,
    Write,
)
from cronfleet.services.access import Caller
from cronfleet.services.changing import Answer, Changing, Draft, answer_of, audit
from cronfleet.services.tenants import events_notice

SUSPEND: Final = "suspend_tenant"
RESUME: Final = "resume_tenant"
DELETE: Final = "delete_tenant"
"""The actions, as the audit log names them."""


class TenantLife:
    """The service behind /v1/tenants/{id}/suspend, /resume and /deletion, and DELETE /v1/tenants/{id}."""

    def __init__(self, *, store: JobStore, clock: WaitingClock, ids: Ids) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        self._changing = Changing(store, clock)

    # --- suspending ----------------------------------------------------------------------------------------------

    def suspend(self, caller: Caller, reason: str) -> Form:
        """Nothing of the tenant starts after this has returned, and its keys may only read, until it is resumed.

        What runs goes on to its end. Done again it changes nothing.
        """

        def decide(now: Instant) -> Draft:
            tenant = self._require(caller)
            _refuse_own_home(caller, "suspended")
            if tenant.status is TenantStatus.SUSPENDED:
                return Draft((), _said(tenant))
            after = self._after(tenant, TenantStatus.SUSPENDED, reason, now)
            frozen = self._frozen(caller, tenant, reason, now)
            return Draft(
                (PutTenant(after, tenant), *frozen, _entry(caller, tenant, after, SUSPEND, reason)), _said(after)
            )

        return self._obeyed(caller, decide)

    def resume(self, caller: Caller, reason: str) -> Form:
        """On again; of what the suspension held back, each schedule's own `after_pause` says what still runs."""

        def decide(now: Instant) -> Draft:
            tenant = self._require(caller)
            if tenant.status is TenantStatus.ACTIVE:
                return Draft((), _said(tenant))
            after = self._after(tenant, TenantStatus.ACTIVE, "", now)
            thawed = self._thawed(tenant, Thaw(caller.actor, now, reason))
            return Draft(
                (PutTenant(after, tenant), *thawed, _entry(caller, tenant, after, RESUME, reason)), _said(after)
            )

        return self._obeyed(caller, decide)

    def _obeyed(self, caller: Caller, decide: Callable[[Instant], Draft]) -> Form:
        """The form of the answer, once everybody has read what is frozen now, and its end has come."""
        answer = self._changing.change(caller, None, decide)
        self._clock.wait_until(ceil_second(self._clock.now() + OBEYED_AFTER))
        return answer.form

    def _frozen(self, caller: Caller, tenant: Tenant, reason: str, now: Instant) -> Sequence[Write]:
        """The writes of a freeze of the tenant, unless there is one that only its resumption ends."""
        kept = answer_of(lambda: self._store.get_freeze_list(tenant.tenant_id))
        if _suspending(kept, now):
            return ()
        scope = TenantScope(tenant.tenant_id)
        return self._with(Freeze(self._ids.unique(), scope, caller.actor, now, reason, suspends=True), kept, now)

    def _thawed(self, tenant: Tenant, thaw: Thaw) -> Sequence[Write]:
        kept = answer_of(lambda: self._store.get_freeze_list(tenant.tenant_id))
        lasting = _suspending(kept, thaw.at)
        return self._with(lasting[0].thawed_by(thaw), kept, thaw.at) if lasting else ()

    def _with(self, freeze: Freeze, kept: FreezeList, now: Instant) -> Sequence[Write]:
        directory = answer_of(self._store.get_freeze_directory)
        after, marked = with_freeze(kept, directory, freeze, now=now, change_id=self._ids.unique())
        return PutFreezeList(after), PutFreezeDirectory(marked)

    # --- deleting ------------------------------------------------------------------------------------------------

    def delete(self, caller: Caller, confirm: str, reason: str) -> Form:
        """Begin to remove the tenant and all that it owns: its keys are refused and nothing starts from now on; the
        sweeper does the rest, and the answer of `deletion` has the certificate when it is done. Cannot be undone.

        Asked again it says how far it is. `Invalid` unless `confirm` repeats the tenant's id.
        """
        if confirm != caller.tenant.tenant_id:
            raise Invalid("confirm", "must be the tenant's id, repeated: nothing brings back what is deleted")

        def decide(now: Instant) -> Draft:
            tenant = self._require(caller, gone=True)
            _refuse_own_home(caller, "deleted")
            if tenant.status.is_gone:
                return Draft((), Answer(self.deletion(caller)))
            request = Request(caller.actor, caller.credential, caller.home_tenant, caller.request_id, reason)
            job = Deletion(tenant.tenant_id, request, now, stage_since=now)
            after = replace(self._after(tenant, TenantStatus.DELETING, reason, now), lifecycle_events=False)
            writes: list[Write] = [PutTenant(after, tenant), InsertDeletion(job)]
            if tenant.lifecycle_events:
                writes.append(events_notice(self._store, after, now))
            writes += self._frozen(caller, tenant, reason, now)
            writes += [_entry(caller, tenant, after, DELETE, reason), self._entry_at_home(caller, after, reason)]
            return Draft(writes, Answer(deletion_form(job)))

        return self._obeyed(caller, decide)

    def _entry_at_home(self, caller: Caller, after: Tenant, reason: str) -> InsertAudit:
        """The same in the log of the caller's own tenant, which outlives the deleted one's."""
        entry = AuditEntry(
            caller.home_tenant,
            self._ids.unique(),
            after.updated_at,
            caller.actor,
            DELETE,
            subject("tenant", after.tenant_id),
            caller.request_id,
            after=_form(after),
            reason=reason,
            credential=caller.credential,
        )
        return InsertAudit(entry)

    def deletion(self, caller: Caller) -> Form:
        """How far the tenant's deletion is, and its certificate; `NotFound` where nobody asked for one."""
        tenant = caller.tenant.tenant_id
        job = answer_of(lambda: self._store.get_deletion(tenant))
        if job is None:
            raise NotFound("deletion of tenant", tenant)
        return deletion_form(job)

    # --- both ----------------------------------------------------------------------------------------------------

    def _require(self, caller: Caller, *, gone: bool = False) -> Tenant:
        """The tenant as it is now; `Conflict` for one that is being deleted, unless it may be `gone`."""
        tenant = answer_of(lambda: self._store.get_tenant(caller.tenant.tenant_id))
        if tenant is None:
            raise NotFound("tenant", caller.tenant.tenant_id)
        if tenant.status.is_gone and not gone:
            raise Conflict(f"tenant {tenant.tenant_id!r} is {tenant.status}: its id is never used again")
        return tenant

    def _after(self, tenant: Tenant, status: TenantStatus, reason: str, now: Instant) -> Tenant:
        change_id = self._ids.unique()
        at = max(now, tenant.updated_at)
        return replace(tenant, status=status, reason=reason, updated_at=at, rev=tenant.rev + 1, change_id=change_id)


def _refuse_own_home(caller: Caller, what: str) -> None:
    if caller.home_tenant == caller.tenant.tenant_id:
        raise Conflict(
            f"tenant {caller.tenant.tenant_id!r} is the home of the key that you use, and cannot be {what} with it; "
            "use a platform admin's key of another tenant"
        )


def _suspending(kept: FreezeList, now: Instant) -> list[Freeze]:
    """Those that suspend the tenant, and that nobody has ended yet, be it for a moment that is still to come."""
    return [one for one in kept.freezes if one.suspends and one.thawed is None and not one.has_ended(now)]


def _entry(caller: Caller, before: Tenant, after: Tenant, action: str, reason: str) -> InsertAudit:
    said = {"before": _form(before), "after": _form(after), "reason": reason}
    return audit(caller, after.change_id, after.updated_at, action, TENANT_SUBJECT, **said)


def _said(tenant: Tenant) -> Answer:
    return Answer(_form(tenant), tenant.etag)


def _form(tenant: Tenant) -> Form:
    return {
        "id": tenant.tenant_id,
        "status": tenant.status.value,
        "reason": tenant.reason,
        "updated_at": to_text(tenant.updated_at),
    }
