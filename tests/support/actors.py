"""Actors: services that stop before and after every call through a port, so that a test decides who goes on.

Each actor runs in a thread of its own, and only while the test lets it: one at a time, so every order of steps is
chosen and can be repeated. An actor can be let go on, killed (nothing more of it happens), or told that a reply was
lost (the effect happened, the caller hears `NoAnswer`).
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from cronfleet.domain.claim import ClaimOutcome
from cronfleet.ports.job_store import NoAnswer

PATIENCE_SECONDS: Final = 20
"""How long a test waits for an actor that no longer comes to a stop: then something is wrong, and the test fails."""

UNSEEN: Final = frozenset({"skew_ms"})
"""Calls that read this process alone: nothing can come between."""


class Killed(BaseException):
    """Raised inside an actor that dies: no `except Exception` of the product may hear of it."""


class Actor:
    """One invocation of one service, under the test's control."""

    def __init__(self, name: str, body: Callable[["Actor"], Any]) -> None:
        self.name = name
        self.at: str | None = None
        """The step it stands before (`claim`) or after (`claim done`); `None` once it is over."""
        self.result: Any = None
        self.error: BaseException | None = None
        self.steps: list[str] = []
        self._orders: str = ""
        self._go = threading.Semaphore(0)
        self._stopped = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, args=(body,), daemon=True)
        self._thread.start()
        self._wait()

    def _run(self, body: Callable[["Actor"], Any]) -> None:
        try:
            self.stop("begin")
            self.result = body(self)
        except BaseException as error:
            self.error = error
        self.at = None
        self._stopped.release()

    def _wait(self) -> None:
        assert self._stopped.acquire(timeout=PATIENCE_SECONDS), f"{self.name} hangs after {self.steps}"

    def stop(self, at: str) -> None:
        """Called by the actor itself: stand still at a step until the test says how it goes on."""
        self.at = at
        self.steps.append(at)
        self._stopped.release()
        self._go.acquire()
        orders, self._orders = self._orders, ""
        if orders == "die":
            raise Killed
        if orders == "lose the reply":
            raise NoAnswer("the reply was lost")

    @property
    def is_over(self) -> bool:
        return self.at is None

    def step(self, orders: str = "") -> str | None:
        """Let it go on to its next step; returns where it stands then."""
        assert not self.is_over
        self._orders = orders
        self._go.release()
        self._wait()
        return self.at

    def run(self, steps: int | None = None) -> "Actor":
        """Let it go on for so many steps, or to its end."""
        while not self.is_over and (steps is None or steps > 0):
            self.step()
            steps = None if steps is None else steps - 1
        return self

    def kill(self) -> "Actor":
        """It dies where it stands."""
        if not self.is_over:
            self.step("die")
        return self

    def finish(self) -> Any:
        """To its end; raises what it raised."""
        self.run()
        if self.error is not None and not isinstance(self.error, Killed):
            raise self.error
        return self.result

    def port(self, target: Any) -> Any:
        """`target`, seen by this actor: it stops before and after every call."""
        return _Port(self, target)


class _Port:
    def __init__(self, actor: Actor, target: Any) -> None:
        self._actor = actor
        self._target = target

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._target, name)
        if name in UNSEEN or not callable(method):
            return method
        if name == "claim":
            return self._claim

        def call(*args: Any, **kwargs: Any) -> Any:
            self._actor.stop(name)
            answer = method(*args, **kwargs)
            self._actor.stop(f"{name} done")
            return answer

        return call

    def _claim(self, batch_id: Any, claims: Any) -> list[Any]:
        """One by one, as the port's writer does: the world may come between every two, and any may go unanswered."""
        outcomes = []
        for claim in claims:
            try:
                self._actor.stop("claim")
                (outcome,) = self._target.claim(batch_id, [claim])
                self._actor.stop("claim done")
            except NoAnswer:
                outcome = ClaimOutcome.UNANSWERED
            outcomes.append(outcome)
        return outcomes


@contextmanager
def no_actor_left(*actors: Actor) -> Iterator[None]:
    """Whatever the test does, no thread outlives it."""
    try:
        yield
    finally:
        for actor in actors:
            actor.kill()


def overtake(first: Actor, second: Actor, steps: int) -> None:
    """`first` stands still where it is; `second` takes `steps` and stands still in its turn; then both go on to their
    ends, the one that was overtaken before the other. Neither may end in an error.
    """
    with no_actor_left(first, second):
        second.run(steps)
        first.run()
        second.run()
        assert first.error is None
        assert second.error is None
