"""Deliberate faults in the count of schedules."""

from typing import Final

from simulator.planted_edits import Edit, Planted

_QUOTAS: Final = "cronfleet.services.quotas"
_COUNTS: Final = "cronfleet.adapters.memory.schedule_counts"

QUOTA_FAULTS: Final = (
    Planted(
        "deletion-not-counted",
        "a deleted schedule stays in its tenant's count",
        (
            Edit(
                _QUOTAS,
                "    by = after.is_counted - before.is_counted\n",
                "    by = max(0, after.is_counted - before.is_counted)\n",
            ),
        ),
    ),
    Planted(
        "quota-not-asked",
        "the count goes up whatever its limit is",
        (
            Edit(
                _COUNTS,
                "    if write.limit is None or write.by <= 0 or use + write.by <= write.limit:\n",
                "    if use >= 0:\n",
            ),
        ),
    ),
    Planted(
        "older-marked-and-not-counted",
        "what is older than counting is marked as counted in one transaction, and counted in none",
        (
            Edit(
                _QUOTAS,
                "            answer_of(lambda: self._store.commit([*writes, CountSchedules(older[0].tenant, len(older))]))\n",
                "            answer_of(lambda: self._store.commit(writes))\n",
            ),
        ),
    ),
)
