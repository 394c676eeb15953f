"""The hold: the installation in which nothing is claimed, for an update or as a second region."""

from typing import Annotated, Any, Final

import typer

from cronfleet_cli import options as o
from cronfleet_cli.api import at
from cronfleet_cli.errors import REFUSED
from cronfleet_cli.screen import Column, fields, table
from cronfleet_cli.session import Session, command

app = typer.Typer(no_args_is_help=True, help="The hold: nothing is claimed, for an update or in a second region.")
Region = Annotated[str | None, typer.Option(help="Another AWS region that shares the tables.")]

ASKS_EVERY: Final = 5
"""Seconds between two looks at what is still going on."""

ENDED: Final = (
    Column("held", "mode", whole=True),
    Column("from", "at", whole=True),
    Column("until", "released.at", whole=True),
    Column("by", "by"),
    Column("reason", "reason"),
    Column("released because", "released.reason"),
)


@command(app, "show")
def show(session: Session, region: Region = None) -> None:
    """Show whether the installation is held, and what is still going on."""
    _show(session, session.api.get(at("hold"), {"region": region}))


@command(app, "drain")
def drain(
    session: Session,
    reason: o.NeededReason,
    wait: Annotated[int, typer.Option(min=0, help="Seconds to wait until what was claimed is over.")] = 0,
    region: Region = None,
) -> None:
    """Claim nothing more, and let what was claimed run: exit 1 if it still does after --wait."""
    found = _held(session, "drain", reason, region)
    for _ in range(-(-wait // ASKS_EVERY)):
        if _is_drained(found):
            break
        session.api.wait(ASKS_EVERY)
        found = session.api.get(at("hold"), {"region": region})
    _show(session, found)
    if wait and not _is_drained(found):
        raise typer.Exit(REFUSED)


@command(app, "standby")
def standby(session: Session, reason: o.NeededReason, region: Region = None) -> None:
    """Start nothing at all, and change nothing, until it is released."""
    _show(session, _held(session, "standby", reason, region))


@command(app, "release")
def release(session: Session, reason: o.Reason = "", region: Region = None) -> None:
    """Go on claiming: what came due meanwhile is missed time."""
    query = {"reason": reason, "region": region}
    _show(session, session.api.ask("DELETE", at("hold"), query=query).data)


@command(app, "mend")
def mend(session: Session, reason: o.NeededReason) -> None:
    """Look again for what a fail-over lost, once the region that had failed is back."""
    session.answer_fields(session.api.post(at("hold", "mend"), {"reason": reason}))


def _show(session: Session, found: Any) -> None:
    """How it is held; below, the holds that are over."""
    parts = [fields(found, ["ended", "elsewhere"])]
    parts += [fields(region, ["ended"]) for region in found.get("elsewhere", [])]
    if found["ended"]:
        parts.append(table(found["ended"], ENDED))
    session.answer(found, *parts)


def _held(session: Session, mode: str, reason: str, region: str | None) -> Any:
    body = {"mode": mode, "reason": reason}
    return session.api.ask("POST", at("hold"), body=body, query={"region": region}).data


def _is_drained(found: Any) -> bool:
    return bool(found["going_on"] and found["going_on"]["drained"])
