"""Deliberate faults in the gates that keep runs from overlapping; see `planted.py`."""

from typing import Final

from simulator.planted_edits import Edit, Planted

_GATE: Final = "cronfleet.domain.gate"
_GATES: Final = "cronfleet.services.gates"

GATE_FAULTS: Final = (
    Planted(
        "gate-taken-from-another",
        "a gate with a line is taken whether it is still as it was read or not",
        (
            Edit(
                "cronfleet.adapters.memory.gates",
                "        if not _is_same(stored, before):",
                "        if False:",
            ),
        ),
    ),
    Planted(
        "gate-open-while-held",
        "a run enters a gate that another still holds",
        (
            Edit(
                _GATE,
                "    return EARLIEST if row is None else row.finished_at",
                "    return EARLIEST",
            ),
        ),
    ),
    Planted(
        "waiting-run-never-woken",
        "whoever lets go of a gate wakes nobody, and who waits never looks",
        (
            Edit(
                _GATES,
                "        moved = [] if step.woken is None or step.was is None else [MoveRunTimer(step.woken, step.was)]",
                "        moved = list[MoveRunTimer]()",
            ),
            Edit(
                _GATE,
                "    return now + min(max(until + MINUTE - now, LEAST_WAIT), LONGEST_WAIT)",
                "    return now + 10 * 24 * 60 * LEAST_WAIT",
            ),
        ),
    ),
)
