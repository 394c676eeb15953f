"""Executions: starting, seeing and stopping what goes on elsewhere for an attempt."""

from typing import Protocol

from cronfleet.domain.attempt import Result
from cronfleet.domain.follow import Seen
from cronfleet.ports.target import Call


class Unseen(Exception):
    """The service did not answer, or may not be asked: nothing is known. It may be in a moment."""


class Executions(Protocol):
    """Every kind of followed target behind one port.

    A call is that of the attempt, the same from its hand-over to its end; `handle` is what `start`
    gave back, or empty where that was not heard.
    """

    def handle(self, call: Call) -> str:
        """The handle that a start will have, where that can be told beforehand; else empty."""
        ...

    def start(self, call: Call) -> str | Result:
        """Start it, or find what another start of the same attempt has started: its handle.

        A result: it was refused, and nothing goes on. Raises `Unseen` when that is not known.
        """
        ...

    def look(self, call: Call, handle: str) -> Seen:
        """Where it stands. Without a handle it is looked for by its name. Raises `Unseen`."""
        ...

    def stop(self, call: Call, handle: str, why: str) -> None:
        """Tell it to stop; what is over already stays as it is. Raises `Unseen`."""
        ...
