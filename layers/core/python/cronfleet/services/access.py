"""Access: which tenant an API key belongs to, and who is calling."""

import hmac
import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from cronfleet.domain.errors import Forbidden
from cronfleet.domain.role import Role
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.job_store import ApiKey, ScheduleStore
from cronfleet.services.asking import ask

_BEARER: Final = re.compile(r"bearer +(cf_([A-Za-z0-9-]{1,64})_[A-Za-z0-9_-]{16,256})", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, for which tenant, with which credential and role; `request_id` is the gateway's.

    `actor` is who (a key's name, a token's subject; the key's id where neither is known), `key_id` the credential.
    `home_tenant` is the credential's own tenant: another than `tenant` only where a platform admin acts for that one.
    """

    tenant: Tenant
    key_id: str
    request_id: str
    role: Role = Role.TENANT_ADMIN
    actor: str = ""
    home_tenant: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "actor", self.actor or self.key_id)
        object.__setattr__(self, "home_tenant", self.home_tenant or self.tenant.tenant_id)

    @property
    def acting_for(self) -> str:
        """The tenant that a platform admin of another one acts for; empty where the tenant is the caller's own."""
        return "" if self.home_tenant == self.tenant.tenant_id else self.tenant.tenant_id

    def require(self, needed: Role) -> None:
        """Raises `Forbidden` unless the caller's role allows what `needed` is asked for."""
        if not self.role.allows(needed):
            raise Forbidden(needed, self.role)


class Access:
    """Looks API keys up. Only their hashes are stored."""

    def __init__(self, *, store: ScheduleStore) -> None:
        self._store = store

    def key_of(self, authorization: str) -> ApiKey | None:
        """The key in an `Authorization: Bearer cf_<id>_<secret>` header, or `None` for anything but a valid one.

        Raises `NoAnswer` when the store stays silent: that is not a refusal.
        """
        match = _BEARER.fullmatch(authorization)
        if match is None:
            return None
        key, key_id = match.groups()
        stored = ask(lambda: self._store.find_api_key(key_id))
        # Compared also when there is no such key, so that the time taken does not tell.
        same = hmac.compare_digest(sha256(key.encode()).hexdigest(), stored.digest if stored else "")
        return stored if same else None
