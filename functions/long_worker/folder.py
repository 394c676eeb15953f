"""The folder that the processes of one long worker share: who is alive, who has a job."""

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

STAMP_SECONDS: Final = 5.0
"""How often at most one stamps that it is alive."""

SUPERVISOR: Final = "supervisor"


@dataclass(frozen=True, slots=True)
class Stamp:
    """What one process said of itself last: how many seconds ago, and whether it had a job."""

    age: float
    is_busy: bool


class Folder:
    """Stamps in small files; times are of the machine's own clock that only goes forward, which all processes share."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def protection(self) -> Path:
        """The file in which workers note who of them has a job, for the protection of their task."""
        return self._path / "protection"

    def make(self) -> None:
        """Make it anew: what an earlier process left says nothing of this one."""
        self._path.mkdir(parents=True, exist_ok=True)
        for left in self._path.iterdir():
            left.unlink()

    def stamp(self, name: str, *, is_busy: bool) -> None:
        """Say that `name` is alive."""
        fresh = self._path / f"{name}.{os.getpid()}"
        # A full disk must not end a job that needs none.
        with contextlib.suppress(OSError):
            fresh.write_text(f"{time.monotonic()} {int(is_busy)}")
            fresh.replace(self._path / name)

    def read(self, name: str) -> Stamp | None:
        """What `name` said last; `None` if it has said nothing."""
        try:
            said_at, is_busy = (self._path / name).read_text().split()
            return Stamp(time.monotonic() - float(said_at), is_busy == "1")
        except (OSError, ValueError):
            return None


class Stamper:
    """Stamps for one process, as often as is worth it."""

    def __init__(self, folder: Folder, name: str) -> None:
        self._folder = folder
        self._name = name
        self._said: tuple[float, bool] | None = None

    def __call__(self, is_busy: bool) -> None:
        """Say that it is alive, and whether it has a job."""
        now = time.monotonic()
        if self._said is not None and self._said[1] == is_busy and now - self._said[0] < STAMP_SECONDS:
            return
        self._folder.stamp(self._name, is_busy=is_busy)
        self._said = (now, is_busy)
