"""Runs: what has run, why it did or did not, its log; again, or no further."""

from typing import Annotated

import typer

from cronfleet_cli import options as o
from cronfleet_cli import views
from cronfleet_cli.api import at
from cronfleet_cli.following import follow_log, follow_run, follow_runs
from cronfleet_cli.inputs import given
from cronfleet_cli.session import Session, command


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    command(app, "runs")(runs)
    command(app, "explain")(explain)
    command(app, "logs")(logs)
    command(app, "cancel")(cancel)
    command(app, "dependencies")(dependencies)


def runs(
    session: Session,
    target: Annotated[
        str,
        typer.Argument(metavar="SCHEDULE|RUN_ID", help="A schedule or one run.", autocompletion=o.complete_schedule),
    ],
    follow: Annotated[bool, typer.Option("--follow", help="Go on showing what comes and changes.")] = False,
    limit: o.Limit = o.DEFAULT_LIMIT,
) -> None:
    """Show a schedule's runs, newest first, or one run with its attempts."""
    # A run's id holds `~`, which no schedule's can.
    if "~" in target:
        _one(session, target, follow)
    elif follow:
        follow_runs(session, target)
    else:
        session.list(at("schedules", target, "runs"), "runs", views.RUNS, limit)


def _one(session: Session, run_id: str, follow: bool) -> None:
    if follow:
        follow_run(session, run_id)
        return
    run = session.api.get(at("runs", run_id))
    session.answer(run, views.run(run))


def explain(
    session: Session,
    schedule: o.Schedule,
    moment: Annotated[str, typer.Option("--at", help="Which time, as 2026-12-01T02:00:00Z.")],
) -> None:
    """Say why a schedule ran at a time, or did not."""
    found = session.api.get(at("schedules", schedule, "explain"), {"at": moment})
    session.answer(found, views.explanation(found))


def logs(
    session: Session,
    run_id: o.RunId,
    attempt: Annotated[int | None, typer.Option(min=1, help="Which attempt; else the latest.")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on until the run ends.")] = False,
) -> None:
    """Show the end of what a run logged and printed, and where all of it is."""
    if follow:
        follow_log(session, run_id, attempt)
        return
    log = session.api.get(at("runs", run_id, "log"), {"attempt": attempt})
    session.answer(log, *(views.log_line(line) for line in log["lines"]))
    if log["place"]:
        session.screen.note(f"All of it: {log['place']['url']}")


def cancel(session: Session, run_id: o.RunId, reason: o.Reason = "") -> None:
    """Cancel a run: one that waits never starts; one that runs is told, and stopped if it does not listen."""
    run = session.api.post(at("runs", run_id, "cancel"), given(reason=reason))
    session.answer(run, views.run(run))


def dependencies(session: Session, schedule: o.Schedule) -> None:
    """Show what a schedule runs after, what runs after it, and how that stands."""
    found = session.api.get(at("schedules", schedule, "dependencies"))
    session.answer(found, views.dependencies(found))
