"""Kept slots: what a long attempt holds besides its lease is kept as long as that, and always a little longer.

The slot is renewed before the lease: an attempt never goes on without one, whatever fails in between.
"""

from cronfleet.domain.run import Run
from cronfleet.domain.slot import covers
from cronfleet.ports.job_store import NoAnswer
from cronfleet.ports.target import Interrupted
from cronfleet.services.finishing import Ready
from cronfleet.services.slots import Slots


class KeptSlot:
    """The slot of one attempt, where its tenant has a limit of runs at once."""

    def __init__(self, slots: Slots, ready: Ready) -> None:
        self._slots = slots
        self._held = ready.slot

    def cover(self, run: Run) -> bool:
        """Keep the slot for as long as the lease that `run` is about to be given; False when nobody answered.

        Raises `Interrupted` when another has the slot: its end had come.
        """
        held, until = self._held, run.lease_until or 0
        if held is None or covers(held.lease, until):
            return True
        try:
            kept = self._slots.kept(run, held)
        except NoAnswer:
            return False
        if kept is None:
            raise Interrupted(f"slot {held.lease.number} of its tenant is another run's by now")
        self._held = kept
        return covers(kept.lease, until)
