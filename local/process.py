"""Processes of the stack: started in a session of their own, remembered on disk, recognised again, ended whole.

Each leads its own process group, so Ctrl-C in the terminal reaches only the supervisor, and so what a
process has started (the emulator starts one process per running function) can be ended with it.
"""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

POLL_SECONDS: Final = 0.05
DEAD: Final = "Z"
"""The state of a process that has ended but that nobody has waited for (proc(5))."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process that this or an earlier supervisor started. `started` tells it from a later one with the same id."""

    pid: int
    started: str

    @property
    def alive(self) -> bool:
        """Whether it still runs: this very process, not another with its id, nor what waits to be reaped."""
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, os.WNOHANG)
        return _started(self.pid) == self.started

    def stop(self, grace_seconds: float) -> bool:
        """End it and all that it started with SIGTERM, and with SIGKILL what that has not ended in time.

        False when it had to be killed, so that nothing it wanted to write at its end was written.
        """
        # The whole group: the emulator waits for its functions, and they for an emulator that no longer answers.
        if self.alive:
            _send_to_group(self.pid, signal.SIGTERM)
        obeyed = self.wait(grace_seconds)
        self.kill_group()
        return obeyed

    def wait(self, seconds: float) -> bool:
        """Whether it has ended within `seconds`."""
        deadline = time.monotonic() + seconds
        while self.alive:
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL_SECONDS)
        return True

    def kill_group(self) -> None:
        """End at once whatever is left of its process group, itself included."""
        # The group's id cannot be given to a new process while a member lives; without members nothing is hit.
        _send_to_group(self.pid, signal.SIGKILL)
        self.wait(1)

    def remember(self, path: Path) -> None:
        """Write it down, so that the next supervisor can recognise it."""
        path.write_text(json.dumps(asdict(self)))


def remembered(path: Path) -> Process | None:
    """The process that `path` tells of, if it still runs."""
    try:
        process = Process(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None
    return process if process.alive else None


def start(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    log: Path,
    folder: Path,
    keep_open: Sequence[int] = (),
) -> Process:
    """Start `command` in a session of its own, its output appended to `log`; `keep_open` are inherited sockets."""
    with log.open("ab") as output:
        child = subprocess.Popen(
            command,
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=keep_open,
        )
    # Nobody keeps `child`: `alive` reaps it, and an adopted process has none.
    child.returncode = 0
    return Process(child.pid, _started(child.pid) or "")


def _send_to_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _started(pid: int) -> str | None:
    """When process `pid` began, in the words of the system; None when there is none or it has ended."""
    stat = Path(f"/proc/{pid}/stat")
    if not Path("/proc/self/stat").exists():
        return _started_by_ps(pid)
    try:
        # The name in parentheses may hold anything, so count from its end: state is field 3, the start field 22.
        fields = stat.read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == DEAD else fields[19]


def _started_by_ps(pid: int) -> str | None:
    command = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
    state, _, began = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip().partition(" ")
    return None if not state or state.startswith(DEAD) else began.strip()
