"""`SideBySide` in virtual time: each call in a greenlet of its own, which takes its own time on its way."""

from collections.abc import Callable, Sequence
from typing import Any

from greenlet import getcurrent

from cronfleet.ports.side_by_side import MAX_IN_FLIGHT, Answer
from simulator.loop import Loop, Process


class Branches:
    """Of one invocation. `process` is the branch that runs now: who pauses, pauses in it."""

    def __init__(self, loop: Loop, trunk: Process) -> None:
        self._loop = loop
        self._trunk = trunk
        self._of: dict[Any, Process] = {}

    @property
    def process(self) -> Process:
        """Whose code runs now."""
        return self._of.get(getcurrent(), self._trunk)

    def run(self, calls: Sequence[Callable[[], Answer]]) -> list[Answer]:
        """See `SideBySide.run`."""
        if len(calls) < 2:
            return [call() for call in calls]
        answers: dict[int, Answer] = {}
        errors: dict[int, BaseException] = {}
        left = list(enumerate(calls))[::-1]
        waiting = getcurrent()

        def begin() -> None:
            place, call = left.pop()
            branch = Process(self._loop, self._trunk.name)

            def body() -> None:
                self._of[getcurrent()] = branch
                try:
                    answers[place] = call()
                except BaseException as error:
                    errors[place] = error
                finally:
                    del self._of[getcurrent()]

            def then(_: Process) -> None:
                if left:
                    begin()
                elif len(answers) + len(errors) == len(calls):
                    self._loop.after(0, lambda: _resume(waiting, self._trunk))

            branch.start(body, then)

        for _ in range(min(MAX_IN_FLIGHT, len(left))):
            begin()
        # Whoever ends last wakes this one up.
        hub = waiting.parent
        assert hub is not None
        hub.switch()
        if errors:
            raise errors[min(errors)]
        return [answers[place] for place in range(len(calls))]


def _resume(waiting: Any, trunk: Process) -> None:
    if not trunk.is_over:
        waiting.parent = getcurrent()
        waiting.switch()
