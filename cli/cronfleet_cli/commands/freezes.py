"""Freezes: a label, the tenant or a tier in which nothing starts."""

from typing import Annotated

import typer

from cronfleet_cli import options as o
from cronfleet_cli import views
from cronfleet_cli.api import at
from cronfleet_cli.errors import WrongUse
from cronfleet_cli.inputs import given, labels_of
from cronfleet_cli.session import Session, command

app = typer.Typer(no_args_is_help=True, help="Freezes: a label, the tenant or a tier in which nothing starts.")
Freeze = Annotated[str, typer.Argument(metavar="FREEZE", help="Its id.")]
Until = Annotated[str | None, typer.Option(help="When it ends by itself.")]


@command(app, "list")
def list_freezes(session: Session) -> None:
    """List freezes."""
    session.answer_list(session.api.get(at("freezes")), "freezes", views.FREEZES)


@command(app, "get")
def get(session: Session, freeze: Freeze) -> None:
    """Show a freeze."""
    session.answer_fields(session.api.get(at("freezes", freeze)))


@command(app, "create")
def create(
    session: Session,
    reason: o.NeededReason,
    label: Annotated[str | None, typer.Option("--label", "-l", help="NAME=VALUE: what has this label.")] = None,
    whole_tenant: Annotated[bool, typer.Option("--whole-tenant", help="All of the tenant.")] = False,
    tier: Annotated[str | None, typer.Option(help="A tier; for platform admins.")] = None,
    until: Until = None,
) -> None:
    """Freeze: nothing starts after this has returned."""
    scope = given(label=labels_of([label]) if label else None, tenant=whole_tenant or None, tier=tier)
    if len(scope) != 1:
        raise WrongUse("write one of --label, --whole-tenant and --tier")
    session.answer_fields(session.api.post(at("freezes"), given(scope=scope, reason=reason, until=until)))


@command(app, "change")
def change(session: Session, freeze: Freeze, until: Until = None, reason: o.Reason = "") -> None:
    """Give a freeze another end or reason."""
    body = given(until=until, reason=reason)
    session.answer_fields(session.api.ask("PATCH", at("freezes", freeze), body=body).data)


@command(app, "end")
def end(session: Session, freeze: Freeze, reason: o.Reason = "") -> None:
    """Thaw: what it held back goes on."""
    session.answer_fields(session.api.ask("DELETE", at("freezes", freeze), query={"reason": reason}).data)
