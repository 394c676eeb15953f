"""Starts a stack of its own for tests and tools, as a user would: `python -m local`, beside any other stack."""

import contextlib
import json
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from local.options import ROOT

READY: Final = "Cronfleet is ready at "
START_SECONDS: Final = 240
STOP_SECONDS: Final = 60


@dataclass
class StackProcess:
    """One `python -m local`, with every line it has printed so far."""

    state: Path
    arguments: Sequence[str] = ()
    root: Path = ROOT
    """The checkout that it runs from."""
    lines: list[str] = field(default_factory=list)

    def start(self) -> "StackProcess":
        """Start it, without waiting for anything."""
        command = [sys.executable, "-m", "local", "--state-dir", str(self.state), *self.arguments]
        self.process = subprocess.Popen(
            command, cwd=self.root, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        )
        self._arriving: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        threading.Thread(target=self._collect, daemon=True).start()
        return self

    def wait_until_ready(self, seconds: float = START_SECONDS) -> "StackProcess":
        """Wait for the line that says so; raises `AssertionError` with all lines when the stack ends before."""
        self.wait_for_line(READY, seconds)
        return self

    def wait_for_line(self, part: str, seconds: float) -> str:
        """The next new line that contains `part`."""
        while (line := self._next_line(seconds)) is not None:
            if part in line:
                return line
        said = "\n".join(self.lines)
        raise AssertionError(f"the stack ended before it said {part!r}:\n{said}")

    @property
    def facts(self) -> dict[str, Any]:
        """`url`, `key`, `emulator` (its address) and `processes` (ids by name) of the running stack."""
        facts: dict[str, Any] = json.loads((self.state / "stack.json").read_text())
        return facts

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """Stop it as Ctrl-C would, and answer its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.wait()

    def wait(self, seconds: float = STOP_SECONDS) -> int:
        """Wait for its end, and answer its exit status."""
        return self.process.wait(seconds)

    def _collect(self) -> None:
        assert self.process.stdout is not None  # noqa: S101 - it was opened as a pipe
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            self._arriving.put(line)
        self._arriving.put(None)

    def _next_line(self, seconds: float) -> str | None:
        try:
            return self._arriving.get(timeout=seconds)
        except queue.Empty:
            said = "\n".join(self.lines)
            raise AssertionError(f"the stack said nothing for {seconds} s; before that:\n{said}") from None


@contextlib.contextmanager
def running_stack(state: Path, *arguments: str) -> Iterator[StackProcess]:
    """A stack on a free port and without demo schedules, ready, and stopped at the end."""
    stack = StackProcess(state, ("--port", "0", "--no-demo", *arguments)).start()
    try:
        yield stack.wait_until_ready()
    finally:
        stack.stop()
