"""Gates with their lines, for schedules of which runs wait for each other."""

from dataclasses import dataclass
from typing import Protocol, TypeAlias

from cronfleet.domain.claim import RunTimer
from cronfleet.domain.gate import Gate, GateName
from cronfleet.domain.instant import Instant
from cronfleet.domain.run import RunKey
from cronfleet.ports.breakers import PutBreaker


@dataclass(frozen=True, slots=True)
class PutGate:
    """Replace a gate, on the condition that it still has the holder, the end and the `rev` of `before`."""

    gate: Gate
    before: Gate


@dataclass(frozen=True, slots=True)
class MoveRunTimer:
    """Replace the timer of a run, on the condition that it still waits, or stays claimed, as it was read (`before`)."""

    timer: RunTimer
    before: RunTimer


GuardWrite: TypeAlias = PutGate | MoveRunTimer | PutBreaker
"""What keeps runs from running: gates and breakers."""


class GateStore(Protocol):
    """Gates, and the way to wake who waits at one."""

    def get_gate(self, name: GateName) -> Gate:
        """The gate, read strongly; a free one before its first run."""
        ...

    def put_gate(self, gate: Gate, before: Gate) -> bool:
        """Replace the gate if it still has the holder, the end and the `rev` of `before`; True when it did, or had."""
        ...

    def get_run_timer(self, key: RunKey, attempt: int) -> RunTimer | None:
        """The timer of a run's attempt while it waits, read strongly; `None` once it is claimed, or was never there."""
        ...

    def wake_run(self, key: RunKey, attempt: int, due_at: Instant) -> bool:
        """Let the timer of a run's attempt be due at `due_at` already; False when none waits that is due later."""
        ...
