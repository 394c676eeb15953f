"""Executions: what goes on elsewhere for an attempt, a Step Functions execution or an ECS task.

The attempt is handed over before anything is started: its row says so, and an errand, written with it, looks after it.
From then on whoever dies leaves something that the errand finishes: a start is asked for under a name that belongs to
the attempt, so that asking twice starts once. The attempt's lease lasts until what goes on must have ended; no worker
holds it, no message takes it over, and nobody computes meanwhile. `domain/follow.py` decides what is done about it.
"""

from dataclasses import dataclass, replace
from typing import Final

from cronfleet.domain.instant import DAY, MINUTE, SECOND, Instant
from cronfleet.domain.slot import SlotLease
from cronfleet.domain.target_role import run_digest

HAND_OVER_SECONDS: Final = 60
"""How long a worker has to hand a message or a start over, whatever the time limit of what it starts."""

MAX_EXECUTION_SECONDS: Final = 7 * DAY // SECOND
"""The longest time limit of an execution. A week is longer than any batch window, and a row, which lives for 30 days
after its last write, outlives several attempts of it."""

STOP_WAIT: Final = 3 * MINUTE
"""How long an end is waited for once it was told to stop. A container may take two minutes to stop."""

LEASE_AFTER: Final = STOP_WAIT + 2 * MINUTE
"""How much longer than its time limit the lease of a handed-over attempt lasts."""


@dataclass(frozen=True, slots=True)
class Execution:
    """What was handed over at `began_at`, and is stopped at `deadline_at`.

    `handle` is the ARN under which its service knows it, as soon as that can be told; `is_started` once an answer of
    the service was noted. Since `stopping_at` it is told to stop. `slot`, held as `holder`, is the run's, where its
    tenant has a limit of runs at once.
    """

    began_at: Instant
    deadline_at: Instant
    handle: str = ""
    is_started: bool = False
    stopping_at: Instant | None = None
    slot: SlotLease | None = None
    holder: str = ""

    def on_top_of(self, stored: "Execution") -> "Execution":
        """This, with what others have noted of it meanwhile: what is known of it once stays known."""
        return replace(
            self,
            handle=self.handle or stored.handle,
            is_started=self.is_started or stored.is_started,
            stopping_at=self.stopping_at if stored.stopping_at is None else stored.stopping_at,
        )

    @property
    def lease_until(self) -> Instant:
        """When the lease of its attempt ends: it is over by then, or was given up."""
        return self.deadline_at + LEASE_AFTER


def execution_name(run_id: str, attempt: int) -> str:
    """The name of an attempt's execution, and its token: the same for every try to start it."""
    return f"{run_digest(run_id)}-{attempt}"
