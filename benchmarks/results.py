"""Results: the tables of benchmarks/RESULTS.md, from the figures of a run.

What has a budget stands in the table of budgets, the rest in the table of its section. A run of some benchmarks leaves
the rows of the others as they are.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from benchmarks.figures import Figure, verdict
from benchmarks.marked import part_of, replaced, table

DOCUMENT: Final = Path(__file__).parent / "RESULTS.md"
BUDGETS: Final = "budgets"

_OF_BUDGETS: Final = ("figure", "measured", "ratio", "budget", "", "command")
_OF_A_SECTION: Final = ("figure", "measured", "ratio", "command")


def write(figures: Sequence[Figure], document: Path = DOCUMENT) -> None:
    """Put `figures` into the document."""
    document.write_text(written(document.read_text(encoding="utf-8"), figures), encoding="utf-8")


def written(document: str, figures: Sequence[Figure]) -> str:
    """`document` with `figures` in the place of what the same commands have measured before."""
    commands = {figure.command for figure in figures}
    budgeted = [_of_budgets(figure) for figure in figures if figure.budget]
    parts = {BUDGETS: _merged(document, BUDGETS, _OF_BUDGETS, budgeted, commands)}
    for section in dict.fromkeys(figure.section for figure in figures if not figure.budget):
        rows = [_of_a_section(figure) for figure in figures if figure.section == section and not figure.budget]
        marker = marker_of(section)
        parts[marker] = _merged(document, marker, _OF_A_SECTION, rows, commands)
    return replaced(document, parts, DOCUMENT.name)


def marker_of(section: str) -> str:
    """The name of the markers between which a section's table stands."""
    return section.lower().replace(" ", "-")


def _merged(
    document: str, marker: str, headings: Sequence[str], rows: Iterable[Sequence[str]], commands: set[str]
) -> str:
    _, *there = part_of(document, marker, DOCUMENT.name).splitlines()[1:] or [""]
    kept = [_cells(line) for line in there if _cells(line)[-1].strip("`") not in commands]
    return table([headings, *kept, *rows])


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _of_budgets(figure: Figure) -> tuple[str, ...]:
    return (figure.what, figure.measured, figure.ratio, figure.budget, verdict(figure), f"`{figure.command}`")


def _of_a_section(figure: Figure) -> tuple[str, ...]:
    return (figure.what, figure.measured, figure.ratio, f"`{figure.command}`")
