"""One place of a long worker: a process that has one job at a time. `python -m long_worker.place 0`.

A process and not a thread: each attempt is a fork of it, and a fork of a process with threads may hang for ever on a
lock that one of them held.
"""

import os
import signal
import sys
import time
from types import FrameType
from typing import Final

from aws_lambda_powertools import Logger

from cronfleet import bootstrap, settings
from cronfleet.ports.queues import NoQueue
from cronfleet.services.long_worker import LongWorker

from .folder import Folder, Stamper
from .options import Options, options_of

ROOT: Final = str(__package__).rpartition("long_worker")[0]
HANDLERS: Final = f"{ROOT}worker.handlers"
"""The jobs are those of the worker functions: its folder lies beside this one."""

SHORT_PAUSE: Final = 1.0
LONG_PAUSE: Final = 30.0
"""Between these a place rests that cannot reach its queue, or the store."""

logger = Logger(service="worker")


class Place:
    """Works until it is told to stop, or whoever started it is gone."""

    def __init__(self, number: int, options: Options) -> None:
        self._options = options
        self._parent = os.getppid()
        folder = Folder(options.folder)
        self._stamp = Stamper(folder, str(number))
        task = bootstrap.LongTask(
            shared=folder.protection,
            place=number,
            tell=self._tell,
            agent=options.agent,
            metadata=options.metadata,
            protection_minutes=options.protection_minutes,
        )
        found = settings.from_environment(settings.RUN_QUEUE_URLS)
        self._worker: LongWorker = bootstrap.long_worker(found, HANDLERS, task)

    def stop(self, _number: int = 0, _frame: FrameType | None = None) -> None:
        """Take no more, and be done in time."""
        self._worker.stop_within(self._options.stop_seconds)

    def _tell(self, is_busy: bool) -> None:
        self._stamp(is_busy)
        if os.getppid() != self._parent:
            self.stop()

    def work(self) -> None:
        """Take one message after the other."""
        pause = SHORT_PAUSE
        while not self._worker.is_stopping:
            try:
                self._worker.work()
            except NoQueue as error:
                logger.warning("queue_unanswered", extra={"error": str(error)})
            except Exception:
                logger.exception("message_unfinished")
            else:
                pause = SHORT_PAUSE
                continue
            self._rest(pause)
            pause = min(2 * pause, LONG_PAUSE)

    def _rest(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self._worker.is_stopping:
            self._tell(False)
            # Not an event: a signal's handler that sets one waits for ever for a lock that is held right here.
            time.sleep(0.2)


def main(number: int) -> None:
    """Work in place `number` until SIGTERM."""
    place = Place(number, options_of())
    for one in (signal.SIGTERM, signal.SIGINT):
        signal.signal(one, place.stop)
    place.work()


if __name__ == "__main__":
    main(int(sys.argv[1]))
