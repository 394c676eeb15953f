"""The life of one stack: start, watch, stop, whatever happens in between."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType
from typing import Final

from local.errors import Stopped
from local.folder import Folder
from local.options import Options
from local.screen import Screen
from local.start import start
from local.stop import stop
from local.watch import watch

STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(options: Options, screen: Screen) -> None:
    """Run the stack until a signal stops it; raises `StackError` when it cannot start or go on."""
    folder = Folder(options.state)
    folder.make()
    with folder.lock():
        try:
            with _stopped_by_signals():
                watch(start(options, folder, screen), screen)
        except Stopped:
            _stop_and_tell(folder, screen)
        except BaseException:
            stop(folder, screen.silenced())
            raise


def _stop_and_tell(folder: Folder, screen: Screen) -> None:
    try:
        stop(folder, screen)
    except OSError:
        # The terminal is gone, perhaps for the same reason as the signal; that is no reason to lose anything.
        stop(folder, screen.silenced())


@contextlib.contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """Turn a signal to stop into `Stopped`, once; what comes later is ignored, so that the stop itself is whole."""

    def stop_once(_number: int, _frame: FrameType | None) -> None:
        _ignore_signals()
        raise Stopped

    for number in STOP_SIGNALS:
        signal.signal(number, stop_once)
    try:
        yield
    finally:
        _ignore_signals()


def _ignore_signals() -> None:
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
