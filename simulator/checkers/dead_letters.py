"""What may stand in a dead-letter queue at the end: nothing that anybody still needs."""

from collections.abc import Iterator
from typing import Any, Protocol

from simulator.checkers.statuses import TERMINAL
from simulator.checkers.violation import Violation


class DeadLetters(Protocol):
    """What this checker sees of a world: its dead-letter queues, its tables, and what the sweeper sent again."""

    ticks: Any
    runs: Any
    rows: Any
    store: Any
    history: Any


def check_dead_letters(world: DeadLetters, end_at: int) -> Iterator[Violation]:
    """A dead message's run has ended all the same, or the sweeper has sent it since; a dead tick was overtaken."""
    for died_at, message in world.runs.dead:
        run_id = message.key.run_id
        row = world.rows.get(message.key)
        sent_again = world.history.sent_again.get(run_id, 0) > died_at
        if (row is None or row.status.value not in TERMINAL) and not sent_again:
            state = "is not in the ledger" if row is None else f"is {row.status.value}"
            yield Violation(died_at, "a dead letter was forgotten", f"{run_id} {state} at {end_at}")
    for died_at, tick in world.ticks.dead:
        lease = world.store.state.leases.get(tick.shard)
        if lease is None or lease.slot_at < tick.slot_at:
            yield Violation(died_at, "a dead tick was not made up for", f"{tick}, and the shard's lease: {lease}")
