"""API keys: whoever holds one may do in its tenant what its role allows, until it ends.

A key reads `cf_<id>_<secret>`. The whole of it is shown once; what is kept is its digest, which needs no salt and no
slow hash: the secret is 32 random bytes, and nobody guesses those.
"""

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cronfleet.domain.form import Form
from cronfleet.domain.instant import DAY, EARLIEST, MINUTE, Instant, to_text
from cronfleet.domain.role import Role
from cronfleet.domain.tenant import Tenant

TEXT: Final = re.compile(r"cf_([A-Za-z0-9-]{1,64})_[A-Za-z0-9_-]{16,256}", re.ASCII)
"""A whole key. The secret may hold underscores, the id does not."""

ID_BYTES: Final = 10
SECRET_BYTES: Final = 32

KEPT_AFTER_END: Final = 30 * DAY
"""How long a key that has ended is still listed."""

USE_NOTED_EVERY: Final = 5 * MINUTE
"""How old the noted last use gets before it is written again: a key in constant use costs one write in this time."""


class KeyStatus(StrEnum):
    """Whether a key is let in."""

    LIVE = "live"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A stored key: `digest` is the SHA-256 (hex) of the whole key, which is never stored.

    `tenant` is the key's own; what its record says now, only the record knows. Keys that are older than roles could do
    everything in their tenant, and go on to. `replaced_by` is the key that a rotation made in its place. `is_listed`
    is false for one that its tenant's list does not hold yet: keys of the first release are listed at their next use.
    """

    key_id: str
    digest: str
    tenant: Tenant
    role: Role = Role.TENANT_ADMIN
    name: str = ""
    created_at: Instant = EARLIEST
    created_by: str = ""
    expires_at: Instant | None = None
    revoked_at: Instant | None = None
    last_used_at: Instant | None = None
    replaced_by: str = ""
    change_id: str = ""
    is_listed: bool = True

    @property
    def prefix(self) -> str:
        """How the key begins: enough to tell it from others, and nothing of its secret."""
        return f"cf_{self.key_id}_"

    @property
    def ends_at(self) -> Instant | None:
        """From when on it is let in no more; `None` while no end is set."""
        ends = [end for end in (self.expires_at, self.revoked_at) if end is not None]
        return min(ends) if ends else None

    def status(self, now: Instant) -> KeyStatus:
        """Whether it is let in at `now`, and why not."""
        if self.revoked_at is not None and self.revoked_at <= now:
            return KeyStatus.REVOKED
        if self.expires_at is not None and self.expires_at <= now:
            return KeyStatus.EXPIRED
        return KeyStatus.LIVE

    def wants_use_noted(self, now: Instant) -> bool:
        """Whether the last use that is noted says too little about one at `now`."""
        return not self.is_listed or self.last_used_at is None or now - self.last_used_at >= USE_NOTED_EVERY


def key_id_of(random: bytes) -> str:
    """A key's id, of `ID_BYTES` random bytes."""
    return base64.b32encode(random).decode().lower()


def key_text(key_id: str, secret: bytes) -> str:
    """The whole key, of `SECRET_BYTES` random bytes."""
    return f"cf_{key_id}_{base64.urlsafe_b64encode(secret).decode().rstrip('=')}"


def key_id_in(text: str) -> str | None:
    """The id in a whole key; `None` for what is no key."""
    match = TEXT.fullmatch(text)
    return None if match is None else match[1]


def digest_of(text: str) -> str:
    """What is kept of a key."""
    return hashlib.sha256(text.encode()).hexdigest()


def is_key(text: str, stored: ApiKey | None) -> bool:
    """Whether `text` is the whole of the `stored` key; compared also with none, so that the time does not tell."""
    return hmac.compare_digest(digest_of(text), stored.digest if stored else "") and stored is not None


def key_form(key: ApiKey, now: Instant) -> Form:
    """A key as callers see it: never its secret, nor the digest."""
    return {
        "id": key.key_id,
        "prefix": key.prefix,
        "name": key.name,
        "role": key.role.value,
        "status": key.status(now).value,
        "created_at": _text(key.created_at or None),
        "created_by": key.created_by,
        "expires_at": _text(key.expires_at),
        "revoked_at": _text(key.revoked_at),
        "last_used_at": _text(key.last_used_at),
        "replaced_by": key.replaced_by or None,
    }


def audited(key: ApiKey, now: Instant) -> Form:
    """A key as the audit log keeps it: what changes by itself is left out."""
    return {name: value for name, value in key_form(key, now).items() if name not in ("status", "last_used_at")}


def _text(instant: Instant | None) -> str | None:
    return None if instant is None else to_text(instant)
