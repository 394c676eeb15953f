"""Deliberate faults in freezes."""

from typing import Final

from simulator.planted_edits import Edit, Planted

_ENTERING: Final = "cronfleet.services.entering"
_ATTEMPT: Final = "cronfleet.domain.attempt"
_FROZEN: Final = "cronfleet.domain.frozen"

FREEZE_FAULTS: Final = (
    Planted(
        "freeze-not-asked",
        "a worker starts what was claimed before the freeze",
        (
            Edit(
                _ENTERING,
                "        freezes = () if stored is None else self._freezes.of(stored, self._tier_of(run))\n",
                "        freezes = ()\n",
            ),
        ),
    ),
    Planted(
        "retries-pass-a-freeze",
        "a later attempt does not wait for the thaw",
        (
            Edit(
                _ATTEMPT,
                "    if freeze is None:\n        return None\n    late = run.late or",
                "    if freeze is None or run.attempt > 1:\n        return None\n    late = run.late or",
            ),
        ),
    ),
    Planted(
        "frozen-not-noted",
        "what a freeze holds back leaves no entry",
        (
            Edit(
                _FROZEN,
                "    return _claim(timer, following, backlog, skipped)\n\n\ndef thawed_claim(",
                "    return _claim(timer, following, backlog, [])\n\n\ndef thawed_claim(",
            ),
        ),
    ),
    Planted(
        "frozen-noted-ahead",
        "a claim notes what a freeze would hold back in the next minutes, and a thaw finds it gone",
        (
            Edit(
                _FROZEN,
                "    following, backlog, skipped = _held_back(timer, freeze, now, through)\n",
                "    following, backlog, skipped = _held_back(timer, freeze, now, through + 5 * MINUTE)\n",
            ),
        ),
    ),
)
