"""Alerting: what is wrong, and who is told."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

import typer
from rich.console import Group

from cronfleet_cli import options as o
from cronfleet_cli.api import at
from cronfleet_cli.errors import REFUSED
from cronfleet_cli.following import polls
from cronfleet_cli.inputs import document_of, given
from cronfleet_cli.screen import Column, fields, table
from cronfleet_cli.session import Session, command

channels = typer.Typer(no_args_is_help=True, help="Channels: who is told of incidents, and how.")
incidents = typer.Typer(no_args_is_help=True, help="Incidents: what is wrong, since when, and who knows.")

Name = Annotated[str, typer.Argument(metavar="CHANNEL", help="Its name.")]
Incident = Annotated[str, typer.Argument(metavar="INCIDENT", help="Its id, as `incidents list` shows it.")]
Platform = Annotated[bool, typer.Option("--platform", help="Those of the installation itself; for platform admins.")]

UNDER_WAY: Final = frozenset({"owed"})
"""Notices that are still to be delivered."""

CHANNELS: Final = (
    Column("name", "name", whole=True),
    Column("kind", "kind"),
    Column("default", lambda row: "default" if row.get("default") else ""),
    Column("description", "description"),
)
INCIDENTS: Final = (
    Column("since", "broken_since", whole=True),
    Column("status", "status"),
    Column("kind", "kind"),
    Column("subject", "subject"),
    Column("what", "text"),
    Column("seen by", "acknowledged.by"),
    Column("id", "id", whole=True),
)
NOTICES: Final = (
    Column("channel", "channel"),
    Column("edge", "edge"),
    Column("status", "status"),
    Column("tries", "attempts", right=True),
    Column("error", "error"),
    Column("id", "id", whole=True),
)


def _scope(platform: bool) -> dict[str, Any]:
    return {"scope": "platform" if platform else None}


@command(channels, "list")
def list_channels(session: Session, platform: Platform = False) -> None:
    """List channels."""
    session.answer_list(session.api.get(at("channels"), _scope(platform)), "channels", CHANNELS)


@command(channels, "get")
def get_channel(session: Session, name: Name, platform: Platform = False) -> None:
    """Show a channel. Its secrets are names only."""
    session.answer_fields(session.api.get(at("channels", name), _scope(platform)))


@command(channels, "put")
def put_channel(session: Session, name: Name, file: o.File, reason: o.Reason = "", platform: Platform = False) -> None:
    """Make or replace a channel, as a YAML or JSON file has it."""
    body = document_of(file) | given(reason=reason)
    session.answer_fields(session.api.ask("PUT", at("channels", name), query=_scope(platform), body=body).data)


@command(channels, "delete")
def delete_channel(session: Session, name: Name, reason: o.Reason = "", platform: Platform = False) -> None:
    """Delete a channel."""
    session.api.ask("DELETE", at("channels", name), query={"reason": reason, **_scope(platform)})
    session.answer_with({"name": name, "deleted": True}, f"{name} is deleted.")


@command(channels, "test")
def send_test(
    session: Session,
    name: Name,
    wait: Annotated[bool, typer.Option("--wait", help="Until it is delivered; exit 1 if it is not.")] = False,
    platform: Platform = False,
) -> None:
    """Send a test message by a channel."""
    notice = session.api.post(at("channels", name, "test"), None, _scope(platform))
    if wait:
        notice = _delivered(session, notice, platform)
    session.answer_fields(notice)
    if wait and notice["status"] != "sent":
        raise typer.Exit(REFUSED)


def _delivered(session: Session, notice: Mapping[str, Any], platform: bool) -> Mapping[str, Any]:
    for found in polls(session, at("notices", str(notice["id"])), _scope(platform)):
        if found["status"] not in UNDER_WAY:
            return dict(found)
    return notice


@command(incidents, "list")
def list_incidents(
    session: Session,
    status: Annotated[str | None, typer.Option(help="open, healed or withdrawn.")] = None,
    schedule: o.SomeSchedule = None,
    platform: Platform = False,
    limit: o.Limit = o.DEFAULT_LIMIT,
) -> None:
    """List incidents, newest first."""
    query = {"status": status, "schedule": schedule, **_scope(platform)}
    session.answer_list(session.api.listed(at("incidents"), "incidents", query, limit), "incidents", INCIDENTS)


@command(incidents, "get")
def get_incident(session: Session, incident: Incident, platform: Platform = False) -> None:
    """Show an incident, and what became of its messages."""
    found = session.api.get(at("incidents", incident), _scope(platform))
    session.answer(found, Group(fields(found, leave_out=("notices",)), table(found["notices"], NOTICES, "messages")))


@command(incidents, "acknowledge")
def acknowledge(
    session: Session,
    incident: Incident,
    note: Annotated[str, typer.Option("--note", "-r", help="What is known; kept with it.")] = "",
    platform: Platform = False,
) -> None:
    """Say that somebody is looking after it."""
    path = at("incidents", incident, "acknowledge")
    session.answer_fields(session.api.post(path, given(note=note), _scope(platform)))
