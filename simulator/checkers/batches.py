"""Batches: claimed once they are announced, and closed once all that they won is on its way."""

from collections.abc import Iterator

from simulator.checkers.violation import Violation
from simulator.world import World


def check_batches(world: World) -> Iterator[Violation]:
    """Nothing is won under a batch before it is announced or after it is closed. When it is closed, every message that
    it owes was taken by a queue, and every row that it owes is there.
    """
    history = world.history
    announced = {batch: at for at, batch in reversed(history.announced)}
    written = {run_id: at for at, run_id, _, _ in reversed(history.row_writes)}
    for batch, won in history.won.items():
        for name, at in won.items():
            if at < announced.get(batch, at + 1):
                yield Violation(at, "a claim was made under a batch that was not announced", name)
    for closed_at, batch in history.closed:
        for name, at in history.won.get(batch, {}).items():
            if at > closed_at:
                yield Violation(at, "a claim was won under a batch that was closed", name)
            elif history.sent.get(name, closed_at + 1) > closed_at:
                yield Violation(closed_at, "a batch was closed before all that it won was sent", name)
        for run_id in sorted(history.noted_by.get(batch, ())):
            if written.get(run_id, closed_at + 1) > closed_at:
                yield Violation(closed_at, "a batch was closed before all its rows were written", f"{batch}: {run_id}")
