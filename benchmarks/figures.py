"""Figures: what a benchmark has measured, told to whoever reads along and to `python -m benchmarks`, which sums up.

A benchmark calls `report` once, at its end. It prints each figure; where the environment names a file to collect them
in, they go there too, one JSON object in a line.
"""

import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

COLLECTED_IN: Final = "CRONFLEET_FIGURES"
"""The variable that names the file."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured thing. `what` is measured, under a heading of RESULTS.md; `measured` and `budget` say their unit."""

    section: str
    what: str
    measured: str
    ratio: str = ""
    """To what it was compared with in the same run, such as "0.42 of bare requests"; this says more than seconds."""
    budget: str = ""
    kept: bool | None = None
    """Whether the budget is kept; None where there is none."""
    command: str = ""
    """The module that measures it; filled in by `report`."""


def report(*figures: Figure) -> None:
    """Print `figures`, and hand them to whoever collects."""
    module = sys.modules["__main__"].__spec__
    told = [
        _with_command(figure, "" if module is None else module.name.removesuffix(".__main__")) for figure in figures
    ]
    for figure in told:
        print(_line(figure), flush=True)
    if COLLECTED_IN in os.environ:
        with Path(os.environ[COLLECTED_IN]).open("a", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(asdict(figure))}\n" for figure in told)


def collected(path: Path) -> list[Figure]:
    """The figures in the file at `path`; none if nobody has written one."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [Figure(**json.loads(line)) for line in lines]


def verdict(figure: Figure) -> str:
    """Whether its budget is kept, in a word."""
    return {None: "", True: "kept", False: "OVER"}[figure.kept]


def _with_command(figure: Figure, command: str) -> Figure:
    return Figure(**{**asdict(figure), "command": figure.command or command})


def _line(figure: Figure) -> str:
    ratio = f" ({figure.ratio})" if figure.ratio else ""
    budget = f"; budget {figure.budget}: {verdict(figure)}" if figure.budget else ""
    return f"{figure.what}: {figure.measured}{ratio}{budget}"
