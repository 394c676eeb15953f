"""Tenants: their records, made and changed by the platform's admins, and what they use of their quotas."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from cronfleet.domain.audit import TENANT_SUBJECT
from cronfleet.domain.errors import Conflict, Invalid, NotFound, Stale
from cronfleet.domain.form import Form
from cronfleet.domain.instant import Instant
from cronfleet.domain.noticeboard import Notice, Topic, posted, sheet_of
from cronfleet.domain.quota import limits, overridden, quotas_of
from cronfleet.domain.tenant import DEFAULT_TIER, Tenant
from cronfleet.domain.tenant_form import tenant_form
from cronfleet.ports.clock import Clock, Ids
from cronfleet.ports.job_store import JobStore, Page, Write
from cronfleet.ports.noticeboard import PutSheet
from cronfleet.ports.tenants import PutTenant
from cronfleet.services.access import Caller
from cronfleet.services.changing import NO_CONDITIONS, Answer, Changing, Conditions, Draft, Once, answer_of, audit
from cronfleet.services.quotas import TenantQuotas

CREATE_TENANT: Final = "create_tenant"
EDIT_TENANT: Final = "edit_tenant"


@dataclass(frozen=True, slots=True)
class TenantPatch:
    """What is to change of a tenant, as a JSON merge patch: what is not in `fields` stays, `None` is the default.

    `fields`: `name`, `tier`, `lifecycle_events`, and `quotas`, a patch of its own.
    """

    fields: Mapping[str, Any]

    def applied(self, tenant: Tenant) -> Tenant:
        """`tenant` after the patch; raises `Invalid`."""
        name = self.fields.get("name", tenant.name) or ""
        tier = self.fields.get("tier", tenant.tier) or DEFAULT_TIER
        quotas = tenant.quotas
        if "quotas" in self.fields:
            patch = self.fields["quotas"]
            try:
                quotas = () if patch is None else overridden(quotas, patch)
            except Invalid as error:
                raise error.under("quotas") from error
        events = bool(self.fields.get("lifecycle_events", tenant.lifecycle_events))
        return replace(tenant, name=name, tier=tier, quotas=quotas, lifecycle_events=events)


class Tenants:
    """The service behind /v1/tenants."""

    def __init__(self, *, store: JobStore, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        self._changing = Changing(store, clock)
        self._quotas = TenantQuotas(store)

    def create(self, caller: Caller, tenant_id: str, patch: TenantPatch, once: Once | None = None) -> Answer:
        """A new tenant, or the record of one that is older than records; `Conflict` when the id has or had one."""

        def decide(now: Instant) -> Draft:
            asked = patch.applied(Tenant(tenant_id))
            found = answer_of(lambda: self._store.get_tenant(tenant_id))
            if found is not None:
                raise Conflict(_taken(found))
            tenant = replace(asked, created_at=now, updated_at=now, rev=1, change_id=self._ids.unique())
            return self._draft(caller, None, tenant, CREATE_TENANT, "")

        return self._changing.change(caller, once, decide)

    def list(self, *, cursor: str | None, limit: int) -> Page[Form]:
        """A page of the tenants that have a record, by id."""
        page = answer_of(partial(self._store.list_tenants, cursor=cursor, limit=limit))
        return Page([tenant_form(tenant) for tenant in page.items], page.cursor)

    def get(self, caller: Caller) -> Answer:
        """The tenant that the caller is in; one that is older than records with its tier's defaults."""
        tenant = self._quotas.tenant_of(caller)
        return Answer(tenant_form(tenant), tenant.etag)

    def edit(
        self, caller: Caller, patch: TenantPatch, conditions: Conditions = NO_CONDITIONS, reason: str = ""
    ) -> Answer:
        """Change the tenant that the caller is in. A tier and quotas hold from the next decision on, at most half a
        minute later, also for schedules that are there: none is touched.
        """

        def decide(now: Instant) -> Draft:
            tenant_id = caller.tenant.tenant_id
            found = answer_of(lambda: self._store.get_tenant(tenant_id))
            if found is None and caller.acting_for:
                raise NotFound("tenant", tenant_id)
            before = found or replace(caller.tenant, rev=0, change_id="")
            after = patch.applied(before)
            _check(conditions, before)
            if before.status.is_gone:
                raise Conflict(_taken(before))
            if after == before:
                return Draft((), Answer(tenant_form(before), before.etag))
            created_at = before.created_at if before.rev else now
            after = replace(
                after, created_at=created_at, updated_at=now, rev=before.rev + 1, change_id=self._ids.unique()
            )
            return self._draft(caller, found, after, EDIT_TENANT, reason)

        return self._changing.change(caller, None, decide)

    def usage(self, caller: Caller) -> Form:
        """Each quota of the tenant that the caller is in, with its limit and, where it is counted, its use."""
        tenant = self._quotas.tenant_of(caller)
        used = {
            "schedules": self._quotas.schedules_of(tenant.tenant_id),
            "concurrent_runs": self._live_slots(tenant.tenant_id),
        }
        quotas = {name: {"use": used.get(name), "limit": limit} for name, limit in limits(quotas_of(tenant)).items()}
        return {"tenant": tenant.tenant_id, "tier": tenant.tier, "quotas": quotas}

    def _live_slots(self, tenant_id: str) -> int:
        """Slots whose lease has not ended; runs of a tenant without a limit take none."""
        now = self._clock.now()
        return sum(not slot.is_free(now) for slot in answer_of(lambda: self._store.get_slots(tenant_id)))

    def _draft(self, caller: Caller, before: Tenant | None, after: Tenant, action: str, reason: str) -> Draft:
        form = tenant_form(after)
        said = {"before": None if before is None else tenant_form(before), "after": form, "reason": reason}
        # Whoever makes a tenant acts for it: that stands in the new one's own log.
        inside = replace(caller, tenant=after)
        entry = audit(inside, after.change_id, after.updated_at, action, TENANT_SUBJECT, **said)
        writes: Sequence[Write] = [PutTenant(after, before), entry, *self._posted(before, after)]
        return Draft(writes, Answer(form, after.etag, created=before is None and action == CREATE_TENANT))

    def _posted(self, before: Tenant | None, after: Tenant) -> Sequence[Write]:
        """Where it is changed whether the tenant is told of its runs: what workers read of that."""
        was = before is not None and before.lifecycle_events
        if after.lifecycle_events == was:
            return ()
        return (events_notice(self._store, after, after.updated_at),)


def events_notice(store: JobStore, tenant: Tenant, now: Instant) -> Write:
    """The write of what the noticeboard says of `tenant`'s lifecycle events. `Conflict` when it is full."""
    sheet = answer_of(lambda: store.get_sheet(Topic.EVENTS, sheet_of(tenant.tenant_id)))
    notice = Notice() if tenant.lifecycle_events else None
    return PutSheet(posted(sheet, tenant.tenant_id, notice, now=now, change_id=tenant.change_id))


def _taken(tenant: Tenant) -> str:
    if tenant.status.is_gone:
        return f"tenant {tenant.tenant_id!r} is {tenant.status}: its id is never used again; choose another"
    return f"there is a tenant {tenant.tenant_id!r} already; change it with PATCH /v1/tenants/{tenant.tenant_id}"


def _check(conditions: Conditions, tenant: Tenant) -> None:
    if conditions.if_match and "*" not in conditions.if_match and tenant.etag not in conditions.if_match:
        raise Stale(conditions.if_match, tenant.etag, "tenant")
