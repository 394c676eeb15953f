"""Overlap: whether a run may start while another is still going that it must not run beside."""

import re
from enum import StrEnum
from typing import Final

from cronfleet.domain.reason import Code, Reason

CONCURRENCY_KEY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
"""What a tenant may call a group of schedules of which one runs at a time."""

DISPLACED: Final = "its overlap policy is cancel_other"
"""Why a newer run asks for the cancellation of an older one."""


class Overlap(StrEnum):
    """All but `allow` guard the schedule with a gate that one run holds until it is terminal, backoff included.

    With a `concurrency_key` the gate is that of all the tenant's schedules with the same key, and `allow` waits for its
    turn: it loses none.
    """

    ALLOW = "allow"
    SKIP = "skip"
    BUFFER_ONE = "buffer_one"
    """One run waits, however long; what comes while it does is skipped."""
    CANCEL_OTHER = "cancel_other"
    """What is going on, or waits, is cancelled; the new run starts once the old one has let go."""


def in_the_way(holder: str) -> Reason:
    """Why a run was skipped: the run `holder` has the gate."""
    return Reason(Code.OVERLAP, f"run {holder} was still going", {"run_id": holder})


def waits_for(holder: str) -> Reason:
    """Why a run waits: the run `holder` has the gate, or comes first."""
    return Reason(Code.OVERLAP, f"waits until run {holder} is over", {"run_id": holder})


def waits_already(other: str) -> Reason:
    """Why a run was skipped: one waits already."""
    return Reason(Code.OVERLAP, f"run {other} was waiting already", {"run_id": other})
