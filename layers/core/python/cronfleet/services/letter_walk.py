"""Letter walk: the dead letters of an operation, those that died first before the others, whatever became of them.

A letter that the operation has settled stands in the operation's own list, the others in their tenant's; both are gone
through in one order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from cronfleet.domain.dead_letter import LetterFilter
from cronfleet.domain.errors import Invalid
from cronfleet.domain.operation import Operation
from cronfleet.domain.run import RunKey
from cronfleet.ports.dead_letters import place_of, redriven_by
from cronfleet.ports.job_store import JobStore
from cronfleet.services.letters import Letters

MAX_LOOKED_AT: Final = 1_000
"""Letters that one step looks at: where few of them are meant, the next step goes on from there."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A letter, and the cursor that goes on after it."""

    position: str
    key: RunKey


@dataclass(frozen=True, slots=True)
class Spots:
    """Some of them in their order; `is_last`: there are no more. `position` is how far was looked."""

    items: Sequence[Spot]
    is_last: bool
    position: str


class LetterWalk:
    """Goes through the letters that an operation means. Reads raise `NoAnswer`."""

    def __init__(self, store: JobStore) -> None:
        self._store = store

    def every(self, operation: Operation, meant: LetterFilter, cursor: str, limit: int) -> Spots:
        """The next after `cursor`: those that it has settled, and those that are letters still, in one order."""
        done = self._found(redriven_by(operation.tenant, operation.operation_id), meant, cursor, limit)
        left = self.left(operation, meant, cursor, limit)
        order = partial(place_of, tenant=operation.tenant)
        items = sorted((*done.items, *left.items), key=lambda spot: order(spot.position))
        # Beyond where one of the two breaks off, it may have others between those of the other.
        ends = [order(one.position) for one in (done, left) if not one.is_last]
        shown = [spot for spot in items if not ends or order(spot.position) <= min(ends)][:limit]
        if shown and (len(shown) < len(items) or ends):
            return Spots(shown, False, shown[-1].position)
        if ends:
            return Spots([], False, min((done.position, left.position), key=order))
        return Spots(shown, True, shown[-1].position if shown else cursor)

    def left(self, operation: Operation, meant: LetterFilter, cursor: str, limit: int) -> Spots:
        """The next after `cursor` that are letters still, as far as the index knows."""
        return self._found(operation.tenant, meant, cursor, limit)

    def _found(self, owner: str, meant: LetterFilter, cursor: str, limit: int) -> Spots:
        found = Letters(self._store).find(
            owner, meant, cursor=cursor or None, limit=limit, most=MAX_LOOKED_AT, oldest_first=True
        )
        pairs = zip(found.positions, found.letters, strict=True)
        items = [Spot(position, letter.key) for position, letter in pairs]
        return Spots(items, found.cursor is None, found.cursor or (items[-1].position if items else cursor))


def is_place(operation: Operation, text: str) -> bool:
    """Whether `text` is a place among the letters of the operation's tenant."""
    try:
        place_of(text, operation.tenant)
    except Invalid:
        return False
    return True


def is_past(operation: Operation, position: str) -> bool:
    """Whether the letter at `position` stands no further on than where the operation is."""
    if operation.is_drawn or not operation.cursor:
        return operation.is_drawn
    return place_of(position, operation.tenant) <= place_of(operation.cursor, operation.tenant)
