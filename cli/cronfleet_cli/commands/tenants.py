"""Tenants: their quotas and their life; keys."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from cronfleet_cli import options as o
from cronfleet_cli import views
from cronfleet_cli.api import Repeat, at
from cronfleet_cli.errors import WrongUse
from cronfleet_cli.inputs import given, labels_of
from cronfleet_cli.screen import Column, table
from cronfleet_cli.session import Session, command

app = typer.Typer(no_args_is_help=True, help="Tenants: their quotas, their life.")
keys = typer.Typer(no_args_is_help=True, help="API keys of a tenant.")

Tenant = Annotated[str, typer.Argument(metavar="TENANT", help="Its id.")]
Key = Annotated[str, typer.Argument(metavar="KEY_ID", help="As `keys list` shows it.")]
Name = Annotated[str | None, typer.Option(help="A name for people.")]
Tier = Annotated[str | None, typer.Option(help="standard or priority.")]
Quotas = Annotated[list[str] | None, typer.Option("--quota", help="NAME=NUMBER, as schedules=500; NAME=default.")]


def _quotas(texts: list[str] | None) -> dict[str, int | None]:
    quotas: dict[str, int | None] = {}
    for name, value in labels_of(texts or (), "--quota").items():
        if value != "default" and not value.isdecimal():
            raise WrongUse(f"--quota {name}={value}: write a whole number, or default")
        quotas[name] = None if value == "default" else int(value)
    return quotas


@command(app, "list")
def list_tenants(session: Session, limit: o.Limit = o.DEFAULT_LIMIT) -> None:
    """List tenants."""
    session.list(at("tenants"), "tenants", views.TENANTS, limit)


@command(app, "get")
def get(session: Session, tenant: Tenant) -> None:
    """Show a tenant."""
    session.answer_fields(session.api.get(at("tenants", tenant)))


@command(app, "create")
def create(session: Session, tenant: Tenant, name: Name = None, tier: Tier = None, quota: Quotas = None) -> None:
    """Make a tenant."""
    body = given(id=tenant, name=name, tier=tier, quotas=_quotas(quota))
    session.answer_fields(session.api.post(at("tenants"), body))


@command(app, "change")
def change(
    session: Session, tenant: Tenant, name: Name = None, tier: Tier = None, quota: Quotas = None, reason: o.Reason = ""
) -> None:
    """Change a tenant's name, tier or quotas."""
    body = given(name=name, tier=tier, quotas=_quotas(quota))
    session.answer_fields(session.api.ask("PATCH", at("tenants", tenant), query={"reason": reason}, body=body).data)


class Switch(StrEnum):
    """Whether something is to be."""

    ON = "on"
    OFF = "off"


@command(app, "events")
def events(
    session: Session,
    tenant: Tenant,
    switch: Annotated[Switch, typer.Argument(metavar="on|off", help="Told, or not.")],
    reason: o.Reason = "",
) -> None:
    """Tell a tenant of its runs and schedules on the installation's bus of events, or no longer."""
    body = given(enabled=switch is Switch.ON, reason=reason)
    session.answer_fields(session.api.ask("PUT", at("tenants", tenant, "events"), body=body).data)


@command(app, "usage")
def usage(session: Session, tenant: Tenant) -> None:
    """Show each quota with its use."""
    found = session.api.get(at("tenants", tenant, "usage"))
    rows = [{"quota": name, **said} for name, said in found["quotas"].items()]
    columns = (Column("quota", "quota"), Column("use", "use", right=True), Column("limit", "limit", right=True))
    session.answer(found, table(rows, columns))


@command(app, "suspend")
def suspend(session: Session, tenant: Tenant, reason: o.NeededReason) -> None:
    """Let nothing of a tenant start, and its keys only read."""
    session.answer_fields(session.api.post(at("tenants", tenant, "suspend"), {"reason": reason}, repeat=Repeat.AS_IS))


@command(app, "resume")
def resume(session: Session, tenant: Tenant, reason: o.Reason = "") -> None:
    """Let a suspended tenant go on."""
    session.answer_fields(session.api.post(at("tenants", tenant, "resume"), given(reason=reason), repeat=Repeat.AS_IS))


@command(app, "delete")
def delete(
    session: Session,
    tenant: Tenant,
    confirm: Annotated[str, typer.Option(help="Its id once more: all that it owns is removed, for good.")],
    reason: o.Reason = "",
) -> None:
    """Remove a tenant and all that it owns."""
    query = {"confirm": confirm, "reason": reason}
    session.answer_fields(session.api.ask("DELETE", at("tenants", tenant), query=query).data)


@command(app, "deletion")
def deletion(session: Session, tenant: Tenant) -> None:
    """Show how far a deletion is, and at its end the certificate."""
    session.answer_fields(session.api.get(at("tenants", tenant, "deletion")))


@command(keys, "list")
def list_keys(session: Session, limit: o.Limit = o.DEFAULT_LIMIT) -> None:
    """List a tenant's keys."""
    session.list(at("tenants", session.own_tenant(), "keys"), "keys", views.KEYS, limit)


@command(keys, "create")
def create_key(
    session: Session,
    role: Annotated[str, typer.Option(help="viewer, operator, editor, tenant_admin or platform_admin.")],
    name: Name = None,
    expires_at: Annotated[str | None, typer.Option(help="When it ends.")] = None,
    reason: o.Reason = "",
) -> None:
    """Make a key. It is shown once."""
    body = given(role=role, name=name, expires_at=expires_at, reason=reason)
    _show_once(session, session.api.post(at("tenants", session.own_tenant(), "keys"), body, repeat=Repeat.NEVER))


@command(keys, "rotate")
def rotate_key(
    session: Session,
    key: Key,
    overlap_seconds: Annotated[int | None, typer.Option(min=0, help="How long the old one still holds.")] = None,
    reason: o.Reason = "",
) -> None:
    """Replace a key by a new one, which is shown once."""
    body = given(overlap_seconds=overlap_seconds, reason=reason)
    path = at("tenants", session.own_tenant(), "keys", key, "rotate")
    _show_once(session, session.api.post(path, body, repeat=Repeat.NEVER))


def _show_once(session: Session, made: Any) -> None:
    session.answer_fields(made)
    session.screen.note("Keep the key now: nobody can show it again.", "yellow")


@command(keys, "revoke")
def revoke_key(session: Session, key: Key, reason: o.Reason = "") -> None:
    """End a key."""
    session.api.ask("DELETE", at("tenants", session.own_tenant(), "keys", key), query={"reason": reason})
    session.answer_with({"id": key, "revoked": True}, f"{key} is revoked.")
