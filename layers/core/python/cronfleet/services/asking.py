"""Asking again: what a service does when the store gave no answer."""

from collections.abc import Callable
from typing import Final, TypeVar

from cronfleet.ports.job_store import NoAnswer

MAX_ASKS: Final = 5
"""How often one call is made before its caller gives up; the adapter waits between its own tries."""

Answer = TypeVar("Answer")


def ask(call: Callable[[], Answer]) -> Answer:
    """The answer of `call`, asked up to `MAX_ASKS` times. Raises the last `NoAnswer`."""
    for _ in range(MAX_ASKS - 1):
        try:
            return call()
        except NoAnswer:
            continue
    return call()
