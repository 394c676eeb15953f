"""The audit log: who changed what, and whether anybody has touched that since."""

import json
from typing import Annotated, Any, Final

import typer

from cronfleet_cli import options as o
from cronfleet_cli import views
from cronfleet_cli.api import MAX_PAGES, at
from cronfleet_cli.errors import REFUSED
from cronfleet_cli.session import Session, command

app = typer.Typer(no_args_is_help=True, help="The audit log: who changed what, when and why.")
EXPORT_PAGE: Final = 1_000


@command(app, "list")
def list_entries(
    session: Session,
    schedule: o.SomeSchedule = None,
    subject: Annotated[str | None, typer.Option(help="What was changed, as calendar/de.")] = None,
    actor: Annotated[str | None, typer.Option(help="Who did it.")] = None,
    action: Annotated[str | None, typer.Option(help="What was done, as schedule.paused.")] = None,
    from_: o.From = None,
    to: o.To = None,
    limit: o.Limit = o.DEFAULT_LIMIT,
) -> None:
    """List changes, newest first."""
    query: dict[str, Any] = {"schedule": schedule, "subject": subject, "actor": actor, "action": action}
    found = session.api.listed(at("audit"), "entries", {**query, "from": from_, "to": to}, limit)
    session.answer_list(found, "entries", views.AUDIT)


@command(app, "verify")
def verify(session: Session) -> None:
    """Check that nobody has touched the log: exit 1 if somebody has."""
    checked, cursor, page = 0, None, {}
    for _ in range(MAX_PAGES):
        page = session.api.get(at("audit", "verify"), {"cursor": cursor})
        checked, cursor = checked + page["checked"], page["cursor"]
        if cursor is None or not page["ok"]:
            break
    session.answer_fields({**page, "checked": checked})
    if not page["ok"]:
        raise typer.Exit(REFUSED)


@command(app, "export")
def export(session: Session) -> None:
    """Write all of it to standard output, an entry a line, to be checked elsewhere."""
    cursor = None
    for _ in range(MAX_PAGES):
        page = session.api.get(at("audit", "export"), {"cursor": cursor, "limit": EXPORT_PAGE})
        session.screen.raw(page)
        cursor = _next(page)
        if cursor is None:
            return


def _next(page: str) -> str | None:
    """Where the next page begins, as the last line of this one says."""
    last = page.rstrip("\n").rpartition("\n")[2]
    cursor = json.loads(last).get("cursor")
    return None if cursor is None else str(cursor)
