"""Commands that the start waits for: their output goes to a log, a failure becomes one line."""

import contextlib
import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from local.errors import StackError
from local.options import ROOT

LIMIT_SECONDS: Final = 600
TAIL_BYTES: Final = 4_000


@contextlib.contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Let one start at a time do what follows: stacks of one checkout share their tools."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class Command:
    """A command that runs beside the start until somebody waits for it. Ended with all it started by `close`."""

    def __init__(
        self, what: str, command: Sequence[str], environment: Mapping[str, str], log: Path, folder: Path = ROOT
    ) -> None:
        self._what = what
        self._log = log
        self._deadline = time.monotonic() + LIMIT_SECONDS
        with log.open("ab") as output:
            output.write(f"\n--- {what}\n".encode())
            output.flush()
            self._from = output.tell()
            try:
                self._child = subprocess.Popen(
                    command,
                    env=environment,
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                raise StackError(f"{what} could not begin: {error}") from error

    def wait(self) -> None:
        """Wait for its end; raises `StackError` with its last words when it fails."""
        try:
            status = self._child.wait(max(0.0, self._deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise StackError(f"{self._what} took longer than {LIMIT_SECONDS} s: see {self._log}") from None
        finally:
            self.close()
        if status != 0:
            raise StackError(f"{self._what} failed: {self._last_words()} (all of it in {self._log})")

    def close(self) -> None:
        """End it and everything it started, if it still runs."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()

    def _last_words(self) -> str:
        with self._log.open("rb") as file:
            file.seek(max(self._from, self._log.stat().st_size - TAIL_BYTES))
            lines = [line.strip() for line in file.read().decode(errors="replace").splitlines() if line.strip()]
        telling = [line for line in lines if "rror" in line or "❌" in line]
        return (telling or lines or ["it said nothing"])[-1][:300]


def run(what: str, command: Sequence[str], environment: Mapping[str, str], log: Path, folder: Path = ROOT) -> None:
    """Run `command` in `folder` to its end; raises `StackError` when it fails."""
    Command(what, command, environment, log, folder).wait()
