"""What may come to a dead-letter queue: nothing that anybody still needs, and nothing that stays there."""

from collections.abc import Iterator
from typing import Any, Final, Protocol

from simulator.checkers.statuses import TERMINAL
from simulator.checkers.violation import Violation
from simulator.faults import MINUTE


class DeadLetters(Protocol):
    """What this checker sees of a world: its dead-letter queues, its tables, and what the sweeper sent again."""

    ticks: Any
    runs: Any
    rows: Any
    store: Any
    history: Any


CONSUMED_WITHIN: Final = 30 * MINUTE
"""How long a dead message may stand in its queue before the end: its consumer may die and have it again."""


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
    yield from _left_in_the_queue(world, end_at)
    for at, what in world.history.given_up:
        yield Violation(at, "a run was given up as undelivered while a worker had it", what)


def _left_in_the_queue(world: DeadLetters, end_at: int) -> Iterator[Violation]:
    """Every dead message is taken out by its consumer."""
    taken: dict[str, int] = {run_id: at for at, run_id in world.history.buried}
    for died_at, message in world.runs.dead:
        run_id = message.key.run_id
        if died_at + CONSUMED_WITHIN < end_at and taken.get(run_id, 0) < died_at:
            yield Violation(died_at, "a dead letter stays in its queue", f"{run_id} stands there at {end_at}")
