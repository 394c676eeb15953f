"""Deliberate faults in the traces of runs; see `planted.py`."""

from typing import Final

from simulator.planted_edits import Edit, Planted

TRACE_FAULTS: Final = (
    Planted(
        "retry-in-another-trace",
        "the timer of a next attempt forgets whose request the run goes on from",
        (Edit("cronfleet.services.finishing", "            trace=run.carried,", "            trace=None,"),),
    ),
)
