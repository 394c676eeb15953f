"""The installation: whether it is up, which zone data it has, and which installations there are."""

import os
from typing import Annotated, Any, Final

import typer

from cronfleet_cli import options as o
from cronfleet_cli.api import at
from cronfleet_cli.errors import REFUSED
from cronfleet_cli.profiles import config_path, read_config
from cronfleet_cli.screen import Column, table
from cronfleet_cli.session import Session, command

PROFILES: Final = (
    Column("profile", "profile"),
    Column("", lambda row: "default" if row["default"] else ""),
    Column("url", "url"),
    Column("tenant", "tenant"),
)


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    command(app, "health")(health)
    command(app, "zone-data")(zone_data)
    command(app, "target-role")(target_role)
    command(app, "profiles")(profiles)


def health(session: Session) -> None:
    """Say whether the installation is up: exit 1 if not wholly."""
    found = session.api.get(at("health"))
    session.answer_fields(found)
    if found["status"] != "ok":
        raise typer.Exit(REFUSED)


def zone_data(session: Session) -> None:
    """Show which time zone data is at work."""
    session.answer_fields(session.api.get(at("timezone-data")))


def target_role(
    session: Session,
    schedule: Annotated[
        str | None,
        typer.Option(help="Print what this schedule's target needs permitted.", autocompletion=o.complete_schedule),
    ] = None,
) -> None:
    """Print the trust policy that a role for targets needs, to be pasted; with --schedule what it must be permitted."""
    found = session.api.get(at("target-role"), {"schedule": schedule} if schedule else {})
    document = found["permissions"] if schedule else found["trust_policy"]
    # As it is: a document that is to be pasted must not be wrapped to the width of a terminal.
    session.screen.json(found if session.screen.is_json else document)


def profiles(session: Session) -> None:
    """List the installations of the configuration. Keys are not shown."""
    path = config_path(os.environ)
    config = read_config(path)
    rows: list[dict[str, Any]] = [
        {
            "profile": name,
            "default": name == config.get("default"),
            "url": said.get("url", ""),
            "tenant": said.get("tenant", ""),
        }
        for name, said in sorted(config.get("profiles", {}).items())
    ]
    session.answer({"config": str(path), "profiles": rows}, table(rows, PROFILES, f"profiles in {path}"))
