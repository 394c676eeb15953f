"""The emulator of AWS as a server of the benchmark: the local stack's, on an empty folder and a free port."""

import contextlib
import fcntl
from collections.abc import Iterator

from benchmarks.peers.servers import Server, temporary_folder
from local import emulator as engine
from local.folder import Folder


@contextlib.contextmanager
def emulator() -> Iterator[Server]:
    """ministack, with nothing in it."""
    _install()
    with temporary_folder() as path:
        folder = Folder(path)
        folder.make()
        running = engine.launch(folder)
        try:
            yield Server("emulator", running.endpoint, running.process.pid)
        finally:
            running.process.kill_group()


def _install() -> None:
    place = engine.ENVIRONMENT.parent
    place.mkdir(exist_ok=True)
    with (place / "emulator-install.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not engine.is_installed():
            engine.install(place / "emulator-install.log")
