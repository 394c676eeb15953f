"""`python -m benchmarks`: the figures of the budgets, one benchmark after the other, and a table of all of them.

    python -m benchmarks                    all that need nothing but this checkout (`make bench`)
    python -m benchmarks api imports        some of them; each is a command of its own too: python -m benchmarks.api
    python -m benchmarks --write            all, and put the tables into benchmarks/RESULTS.md

Each runs in a process of its own, so that none profits from what another has loaded. Not among them, since they take
longer, need more than this checkout, or measure nothing of this machine: `benchmarks.scale` and `benchmarks.peers`,
which have a `--write` of their own, `benchmarks.spread`, `benchmarks.api_stack`, `benchmarks.noisy_stack`,
`benchmarks.cost`, and `simulator.herd`.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks import results
from benchmarks.figures import COLLECTED_IN, Figure, collected, verdict

FIGURES: Final = (
    "next_fire",
    "preview",
    "lint",
    "units",
    "dispatcher_cpu",
    "planning",
    "caches",
    "dispatcher_emulator",
    "api",
    "imports",
    "worker",
    "worker_overhead",
)
PAGE_COLUMNS: Final = 140
"""Where nobody says how wide the page is."""


def main() -> None:
    """Run them, show what they print as they print it, and sum up."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("names", nargs="*", metavar="name", help=f"some of: {', '.join(FIGURES)}")
    parser.add_argument("--write", action="store_true", help="put the tables into benchmarks/RESULTS.md")
    asked = parser.parse_args()
    unknown = sorted(set(asked.names) - set(FIGURES))
    if unknown:
        parser.error(f"no benchmark is called {unknown[0]!r}; there are {', '.join(FIGURES)}")
    console = Console() if sys.stdout.isatty() else Console(width=PAGE_COLUMNS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "figures"
        failed = _run(asked.names or FIGURES, path, console)
        figures = collected(path)
    console.print(_summary(figures))
    if asked.write:
        results.write(figures)
        console.print(f"{results.DOCUMENT.name} is written")
    if failed:
        sys.exit(f"no figures from {', '.join(failed)}")


def _run(names: Sequence[str], path: Path, console: Console) -> list[str]:
    """Runs the benchmarks `names`, which put their figures into the file at `path`; those that failed."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    failed = []
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(names))
        for name in names:
            progress.update(task, description=name)
            console.rule(name, align="left")
            begin = time.monotonic()
            if _shown(name, path, console):
                failed.append(name)
            console.print(f"[dim]{time.monotonic() - begin:.0f} s[/dim]")
            progress.advance(task)
    return failed


def _shown(name: str, path: Path, console: Console) -> int:
    """The benchmark's exit status, once all that it printed was shown."""
    environment = {**os.environ, "PYTHONTZPATH": "", "PYTHONUNBUFFERED": "1", COLLECTED_IN: str(path)}
    command = [sys.executable, "-m", f"benchmarks.{name}"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            console.print(line.rstrip("\n"), markup=False, highlight=False, soft_wrap=True)
    return child.returncode


def _summary(figures: Sequence[Figure]) -> Table:
    table = Table(title="Figures", title_justify="left")
    for heading in ("part", "figure", "measured", "ratio", "budget", ""):
        table.add_column(heading, overflow="fold")
    section = ""
    for figure in figures:
        if figure.section != section:
            table.add_section()
        style = "red" if figure.kept is False else ""
        shown = "" if figure.section == section else figure.section
        table.add_row(shown, figure.what, figure.measured, figure.ratio, figure.budget, verdict(figure), style=style)
        section = figure.section
    return table


if __name__ == "__main__":
    main()
