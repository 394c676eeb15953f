"""The emulator of AWS as a server of the benchmark: the local stack's, on an empty folder and a free port."""

import contextlib
from collections.abc import Iterator

from benchmarks.peers.servers import Server, temporary_folder
from tests.support.emulator import launched


@contextlib.contextmanager
def emulator() -> Iterator[Server]:
    """ministack, with nothing in it."""
    with temporary_folder() as path, launched(path) as running:
        yield Server("emulator", running.endpoint, running.process.pid)
