"""What every driver in Python shares: its order, the herd's names and expressions, and the record of what ran.

A driver is started as `python -m benchmarks.peers.drivers.NAME ORDER`, with the order as JSON, in the environment of
the peers. It says `ready` on its standard output when it is at work.
"""

import functools
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

SHAPES: Final = 20
"""Different expressions in the herd: each names the herd's minute, and one more hour at least two hours later."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a driver is to do: `due` is in epoch seconds, a whole minute; `record` is the path of the record."""

    role: str
    url: str
    schedules: int
    due: int
    record: str

    @property
    def names(self) -> Sequence[str]:
        """The names of the herd."""
        return [f"job-{number:06}" for number in range(self.schedules)]

    @property
    def due_at(self) -> datetime:
        """When the herd is due."""
        return datetime.fromtimestamp(self.due, UTC)

    def hours(self, number: int) -> str:
        """The hours of the schedule of this number, as cron writes them."""
        return f"{self.due_at.hour},{(self.due_at.hour + 2 + number % SHAPES) % 24}"

    def expression(self, number: int) -> str:
        """When the schedule of this number fires: in the herd's minute and not again for two hours, in UTC."""
        return f"{self.due_at.minute} {self.hours(number)} * * *"


@functools.cache
def order() -> Order:
    """The order of this process."""
    return Order(**json.loads(sys.argv[1]))


@functools.cache
def _record() -> int:
    return os.open(order().record, os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def handle(name: str) -> None:
    """The handler that does nothing: one line in the record, by a write that survives the process's death."""
    os.write(_record(), f"{name} {time.time_ns()}\n".encode())


def ready() -> None:
    """Say that this process is at work."""
    # Not through sys.stdout: Celery makes a log of that.
    os.write(1, b"ready\n")


def say_open(names: Sequence[str]) -> None:
    """Say which of the herd are still to be run, or still being run, by what is stored."""
    sys.stdout.write(json.dumps({"open": sorted(names)}) + "\n")


def play(roles: Mapping[str, Callable[[Order], None]]) -> None:
    """Do what the order says."""
    roles[order().role](order())
