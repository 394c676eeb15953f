"""Virtual time, and invocations that stand still at every call through a port.

An invocation runs in a greenlet of its own, and each call that it makes side by side with others in one more. Whatever
it asks of the world takes (virtual) time, and in that time anything else may happen: others work, it is killed, its
reply is lost. Nothing here reads a real clock.
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
        self._strands: dict[greenlet, None] = {}
        self._on_their_way: set[greenlet] = set()
        self._naps: dict[greenlet, int] = {}
        self._nap_numbers = count()
        self._is_dying = False
        self.lands: Callable[[], bool] = lambda: False
        """Whether a request that was on its way when the invocation died arrives all the same."""
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

    def sleep(self, milliseconds: int, *, sends: bool = False) -> None:
        """Called from inside: stand still while so much true time passes; with `sends` it is a request's way there."""
        self.loop.after(milliseconds, self.waker())
        me = getcurrent()
        if sends:
            self._on_their_way.add(me)
        self.stand_still()
        self._on_their_way.discard(me)

    def waker(self) -> Action:
        """Called from inside: what lets it go on from where it will stand still next."""
        me, nap = getcurrent(), next(self._nap_numbers)
        self._naps[me] = nap
        return lambda: self._wake(me, nap)

    def stand_still(self) -> None:
        """Called from inside: until it is woken."""
        hub = getcurrent().parent
        assert hub is not None
        hub.switch()

    def _wake(self, sleeper: greenlet, nap: int) -> None:
        if self._naps.get(sleeper) == nap:
            del self._naps[sleeper]
            sleeper.parent = getcurrent()
            sleeper.switch()

    def spin(self, body: Action) -> None:
        """Called from inside: run `body` as a strand of its own up to where it stands still, and come back."""

        def run() -> None:
            try:
                body()
            except Killed:
                if not self._is_dying:
                    # The whole invocation dies of it, at this very moment.
                    self.loop.after(0, self.kill)
            finally:
                self._strands.pop(strand, None)

        strand = greenlet(run)
        self._strands[strand] = None
        strand.switch()

    def kill(self) -> None:
        """Called from outside: it dies where it stands. What it wrote stays written; of the requests that its strands
        have under way, some arrive later.
        """
        if self.is_over or self._greenlet is None:
            return
        self._is_dying = True
        for strand in tuple(self._strands):
            if not (strand in self._on_their_way and self.lands()):
                self._throw(strand)
        self._throw(self._greenlet)

    def _throw(self, victim: greenlet) -> None:
        self._naps.pop(victim, None)
        victim.parent = getcurrent()
        victim.throw(Killed)

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
