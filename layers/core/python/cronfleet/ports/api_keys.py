"""API keys, as the services need them stored."""

from dataclasses import dataclass
from typing import Protocol

from cronfleet.domain.api_key import ApiKey
from cronfleet.domain.instant import Instant
from cronfleet.ports.page import Page


@dataclass(frozen=True, slots=True)
class PutApiKey:
    """Put a key, on the condition that its `change_id` is still that of `before` (`None`: there is none)."""

    key: ApiKey
    before: ApiKey | None


@dataclass(frozen=True, slots=True)
class ListApiKey:
    """Put a key into its tenant's list, where it is not yet."""

    key: ApiKey


class ApiKeyStore(Protocol):
    """API keys: found by their ids, listed by their tenants."""

    def find_api_key(self, key_id: str) -> ApiKey | None:
        """The stored key, read strongly."""
        ...

    def list_api_keys(self, tenant: str, *, cursor: str | None, limit: int) -> Page[ApiKey]:
        """A tenant's keys by id, read strongly; those that have ended and are forgotten are left out.

        A page may be short and still have a cursor.
        """
        ...

    def note_use(self, key: ApiKey, at: Instant) -> None:
        """Note that `key` was used at `at`, and list it where it is not. Changes nothing else, and no gone key."""
        ...
