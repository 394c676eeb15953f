"""Breakers of targets, where their failures are counted."""

from dataclasses import dataclass
from typing import Protocol

from cronfleet.domain.breaker import Breaker, Guarded
from cronfleet.ports.page import Page


@dataclass(frozen=True, slots=True)
class PutBreaker:
    """Replace a breaker, on the condition that its `rev` is still `breaker.rev - 1` (0: none)."""

    breaker: Breaker


class BreakerStore(Protocol):
    """Breakers by tenant and id. One that nobody has written for two days may be forgotten: it was closed."""

    def get_breaker(self, guarded: Guarded) -> Breaker:
        """The breaker, read strongly; a closed one before the first failure."""
        ...

    def find_breaker(self, tenant: str, breaker_id: str) -> Breaker | None:
        """The breaker of this id, read strongly."""
        ...

    def put_breaker(self, breaker: Breaker) -> bool:
        """Replace it if its `rev` is still `breaker.rev - 1`; True when it was, or this is what is there."""
        ...

    def list_breakers(self, tenant: str, *, cursor: str | None, limit: int) -> Page[Breaker]:
        """A tenant's breakers by id, closed ones too."""
        ...
