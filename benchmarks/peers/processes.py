"""The drivers' processes of one pass: started in sessions of their own, killed whole, and waited for with a limit."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

from benchmarks.peers import environment
from benchmarks.peers.catalogue import Peer
from benchmarks.peers.drivers.herd import Order
from benchmarks.peers.failure import Failed
from local import surroundings

READY_SECONDS: Final = 120
LEFT_SECONDS: Final = 120
POLL_SECONDS: Final = 0.05
PACKAGES: Final = ("layers/core/python", ".")


class Drivers:
    """Starts a peer's driver in its roles."""

    def __init__(self, peer: Peer, order: Order, folder: Path) -> None:
        self._peer = peer
        self._order = order
        self._folder = folder
        self._started: list[subprocess.Popen[bytes]] = []

    def once(self, role: str, seconds: float) -> str:
        """Have a role played to its end; the answer is what it printed. Raises `Failed`."""
        try:
            done = subprocess.run(
                self._command(role),
                env=self._environment(),
                cwd=self._folder,
                check=False,
                capture_output=True,
                text=True,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired as error:
            raise Failed(f"{role} took longer than {seconds:.0f} s") from error
        if done.returncode:
            raise Failed(f"{role}: {last_line(done.stderr or done.stdout)}")
        return done.stdout

    def start(self, role: str) -> "subprocess.Popen[bytes]":
        """Start a role and wait until it is at work. Raises `Failed`."""
        out = self._folder / f"{role}-{len(self._started)}.out"
        with out.open("wb") as file, out.with_suffix(".log").open("wb") as log:
            process = subprocess.Popen(
                self._command(role),
                env=self._environment(),
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=log,
                start_new_session=True,
            )
        self._started.append(process)
        deadline = time.monotonic() + READY_SECONDS
        while b"ready\n" not in out.read_bytes():
            if process.poll() is not None:
                raise Failed(f"{role} ended: {last_line(out.with_suffix('.log').read_text(errors='replace'))}")
            if time.monotonic() > deadline:
                raise Failed(f"{role} was not ready within {READY_SECONDS} s")
            time.sleep(POLL_SECONDS)
        return process

    def left(self) -> Sequence[str]:
        """The names of the herd that the store has as open."""
        answer = self.once("left", LEFT_SECONDS).strip().splitlines()
        return [str(name) for name in json.loads(answer[-1])["open"]]

    def stop(self) -> None:
        """Kill what was started."""
        for process in self._started:
            kill(process)

    def _command(self, role: str) -> list[str]:
        order = json.dumps(asdict(replace(self._order, role=role)))
        if self._peer.runtime == "node":
            return [str(environment.node()), str(environment.NODE / f"{self._peer.module}.mjs"), order]
        python = sys.executable if self._peer.runtime == "own" else str(environment.python())
        return [python, "-m", f"benchmarks.peers.drivers.{self._peer.module}", order]

    def _environment(self) -> Mapping[str, str]:
        base = surroundings.aws(self._order.url) if self._peer.runtime == "own" else surroundings.base()
        path = os.pathsep.join(str(environment.ROOT / one) for one in PACKAGES)
        return {**base, "PYTHONPATH": path, "PYTHONTZPATH": "", "TZ": "UTC"}


def kill(process: "subprocess.Popen[bytes]") -> None:
    """SIGKILL for a driver and all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def last_line(text: str) -> str:
    """What a program that failed said last."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # Node ends with its version, Python with the error.
    errors = [line for line in lines if "rror: " in line] or lines
    return errors[-1][:200] if errors else "without a word"
