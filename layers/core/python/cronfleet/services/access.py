"""Access: which tenant an API key belongs to, and who is calling."""

import hmac
import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from cronfleet.domain.tenant import Tenant
from cronfleet.ports.job_store import ApiKey, ScheduleStore
from cronfleet.services.asking import ask

_BEARER: Final = re.compile(r"bearer +(cf_([A-Za-z0-9-]{1,64})_[A-Za-z0-9_-]{16,256})", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: the tenant and key that the credential stands for, and the id of the request."""

    tenant: Tenant
    key_id: str
    request_id: str


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
