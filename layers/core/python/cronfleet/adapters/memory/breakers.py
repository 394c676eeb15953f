"""`BreakerStore` in memory."""

from cronfleet.adapters.memory.state import State
from cronfleet.domain.breaker import Breaker, Guarded
from cronfleet.ports import cursors
from cronfleet.ports.breakers import PutBreaker
from cronfleet.ports.page import Page


class MemoryBreakers:
    """Breakers by tenant and id."""

    state: State

    def get_breaker(self, guarded: Guarded) -> Breaker:
        return self.state.breakers.get((guarded.tenant, guarded.breaker_id), Breaker(guarded))

    def find_breaker(self, tenant: str, breaker_id: str) -> Breaker | None:
        return self.state.breakers.get((tenant, breaker_id))

    def put_breaker(self, breaker: Breaker) -> bool:
        stored = stored_breaker(self.state, PutBreaker(breaker))
        if may_put_breaker(breaker, stored):
            put_breaker(self.state, breaker)
            return True
        return stored == breaker

    def list_breakers(self, tenant: str, *, cursor: str | None, limit: int) -> Page[Breaker]:
        after = "" if cursor is None else cursors.decode(cursor, 1)[0]
        own = sorted(name for owner, name in self.state.breakers if owner == tenant and name > after)
        found = [self.state.breakers[tenant, name] for name in own[:limit]]
        return Page(found, cursors.encode([own[limit - 1]]) if len(own) > limit else None)


def stored_breaker(state: State, write: PutBreaker) -> Breaker | None:
    """What stands where `write` is to write."""
    guarded = write.breaker.guarded
    return state.breakers.get((guarded.tenant, guarded.breaker_id))


def may_put_breaker(breaker: Breaker, stored: Breaker | None) -> bool:
    """Whether the condition holds."""
    return (0 if stored is None else stored.rev) == breaker.rev - 1


def put_breaker(state: State, breaker: Breaker) -> None:
    """Store it."""
    state.breakers[breaker.guarded.tenant, breaker.guarded.breaker_id] = breaker
