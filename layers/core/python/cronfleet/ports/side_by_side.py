"""Side by side: calls through ports that need not wait for one another.

Services have no threads. What they offer here are calls through a port and nothing besides: each touches no state that
another touches, tells no telemetry, and offers no calls of its own. What comes of them is put together by who asked,
once all have ended (docs/decisions/0033-what-may-overlap.md).
"""

from collections.abc import Callable, Sequence
from typing import Final, Protocol, TypeVar

MAX_IN_FLIGHT: Final = 8
"""Calls that are under way at once. Ten sends and a log entry go in two rounds then; more would only queue up at one
processor, and at the partition that all claims of a shard go to."""

Answer = TypeVar("Answer")


def in_parts(whole: Sequence[Answer], size: int) -> list[Sequence[Answer]]:
    """`whole` cut for calls that take `size` of them at most, in its order."""
    return [whole[start : start + size] for start in range(0, len(whole), size)]


class SideBySide(Protocol):
    """Makes calls that need not wait for one another."""

    def run(self, calls: Sequence[Callable[[], Answer]]) -> list[Answer]:
        """The answers of `calls`, in their order.

        They begin in their order, at most `MAX_IN_FLIGHT` are under way at once, and all have ended when this returns,
        or raises: if some raised, then what the first of them raised, in the order of `calls`. That one raised keeps
        none of the others from being made.
        """
        ...
