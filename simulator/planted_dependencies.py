"""Deliberate faults in dependencies; see `planted.py`. They are looked for in worlds with families."""

from typing import Final

from simulator.planted_edits import Edit, Planted

_JOIN: Final = "cronfleet.domain.join"
_DEPENDANTS: Final = "cronfleet.services.dependants"

DEPENDENCY_FAULTS: Final = (
    Planted(
        "parents-end-unwritten",
        "the end of a parent is not written into the row that waits for it",
        (Edit(_DEPENDANTS, "for write in self._arrival(after, one, ended_at)]", "for write in ()]"),),
    ),
    Planted(
        "row-that-waits-comes-too-late",
        "the row that waits is put when a parent ends, and not when it begins: a deadline may pass unseen",
        (Edit(_DEPENDANTS, "        if not timer.feeds or not flows(run) or not _is_first(run):", "        if True:"),),
    ),
    Planted(
        "last-parent-wakes-nobody",
        "the row that waits stays due at its deadline when the last parent has ended",
        (
            Edit(
                _JOIN,
                "    due_at = min(row.due_at, ceil_second(now)) if complete else row.due_at",
                "    due_at = row.due_at",
            ),
        ),
    ),
    Planted(
        "one-parent-is-enough",
        "the first parent that ends makes the run due",
        (Edit(_JOIN, "    complete = not missing(_policy(dependant), joined)", "    complete = bool(joined)"),),
    ),
    Planted(
        "late-is-well",
        "a parent that is late counts as if it had ended well",
        (
            Edit(
                _JOIN,
                "    if late:\n        return late_reason",
                "    if late and not joined:\n        return late_reason",
            ),
        ),
    ),
    Planted(
        "dead-is-well",
        "a parent that is dead counts as one that succeeded",
        (
            Edit(
                _JOIN,
                "if status is not RunStatus.SUCCEEDED}",
                "if status not in (RunStatus.SUCCEEDED, RunStatus.DEAD)}",
            ),
        ),
    ),
)
