"""The screen: what a command prints, for people or for programs.

Results go to standard output, everything else to standard error. Text of the server is never trusted with the
terminal: control characters are shown, not sent, and nothing in it is read as markup.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from cronfleet_cli.errors import Refused

UNBOUNDED_WIDTH: Final = 4_000
"""In a pipe nothing is cut off: whoever reads on counts no columns."""

STYLES: Final = {
    **dict.fromkeys(
        ("succeeded", "active", "ok", "created", "finished", "sent", "healed", "closed", "ran", "matched"), "green"
    ),
    **dict.fromkeys(
        ("dead", "failed", "refused", "parked", "delete", "error", "missing", "stopped", "given_up"), "red"
    ),
    **dict.fromkeys(("running", "queued", "waiting", "create", "probing", "recovering"), "cyan"),
    **dict.fromkeys(
        (
            "paused",
            "held",
            "owed",
            "withdrawn",
            "skipped",
            "missed",
            "frozen",
            "replace",
            "suspended",
            "cancelled",
            "pending",
            "replaced",
        ),
        "yellow",
    ),
    **dict.fromkeys(("open",), "bold red"),
    **dict.fromkeys(("unchanged", "completed", "shadow"), "dim"),
}
_SHOWN_CONTROLS: Final = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if code not in (9, 10)}
# Marks that turn the direction of text around could make a line read as what it is not.
_SHOWN_CONTROLS.update({code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))})


class Output(StrEnum):
    """The two forms of every answer."""

    TABLE = "table"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its heading, where the value stands in a row (a dotted path, or a function of the row), and whether
    it is kept whole as long as another can be folded.
    """

    title: str
    value: str | Callable[[Mapping[str, Any]], Any]
    right: bool = False
    whole: bool = False

    def of(self, row: Mapping[str, Any]) -> Any:
        """The value in `row`; None where there is none."""
        if callable(self.value):
            return self.value(row)
        found: Any = row
        for name in self.value.split("."):
            found = found.get(name) if isinstance(found, Mapping) else None
        return found


class Screen:
    """Where a command prints. `output` chooses the form of results."""

    def __init__(self, output: Output) -> None:
        self.output = output
        self.out = _console(stderr=False)
        self.err = _console(stderr=True)

    @property
    def is_json(self) -> bool:
        """Whether a program reads."""
        return self.output is Output.JSON

    def json(self, data: Any) -> None:
        """One JSON value, readable."""
        self._write(json.dumps(data, indent=2, ensure_ascii=False))

    def json_line(self, data: Any) -> None:
        """One JSON value on a line of its own, at once: one event of many."""
        self._write(json.dumps(data, ensure_ascii=False))

    def raw(self, text: str) -> None:
        """Text that a program or a file takes as it is."""
        self._write(text.removesuffix("\n"))

    def _write(self, text: str) -> None:
        self.out.file.write(text + "\n")
        self.out.file.flush()

    def show(self, *parts: RenderableType) -> None:
        """Results for people."""
        for part in parts:
            self.out.print(part)

    def say(self, sentence: str, style: str = "") -> None:
        """A result in one sentence, for people."""
        self.out.print(text(sentence, style), soft_wrap=True)

    def note(self, sentence: str, style: str = "dim") -> None:
        """A remark beside the result."""
        self.err.print(text(sentence, style), soft_wrap=True)

    def refusal(self, refused: Refused) -> None:
        """Why the server said no: each field, and what to write instead. As JSON it is the server's problem."""
        problem = refused.problem
        if self.is_json:
            self.err.file.write(json.dumps({**problem, "status": refused.status}, ensure_ascii=False) + "\n")
            return
        title = str(problem.get("title", "The server refused"))
        self.err.print(text(f"Refused ({refused.status}): {title}", "bold red"), soft_wrap=True)
        errors = [error for error in problem.get("errors") or () if isinstance(error, Mapping)]
        for error in errors:
            name, reason = str(error.get("field", "")), str(error.get("reason", ""))
            self.err.print(Text.assemble("  ", text(name, "bold"), " ", text(reason)), soft_wrap=True)
        if not errors and problem.get("detail"):
            self.err.print(text(f"  {problem['detail']}"), soft_wrap=True)


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = UNBOUNDED_WIDTH
    return console


def shown(value: Any) -> str:
    """A value as text: nothing for None, words for yes and no, JSON for what has parts, control characters visible."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return said.translate(_SHOWN_CONTROLS)


def text(value: Any, style: str = "") -> Text:
    """A value that the terminal may be given."""
    return Text(shown(value), style=style)


def status(value: Any) -> Text:
    """A status in its colour."""
    return text(value, STYLES.get(str(value), ""))


def table(rows: Iterable[Mapping[str, Any]], columns: Sequence[Column], title: str = "") -> RenderableType:
    """A table; a sentence where there is no row."""
    listed = list(rows)
    if not listed:
        return text(f"No {title}." if title else "Nothing.", "dim")
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True, header_style="bold")
    for column in columns:
        grid.add_column(
            column.title, justify="right" if column.right else "left", overflow="fold", no_wrap=column.whole
        )
    for row in listed:
        grid.add_row(*(_cell(column.of(row)) for column in columns))
    return grid


def _cell(value: Any) -> Text:
    return value if isinstance(value, Text) else status(value)


def fields(data: Mapping[str, Any], leave_out: Iterable[str] = ()) -> RenderableType:
    """An object as names and values, one a line; what stands deeper under dotted names. Empty ones are left out."""
    hidden = frozenset(leave_out)
    grid = Table(box=None, show_header=False, pad_edge=False)
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in _flat({key: value for key, value in data.items() if key not in hidden}):
        grid.add_row(text(name), _cell(value))
    return grid


def _flat(data: Mapping[str, Any], parent: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in data.items():
        path = f"{parent}{name}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{path}.")
        elif value not in (None, "", []):
            yield path, value
