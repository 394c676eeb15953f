"""Slots as the dispatcher and the worker need them: how many runs of a tenant go on at once."""

from collections.abc import Sequence
from typing import Protocol

from cronfleet.domain.instant import Instant
from cronfleet.domain.slot import Slot


class SlotStore(Protocol):
    """One item per slot of a tenant, each changed on its own condition."""

    def get_slots(self, tenant: str) -> Sequence[Slot]:
        """Every slot that was ever taken, by number, read strongly."""
        ...

    def take_slot(self, slot: Slot, before: Slot) -> Slot:
        """Put `slot` if what is stored has still the fence and the end of `before` (fence 0: nothing is stored).

        Returns what is stored afterwards: held by the holder of `slot` when it was taken now, or before by a try whose
        reply was lost; anybody else's when they were faster.
        """
        ...

    def release_slot(self, tenant: str, slot_number: int, fence: int, holder: str, now: Instant) -> bool:
        """Let go of a slot that `holder` has under `fence`, and note how long it was held; False when it has not."""
        ...
