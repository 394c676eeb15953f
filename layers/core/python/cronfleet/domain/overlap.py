"""Overlap: whether a run may start while an earlier run of its schedule is still going."""

from enum import StrEnum

from cronfleet.domain.reason import Code, Reason


class Overlap(StrEnum):
    """`skip` guards the schedule with a gate that one run holds until it is terminal, backoff included."""

    ALLOW = "allow"
    SKIP = "skip"


def in_the_way(holder: str) -> Reason:
    """Why a run was skipped: the run `holder` has the gate."""
    return Reason(Code.OVERLAP, f"run {holder} was still going", {"run_id": holder})
