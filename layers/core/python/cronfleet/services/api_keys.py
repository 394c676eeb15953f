"""API keys: made, listed, rotated and revoked by whoever administers their tenant.

A key is shown once, in the answer that makes it, and kept as a digest; so that answer is not remembered under an
Idempotency-Key. Nobody makes, rotates or revokes a key that may do more than the caller, and no key revokes itself:
whoever revokes the last but one still holds one that works.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Protocol

from cronfleet.domain.api_key import (
    ID_BYTES,
    SECRET_BYTES,
    ApiKey,
    KeyStatus,
    audited,
    digest_of,
    key_form,
    key_id_of,
    key_text,
)
from cronfleet.domain.audit import subject
from cronfleet.domain.errors import Conflict, Invalid, NotFound
from cronfleet.domain.form import Form
from cronfleet.domain.instant import DAY, SECOND, Instant
from cronfleet.domain.role import Role
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.api_keys import ApiKeyStore, ListApiKey, PutApiKey
from cronfleet.ports.clock import Clock, Ids, Secrets
from cronfleet.ports.job_store import ScheduleStore, Write
from cronfleet.ports.page import Page
from cronfleet.services.access import Caller
from cronfleet.services.changing import Answer, Changing, Draft, answer_of, audit

MAKE: Final = "make_key"
ROTATE: Final = "rotate_key"
REVOKE: Final = "revoke_key"
"""The audit log's words."""

MAX_KEYS: Final = 200
"""Keys that a tenant's list may hold; those that have ended stay in it for a month."""

MAX_OVERLAP: Final = 30 * DAY
MAX_LIFE: Final = 3_653 * DAY


class KeyStore(ScheduleStore, ApiKeyStore, Protocol):
    """Where keys are kept, and changes of them audited."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked of a new key."""

    role: Role
    name: str = ""
    expires_at: Instant | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _New:
    """A key that nobody has yet, and its text."""

    key_id: str
    text: str


class ApiKeys:
    """The service behind /v1/tenants/{tenant_id}/keys."""

    def __init__(self, *, store: KeyStore, clock: Clock, ids: Ids, secrets: Secrets) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        self._secrets = secrets
        self._changing = Changing(store, clock)

    def make(self, caller: Caller, wish: Wish) -> Answer:
        """A new key, shown here and nowhere again. `Forbidden` for one that may do more than the caller."""
        caller.require(wish.role)
        new = self._new()
        return self._changing.change(caller, None, partial(self._made, caller, wish, new))

    def _made(self, caller: Caller, wish: Wish, new: _New, now: Instant) -> Draft:
        self._check_room(caller.tenant)
        if wish.expires_at is not None and not now < wish.expires_at <= now + MAX_LIFE:
            raise Invalid("expires_at", "must be later than now, and within ten years; leave it out for no end")
        key = replace(self._key(caller, new, wish.role, now), name=wish.name, expires_at=wish.expires_at)
        writes = [*_put(key, None), self._audited(caller, MAKE, None, key, wish.reason, now)]
        return Draft(writes, _shown(key, new, now))

    def list(self, caller: Caller, *, cursor: str | None, limit: int) -> Page[Form]:
        """The tenant's keys by id, without what was shown once."""
        now = self._clock.now()
        tenant_id = caller.tenant.tenant_id
        page = answer_of(lambda: self._store.list_api_keys(tenant_id, cursor=cursor, limit=limit))
        return Page([key_form(key, now) for key in page.items], page.cursor)

    def rotate(self, caller: Caller, key_id: str, overlap_seconds: int, reason: str = "") -> Answer:
        """A new key of the same name and role, in the place of one that ends after the overlap.

        One that had an end gets as long a life as that had. `Conflict` for one that has ended, or been replaced.
        """
        new = self._new()
        overlap = overlap_seconds * SECOND
        return self._changing.change(caller, None, partial(self._rotated, caller, key_id, new, overlap, reason))

    def _rotated(self, caller: Caller, key_id: str, new: _New, overlap: int, reason: str, now: Instant) -> Draft:
        before = self._own(caller, key_id)
        if before.status(now) is not KeyStatus.LIVE:
            raise Conflict(f"the key {key_id!r} is {before.status(now)}; make a new one")
        if before.replaced_by:
            raise Conflict(f"the key {key_id!r} has been replaced by {before.replaced_by!r}; rotate that one")
        self._check_room(caller.tenant)
        made = replace(self._key(caller, new, before.role, now), name=before.name, expires_at=_as_long(before, now))
        ends_at = now + overlap if before.expires_at is None else min(before.expires_at, now + overlap)
        after = replace(before, expires_at=ends_at, replaced_by=made.key_id, change_id=self._ids.unique())
        writes = [
            *_put(after, before),
            *_put(made, None),
            self._audited(caller, ROTATE, before, after, reason, now),
            self._audited(caller, MAKE, None, made, reason, now),
        ]
        return Draft(writes, _shown(made, new, now))

    def revoke(self, caller: Caller, key_id: str, reason: str = "") -> None:
        """Let nobody in with the key any more; a revoked one stays so. `Conflict` for the caller's own."""
        self._changing.change(caller, None, partial(self._revoked, caller, key_id, reason))

    def _revoked(self, caller: Caller, key_id: str, reason: str, now: Instant) -> Draft:
        before = self._own(caller, key_id)
        if before.revoked_at is not None:
            return Draft([], Answer({}))
        if key_id == caller.credential:
            raise Conflict("a key cannot revoke itself: use another one, or rotate it with overlap_seconds 0")
        after = replace(before, revoked_at=now, change_id=self._ids.unique())
        audited = self._audited(caller, REVOKE, before, after, reason, now)
        return Draft([*_put(after, before), audited, *self._held(caller, now)], Answer({}))

    def _held(self, caller: Caller, now: Instant) -> Sequence[Write]:
        """The caller's own key, written as it is: of two keys that revoke each other at once, one keeps its key."""
        own = answer_of(lambda: self._store.find_api_key(caller.credential))
        if own is None:
            return ()  # A token, which nobody can revoke here.
        if own.status(now) is not KeyStatus.LIVE:
            raise Conflict(f"your own key is {own.status(now)} since; it changes nothing any more")
        return (PutApiKey(replace(own, change_id=self._ids.unique()), own),)

    def _own(self, caller: Caller, key_id: str) -> ApiKey:
        """A key of the caller's tenant that may do no more than the caller."""
        stored = answer_of(lambda: self._store.find_api_key(key_id))
        if stored is None or stored.tenant.tenant_id != caller.tenant.tenant_id:
            raise NotFound("key", key_id)
        caller.require(stored.role)
        return stored

    def _check_room(self, tenant: Tenant) -> None:
        if tenant.status.is_gone:
            raise Conflict(f"the tenant {tenant.tenant_id!r} is {tenant.status}; nobody gets a key to it any more")
        there = answer_of(lambda: self._store.list_api_keys(tenant.tenant_id, cursor=None, limit=MAX_KEYS))
        if len(there.items) >= MAX_KEYS:
            raise Conflict(f"the tenant has {MAX_KEYS} keys; those that have ended count for a month, so rotate less")

    def _new(self) -> _New:
        key_id = key_id_of(self._secrets.secret(ID_BYTES))
        return _New(key_id, key_text(key_id, self._secrets.secret(SECRET_BYTES)))

    def _key(self, caller: Caller, new: _New, role: Role, now: Instant) -> ApiKey:
        tenant = Tenant(caller.tenant.tenant_id, caller.tenant.tier)
        change_id = self._ids.unique()
        return ApiKey(
            new.key_id,
            digest_of(new.text),
            tenant,
            role,
            created_at=now,
            created_by=caller.actor,
            change_id=change_id,
        )

    def _audited(
        self, caller: Caller, action: str, before: ApiKey | None, after: ApiKey, reason: str, now: Instant
    ) -> Write:
        was = None if before is None else audited(before, now)
        about = subject("key", after.key_id)
        return audit(
            caller, self._ids.unique(), now, action, about, before=was, after=audited(after, now), reason=reason
        )


def _put(key: ApiKey, before: ApiKey | None) -> Sequence[Write]:
    return PutApiKey(key, before), ListApiKey(key)


def _shown(key: ApiKey, new: _New, now: Instant) -> Answer:
    return Answer({**key_form(key, now), "key": new.text}, created=True)


def _as_long(before: ApiKey, now: Instant) -> Instant | None:
    return None if before.expires_at is None else now + before.expires_at - before.created_at
