"""The queues as data: the CDK app, the tests and the local stack all read this file.

All queues are standard: a FIFO queue would block a shard (or a tenant) for the visibility timeout after a
crash. Fairness inside a tier comes from `MessageGroupId` = tenant on a standard queue.
"""

from dataclasses import dataclass
from typing import Final

from cronfleet.domain.long_run import SHORT_LEASE_SECONDS
from cronfleet.domain.run import LONG_QUEUE, Lane
from cronfleet.domain.tenant import TIERS

MAX_BATCH: Final = 10
"""Entries per SendMessageBatch."""

RETENTION_SECONDS: Final = 14 * 24 * 3600
"""The longest retention SQS offers; workers refuse older claims, and ledger rows live longer than both."""


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue with its dead-letter queue `<name>-dead`.

    `function_timeout_seconds` is the limit of the one function that reads it (0: none does); AWS asks that the
    visibility timeout be no shorter (and recommends six times as long).
    """

    name: str
    function_timeout_seconds: int
    visibility_seconds: int
    max_receive_count: int = 5
    retention_seconds: int = RETENTION_SECONDS

    @property
    def dead_letter_name(self) -> str:
        """The queue of messages that were received too often."""
        return f"{self.name}-dead"


# A lost tick is replaced five seconds later, so a tick is never worth keeping for long.
TICKS: Final = Queue("ticks", function_timeout_seconds=60, visibility_seconds=360, retention_seconds=600)

# An errand that is not carried on comes again after its lease, so a message is never worth keeping for long.
ERRANDS: Final = Queue("errands", function_timeout_seconds=60, visibility_seconds=360, retention_seconds=600)

WORKER_TIMEOUT_SECONDS: Final = 900


RUN_QUEUE: Final = "runs-"
"""How the names of queues begin that hold run messages."""


def run_queue(name: str) -> Queue:
    """The run queue of a tier, or of the lane of backfills, read by workers of its own."""
    return Queue(
        f"{RUN_QUEUE}{name}",
        function_timeout_seconds=WORKER_TIMEOUT_SECONDS,
        visibility_seconds=6 * WORKER_TIMEOUT_SECONDS,
    )


DEAD_LETTERS_TIMEOUT_SECONDS: Final = 60
DEAD_VISIBILITY_SECONDS: Final = 6 * DEAD_LETTERS_TIMEOUT_SECONDS
"""How long a dead message is hidden once the consumer of the dead-letter queues has it."""


_ORDINARY: Final = run_queue(TIERS[0])

LONG_RUNS: Final = Queue(
    f"{RUN_QUEUE}{LONG_QUEUE}",
    function_timeout_seconds=0,
    visibility_seconds=SHORT_LEASE_SECONDS,
    # Hidden for two minutes each time, five receives would be over in ten: a store that is silent for so long, or a few
    # deployments, would make dead letters of all that waits. Its patience in hours is that of the others.
    max_receive_count=_ORDINARY.max_receive_count * _ORDINARY.visibility_seconds // SHORT_LEASE_SECONDS,
)
"""The run queue of long runs. No function reads it, and no message of it is kept for longer than it takes to start a
run: then the ledger knows of it, and its lease says whether it goes on. SQS would hide a message for 12 hours at most.
"""

RUN_QUEUES: Final = {
    **{name: run_queue(name) for name in (*TIERS, Lane.BACKFILL.value)},
    LONG_QUEUE: LONG_RUNS,
}
QUEUES: Final = (TICKS, ERRANDS, *RUN_QUEUES.values())


def holds_runs(name: str) -> bool:
    """Whether the queue of this name, or the dead-letter queue, holds run messages, whatever prefix it has."""
    own = [queue for queue in QUEUES if queue.name.startswith(RUN_QUEUE)]
    return any(f"-{name}".endswith((f"-{queue.name}", f"-{queue.dead_letter_name}")) for queue in own)
