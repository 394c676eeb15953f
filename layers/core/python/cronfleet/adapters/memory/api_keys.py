"""`ApiKeyStore` in memory."""

from dataclasses import replace

from cronfleet.adapters.memory.state import State
from cronfleet.domain.api_key import ApiKey
from cronfleet.domain.instant import Instant
from cronfleet.ports import cursors
from cronfleet.ports.api_keys import ListApiKey, PutApiKey
from cronfleet.ports.page import Page


class MemoryApiKeys:
    """API keys: found by their ids, listed by their tenants."""

    state: State

    def find_api_key(self, key_id: str) -> ApiKey | None:
        return self.state.api_keys.get(key_id)

    def list_api_keys(self, tenant: str, *, cursor: str | None, limit: int) -> Page[ApiKey]:
        after = "" if cursor is None else cursors.decode(cursor, 1)[0]
        ids = sorted(key_id for owner, key_id in self.state.listed_keys if owner == tenant and key_id > after)
        found = [self.state.api_keys[one] for one in ids[:limit] if one in self.state.api_keys]
        return Page(found, cursors.encode([ids[limit - 1]]) if len(ids) > limit else None)

    def note_use(self, key: ApiKey, at: Instant) -> None:
        stored = self.state.api_keys.get(key.key_id)
        if stored is not None:
            self.state.api_keys[key.key_id] = replace(stored, last_used_at=at, is_listed=True)
            self.state.listed_keys.add((key.tenant.tenant_id, key.key_id))

    def put_api_key(self, key: ApiKey) -> None:
        """Store a key and its tenant, whatever is there."""
        self.state.tenants[key.tenant.tenant_id] = key.tenant
        self.state.api_keys[key.key_id] = key
        self.state.listed_keys.add((key.tenant.tenant_id, key.key_id))


def stored_key(state: State, write: PutApiKey | ListApiKey) -> ApiKey | None:
    """What stands where `write` is to write."""
    return state.api_keys.get(write.key.key_id) if isinstance(write, PutApiKey) else None


def may_put_key(write: PutApiKey | ListApiKey, stored: ApiKey | None) -> bool:
    """Whether the condition of `write` holds."""
    if isinstance(write, ListApiKey):
        return True
    return _change_of(stored) == _change_of(write.before)


def put_key(state: State, write: PutApiKey | ListApiKey) -> None:
    """Store a key, or its place in its tenant's list."""
    if isinstance(write, PutApiKey):
        state.api_keys[write.key.key_id] = write.key
    else:
        state.listed_keys.add((write.key.tenant.tenant_id, write.key.key_id))


def _change_of(key: ApiKey | None) -> str | None:
    return None if key is None else key.change_id
