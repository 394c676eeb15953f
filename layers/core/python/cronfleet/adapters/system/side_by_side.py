"""`SideBySide` by threads that last as long as the process."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache

from cronfleet.ports.side_by_side import MAX_IN_FLIGHT, Answer


class Threads:
    """Calls in threads, of which there are as many in a process as calls may be under way.

    Nothing is left under way when `run` comes back, so that Lambda may let the process stand still in between. A single
    call is made where it is asked for: it has nobody to wait for.
    """

    def run(self, calls: Sequence[Callable[[], Answer]]) -> list[Answer]:
        """See `SideBySide.run`."""
        if len(calls) == 1:
            return [calls[0]()]
        begun: list[Future[Answer]] = []
        try:
            begun.extend(map(_pool().submit, calls))
        finally:
            wait(begun)  # Also of those before one for which there was no thread.
        return [one.result() for one in begun]


@cache
def _pool() -> ThreadPoolExecutor:
    # Made at the first use: most invocations are over without one.
    return ThreadPoolExecutor(MAX_IN_FLIGHT, thread_name_prefix="side-by-side")
