"""Bulk: one change of many schedules, counted first."""

from typing import Annotated, Any, Final

import typer

from cronfleet_cli import options as o
from cronfleet_cli.api import Repeat, at
from cronfleet_cli.errors import REFUSED, WrongUse
from cronfleet_cli.inputs import given, json_of, labels_of
from cronfleet_cli.screen import Column, table, text
from cronfleet_cli.session import Session, command

app = typer.Typer(no_args_is_help=True, help="Bulk: one change of many schedules, counted first.")

MAX_ROUNDS: Final = 1_000
FAILED: Final = (Column("schedule", "id"), Column("failed, since", "reason"))

Owner = Annotated[str | None, typer.Option(help="Whose.")]
Status = Annotated[str | None, typer.Option(help="Only those that are active, paused, held, parked or completed.")]
Prefix = Annotated[str | None, typer.Option(help="How their ids begin.")]
All = Annotated[bool, typer.Option("--all", help="Every schedule of the tenant.")]


def _filter(label: list[str] | None, owner: str | None, status: str | None, prefix: str | None, every: bool) -> Any:
    asked = given(labels=labels_of(label or ()), owner=owner, status=status, prefix=prefix)
    if bool(asked) == every:
        raise WrongUse("say which: --label, --owner, --status or --prefix; or --all for every schedule")
    return {"all": True} if every else {"filter": asked}


def _change(session: Session, verb: str, body: dict[str, Any], dry_run: bool) -> None:
    """Ask page by page, and show the sum."""
    counts: dict[str, int] = {}
    whole: dict[str, Any] = {}
    schedules: list[Any] = []
    failed: list[Any] = []
    for _ in range(MAX_ROUNDS):
        page = session.api.post(at("bulk", verb), body, {"dry_run": dry_run or None}, repeat=Repeat.AS_IS)
        for name, count in page["counts"].items():
            counts[name] = counts.get(name, 0) + count
        schedules += page["schedules"]
        failed += page["failed"]
        whole = {**page, "counts": counts, "schedules": schedules, "failed": failed}
        if page["cursor"] is None:
            break
        body = {name: value for name, value in body.items() if name != "expected"} | {"cursor": page["cursor"]}
    said = ", ".join(f"{count} {name}" for name, count in counts.items())
    shown = [table(failed, FAILED)] if failed else []
    session.answer(whole, *(text(name) for name in schedules), *shown, text(said, "bold"))
    if failed:
        raise typer.Exit(REFUSED)


@command(app, "pause")
def pause(
    session: Session,
    reason: o.NeededReason,
    label: o.Labels = None,
    owner: Owner = None,
    status: Status = None,
    prefix: Prefix = None,
    every: All = False,
    until: Annotated[str | None, typer.Option(help="When they go on by themselves.")] = None,
    expected: o.Expected = None,
    dry_run: o.DryRun = False,
) -> None:
    """Pause all that match."""
    body = _filter(label, owner, status, prefix, every) | given(reason=reason, until=until, expected=expected)
    _change(session, "pause", body, dry_run)


@command(app, "resume")
def resume(
    session: Session,
    label: o.Labels = None,
    owner: Owner = None,
    status: Status = None,
    prefix: Prefix = None,
    every: All = False,
    missed: Annotated[str | None, typer.Option(help='What the pauses held back, as {"policy": "skip"}.')] = None,
    include_off: Annotated[bool, typer.Option("--include-off", help="Also what was off where it came from.")] = False,
    reason: o.Reason = "",
    expected: o.Expected = None,
    dry_run: o.DryRun = False,
) -> None:
    """Resume all that match: paused ones, or with --status held those that were imported."""
    policy = None if missed is None else json_of(missed, "--missed")
    more = given(reason=reason, missed=policy, include_off=include_off or None, expected=expected)
    _change(session, "resume", _filter(label, owner, status, prefix, every) | more, dry_run)


@command(app, "cancel")
def cancel(
    session: Session,
    label: o.Labels = None,
    owner: Owner = None,
    status: Status = None,
    prefix: Prefix = None,
    every: All = False,
    reason: o.Reason = "",
    expected: o.Expected = None,
    dry_run: o.DryRun = False,
) -> None:
    """Delete all that match."""
    body = _filter(label, owner, status, prefix, every) | given(reason=reason, expected=expected)
    _change(session, "cancel", body, dry_run)


@command(app, "labels")
def labels(
    session: Session,
    label: o.Labels = None,
    owner: Owner = None,
    status: Status = None,
    prefix: Prefix = None,
    every: All = False,
    put: Annotated[list[str] | None, typer.Option("--set", help="NAME=VALUE that each gets.")] = None,
    remove: Annotated[list[str] | None, typer.Option(help="A label's name that each loses.")] = None,
    reason: o.Reason = "",
    expected: o.Expected = None,
    dry_run: o.DryRun = False,
) -> None:
    """Give and take labels of all that match."""
    more = given(set=labels_of(put or (), "--set"), remove=remove, reason=reason, expected=expected)
    _change(session, "labels", _filter(label, owner, status, prefix, every) | more, dry_run)
