"""Calendars: holidays, business days and freezes that triggers ask."""

from typing import Annotated, Any, Final

import typer

from cronfleet_cli import options as o
from cronfleet_cli.api import at
from cronfleet_cli.inputs import decoded, document_of, file_bytes
from cronfleet_cli.screen import Column, fields
from cronfleet_cli.session import Session, command

app = typer.Typer(no_args_is_help=True, help="Calendars: holidays, business days and freezes.")
Name = Annotated[str, typer.Argument(metavar="CALENDAR", help="Its name.")]

COLUMNS: Final = (
    Column("name", "name"),
    Column("version", "version", right=True),
    Column("description", "description"),
    Column("covers until", "covers_until"),
)
VERSIONS: Final = (Column("version", "version", right=True), Column("at", "created_at"), Column("author", "author"))


@command(app, "list")
def list_calendars(session: Session, limit: o.Limit = o.DEFAULT_LIMIT) -> None:
    """List calendars."""
    session.list(at("calendars"), "calendars", COLUMNS, limit)


@command(app, "get")
def get(
    session: Session, name: Name, version: Annotated[int | None, typer.Option(min=1, help="Else the newest.")] = None
) -> None:
    """Show a calendar."""
    session.answer_fields(session.api.get(at("calendars", name), {"version": version}))


@command(app, "put")
def put(
    session: Session,
    name: Name,
    file: o.File,
    kind: Annotated[str | None, typer.Option(help="Of iCalendar: its days are holiday, workday or freeze.")] = None,
    weekend: Annotated[str | None, typer.Option(help="Of iCalendar: the weekend, as saturday,sunday.")] = None,
    covers_until: Annotated[str | None, typer.Option(help="Of iCalendar: the last day it knows.")] = None,
    reason: o.Reason = "",
    dry_run: o.DryRun = False,
) -> None:
    """Make a calendar, or a new version of one, of a file: YAML, JSON or iCalendar (.ics)."""
    query: dict[str, Any] = {"reason": reason, "dry_run": dry_run or None}
    content = file_bytes(file) if file.suffix == ".ics" else None
    if content is None:
        answer = session.api.ask("PUT", at("calendars", name), query=query, body=document_of(file))
    else:
        query |= {"kind": kind, "weekend": weekend, "covers_until": covers_until}
        decoded(content, file)
        answer = session.api.ask("PUT", at("calendars", name), query=query, content=(content, "text/calendar"))
    session.answer(answer.data, fields(answer.data))


@command(app, "delete")
def delete(session: Session, name: Name, reason: o.Reason = "") -> None:
    """Delete a calendar that no schedule asks."""
    session.api.ask("DELETE", at("calendars", name), query={"reason": reason})
    session.answer_with({"name": name, "deleted": True}, f"{name} is deleted.")


@command(app, "versions")
def versions(session: Session, name: Name, limit: o.Limit = o.DEFAULT_LIMIT) -> None:
    """Show the versions of a calendar."""
    session.list(at("calendars", name, "versions"), "versions", VERSIONS, limit)
