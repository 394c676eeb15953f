"""Strands: `SideBySide` in virtual time. Each call takes its own time, fails alone, and dies with its invocation."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from cronfleet.ports.side_by_side import MAX_IN_FLIGHT, Answer
from simulator.loop import Killed, Process
from simulator.wire import Weather

LANDS: Final = 0.5
"""Of the requests that are on their way when their invocation dies, so many arrive."""


class Strands:
    """The calls of one invocation that it makes side by side."""

    def __init__(self, process: Process, weather: Weather) -> None:
        self._process = process
        process.lands = lambda: weather.rng.random() < LANDS

    def run(self, calls: Sequence[Callable[[], Answer]]) -> list[Answer]:
        """See `SideBySide.run`."""
        process = self._process
        waiting = deque(enumerate(calls))
        answers: dict[int, Answer] = {}
        errors: dict[int, BaseException] = {}
        go_on = process.waker()
        left = min(MAX_IN_FLIGHT, len(calls))

        def strand() -> None:
            nonlocal left
            while waiting:
                place, call = waiting.popleft()
                try:
                    answers[place] = call()
                except Killed:
                    raise
                except BaseException as error:
                    errors[place] = error
            left -= 1
            if not left:
                process.loop.after(0, go_on)

        for _ in range(left):
            process.spin(strand)
        if calls:
            process.stand_still()
        if errors:
            raise errors[min(errors)]
        return [answers[place] for place in range(len(calls))]
