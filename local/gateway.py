"""The front as its supervisor sees it: an open socket, and a process that serves it and is replaced when it ends."""

import socket
import sys
import time
from typing import Final

from local import surroundings
from local.errors import StackError
from local.folder import Folder
from local.options import PORT_VARIABLE, ROOT
from local.process import Process, remembered, start

GRACE_SECONDS: Final = 2
BACKLOG: Final = 128
MOST_RESTARTS_A_MINUTE: Final = 30


class Gateway:
    """The address of the stack, and what is behind it. Callers wait in the socket while a front is replaced."""

    def __init__(self, folder: Folder, port: int) -> None:
        self._folder = folder
        # A front that outlived its supervisor still holds the port.
        stop_front(folder)
        self._listener = _listen(port)
        self._restarts: list[float] = []

    @property
    def port(self) -> int:
        """The port of the address, also where 0 was asked for."""
        return int(self._listener.getsockname()[1])

    @property
    def url(self) -> str:
        """The one address for everything."""
        return f"http://{surroundings.HOST}:{self.port}"

    def open(self, upstream_port: int, prefix: str, sight_port: int) -> None:
        """Serve the address with a front that passes everything on, below `prefix`, to `upstream_port`, but for the
        dashboard and the metrics, which `sight_port` has.
        """
        number = self._listener.fileno()
        upstream = ["--upstream-host", surroundings.HOST, "--upstream-port", str(upstream_port), "--prefix", prefix]
        upstream += ["--sight-port", str(sight_port)]
        self._command = [sys.executable, "-m", "local.front", "--socket", str(number), *upstream]
        self.front = self._start()

    def keep_open(self) -> Process | None:
        """Replace a front that has ended, and answer which one that was."""
        if self.front.alive:
            return None
        now = time.monotonic()
        self._restarts = [moment for moment in self._restarts if now - moment < 60] + [now]
        if len(self._restarts) > MOST_RESTARTS_A_MINUTE:
            raise StackError(f"the front keeps ending: see {self._folder.front_log}")
        ended, self.front = self.front, self._start()
        return ended

    def _start(self) -> Process:
        front = start(
            self._command,
            environment=surroundings.base(),
            log=self._folder.front_log,
            folder=ROOT,
            keep_open=[self._listener.fileno()],
        )
        front.remember(self._folder.front_record)
        return front


def stop_front(folder: Folder) -> None:
    """Stop the front of this folder, if there is one."""
    front = remembered(folder.front_record)
    if front is not None:
        front.stop(GRACE_SECONDS)
    folder.front_record.unlink(missing_ok=True)


def _listen(port: int) -> socket.socket:
    listener = socket.socket()
    # Connections of an earlier run may still be closing on this port.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((surroundings.HOST, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise StackError(
            f"port {port} cannot be used ({error.strerror}): choose another with --port or {PORT_VARIABLE}, "
            f"such as {PORT_VARIABLE}={port + 1 if port < 65535 else port - 1} make run"
        ) from None
    return listener
