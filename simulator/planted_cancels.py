"""Faults of cancelling what is going on."""

from typing import Final

from simulator.planted_edits import Edit, Planted

_ATTEMPT: Final = "cronfleet.domain.attempt"

CANCEL_FAULTS: Final = (
    Planted(
        "cancellation-overlooked",
        "an end that was decided before a cancellation was asked for is written all the same",
        (
            Edit(
                _ATTEMPT,
                "    if cancel is None or run.status in (RunStatus.RUNNING, RunStatus.SUCCEEDED):",
                "    if True:",
            ),
        ),
    ),
    Planted(
        "cancelled-run-taken-over",
        "a run whose worker died is tried again although its cancellation was asked for",
        (
            Edit(
                _ATTEMPT,
                "    if row.cancel is not None:\n        return Refuse",
                "    if False:\n        return Refuse",
            ),
            Edit(
                _ATTEMPT,
                "    if run.cancel is not None:\n        return closed",
                "    if False:\n        return closed",
            ),
        ),
    ),
)
