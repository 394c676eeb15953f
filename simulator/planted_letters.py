"""Deliberate faults in what becomes of dead messages: see `planted.py`."""

from typing import Final

from simulator.planted_edits import Edit, Planted

LETTER_FAULTS: Final = (
    Planted(
        "live-lease-buried",
        "a dead message ends its run although a worker has it",
        (
            Edit(
                "cronfleet.domain.undelivered",
                "        if row.lease_until is not None and row.lease_until > now:\n",
                "        if False:\n",
            ),
        ),
    ),
)
