"""Previewing: what will fire, what a trigger means, and which schedules will surprise."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group

from cronfleet_cli import options as o
from cronfleet_cli import views
from cronfleet_cli.api import Repeat, at
from cronfleet_cli.errors import WrongUse
from cronfleet_cli.inputs import document_of, given
from cronfleet_cli.screen import Column, table, text
from cronfleet_cli.session import Session, command

MOST_FIRES = 1_000


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    command(app, "next")(next_fires)
    command(app, "preview")(preview)
    command(app, "lint")(lint)


Count = Annotated[int, typer.Option("--limit", "-n", min=1, max=MOST_FIRES, help="At most so many.")]


def next_fires(
    session: Session, schedule: o.Schedule, from_: o.From = None, to: o.To = None, limit: Count = 10
) -> None:
    """Show the next times at which a schedule fires."""
    found = session.api.get(at("schedules", schedule, "fires"), {"from": from_, "to": to, "limit": limit})
    session.answer(found, table(found["fires"], views.FIRES, "fires"))


def preview(
    session: Session,
    cron: Annotated[str | None, typer.Option(help="A cron expression.")] = None,
    timezone: Annotated[str | None, typer.Option(help="Its zone, as Europe/Paris.")] = None,
    every: Annotated[str | None, typer.Option(help="An interval, as 10s.")] = None,
    moment: Annotated[str | None, typer.Option("--at", help="One time.")] = None,
    calendar: Annotated[str | None, typer.Option(help="A calendar whose days count.")] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="A trigger, or a schedule with one.")] = None,
    after: Annotated[str | None, typer.Option(help="Fires after this time.")] = None,
    until: Annotated[str | None, typer.Option(help="Fires up to this time.")] = None,
    limit: Count = 10,
) -> None:
    """Show what a trigger means and when it fires, before there is a schedule."""
    trigger: dict[str, Any] = given(cron=cron, timezone=timezone, every=every, at=moment)
    if calendar is not None:
        trigger["calendar"] = {"name": calendar}
    if file is not None:
        document = document_of(file)
        trigger = {**document.get("trigger", document), **trigger}
    if not trigger:
        raise WrongUse("write --cron, --every, --at or --file")
    found = session.api.post(
        at("preview"), {"trigger": trigger, **given(after=after, until=until, limit=limit)}, repeat=Repeat.AS_IS
    )
    session.answer(
        found,
        text(found["words"], "bold"),
        *(text(fire) for fire in found["fires"]),
        *(views.warning(each) for each in found["warnings"]),
    )


def lint(
    session: Session,
    code: Annotated[str | None, typer.Option(help="Only this warning, as dst_change.")] = None,
    crowded: Annotated[bool, typer.Option("--crowded", help="The minutes in which the most schedules fire.")] = False,
    limit: o.Limit = o.DEFAULT_LIMIT,
) -> None:
    """Show which schedules will surprise their owners."""
    if not crowded:
        session.list(at("lint"), "schedules", views.LINT, limit, code=code)
        return
    found = session.api.get(at("lint", "crowded-minutes"))
    columns = (Column("minute", "minute_at"), Column("schedules", "schedules", right=True), Column("which", _ids))
    session.answer(found, Group(table(found["minutes"], columns, "crowded minutes")))


def _ids(row: Any) -> str:
    return " ".join(row.get("ids") or ())
