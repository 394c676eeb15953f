"""Cronfleet's dispatcher with every request answered from memory: what `benchmarks.dispatcher_cpu` measures."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.figures import COLLECTED_IN, Figure, collected
from benchmarks.peers.environment import ROOT
from benchmarks.peers.failure import Failed
from benchmarks.peers.servers import temporary_folder

SECONDS: Final = 300
TITLE: Final = "Cronfleet, canned answers"
INCLUDES: Final = (
    "The real dispatcher, store and clients, which serialise, sign and parse; no socket and no server: each "
    "request is answered from memory, within the process (`benchmarks.dispatcher_cpu`, herds of its own size). "
    "What the peers spend on sockets is not in it."
)


@dataclass(frozen=True, slots=True)
class Canned:
    """CPU seconds of the dispatcher for 1,000 firings, as its own benchmark tells them."""

    seconds: float
    told: str


def measured() -> Canned:
    """Run that benchmark. Raises `Failed`."""
    with temporary_folder() as folder:
        path = folder / "figures"
        environment = {**os.environ, COLLECTED_IN: str(path), "PYTHONTZPATH": ""}
        command = [sys.executable, "-m", "benchmarks.dispatcher_cpu"]
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True, timeout=SECONDS
            )
        except subprocess.TimeoutExpired as error:
            raise Failed(f"benchmarks.dispatcher_cpu took longer than {SECONDS} s") from error
        return read(path, done.stdout)


def read(path: Path, printed: str) -> Canned:
    """The figure among those that were collected. Raises `Failed`."""
    for figure in collected(path):
        found = seconds_of(figure)
        if found is not None:
            return Canned(found, f"{figure.what}: {figure.measured}")
    raise Failed(f"benchmarks.dispatcher_cpu told no figure: {printed.strip()[-120:]}")


def seconds_of(figure: Figure) -> float | None:
    """The seconds in a figure of the dispatcher's CPU; None in any other."""
    value = re.match(r"([0-9.]+) s\b", figure.measured)
    is_it = "CPU" in figure.what and "1,000 firings" in figure.what
    return float(value[1]) if value and is_it else None
