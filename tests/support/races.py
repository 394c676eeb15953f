"""Many hands that do something at the same moment."""

import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def race(stores: Sequence[Any], act: Callable[[Any, int], Any]) -> list[Any]:
    """What each hand got, one for each store; all start at once, and take turns as often as threads can."""
    gate = threading.Barrier(len(stores))

    def start(number: int) -> Any:
        gate.wait()
        return act(stores[number], number)

    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(len(stores)) as pool:
            return list(pool.map(start, range(len(stores))))
    finally:
        sys.setswitchinterval(usual)
