"""Deliberate faults in the slots that keep a tenant to its limit of runs at once; see `planted.py`."""

from typing import Final

from simulator.planted_edits import Edit, Planted

_SLOT: Final = "cronfleet.domain.slot"
_ENTERING: Final = "cronfleet.services.entering"
_RULES: Final = "cronfleet.services.tenant_rules"
_WORKERS_SLOTS: Final = "cronfleet.services.slots"

SLOT_FAULTS: Final = (
    Planted(
        "slot-taken-from-another",
        "a slot is taken whether it is still as it was read or not",
        (
            Edit(
                "cronfleet.adapters.memory.slots",
                "        if known == (before.fence, before.until):",
                "        if True:",
            ),
        ),
    ),
    Planted(
        "slot-let-go-of-too-soon",
        "a worker lets go of its slot before it calls the target",
        (
            Edit(
                _ENTERING,
                "        return replace(ready, run=run, slot=slot)",
                "        self._slots.release(run.key.tenant, slot, self._clock.now())\n"
                "        return replace(ready, run=run, slot=slot)",
            ),
        ),
    ),
    Planted(
        "slot-ends-before-its-attempt",
        "a slot is held for a moment alone, and the workers do not look",
        (
            Edit(
                _SLOT,
                "    longest = PATIENCE_SECONDS + timeout_seconds + RUN_MARGIN_SECONDS + SLOT_MARGIN_SECONDS",
                "    longest = 1",
            ),
            Edit(_SLOT, "    return lease_until + SLOT_MARGIN_SECONDS * SECOND <= lease.until", "    return True"),
        ),
    ),
    Planted(
        "limit-forgotten-while-nothing-is-known",
        "a dispatcher that has not read a tenant's record, which it leaves out for one alone, takes it for one without limits",
        (
            Edit(_RULES, "        return tenant_id in self._known", "        return True"),
            Edit(
                _RULES,
                "        if old:\n            self._read(old, now)\n",
                "        if len(old) > 1:\n            self._read(old, now)\n",
            ),
        ),
        always=("limits",),
    ),
    Planted(
        "slots-stay-behind",
        "workers let go of no slot, and its lease is a day longer",
        (
            Edit(
                _SLOT,
                "    return max(due_at, now) + longest * SECOND",
                "    return max(due_at, now) + longest * SECOND + 86_400_000",
            ),
            Edit(
                _WORKERS_SLOTS,
                "ask(partial(self._store.release_slot, tenant, lease.number, lease.fence, held.holder, now))",
                "pass",
            ),
        ),
    ),
)
