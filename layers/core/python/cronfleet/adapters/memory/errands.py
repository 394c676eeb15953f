"""`ErrandStore` in memory."""

from dataclasses import replace
from typing import Any

from cronfleet.adapters.memory.due_index import ItemKey
from cronfleet.adapters.memory.state import State
from cronfleet.domain.errand import Errand, ErrandKind
from cronfleet.domain.instant import Instant
from cronfleet.ports.errands import PutErrand


class MemoryErrands:
    """Errands, each changed on the condition of its `rev`."""

    def __init__(self, state: State) -> None:
        self.state = state

    def get_errand(self, tenant: str, kind: ErrandKind, errand_id: str) -> Errand | None:
        return self.state.errands.get(errand_key(tenant, kind.value, errand_id))

    def move_errand(self, errand: Errand, due_at: Instant, failures: int | None = None) -> bool:
        stored, after = stored_errand(self.state, errand), errand.moved(due_at, failures)
        if stored is None or stored.rev != errand.rev:
            return stored is not None and stored.is_at(after)
        put_errand(self.state, stored.moved(due_at, failures))
        return True

    def retire_errand(self, errand: Errand) -> bool:
        stored = stored_errand(self.state, errand)
        if stored is not None and stored.rev == errand.rev:
            remove_errand(self.state, errand_key(*errand.key))
            return True
        return stored is None


def errand_key(tenant: str, kind: str, errand_id: str) -> ItemKey:
    """Where an errand stands."""
    return f"{tenant}#~errands", f"ERRAND#{kind}#{errand_id}"


def stored_errand(state: State, errand: Errand) -> Errand | None:
    """What stands where `errand` does."""
    return state.errands.get(errand_key(*errand.key))


def may_put_errand(write: PutErrand, stored: Any) -> bool:
    """Whether the condition of `write` holds."""
    if write.before is None:
        return stored is None
    return isinstance(stored, Errand) and stored.rev == write.before.rev


def put_errand(state: State, errand: Errand) -> None:
    """Store `errand`; it waits in the due index, which does not tell of failures."""
    key = errand_key(*errand.key)
    state.errands[key] = errand
    state.due_index.put(key, errand.shard, errand.due_at, _projected(errand))


def remove_errand(state: State, key: ItemKey) -> None:
    """Remove what stands under `key`, if anything does."""
    state.errands.pop(key, None)
    state.due_index.remove(key)


def _projected(errand: Errand) -> Errand:
    return replace(errand, failures=0)
