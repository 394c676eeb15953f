"""The processes of a stack, as the system sees them, for tests that kill some."""

import contextlib
import os
import signal
from collections.abc import Iterable
from pathlib import Path

import pytest

from local.testing import StackProcess

PROCESSES = Path("/proc")


def function_processes(stack: StackProcess, name: str = "") -> list[int]:
    """The processes in which functions (all, or those of `name`) run now."""
    mark = f"{stack.state}/tmp/ministack-lambda-cronfleet-{name}"
    return [pid for pid, command in _commands() if mark in command]


def left_of(stack: StackProcess, emulator: int | None = None) -> list[str]:
    """The commands of whatever still runs of a stack: in the emulator's session, or on the stack's folder."""
    return [command for pid, command in _commands() if str(stack.state) in command or _session_of(pid) == emulator]


def kill(pids: Iterable[int]) -> list[int]:
    """SIGKILL to each; the answer is which of them were there."""
    killed = []
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)
    return killed


def _commands() -> Iterable[tuple[int, str]]:
    if not PROCESSES.exists():
        pytest.skip("this test looks for processes in /proc, which only Linux has")
    for folder in PROCESSES.iterdir():
        if folder.name.isdecimal():
            with contextlib.suppress(OSError):
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                if command:
                    yield int(folder.name), command


def _session_of(pid: int) -> int:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return 0
