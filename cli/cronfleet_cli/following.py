"""Following: a run, a schedule's runs or an operation, watched until it ends."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from cronfleet_cli import views
from cronfleet_cli.api import at
from cronfleet_cli.errors import REFUSED
from cronfleet_cli.screen import shown, status, text
from cronfleet_cli.session import Session

POLL_SECONDS: Final = 2.0
MAX_POLLS: Final = 500_000
"""Eleven days: whoever watches longer begins anew."""

FOLLOWED: Final = 100
"""The newest runs that are looked at each time."""

GOING_ON: Final = frozenset({"queued", "running", "waiting"})
NOT_YET: Final = frozenset({"pending", "under_way"})
"""What an operation counts beside the ends of its runs."""


def polls(session: Session, path: str, query: Mapping[str, Any] | None = None) -> Iterator[Any]:
    """What stands at `path`, now and again every two seconds."""
    for count in range(MAX_POLLS):
        if count:
            session.api.wait(POLL_SECONDS)
        yield session.api.get(path, query)


def await_run(session: Session, run: Mapping[str, Any]) -> None:
    """Watch a run until it ends, and exit with 1 unless it succeeded."""
    last = follow_run(session, str(run["run_id"]))
    if last["status"] != "succeeded":
        raise typer.Exit(REFUSED)


def follow_run(session: Session, run_id: str) -> Mapping[str, Any]:
    """Show each change of a run until it ends; the run as it ended."""
    before: Any = None
    for run in polls(session, at("runs", run_id)):
        if run != before:
            _show_run(session, run)
            before = run
        if run["status"] not in GOING_ON:
            return dict(run)
    return dict(before)


def _show_run(session: Session, run: Mapping[str, Any]) -> None:
    if session.screen.is_json:
        session.screen.json_line(run)
        return
    cells = [column.of(run) for column in views.RUNS]
    line = text("")
    for cell in cells:
        if cell not in (None, ""):
            line.append_text(status(cell)).append("  ")
    session.screen.out.print(line, soft_wrap=True)


def follow_runs(session: Session, schedule: str) -> None:
    """Show a schedule's runs as they come and change, until it is interrupted."""
    seen: dict[str, Any] = {}
    for page in polls(session, at("schedules", schedule, "runs"), {"limit": FOLLOWED}):
        newest = {str(run["run_id"]): run for run in reversed(page["runs"])}
        for run_id, run in newest.items():
            if seen.get(run_id) != run:
                _show_run(session, run)
        seen = newest


def watch_operation(session: Session, path: str) -> Mapping[str, Any]:
    """Show the progress of an operation until it ends or stands still; the operation as it is then."""
    if session.screen.is_json:
        return _watch_as_lines(session, path)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[counts]}"))
    operation: Mapping[str, Any] = {}
    with Progress(*columns, TimeElapsedColumn(), console=session.screen.err) as bar:
        task: TaskID | None = None
        for operation in polls(session, path):
            task = bar.add_task("", counts="") if task is None else task
            bar.update(task, **_progress_of(operation))
            if stands_still(operation):
                break
    return operation


def _watch_as_lines(session: Session, path: str) -> Mapping[str, Any]:
    before: Any = None
    for operation in polls(session, path):
        if operation != before:
            session.screen.json_line(operation)
            before = operation
        if stands_still(operation):
            break
    return dict(before)


def _progress_of(operation: Mapping[str, Any]) -> dict[str, Any]:
    counts = operation.get("counts") or {}
    done = sum(count or 0 for name, count in counts.items() if name not in NOT_YET)
    said = views.counted(counts)
    return {
        "description": shown(f"{operation.get('kind', '')} {operation.get('status', '')}".strip()),
        "total": operation.get("total"),
        "completed": done,
        "counts": shown(said),
    }


def stands_still(operation: Mapping[str, Any]) -> bool:
    """Whether nothing more happens by itself: it has ended, or somebody (or it itself) has stopped it."""
    return bool(operation["is_over"]) or operation["status"] in {"paused", "stopped"}


def follow_log(session: Session, run_id: str, attempt: int | None) -> None:
    """Show what a run logs as it is kept, attempt after attempt (or only `attempt`), until the run ends."""
    before: tuple[int, list[Any]] = (0, [])
    for run in polls(session, at("runs", run_id)):
        # The log is asked for after the run, so that nothing of a run that has ended is missed.
        log = session.api.get(at("runs", run_id, "log"), {"attempt": attempt})
        known = before[1] if before[0] == log["attempt"] else []
        for line in unseen(known, log["lines"]):
            show_line(session, line)
        before = (log["attempt"], log["lines"])
        if run["status"] not in GOING_ON:
            return


def unseen(known: list[Any], lines: list[Any]) -> list[Any]:
    """The lines that are new: `lines` is a window that has moved on from `known`."""
    overlap = next((size for size in range(min(len(known), len(lines)), 0, -1) if known[-size:] == lines[:size]), 0)
    return lines[overlap:]


def show_line(session: Session, line: Mapping[str, Any]) -> None:
    """One line of a log."""
    if session.screen.is_json:
        session.screen.json_line(line)
    else:
        session.screen.out.print(views.log_line(line), soft_wrap=True)
