"""Admission: in which tenant a request is heard, and whether its key may ask again so soon."""

from dataclasses import replace
from typing import Protocol

from cronfleet.domain.errors import NotFound, RateLimited
from cronfleet.domain.instant import SECOND
from cronfleet.domain.quota import quotas_of
from cronfleet.domain.rate import line_of_key
from cronfleet.domain.role import Role
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import TimedStore
from cronfleet.ports.rates import RateStore
from cronfleet.ports.tenants import TenantStore
from cronfleet.services.access import TOKEN, Caller
from cronfleet.services.changing import answer_of
from cronfleet.services.request_rates import RequestRates
from cronfleet.services.tenant_rules import TenantRules
from cronfleet.services.true_clock import known_now


class AdmissionStore(TimedStore, TenantStore, RateStore, Protocol):
    """What admission is decided by."""


class Admission:
    """One per process: it remembers tenants' records for half a minute, and what it has drawn for keys."""

    def __init__(self, *, store: AdmissionStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._rules = TenantRules(store)
        self._rates = RequestRates(store)

    def at_home(self, caller: Caller, *, reads: bool) -> Caller:
        """`caller` with its tenant's record: at most half a minute old for whoever only `reads`, else as it is now, so
        that nothing is changed any more once a suspension has returned. Raises `RateLimited`.
        """
        now = self._clock.now()
        tenant_id = caller.tenant.tenant_id
        recent = self._rules.of([tenant_id], now)[tenant_id]
        per_second = quotas_of(recent if recent.rev else caller.tenant).requests_per_second
        wait = self._wait(caller, per_second)
        if wait:
            raise RateLimited(
                f"this credential may ask {per_second} times a second; wait as long as Retry-After says",
                field="requests_per_second",
                retry_after_seconds=-(-wait // SECOND),
            )
        record = recent if reads else answer_of(lambda: self._store.get_tenant(tenant_id))
        # A tenant that is older than records has none: its tier is its key's.
        return replace(caller, tenant=record) if record is not None and record.rev else caller

    def _wait(self, caller: Caller, per_second: int) -> int:
        """After how many milliseconds the credential may ask again; 0: now.

        A clock that is ahead would move the line ahead with it, and keep the credential out for as long: by a wrong
        one nothing is counted. What must not be done by it is refused where it is decided.
        """
        now = known_now(self._store, self._clock, lambda: self._store.get_tenant(caller.tenant.tenant_id))
        return 0 if now is None else self._rates.wait(_line_of(caller), per_second, now)

    def acting_for(self, caller: Caller, tenant_id: str) -> Caller:
        """`caller` in the tenant `tenant_id`, which takes a platform admin; `NotFound` for everybody else."""
        if not caller.role.allows(Role.PLATFORM_ADMIN):
            raise NotFound("tenant", tenant_id)
        tenant = answer_of(lambda: self._store.get_tenant(tenant_id))
        if tenant is None:
            raise NotFound("tenant", tenant_id)
        return replace(caller, tenant=tenant)


def _line_of(caller: Caller) -> str:
    """A key has a line; so has each subject of the identity provider, whose tokens come and go."""
    is_token = caller.credential.startswith(TOKEN)
    return line_of_key(f"{caller.credential}#{caller.actor}" if is_token else caller.credential)
