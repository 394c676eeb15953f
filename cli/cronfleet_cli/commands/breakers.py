"""Breakers: which targets and schedules are left alone since they failed again and again."""

from typing import Annotated, Final

import typer

from cronfleet_cli import options as o
from cronfleet_cli.api import at
from cronfleet_cli.inputs import given
from cronfleet_cli.screen import Column
from cronfleet_cli.session import Session, command

app = typer.Typer(no_args_is_help=True, help="Breakers: what is left alone since it failed again and again.")
Breaker = Annotated[str, typer.Argument(metavar="BREAKER", help="Its id, as `breakers list` shows it.")]

COLUMNS: Final = (
    Column("id", "id", whole=True),
    Column("state", "state"),
    Column("failures", "failures", right=True),
    Column("target", "target"),
    Column("tried at", "try_at", whole=True),
    Column("error", "error"),
)


@command(app, "list")
def list_breakers(session: Session, limit: o.Limit = o.DEFAULT_LIMIT) -> None:
    """List breakers; those without failures are left out."""
    session.list(at("breakers"), "breakers", COLUMNS, limit)


@command(app, "get")
def get(session: Session, breaker: Breaker) -> None:
    """Show a breaker."""
    session.answer_fields(session.api.get(at("breakers", breaker)))


@command(app, "close")
def close(session: Session, breaker: Breaker, reason: o.Reason = "") -> None:
    """Let all calls go again, at once."""
    session.answer_fields(session.api.post(at("breakers", breaker, "close"), given(reason=reason)))
