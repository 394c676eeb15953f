"""No tenant ever has more attempts under way than its limit of runs at once, and no slot stays behind.

An attempt is under way from the call of its target to its end. Where its worker died in between nobody knows what the
target still does: it counts until the attempt would have been stopped.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

from simulator.checkers.violation import Violation
from simulator.faults import MINUTE, SECOND
from simulator.history import Call

STOPPED_BEFORE: Final = 5 * SECOND
"""So long before the end of its lease an attempt is stopped."""

LONGEST_HOLD: Final = 5 * MINUTE
"""A slot outlives the attempt that it was taken for by less: the longest limit, a minute of patience, some seconds."""


def check_concurrency(world: Any, end_at: int) -> Iterator[Violation]:
    """Never one too many, and back to full use after the lease."""
    calls: dict[str, list[Call]] = defaultdict(list)
    for call in world.history.calls:
        calls[call.tenant].append(call)
    for tenant, limit in world.limits.items():
        yield from _too_many(tenant, limit, calls[tenant])
    for (tenant, number), slot in sorted(world.store.state.slots.items()):
        if slot.until > end_at and slot.taken_at < end_at - LONGEST_HOLD:
            yield Violation(end_at, "a slot stays behind", f"{number} of {tenant}: {slot}")


def _too_many(tenant: str, limit: int, calls: list[Call]) -> Iterator[Violation]:
    # An end comes before a beginning at the same time: that is one after the other.
    steps = sorted(step for call in calls for step in ((call.began_at, 1), (_ended_at(call), -1)))
    under_way = 0
    for at, step in sorted(steps):
        under_way += step
        if under_way > limit:
            yield Violation(at, "more runs at once than the tenant may have", f"{tenant}: {under_way} of {limit}")


def _ended_at(call: Call) -> int:
    known = call.began_at if call.ended_at is None else call.ended_at
    return max(known, call.lease_until - STOPPED_BEFORE) if call.is_cut_short else known
