"""The cancellation of a run that is going on is heeded: whatever its worker was about to write, and whoever dies."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from simulator.checkers.violation import Violation
from simulator.history import Call
from simulator.world import World

PROMISE: Final = "a cancelled run went on"

ENDS: Final[frozenset[str]] = frozenset({"cancelled", "succeeded"})
"""A success that comes first, or all the same, stays one."""


def check_cancels(world: World, _spans: object) -> Iterator[Violation]:
    """Promise 3: after a cancellation that returned no attempt begins, and the run ends as cancelled or succeeded."""
    calls: dict[str, list[Call]] = defaultdict(list)
    for call in world.history.calls:
        calls[call.run_id].append(call)
    rows = {key.run_id: row for key, row in world.rows.items()}
    for request in world.history.requests:
        at = request.answered_at
        if not request.run_id or request.answer != "accepted" or at is None:
            continue
        for call in calls[request.run_id]:
            # An attempt that had its lease may just be about to call: it learns of it at its first beat.
            if call.row_started_at > at:
                text = f"{request.run_id}: attempt {call.attempt} began after its cancellation had returned"
                yield Violation(call.began_at, PROMISE, text)
        row = rows.get(request.run_id)
        if row is not None and row.status.value not in ENDS:
            yield Violation(at, PROMISE, f"{request.run_id} was cancelled, and is {row.status.value}")
