"""Cronfleet's dispatcher with canned answers: what `benchmarks.dispatcher_cpu` measures, from memory and by sockets."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.figures import COLLECTED_IN, Figure, collected
from benchmarks.peers.environment import ROOT
from benchmarks.peers.failure import Failed
from benchmarks.peers.servers import temporary_folder

SECONDS: Final = 600
MODULE: Final = "benchmarks.dispatcher_cpu"
CPU: Final = "CPU for 1,000 firings in a herd"
REQUESTS: Final = "requests per firing in a herd"


SOCKETS: Final = "Cronfleet, canned over sockets"


@dataclass(frozen=True, slots=True)
class Way:
    """How answers come."""

    title: str
    options: tuple[str, ...]
    includes: str


WAYS: Final = (
    Way(
        "Cronfleet, canned answers",
        (),
        "The real dispatcher, store and clients, which serialise, sign and parse, on a herd of 10,000 in a mix of "
        "expressions and zones; no socket and no server: each request is answered from memory, within the "
        "process. What the peers spend on sockets is not in it.",
    ),
    Way(
        SOCKETS,
        ("--sockets",),
        "The same with each request over HTTP on loopback, answered by another process from memory: what the peers' "
        "figures hold, sockets included, is in it. What a store would do is not.",
    ),
)


@dataclass(frozen=True, slots=True)
class Canned:
    """CPU seconds of the dispatcher for 1,000 firings, and its requests for one, as its own benchmark tells them."""

    title: str
    includes: str
    seconds: float
    requests: float


def measured(way: Way) -> Canned:
    """Run that benchmark. Raises `Failed`."""
    with temporary_folder() as folder:
        path = folder / "figures"
        environment = {**os.environ, COLLECTED_IN: str(path), "PYTHONTZPATH": ""}
        command = [sys.executable, "-m", MODULE, *way.options]
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True, timeout=SECONDS
            )
        except subprocess.TimeoutExpired as error:
            raise Failed(f"{MODULE} took longer than {SECONDS} s") from error
        return read(way, collected(path), done.stderr or done.stdout)


def read(way: Way, figures: Sequence[Figure], printed: str = "") -> Canned:
    """The figures among those that were collected. Raises `Failed`."""
    seconds, requests = _number(figures, CPU), _number(figures, REQUESTS)
    if seconds is None or requests is None:
        raise Failed(f"{MODULE} did not tell its figures: {printed.strip()[-120:]}")
    return Canned(way.title, way.includes, seconds, requests)


def _number(figures: Sequence[Figure], begins: str) -> float | None:
    found = [re.match(r"[0-9.]+", figure.measured) for figure in figures if figure.what.startswith(begins)]
    return float(found[0][0]) if found and found[0] else None
