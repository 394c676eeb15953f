"""What the user sees: the steps of the start, the key and the curl, a line for each finished attempt."""

import contextlib
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from rich.console import Console
from rich.markup import escape

NAME_WIDTH: Final = 22
OUTCOMES: Final = {"succeeded": "green", "failed": "red"}


class Screen:
    """Writes to standard output: with a moving sign and colours in a terminal, plain lines anywhere else."""

    def __init__(self, *, quiet: bool) -> None:
        self._out = Console(highlight=False, soft_wrap=True)
        self._errors = Console(stderr=True, highlight=False, soft_wrap=True)
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
        self._out.print(
            f"[green]✓[/] {what} [dim]{took:.1f} s[/]" if self._out.is_terminal else f"{what}: {took:.1f} s"
        )

    def say(self, text: str) -> None:
        """One plain line."""
        self._out.print(escape(text))

    def note(self, text: str) -> None:
        """One line that should be seen among others: something happened that is not ordinary."""
        self._out.print(f"[yellow]![/] {escape(text)}")

    def error(self, text: str) -> None:
        """The one line that says why the stack cannot start or go on."""
        self._errors.print(f"[bold red]cronfleet:[/] {escape(text)}")

    def ready(self, url: str, key: str) -> None:
        """The address, the key, and what to paste."""
        for line in _invitation(url, key, time.monotonic() - self._began):
            self._out.print(line)

    def attempt(self, finished: dict[str, Any]) -> None:
        """One finished attempt, as the worker logged it."""
        if not self._quiet:
            self._out.print(_attempt_line(finished))


def _invitation(url: str, key: str, seconds: float) -> list[str]:
    bearer = f"-H 'Authorization: Bearer {key}'"
    put = f"curl -sS -X PUT {url}/v1/schedules/my-first {bearer}"
    body = escape('{"trigger":{"every":"5s"},"target":{"handler":"demo.heartbeat"}}')
    return [
        "",
        f"[bold]Cronfleet is ready at[/] [bold cyan]{url}[/] [dim]after {seconds:.0f} s; documentation: {url}/docs[/]",
        f"Your key: [bold]{key}[/]",
        "",
        "Paste this: a schedule that fires every five seconds, and then its history, with the lag of each run:",
        "",
        f"[cyan]{put} -H 'Content-Type: application/json' -d '{body}'[/]",
        "",
        f"[cyan]curl -sS '{url}/v1/schedules/my-first/runs?limit=3' {bearer}[/]",
        "",
        "[dim]Ctrl-C stops it; what is registered stays. Runs as they happen (lag: started after its due time):[/]",
    ]


def _attempt_line(finished: dict[str, Any]) -> str:
    outcome = str(finished.get("outcome", "?"))
    colour = OUTCOMES.get(outcome, "yellow")
    name = escape(str(finished.get("schedule_id", "?")))
    parts = [
        f"[dim]{datetime.now().astimezone():%H:%M:%S}[/]",
        f"[{colour}]{outcome:<9}[/]",
        f"[bold]{name:<{NAME_WIDTH}}[/]",
        f"lag {_seconds(finished.get('lag_seconds'))}",
        f"attempt {finished.get('attempt', '?')}",
    ]
    why = finished.get("error") or finished.get("reason") if outcome != "succeeded" else None
    return "  ".join([*parts, f"[dim]{escape(str(why))[:120]}[/]"] if why else parts)


def _seconds(value: Any) -> str:
    return f"{value:6.2f} s" if isinstance(value, int | float) else "     ? s"
