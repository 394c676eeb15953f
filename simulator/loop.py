"""Virtual time, and invocations that stand still at every call through a port.

An invocation runs in a greenlet of its own. Whatever it asks of the world takes (virtual) time, and in that time
anything else may happen: others work, it is killed, its reply is lost. Nothing here reads a real clock.
"""

import heapq
from collections.abc import Callable
from itertools import count
from typing import Any, TypeAlias

from greenlet import getcurrent, greenlet

Action: TypeAlias = Callable[[], None]


class Killed(BaseException):
    """Raised inside an invocation that dies; nothing of the product may catch it."""


class Loop:
    """What happens when, in milliseconds of true time. Things due at once happen in the order they were asked for."""

    def __init__(self, start: int) -> None:
        self.now = start
        self._events: list[tuple[int, int, Action]] = []
        self._numbers = count()

    def at(self, instant: int, action: Action) -> None:
        """Do `action` at `instant`, or now if that is past."""
        heapq.heappush(self._events, (max(instant, self.now), next(self._numbers), action))

    def after(self, milliseconds: int, action: Action) -> None:
        """Do `action` so much later."""
        self.at(self.now + milliseconds, action)

    def run_until(self, end: int) -> None:
        """Let everything up to and including `end` happen."""
        while self._events and self._events[0][0] <= end:
            self.now, _, action = heapq.heappop(self._events)
            action()
        self.now = end


class Process:
    """One invocation. `clock_error` is its clock minus true time at its beginning, `drift` what that gains per ms."""

    def __init__(self, loop: Loop, name: str, clock_error: int = 0, drift: float = 0.0) -> None:
        self.loop = loop
        self.name = name
        self.began_at = loop.now
        self.error: BaseException | None = None
        self.is_over = False
        self._clock_error = clock_error
        self._drift = drift
        self._greenlet: greenlet | None = None
        self._naps = 0
        self.times_set = 0
        """How often its clock was set."""

    # --- the life of the invocation ----------------------------------------------------------------------------

    def start(self, body: Callable[[], Any], then: Callable[["Process"], None]) -> None:
        """Run `body` until it is over one way or the other, and tell `then`."""

        def run() -> None:
            try:
                body()
            except BaseException as error:
                self.error = error
            self.is_over = True
            then(self)

        self._greenlet = greenlet(run)
        self._greenlet.switch()

    def sleep(self, milliseconds: int) -> None:
        """Called from inside: stand still while so much true time passes."""
        self._naps += 1
        nap = self._naps
        self.loop.after(milliseconds, lambda: self._wake(nap))
        hub = getcurrent().parent
        assert hub is not None
        hub.switch()

    def _wake(self, nap: int) -> None:
        if not self.is_over and nap == self._naps and self._greenlet is not None:
            self._greenlet.parent = getcurrent()
            self._greenlet.switch()

    def kill(self) -> None:
        """Called from outside: it dies where it stands. What it wrote stays written."""
        if not self.is_over and self._greenlet is not None:
            self._greenlet.parent = getcurrent()
            self._greenlet.throw(Killed)

    # --- its clock ---------------------------------------------------------------------------------------------

    @property
    def clock_error(self) -> int:
        """Its clock minus true time, now."""
        return self._clock_error + round((self.loop.now - self.began_at) * self._drift)

    def step_clock(self, milliseconds: int) -> None:
        """Its clock is set."""
        self._clock_error += milliseconds
        self.times_set += 1

    def now(self) -> int:
        """Its clock: the port `WaitingClock`, with the next."""
        return self.loop.now + self.clock_error

    def wait_until(self, instant: int) -> None:
        """Stand still until its clock should show `instant`; not at all when that is past."""
        self.sleep(max(0, instant - self.now()))
