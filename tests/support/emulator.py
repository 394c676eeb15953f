"""The local AWS emulator for tests: its own process, its own empty state, nothing of the user's account."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from local import emulator as engine
from local import surroundings
from local.folder import Folder


@contextmanager
def emulator(path: Path) -> Iterator[str]:
    """The endpoint of an emulator that runs on the empty folder `path`; it ends with the context."""
    with launched(path) as running:
        yield running.endpoint


@contextmanager
def launched(path: Path) -> Iterator[engine.Emulator]:
    """The same, with its process."""
    folder = Folder(path)
    folder.make()
    _install()
    running = engine.launch(folder)
    try:
        yield running
    finally:
        running.process.kill_group()


def _install() -> None:
    folder = engine.ENVIRONMENT.parent
    folder.mkdir(exist_ok=True)
    # Tests that run side by side would build it side by side.
    with (folder / "emulator-install.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not engine.is_installed():
            engine.install(folder / "emulator-install.log")


def client(service: str, endpoint: str, **config: Any) -> Any:
    """A client of `service` at `endpoint`, whatever the environment says."""
    return boto3.client(
        service,
        endpoint_url=endpoint,
        region_name=surroundings.REGION,
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(connect_timeout=2, read_timeout=10, retries={"mode": "standard", "max_attempts": 3}, **config),
    )
