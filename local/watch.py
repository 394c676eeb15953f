"""Watches a running stack: shows what happens, and replaces what has ended and can be replaced."""

import time
from collections.abc import Callable
from itertools import chain
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError

from local import emulator
from local.bell import Bell
from local.journal import finished_attempt
from local.log_streams import trim
from local.metrics import Forwarder
from local.screen import Screen
from local.start import Running

LOOK_SECONDS: Final = 0.2
FLUSH_SECONDS: Final = 10
JUDGE_SECONDS: Final = 5
TRIM_SECONDS: Final = 20


def watch(running: Running, screen: Screen) -> None:
    """Watch until a signal stops the stack; raises `StackError` when it cannot go on."""
    try:
        _watch(running, screen)
    except (ClientError, BotoCoreError, KeyError):
        # Half an answer, in which a field is missing, is what an emulator leaves that is killed while it answers.
        emulator.require_alive(running.emulator, running.folder)
        raise


def _watch(running: Running, screen: Screen) -> None:
    bell = Bell(running.aws)
    forwarder = Forwarder(running.aws)
    flush = _Every(FLUSH_SECONDS, forwarder.flush)
    judge = _Every(JUDGE_SECONDS, running.observatory.judge)
    tidy = _Every(TRIM_SECONDS, lambda: trim(running.aws))
    while True:
        emulator.require_alive(running.emulator, running.folder)
        _keep_front(running, screen)
        _keep_long_worker(running, screen)
        bell.ring()
        for record in chain(running.journal.new_records(), running.long_journal.new_records()):
            forwarder.take(record)
            running.observatory.take(record)
            attempt = finished_attempt(record)
            if attempt is not None:
                screen.attempt(attempt)
        flush()
        judge()
        tidy()
        time.sleep(LOOK_SECONDS)


class _Every:
    """Does something each time it is called, but no more often than every `seconds`."""

    def __init__(self, seconds: float, action: Callable[[], None]) -> None:
        self._seconds = seconds
        self._action = action
        self._next = time.monotonic() + seconds

    def __call__(self) -> None:
        if time.monotonic() >= self._next:
            self._action()
            self._next = time.monotonic() + self._seconds


def _keep_long_worker(running: Running, screen: Screen) -> None:
    ended = running.long_worker.keep_going()
    if ended is not None:
        running.describe()
        there = running.long_worker.process.pid
        screen.note(f"the long worker (process {ended.pid}) had ended; started again as process {there}")


def _keep_front(running: Running, screen: Screen) -> None:
    ended = running.gateway.keep_open()
    if ended is not None:
        running.describe()
        screen.note(f"the front (process {ended.pid}) had ended; started again as process {running.gateway.front.pid}")
