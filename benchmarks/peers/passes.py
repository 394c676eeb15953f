"""One pass of one peer: the herd set up, due, and run; undisturbed, or with the scheduler killed in the middle."""

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks.peers import processor_time, record
from benchmarks.peers.catalogue import Peer
from benchmarks.peers.drivers.cronfleet_queue import requests, sent
from benchmarks.peers.drivers.herd import Order
from benchmarks.peers.emulator import emulator
from benchmarks.peers.failure import Failed
from benchmarks.peers.processes import Drivers, kill
from benchmarks.peers.record import Tally
from benchmarks.peers.servers import Server, postgres, temporary_folder, valkey

Say = Callable[[str], None]

MINUTE: Final = 60
START_SECONDS: Final = 20
"""From the end of the set-up to the measured stretch: the drivers start."""
POLL_SECONDS: Final = 0.1
QUIET_SECONDS: Final = 2.0
"""The measured stretch ends so long after the last call: what is written after it belongs to it."""
LOOK_SECONDS: Final = 5.0
THROUGH_SECONDS: Final = 5.0
"""So long after its last message Cronfleet's dispatcher has closed its books, and served a tick that found nothing."""
LONGEST_SECONDS: Final = 1_200
"""A pass is ended then, whatever it does."""

SERVERS: Final = {"postgres": postgres, "valkey": valkey, "emulator": emulator}


class TooLate(Exception):
    """The herd was due before the drivers were at work: it is set up again with more time."""


@dataclass(frozen=True, slots=True)
class Spent:
    """CPU seconds of the drivers and the server, and what clients asked of it.

    `scheduler_requests` is the scheduler's part of that, where it is known.
    """

    scheduler: float
    worker: float
    server: float
    requests: int
    scheduler_requests: int = 0

    def __sub__(self, other: "Spent") -> "Spent":
        return Spent(
            self.scheduler - other.scheduler,
            self.worker - other.worker,
            self.server - other.server,
            self.requests - other.requests,
            self.scheduler_requests - other.scheduler_requests,
        )


@dataclass(frozen=True, slots=True)
class Pass:
    """What one pass showed. `killed_at` is how many of the herd had run at the SIGKILL (None: there was none)."""

    schedules: int
    tally: Tally
    spent: Spent
    lags: Sequence[float] = field(repr=False)
    waited: float = 0.0
    killed_at: int | None = None

    @property
    def last(self) -> float:
        """Seconds from due until the last of the herd was handed to a worker."""
        return self.lags[-1] if self.lags else math.nan


def play(peer: Peer, schedules: int, patience: float, say: Say, *, is_killed: bool) -> Pass:
    """Play a pass; once more with twice the time where the set-up took longer than thought. Raises `Failed`."""
    for factor in (1, 2, 4):
        with contextlib.suppress(TooLate), temporary_folder() as folder, SERVERS[peer.server]() as server:
            allowed = factor * (START_SECONDS + peer.setup_seconds * schedules / 1_000)
            return _Stage(peer, server, folder, _due(allowed + peer.lead), schedules, say).play(
                patience, is_killed=is_killed
            )
        say("the set-up took longer than thought; again with more time")
    raise Failed("its set-up took too long three times")


def _due(seconds: float) -> int:
    """The first whole minute that is so far away."""
    return math.ceil((time.time() + seconds) / MINUTE) * MINUTE


class _Stage:
    """A peer on its server, with the herd."""

    def __init__(self, peer: Peer, server: Server, folder: Path, due: int, schedules: int, say: Say) -> None:
        self._peer = peer
        self._server = server
        self._order = Order("", server.url, schedules, due, str(folder / "record"))
        self._drivers = Drivers(peer, self._order, folder)
        self._say = say
        self._all_sent_at: float | None = None
        self._through: tuple[float, int] | None = None
        """CPU seconds and requests of a scheduler whose workers go on long after it."""

    def play(self, patience: float, *, is_killed: bool) -> Pass:
        """See `play`."""
        try:
            with self._at_work():
                before = self._spent()
                killed_at = self._watch_kill() if is_killed else None
                waited = self._watch(patience, is_killed=is_killed)
                after = self._spent()
                calls = record.read(Path(self._order.record))
                still_open = self._drivers.left()
        finally:
            self._drivers.stop()
        found = record.tally(calls, self._order, still_open)
        return Pass(self._order.schedules, found, after - before, record.lags(calls, self._order), waited, killed_at)

    @contextlib.contextmanager
    def _at_work(self) -> Iterator[None]:
        begin = time.monotonic()
        self._drivers.once("setup", LONGEST_SECONDS)
        self._worker = self._drivers.start("worker") if self._peer.has_worker else None
        self._scheduler = self._drivers.start("scheduler")
        wait = self._order.due - self._peer.lead - time.time()
        self._say(f"set up in {time.monotonic() - begin:.0f} s; due in {self._order.due - time.time():.0f} s")
        if wait < 1:
            raise TooLate
        time.sleep(wait)
        yield

    def _spent(self) -> Spent:
        worker = processor_time.seconds(self._worker.pid) if self._worker else 0.0
        scheduler, own = self._through or self._scheduler_spent()
        # Asking costs the server a little, so it is asked last.
        server = processor_time.seconds(self._server.pid)
        if self._server.kind != "emulator":
            return Spent(scheduler, worker, server, self._server.requests())
        return Spent(scheduler, worker, server, own + requests(self._order, "worker"), own)

    def _scheduler_spent(self) -> tuple[float, int]:
        own = requests(self._order, "scheduler") if self._server.kind == "emulator" else 0
        return processor_time.seconds(self._scheduler.pid), own

    def _look_whether_through(self) -> None:
        """Take Cronfleet's scheduler's figures a little after it has sent all: the emulator keeps its workers long."""
        if self._server.kind != "emulator" or self._through is not None:
            return
        if self._all_sent_at is None and sent(self._order) + self._ran() >= self._order.schedules:
            self._all_sent_at = time.time()
        elif self._all_sent_at is not None and time.time() - self._all_sent_at > THROUGH_SECONDS:
            self._through = self._scheduler_spent()

    def _ran(self) -> int:
        path = Path(self._order.record)
        return path.read_bytes().count(b"\n") if path.exists() else 0

    def _progress(self) -> int:
        return sent(self._order) if self._server.kind == "emulator" else self._ran()

    def _watch_kill(self) -> int:
        """Kill the scheduler in the middle and start it again at once; how far the herd was."""
        deadline = self._order.due + LONGEST_SECONDS
        while (done := self._progress()) < self._peer.kill_share * self._order.schedules:
            if time.time() > deadline or self._scheduler.poll() is not None:
                raise Failed("it never came to the middle, where it would have been killed")
            time.sleep(POLL_SECONDS / 4)
        kill(self._scheduler)
        self._say(f"killed when {done:,} of {self._order.schedules:,} were done; started again")
        self._scheduler = self._drivers.start("scheduler")
        return done

    def _watch(self, patience: float, *, is_killed: bool) -> float:
        """Wait until all ran and nothing is open, or nothing moved for `patience`; the seconds since the last move."""
        seen, moved = self._ran(), max(time.time(), self._order.due)
        looked = told = time.time()
        while time.time() - moved < patience and time.time() < self._order.due + LONGEST_SECONDS:
            now, ran = time.time(), self._ran()
            if ran != seen:
                seen, moved = ran, now
            if now - told > LOOK_SECONDS:
                told = now
                self._look_whether_through()
                self._say(f"{seen:,} calls; {max(0, now - moved):.0f} of {patience:.0f} s without another")
            if seen >= self._order.schedules and now - moved > QUIET_SECONDS:
                if not is_killed:
                    break
                if now - looked > LOOK_SECONDS:
                    looked = now
                    if not self._drivers.left():
                        break
            time.sleep(POLL_SECONDS)
        return time.time() - moved
