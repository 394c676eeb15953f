"""The first key of an installation: a tenant and a platform admin's key for it, put there by whoever has AWS rights.

Everybody after that gets in by a key that somebody else has made. It is also the way back in, for an installation
whose last platform admin has lost the key.
"""

from dataclasses import replace
from typing import Final

from cronfleet.domain.api_key import (
    ID_BYTES,
    SECRET_BYTES,
    ApiKey,
    audited,
    digest_of,
    is_key,
    key_id_in,
    key_id_of,
    key_text,
)
from cronfleet.domain.audit import TENANT_SUBJECT, AuditEntry, subject
from cronfleet.domain.errors import Conflict, Invalid
from cronfleet.domain.form import Form
from cronfleet.domain.instant import Instant
from cronfleet.domain.role import Role
from cronfleet.domain.tenant import ID_PATTERN, Tenant
from cronfleet.domain.tenant_form import tenant_form
from cronfleet.ports.api_keys import ListApiKey, PutApiKey
from cronfleet.ports.clock import Clock, Ids, Secrets
from cronfleet.ports.job_store import InsertAudit, JobStore, Write
from cronfleet.ports.tenants import PutTenant
from cronfleet.services.api_keys import MAKE
from cronfleet.services.asking import ask
from cronfleet.services.tenants import CREATE_TENANT

OPERATOR: Final = "operator"
"""The actor of what is done with AWS rights, past the API; AWS's own trail knows whose they were."""
AWS: Final = "aws"
"""In the place of a credential of ours."""

NAME: Final = "first key"


class FirstKey:
    """Makes a tenant's first key."""

    def __init__(self, *, store: JobStore, clock: Clock, ids: Ids, secrets: Secrets) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        self._secrets = secrets

    def make(self, tenant_id: str, text: str = "") -> str:
        """The text of a platform admin's key of the tenant, which is made if it is not there.

        With `text` it is that key, made or put back; done again, nothing is changed. Raises `Invalid` for what is no
        tenant's id or no key, `Conflict` for a key of another tenant, and for a tenant that is being deleted.
        """
        if not ID_PATTERN.fullmatch(tenant_id):
            raise Invalid("tenant", f"{tenant_id!r} is no id: write 1 to 64 letters, digits, dots, dashes, underscores")
        now = self._clock.now()
        tenant = ask(lambda: self._store.get_tenant(tenant_id))
        writes = [] if tenant is not None else self._tenant(tenant_id, now)
        known = tenant or Tenant(tenant_id)
        if known.status.is_gone:
            raise Conflict(f"the tenant {tenant_id!r} is {known.status}; its id is not given away again")
        text = text or key_text(key_id_of(self._secrets.secret(ID_BYTES)), self._secrets.secret(SECRET_BYTES))
        writes += self._key(known, text, now)
        if writes:
            ask(lambda: self._store.commit(writes))
        return text

    def _tenant(self, tenant_id: str, now: Instant) -> list[Write]:
        change_id = self._ids.unique()
        tenant = Tenant(tenant_id, created_at=now, updated_at=now, rev=1, change_id=change_id)
        entry = self._entry(tenant_id, change_id, now, CREATE_TENANT, TENANT_SUBJECT, tenant_form(tenant))
        return [PutTenant(tenant, None), entry]

    def _key(self, tenant: Tenant, text: str, now: Instant) -> list[Write]:
        key_id = key_id_in(text)
        if key_id is None:
            raise Invalid("key", "is no key: write cf_<id>_<secret>, or leave it out, and one is made")
        before = ask(lambda: self._store.find_api_key(key_id))
        if before is not None and (before.tenant.tenant_id != tenant.tenant_id or not is_key(text, before)):
            raise Conflict(f"there is another key {key_id!r}; leave the key out, and one is made")
        if before is not None and before.role is Role.PLATFORM_ADMIN and before.ends_at is None and before.is_listed:
            return []
        change_id = self._ids.unique()
        home = Tenant(tenant.tenant_id, tenant.tier)
        fresh = ApiKey(key_id, digest_of(text), home, name=NAME, created_at=now, created_by=OPERATOR)
        key = replace(
            before or fresh,
            role=Role.PLATFORM_ADMIN,
            expires_at=None,
            revoked_at=None,
            is_listed=True,
            change_id=change_id,
        )
        about = subject("key", key_id)
        entry = self._entry(tenant.tenant_id, change_id, now, MAKE, about, audited(key, now))
        return [PutApiKey(key, before), ListApiKey(key), entry]

    def _entry(self, tenant_id: str, change_id: str, now: Instant, action: str, about: str, after: Form) -> Write:
        entry = AuditEntry(tenant_id, change_id, now, OPERATOR, action, about, change_id, after=after, credential=AWS)
        return InsertAudit(entry)
