"""Access: as whom a credential lets its bearer in, and who is calling."""

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from cronfleet.domain.api_key import TEXT, ApiKey, KeyStatus, is_key
from cronfleet.domain.errors import Forbidden
from cronfleet.domain.instant import Instant
from cronfleet.domain.role import Role
from cronfleet.domain.tenant import Tenant
from cronfleet.domain.token_claims import ClaimNames, bearer_of
from cronfleet.domain.trace import TraceContext
from cronfleet.ports.api_keys import ApiKeyStore
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import Damaged, NoAnswer, TimedStore
from cronfleet.ports.noticeboard import NoticeStore
from cronfleet.ports.tenants import TenantStore
from cronfleet.ports.tokens import Tokens
from cronfleet.services.asking import ask
from cronfleet.services.true_clock import refuse_wrong_clock

MAX_TOKEN: Final = 8_192
"""Characters of a token; the gateway takes little more in all headers together."""

TOKEN: Final = "jwt:"  # noqa: S105 - the beginning of a name
"""How a token is called as a credential, before its provider's host; no key's id has a colon."""

_KEY: Final = re.compile(rf"bearer +({TEXT.pattern})", re.ASCII | re.IGNORECASE)
_TOKEN: Final = re.compile(r"bearer +([A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*)", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, for which tenant, with which credential and role; `request_id` is the gateway's.

    `actor` is who (a key's name, a token's subject; the key's id where neither is known), `credential` is what it
    is known by: a key's id, or `jwt:` and the provider's host.
    `home_tenant` is the credential's own tenant: another than `tenant` only where a platform admin acts for that one.
    """

    tenant: Tenant
    credential: str
    request_id: str
    role: Role = Role.TENANT_ADMIN
    actor: str = ""
    home_tenant: str = ""
    trace: TraceContext | None = None
    """The span of the request, where it is traced."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "actor", self.actor or self.credential)
        object.__setattr__(self, "home_tenant", self.home_tenant or self.tenant.tenant_id)

    @property
    def acting_for(self) -> str:
        """The tenant that a platform admin of another one acts for; empty where the tenant is the caller's own."""
        return "" if self.home_tenant == self.tenant.tenant_id else self.tenant.tenant_id

    def require(self, needed: Role) -> None:
        """Raises `Forbidden` unless the caller's role allows what `needed` is asked for."""
        if not self.role.allows(needed):
            raise Forbidden(needed, self.role)


@dataclass(frozen=True, slots=True)
class Credential:
    """What a key or a token, which is called `name`, lets its bearer in as, until `ends_at` (`None`: no end is set)."""

    tenant: Tenant
    role: Role
    name: str
    actor: str
    ends_at: Instant | None = None


class AccessStore(TimedStore, ApiKeyStore, TenantStore, NoticeStore, Protocol):
    """What access is looked up in."""


class Access:
    """Checks API keys, of which only digests are stored, and tokens, where an identity provider is set."""

    def __init__(
        self,
        *,
        store: AccessStore,
        clock: Clock,
        tokens: Callable[[], Tokens] | None = None,
        names: ClaimNames | None = None,
    ) -> None:
        """`tokens` is called when the first token comes."""
        self._store = store
        self._clock = clock
        self._tokens = None if tokens is None else functools.cache(tokens)
        self._names = names or ClaimNames()

    def credential_of(self, authorization: str) -> Credential | None:
        """The credential in an `Authorization: Bearer …` header, or `None` for anything but a valid one.

        Raises `NoAnswer` when the store or the identity provider stays silent, and `ClockSkewed` when this process's
        clock is off and an end cannot be judged: none of them is a refusal.
        """
        match = _KEY.fullmatch(authorization)
        if match is not None:
            return self._of_key(*match.groups())
        match = _TOKEN.fullmatch(authorization)
        if match is not None and self._tokens is not None and len(match[1]) <= MAX_TOKEN:
            return self._of_token(self._tokens(), match[1])
        return None

    def _of_key(self, text: str, key_id: str) -> Credential | None:
        stored = ask(lambda: self._store.find_api_key(key_id))
        if not is_key(text, stored) or stored is None:
            return None
        refuse_wrong_clock(self._store)
        now = self._clock.now()
        if stored.status(now) is not KeyStatus.LIVE:
            return None
        record = ask(lambda: self._store.get_tenant(stored.tenant.tenant_id))
        # An installation that is older than tenants' records has keys without one.
        tenant = record or stored.tenant
        if tenant.status.is_gone:
            return None
        self._note_use(stored, now)
        return Credential(tenant, stored.role, key_id, stored.name or key_id, stored.ends_at)

    def _note_use(self, key: ApiKey, now: Instant) -> None:
        if not key.wants_use_noted(now):
            return
        try:
            # A standby's note would be newer than the withdrawal of the key in the region that works, and undo it.
            if not self._stands_by():
                self._store.note_use(key, now)
        except (NoAnswer, Damaged):
            return  # The next request notes its own; nobody is kept out for that.

    def _stands_by(self) -> bool:
        here = self._store.here
        hold = self._store.get_switch(here.region).in_force(here)
        return hold is not None and hold.is_standby

    def _of_token(self, tokens: Tokens, token: str) -> Credential | None:
        claims = tokens.claims(token)
        bearer = None if claims is None else bearer_of(claims, self._names)
        if bearer is None:
            return None
        tenant = ask(lambda: self._store.get_tenant(bearer.tenant_id))
        refuse_wrong_clock(self._store)
        if tenant is None or tenant.status.is_gone:
            return None
        return Credential(tenant, bearer.role, tokens.credential, bearer.subject, bearer.ends_at)
