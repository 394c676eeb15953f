"""A broken promise."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Violation:
    """What was broken, when (true time, milliseconds), and what shows it."""

    at: int
    promise: str
    detail: str
