"""Tenant rules: the tenants' records as a process that decides for many of them knows them, read rarely."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final, TypeVar

from cronfleet.domain.instant import SECOND, Instant
from cronfleet.domain.quota import kept_days
from cronfleet.domain.run import Run, RunMessage
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.job_store import NoAnswer
from cronfleet.ports.tenants import TenantStore
from cronfleet.services.asking import ask

MAX_AGE: Final = 30 * SECOND
"""A change of a tenant's tier or quotas holds everywhere after this time."""
MAX_KEPT: Final = 10_000
"""Tenants a process remembers; the one that was not asked for longest makes room."""

Kept = TypeVar("Kept", Run, RunMessage)


class TenantRules:
    """A process's memory of tenants' records. One per process: a service keeps it."""

    def __init__(self, store: TenantStore) -> None:
        self._store = store
        self._known: OrderedDict[str, tuple[Tenant, Instant]] = OrderedDict()

    def of(self, tenant_ids: Iterable[str], now: Instant) -> Mapping[str, Tenant]:
        """The tenants by id, at most `MAX_AGE` old; one without a record is `Tenant(id)`.

        While the store gives no answer, what was known before is used, and the defaults for whom nothing was known:
        dispatch goes on.
        """
        wanted = list(dict.fromkeys(tenant_ids))
        old = [one for one in wanted if not self._is_fresh(one, now)]
        if old:
            self._read(old, now)
        found = {one: self._recall(one) for one in wanted}
        # Only now: whoever was asked for must not be the one that makes room.
        while len(self._known) > MAX_KEPT:
            self._known.popitem(last=False)
        return found

    def kept(self, run: Kept, now: Instant) -> Kept:
        """`run`, or its message, with how long its row is to be kept."""
        days = kept_days(self._one(run.key.tenant, now))
        return run if run.kept_days == days else replace(run, kept_days=days)

    def _one(self, tenant_id: str, now: Instant) -> Tenant:
        return self._recall(tenant_id) if self._is_fresh(tenant_id, now) else self.of([tenant_id], now)[tenant_id]

    def knows(self, tenant_id: str) -> bool:
        """Whether the store has ever said what the tenant's record is, or that there is none: its limits, then."""
        return tenant_id in self._known

    def _is_fresh(self, tenant_id: str, now: Instant) -> bool:
        known = self._known.get(tenant_id)
        # A clock that was set back must not make a record young for ever.
        return known is not None and 0 <= now - known[1] < MAX_AGE

    def _read(self, tenant_ids: list[str], now: Instant) -> None:
        try:
            found = ask(lambda: self._store.get_tenants(tenant_ids))
        except NoAnswer:
            return
        for tenant_id in tenant_ids:
            self._known[tenant_id] = (found.get(tenant_id, Tenant(tenant_id)), now)

    def _recall(self, tenant_id: str) -> Tenant:
        known = self._known.get(tenant_id)
        if known is None:
            return Tenant(tenant_id)
        self._known.move_to_end(tenant_id)
        return known[0]
