"""Quotas at work: what a tenant may make is judged here, and how many schedules it has is counted."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from cronfleet.domain.claim import Unreadable
from cronfleet.domain.errors import Contended, NotFound, QuotaExceeded
from cronfleet.domain.quota import payload_bytes, quotas_of
from cronfleet.domain.schedule import Status, Timer
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.job_store import JobStore, Refused, UpdateTimer, Write
from cronfleet.ports.schedule_counts import CountSchedules, Full
from cronfleet.services.access import Caller
from cronfleet.services.changing import answer_of, too_many

COUNTED_AT_ONCE: Final = 50
"""Schedules older than counting that one transaction counts."""
MAX_COUNTED_PAGES: Final = 50
"""Such transactions for one request; the next request goes on."""
MAX_TRIES: Final = 5
"""How often one schedule is looked at again that somebody else keeps changing."""


class TenantQuotas:
    """What a tenant may have, and has."""

    def __init__(self, store: JobStore, *, writes: bool = True) -> None:
        """Without `writes`, schedules that are older than counting are not counted: for whoever only looks."""
        self._store = store
        self._writes = writes
        self._counted: set[str] = set()

    def tenant_of(self, caller: Caller) -> Tenant:
        """The tenant's record as it is now; the caller's word where its keys are older than records.

        `NotFound` for a platform admin who acts for a tenant that there is not.
        """
        tenant_id = caller.tenant.tenant_id
        record = answer_of(lambda: self._store.get_tenant(tenant_id))
        if record is None and caller.acting_for:
            raise NotFound("tenant", tenant_id)
        return record or caller.tenant

    def check_payload(self, tenant: Tenant, payload: Any) -> None:
        """Raises `QuotaExceeded` for a payload that is too large for the tenant."""
        size, limit = payload_bytes(payload), quotas_of(tenant).payload_bytes
        if size > limit:
            hint = f"it has {size:,}. Keep large data in S3, and its address here"
            raise QuotaExceeded("payload_bytes", size, limit, hint)

    def one_more(self, tenant: Tenant) -> CountSchedules:
        """What a transaction that makes a schedule has to hold; `Contended` while older ones are being counted."""
        if self._writes:
            self._count_older_once(tenant.tenant_id)
        return CountSchedules(tenant.tenant_id, 1, quotas_of(tenant).schedules)

    def schedules_of(self, tenant_id: str) -> int:
        """How many schedules the tenant has, those included that are older than counting."""
        self._count_older_once(tenant_id)
        return answer_of(lambda: self._store.get_schedule_count(tenant_id)).use

    # --- what is older than counting -----------------------------------------------------------------------------

    def seen(self, tenant_id: str) -> int:
        """The same number, found without a write: what is not counted yet is looked for anew each time."""
        count = answer_of(lambda: self._store.get_schedule_count(tenant_id))
        use, cursor = count.use, count.cursor
        if count.is_complete:
            return use
        lists = partial(self._store.list_schedules, tenant_id, prefix="", status=None)
        for _ in range(MAX_COUNTED_PAGES):
            page = answer_of(partial(lists, cursor=cursor, limit=COUNTED_AT_ONCE))
            keys = [(tenant_id, one.schedule_id) for one in page.items]
            found = answer_of(partial(self._store.get_timers, keys)).values()
            use += len(_older(found))
            cursor = page.cursor
            if cursor is None:
                return use
        raise Contended("this tenant's schedules are not counted yet; GET /v1/tenants/{id}/usage counts them")

    def _count_older_once(self, tenant_id: str) -> None:
        if tenant_id not in self._counted:
            self._count_older(tenant_id)
            self._counted.add(tenant_id)

    def _count_older(self, tenant_id: str) -> None:
        for _ in range(MAX_COUNTED_PAGES):
            count = answer_of(lambda: self._store.get_schedule_count(tenant_id))
            if count.is_complete:
                return
            lists = partial(self._store.list_schedules, tenant_id, prefix="", status=None)
            page = answer_of(partial(lists, cursor=count.cursor, limit=COUNTED_AT_ONCE))
            self._count_in([(tenant_id, one.schedule_id) for one in page.items])
            answer_of(partial(self._store.put_count_progress, tenant_id, page.cursor))
            if page.cursor is None:
                return
        raise Contended("this tenant's schedules are being counted for the first time; try again in a few seconds")

    def _count_in(self, keys: Sequence[tuple[str, str]]) -> None:
        """Count those that are not counted yet, each in the transaction that marks it so."""
        found = answer_of(partial(self._store.get_timers, keys)).values()
        if not self._marked([timer for timer in found if isinstance(timer, Timer)]):
            # Somebody wrote to one of them, or a copy was old: one by one, as they are now.
            for tenant_id, schedule_id in keys:
                self._count_one(tenant_id, schedule_id)

    def _count_one(self, tenant_id: str, schedule_id: str) -> None:
        for _ in range(MAX_TRIES):
            timer = answer_of(partial(self._store.get_timer, tenant_id, schedule_id))
            if timer is None or self._marked([timer]):
                return
        raise Contended(f"schedule {schedule_id} kept changing while it was being counted; try again in a few seconds")

    def _marked(self, timers: Sequence[Timer]) -> bool:
        older = _older(timers)
        if not older:
            return True
        writes: list[Write] = [UpdateTimer(replace(one, is_counted=True, rev=one.rev + 1), one) for one in older]
        try:
            answer_of(lambda: self._store.commit([*writes, CountSchedules(older[0].tenant, len(older))]))
        except Refused:
            return False
        return True


def _older(found: Iterable[Timer | Unreadable]) -> list[Timer]:
    """Those of `found` that are there and not counted."""
    timers = [one for one in found if isinstance(one, Timer)]
    return [one for one in timers if not one.is_counted and one.status is not Status.CANCELLED]


class Room:
    """What a tenant could still make, for a dry run of many: each that would be made takes its place."""

    def __init__(self, quotas: TenantQuotas, tenant: Tenant, use: int) -> None:
        self._quotas = quotas
        self._tenant = tenant
        self._use = use

    def take(self, payload: Any) -> None:
        """Raises `QuotaExceeded` where a schedule with `payload` would be refused."""
        self._quotas.check_payload(self._tenant, payload)
        limit = quotas_of(self._tenant).schedules
        if self._use >= limit:
            raise too_many(Full(self._use, limit))
        self._use += 1


def counting(before: Timer, after: Timer) -> Sequence[Write]:
    """What a change of a schedule does to the count of its tenant's."""
    by = after.is_counted - before.is_counted
    return [CountSchedules(after.tenant, by)] if by else []
