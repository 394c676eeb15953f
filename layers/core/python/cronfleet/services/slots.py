"""Slots at the worker: an attempt of a tenant with a limit runs only in a slot that is surely its own, to its very end.

Ordinarily that costs nothing: the dispatcher took the slot for long enough, and the message says so. Where it does not
suffice (a takeover, a message that waited long in its queue), the worker takes one anew.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from cronfleet.domain.attempt import Wait
from cronfleet.domain.execution import Execution
from cronfleet.domain.instant import SECOND, Instant
from cronfleet.domain.quota import quotas_of
from cronfleet.domain.run import Run, RunMessage
from cronfleet.domain.slot import (
    SLOT_MARGIN_SECONDS,
    Slot,
    SlotLease,
    all_of,
    covers,
    for_run,
    free_at,
    holder_of,
    waits,
)
from cronfleet.ports.job_store import JobStore, NoAnswer
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.asking import ask

MAX_ROUNDS: Final = 5
"""How often a slot is tried for that others took at the same time, before the attempt is put off."""


@dataclass(frozen=True, slots=True)
class HeldSlot:
    """A slot and the name under which it is held."""

    lease: SlotLease
    holder: str


class Slots:
    """What the worker does about the slots of its runs."""

    def __init__(self, store: JobStore, telemetry: Telemetry) -> None:
        self._store = store
        self._telemetry = telemetry

    def secure(self, run: Run, message: RunMessage, now: Instant, *, is_takeover: bool) -> HeldSlot | Wait | None:
        """The slot in which the attempt that `run` has started may run to the end of its lease.

        `None` where its tenant has no limit; `Wait` where no slot is free. Raises `NoAnswer`.
        """
        held = held_by(message)
        if held is None or (not is_takeover and covers(held.lease, run.lease_until or now)):
            return self.shortened(run, held) if held is not None and message.is_long else held
        return self._take_anew(run, held, now)

    def shortened(self, run: Run, held: HeldSlot) -> HeldSlot:
        """The slot of a long run, from now on only for as long as the run's own short lease: no longer than that is it
        lost to its tenant should its worker die. As it is where the store stays silent.
        """
        try:
            return ask(lambda: self.kept(run, held)) or held
        except NoAnswer:
            return held

    def kept(self, run: Run, held: HeldSlot) -> HeldSlot | None:
        """The slot of a running attempt, for as long as its lease as `run` has it; `None` when another has it.

        One request, however it is answered: whoever renews a lease meanwhile has no time for more. Raises `NoAnswer`:
        whether it was kept is not known.
        """
        lease, began_at = held.lease, run.attempts[-1].started_at
        until = (run.lease_until or 0) + SLOT_MARGIN_SECONDS * SECOND
        if until == lease.until:
            return held
        before = Slot(run.key.tenant, lease.number, lease.fence, held.holder, began_at, lease.until)
        stored = self._store.take_slot(replace(before, until=until), before)
        if (stored.fence, stored.holder) != (lease.fence, held.holder):
            return None
        # With another end it is ours all the same: the reply of an earlier write was lost, and said another time.
        return HeldSlot(stored.lease, held.holder)

    def _take_anew(self, run: Run, held: HeldSlot, now: Instant) -> HeldSlot | Wait | None:
        limit = self._limit(run.key.tenant)
        if limit is None:
            return held
        slots = all_of(run.key.tenant, ask(partial(self._store.get_slots, run.key.tenant)), limit)
        holder = holder_of(run.key.run_id, run.attempt, run.attempts[-1].owner)
        until = (run.lease_until or now) + SLOT_MARGIN_SECONDS * SECOND
        for _ in range(MAX_ROUNDS):
            before = for_run(slots, limit, run.key.run_id, now)
            if before is None:
                break
            wanted = before.taken(holder, now, max(until, before.until))
            stored = ask(partial(self._store.take_slot, wanted, before))
            if (stored.holder, stored.fence) == (holder, wanted.fence):
                self._telemetry.count("slots_taken_by_workers")
                return HeldSlot(stored.lease, holder)
            slots = [stored if slot.number == stored.number else slot for slot in slots]
        waits_until = free_at(slots, limit, now)
        return Wait(waits_until, waits(limit, waits_until))

    def _limit(self, tenant_id: str) -> int | None:
        """The limit now; asked only where a slot has to be taken anew."""
        tenant = ask(partial(self._store.get_tenant, tenant_id, consistent=False))
        return None if tenant is None else quotas_of(tenant).concurrent_runs

    def hold_for(self, run: Run, held: HeldSlot | None) -> None:
        """Hold the slot of a run that goes on elsewhere for as long as that may, under the fence that its row says.

        Only after the row says that it does: from then on an errand lets go of it, whoever dies. Raises `NoAnswer`.
        """
        if held is None or covers(held.lease, run.lease_until or 0):
            return
        if ask(lambda: self.kept(run, held)) is None:
            # Its lease was over, and another has it: the tenant has one run more at once than it may, this once.
            self._telemetry.count("slots_overrun")

    def let_go(self, run: Run, now: Instant) -> None:
        """Let go of what those attempts of the run held that went on elsewhere and are over. Done again, it does
        nothing. Raises `NoAnswer`: a lease for days does not end by itself in time.
        """
        for held in (held_elsewhere(one.execution) for one in run.attempts if one.finished_at is not None):
            if held is not None:
                number, fence = held.lease.number, held.lease.fence
                ask(partial(self._store.release_slot, run.key.tenant, number, fence, held.holder, now))

    def release(self, tenant: str, held: HeldSlot | None, now: Instant) -> None:
        """Let go of a slot whose attempt is over, or was put off. Only after the row says so."""
        if held is None:
            return
        lease = held.lease
        try:
            ask(partial(self._store.release_slot, tenant, lease.number, lease.fence, held.holder, now))
        except NoAnswer:
            # Its lease ends by itself; until then the tenant has one slot less.
            self._telemetry.count("slots_left")


def held_elsewhere(execution: Execution | None) -> HeldSlot | None:
    """The slot that is held for what goes on elsewhere, where its tenant has a limit of runs at once."""
    if execution is None or execution.slot is None:
        return None
    return HeldSlot(execution.slot, execution.holder)


def held_by(message: RunMessage) -> HeldSlot | None:
    """The slot that the dispatcher took for the attempt that `message` asks for."""
    if message.slot is None:
        return None
    return HeldSlot(message.slot, holder_of(message.key.run_id, message.attempt, message.due_at))
