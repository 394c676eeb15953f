"""`SlotStore` in memory."""

from collections.abc import Sequence

from cronfleet.adapters.memory.state import State
from cronfleet.domain.instant import Instant
from cronfleet.domain.slot import Slot


class MemorySlots:
    """How many runs of a tenant go on at once."""

    def __init__(self, state: State) -> None:
        self.state = state

    def get_slots(self, tenant: str) -> Sequence[Slot]:
        return [slot for (owner, _), slot in sorted(self.state.slots.items()) if owner == tenant]

    def take_slot(self, slot: Slot, before: Slot) -> Slot:
        key = (slot.tenant, slot.number)
        stored = self.state.slots.get(key)
        known = (0, 0) if stored is None else (stored.fence, stored.until)
        if known == (before.fence, before.until):
            self.state.slots[key] = stored = slot
        return stored or before

    def release_slot(self, tenant: str, slot_number: int, fence: int, holder: str, now: Instant) -> bool:
        stored = self.state.slots.get((tenant, slot_number))
        if stored is None or (stored.fence, stored.holder) != (fence, holder):
            return False
        self.state.slots[tenant, slot_number] = stored.released(now)
        return True
