"""What may be killed or frozen in a running stack: every process but the emulator itself."""

import contextlib
import os
import signal
from pathlib import Path

from local.testing import StackProcess

PROCESSES = Path("/proc")
CONTROL = ("api", "authorizer", "ticker", "dispatcher", "sweeper")
"""The functions of the control plane."""


def functions(stack: StackProcess, name: str) -> list[int]:
    """The processes in which the function `name` runs now, without what they have forked."""
    emulator = stack.facts["processes"]["emulator"]
    mark = f"{stack.state}/tmp/ministack-lambda-cronfleet-{name}-"
    return [pid for pid in children(emulator) if mark in command(pid)]


def jobs(stack: StackProcess) -> list[int]:
    """The forked processes in which jobs run now."""
    return [pid for worker in functions(stack, "worker-standard") for pid in children(worker)]


def busy_workers(stack: StackProcess) -> list[int]:
    """The worker processes that are in the middle of a job."""
    return [worker for worker in functions(stack, "worker-standard") if children(worker)]


def children(pid: int) -> list[int]:
    """The living children of a process."""
    found = []
    for folder in PROCESSES.iterdir():
        if folder.name.isdecimal():
            state, parent = _state_and_parent(int(folder.name))
            if parent == pid and state != "Z":
                found.append(int(folder.name))
    return found


def command(pid: int) -> str:
    """The command line of a process; empty when it is gone."""
    with contextlib.suppress(OSError):
        return (PROCESSES / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""


def send(pid: int, number: signal.Signals) -> bool:
    """Send a signal; False when the process was gone."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def cpu_seconds(pid: int) -> float:
    """The processor time that a process has used."""
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else 0.0


def _state_and_parent(pid: int) -> tuple[str, int]:
    fields = _stat(pid)
    return (fields[0], int(fields[1])) if fields else ("", 0)


def _stat(pid: int) -> list[str]:
    """What proc(5) tells of a process from its state on; empty when it is gone."""
    try:
        # The name in parentheses may hold anything, so what counts is what comes after its end.
        return (PROCESSES / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
