"""The supervisor of a long worker: starts its places, keeps them going, and has them stop in time.

In a container it is the first process: it gets SIGTERM, passes it on, and ends when the last place has ended, or when
there is no time left. It also takes in whatever a job's processes leave behind.
"""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Final

from cronfleet import bootstrap

from .folder import SUPERVISOR, Folder
from .options import Options

TURN_SECONDS: Final = 1.0
STUCK_SECONDS: Final = 300.0
"""A place that has said nothing for so long is ended. One that waits for a silent store is heard more often."""

SHORTEST_LIFE: Final = 10.0
LONGEST_PAUSE: Final = 30.0
"""A place that ends within its shortest life is started again after a pause, twice as long each time, up to this."""

REPORT_SECONDS: Final = 60.0
"""How often is told how many places there are, and how many have jobs: workers are started and let go of by that."""

KILL_SECONDS: Final = 3.0
"""How long before its own end the supervisor ends what is still there."""


@dataclass(slots=True)
class _Place:
    """A place: its process (0: none), since when, and when it may be started again."""

    pid: int = 0
    started_at: float = 0.0
    start_at: float = 0.0
    pause: float = 1.0


class Supervisor:
    """Runs `options.jobs` places until it is told to stop."""

    def __init__(self, options: Options, environment: Mapping[str, str]) -> None:
        self._options = options
        self._environment = environment
        self._folder = Folder(options.folder)
        self._places = {number: _Place() for number in range(options.jobs)}
        self._stopped_at: float | None = None
        self._reported_at = 0.0
        self._watch = bootstrap.telemetry("worker")
        self._awake, self._wake = os.pipe()

    def run(self) -> bool:
        """Until everything has ended after a signal to stop; whether all of it did so by itself."""
        self._folder.make()
        os.set_blocking(self._wake, False)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        for one in (signal.SIGTERM, signal.SIGINT):
            signal.signal(one, self._stop)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # So that the end of a place wakes this one.
        while not self._is_over():
            self._turn()
            if select.select([self._awake], [], [], TURN_SECONDS)[0]:
                os.read(self._awake, 512)
        return self._kill_what_is_left()

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        if self._stopped_at is None:
            self._stopped_at = time.monotonic()
        for place in self._places.values():
            if place.pid:
                os.kill(place.pid, signal.SIGTERM)

    def _is_over(self) -> bool:
        if self._stopped_at is None:
            return False
        is_late = time.monotonic() - self._stopped_at >= self._options.stop_seconds - KILL_SECONDS
        return is_late or not any(place.pid for place in self._places.values())

    def _turn(self) -> None:
        now = time.monotonic()
        self._reap(now)
        for number, place in self._places.items():
            if place.pid:
                self._end_if_stuck(number, place, now)
            elif self._stopped_at is None and now >= place.start_at:
                self._start(number, place, now)
        self._folder.stamp(SUPERVISOR, is_busy=False)
        if now - self._reported_at >= REPORT_SECONDS:
            self._reported_at = now
            self._report()

    def _start(self, number: int, place: _Place, now: float) -> None:
        command = [sys.executable, "-m", f"{__package__}.place", str(number)]
        child = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            command, env=dict(self._environment), stdin=subprocess.DEVNULL
        )
        child.returncode = 0  # Nobody keeps it: all children are taken in by `_reap`.
        self._folder.stamp(str(number), is_busy=False)
        place.pid, place.started_at = child.pid, now

    def _reap(self, now: float) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            for number, place in self._places.items():
                if place.pid == pid:
                    self._ended(number, place, os.waitstatus_to_exitcode(status), now)

    def _ended(self, number: int, place: _Place, code: int, now: float) -> None:
        place.pid = 0
        place.pause = 1.0 if now - place.started_at >= SHORTEST_LIFE else min(2 * place.pause, LONGEST_PAUSE)
        place.start_at = now + place.pause
        if self._stopped_at is None:
            self._watch.alarm("place_ended", place=number, exit_code=code, pause_seconds=place.pause)

    def _end_if_stuck(self, number: int, place: _Place, now: float) -> None:
        said = self._folder.read(str(number))
        age = now - place.started_at if said is None else said.age
        if age >= STUCK_SECONDS:
            self._watch.alarm("place_stuck", place=number, silent_seconds=round(age))
            os.kill(place.pid, signal.SIGKILL)

    def _report(self) -> None:
        said = [self._folder.read(str(number)) for number in self._places]
        busy = sum(one is not None and one.is_busy for one in said)
        self._watch.tally({"long_places": len(self._places), "long_busy": busy})

    def _kill_what_is_left(self) -> bool:
        left = [place.pid for place in self._places.values() if place.pid]
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        if left:
            # Their runs go on elsewhere when their leases end.
            self._watch.alarm("places_killed", places=len(left))
        return not left
