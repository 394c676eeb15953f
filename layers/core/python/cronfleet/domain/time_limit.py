"""Time limits of attempts: what a worker function can carry, and what needs a worker that lives for hours."""

from typing import Final

DEFAULT_TIMEOUT_SECONDS: Final = 60

MAX_TIMEOUT_SECONDS: Final = 840
"""A worker function lives 900 s at most; the rest is for starting, finishing and the lease."""

MAX_LONG_TIMEOUT_SECONDS: Final = 12 * 3600
"""What long workers take: a night. What needs longer is better cut into steps, or handed to a workflow."""


def is_long(timeout_seconds: int) -> bool:
    """Whether an attempt with this limit is more than a worker function can carry, and goes to the long workers."""
    return timeout_seconds > MAX_TIMEOUT_SECONDS


def longest_timeout(*, has_long_workers: bool) -> int:
    """The highest time limit that an installation takes, in seconds."""
    return MAX_LONG_TIMEOUT_SECONDS if has_long_workers else MAX_TIMEOUT_SECONDS
