"""What ends a command early, each with the exit code that docs/cli.md promises."""

from collections.abc import Mapping
from typing import Any, Final

DONE: Final = 0
REFUSED: Final = 1
WRONG_USE: Final = 2
WOULD_CHANGE: Final = 3
INTERRUPTED: Final = 130
"""As shells have it: 128 and the number of the signal."""


class Refused(Exception):
    """The server said no: its status, and the problem that it answered with (RFC 9457)."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        super().__init__(str(problem.get("detail") or problem.get("title") or f"status {status}"))
        self.status = status
        self.problem = problem


class NoAnswer(Exception):
    """The server could not be reached, or went silent; the message says what was tried."""


class WrongUse(Exception):
    """The command cannot be carried out as it was written; the message says what to write instead."""
