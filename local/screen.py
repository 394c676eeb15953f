"""What the user sees: the steps of the start, the key and the curl, a line for each finished attempt."""

import contextlib
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from rich.console import Console
from rich.markup import escape

NAME_WIDTH: Final = 22
OUTCOME_WIDTH: Final = len("not_started")
INDENT: Final = " " * len("12:00:00  ")
MOST_OF_ERROR: Final = 200
OUTCOMES: Final = {"succeeded": "green", "failed": "red"}


class Screen:
    """Writes to standard output: with a moving sign and colours in a terminal, plain lines anywhere else.

    In a terminal sentences are wrapped between words, and runs and their errors are cut to a line each. Elsewhere
    a line is a line.
    """

    def __init__(self, *, quiet: bool) -> None:
        self._out = Console(highlight=False)
        self._errors = Console(stderr=True, highlight=False)
        self._quiet = quiet
        self._began = time.monotonic()

    def silenced(self) -> "Screen":
        """A screen that shows errors only."""
        silent = Screen(quiet=True)
        silent._out.quiet = True
        return silent

    @contextlib.contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Show that `what` is being done, and in the end how many seconds it took."""
        began = time.monotonic()
        with self._out.status(f"{what} ...") if self._out.is_terminal else contextlib.nullcontext():
            yield
        took = time.monotonic() - began
        _print(
            self._out, f"[green]✓[/] {what} [dim]{took:.1f} s[/]" if self._out.is_terminal else f"{what}: {took:.1f} s"
        )

    def say(self, text: str) -> None:
        """One plain line."""
        _print(self._out, escape(text))

    def note(self, text: str) -> None:
        """One line that should be seen among others: something happened that is not ordinary."""
        _print(self._out, f"[yellow]![/] {escape(text)}")

    def error(self, text: str) -> None:
        """The one line that says why the stack cannot start or go on."""
        _print(self._errors, f"[bold red]cronfleet:[/] {escape(text)}")

    def ready(self, url: str, key: str) -> None:
        """The address, the key, and what to paste."""
        took = time.monotonic() - self._began
        _print(
            self._out,
            f"\n[bold]Cronfleet is ready at[/] [bold cyan]{url}[/] [dim]after {took:.0f} s[/]\n"
            f"Documentation: {url}/docs\n"
            f"Your key, a platform admin's (tenant demo): [bold]{key}[/]\n\n"
            "Paste this: a schedule that fires every five seconds; then its history:",
        )
        for command in _commands(url, key):
            # Whole, whatever the terminal's width, so that what is copied is one line.
            self._out.print(f"\n[cyan]{escape(command)}[/]", soft_wrap=True)
        _print(
            self._out,
            "\n[dim]Ctrl-C stops it; what is registered stays.\n"
            "Runs as they happen (lag: how long after its due time one started):[/]",
        )

    def attempt(self, finished: dict[str, Any]) -> None:
        """One finished attempt, as the worker logged it."""
        if self._quiet:
            return
        what, why = _attempt_line(finished), _why(finished)
        if self._out.is_terminal:
            for line in filter(None, (what, why and f"{INDENT}{why}")):
                self._out.print(line, no_wrap=True, overflow="ellipsis")
        else:
            _print(self._out, "  ".join(filter(None, (what, why))))


def _print(console: Console, text: str) -> None:
    console.print(text, soft_wrap=not console.is_terminal)


def _commands(url: str, key: str) -> tuple[str, str]:
    bearer = f"-H 'Authorization: Bearer {key}'"
    body = '{"trigger":{"every":"5s"},"target":{"handler":"demo.heartbeat"}}'
    put = f"curl -sS -X PUT {url}/v1/schedules/my-first {bearer} -H 'Content-Type: application/json' -d '{body}'"
    return put, f"curl -sS '{url}/v1/schedules/my-first/runs?limit=3' {bearer}"


def _attempt_line(finished: dict[str, Any]) -> str:
    outcome = str(finished.get("outcome", "?"))
    colour = OUTCOMES.get(outcome, "yellow")
    name = escape(str(finished.get("schedule_id", "?")))
    return "  ".join(
        (
            f"[dim]{datetime.now().astimezone():%H:%M:%S}[/]",
            f"[{colour}]{outcome:<{OUTCOME_WIDTH}}[/]",
            f"[bold]{name:<{NAME_WIDTH}}[/]",
            f"lag {_seconds(finished.get('lag_seconds'))}",
            f"attempt {finished.get('attempt', '?')}",
        )
    )


def _why(finished: dict[str, Any]) -> str:
    why = finished.get("error") or finished.get("reason") if finished.get("outcome") != "succeeded" else None
    # An error may have lines of its own.
    return f"[dim]{escape(' '.join(str(why).split())[:MOST_OF_ERROR])}[/]" if why else ""


def _seconds(value: Any) -> str:
    return f"{value:6.2f} s" if isinstance(value, int | float) else "     ? s"
