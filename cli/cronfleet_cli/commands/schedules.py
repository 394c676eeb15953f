"""Schedules: list, read, make, stop and start them; what they said before."""

from typing import Annotated, Any

import typer

from cronfleet_cli import options as o
from cronfleet_cli import views
from cronfleet_cli.api import Repeat, at
from cronfleet_cli.following import await_run
from cronfleet_cli.inputs import document_of, given, json_of, labels_of
from cronfleet_cli.screen import table
from cronfleet_cli.session import Session, command

app = typer.Typer(no_args_is_help=True, help="Schedules: list, read, make, stop and start them.")


@command(app, "list")
def list_schedules(
    session: Session,
    label: o.Labels = None,
    owner: Annotated[str | None, typer.Option(help="Whose.")] = None,
    status: Annotated[str | None, typer.Option(help="active, paused, held, parked or completed.")] = None,
    prefix: Annotated[str, typer.Option(help="How their ids begin.")] = "",
    limit: o.Limit = o.DEFAULT_LIMIT,
) -> None:
    """List schedules."""
    labels = [f"{name}={value}" for name, value in labels_of(label or ()).items()]
    session.list(
        at("schedules"), "schedules", views.SCHEDULES, limit, label=labels, owner=owner, status=status, prefix=prefix
    )


@command(app, "get")
def get(
    session: Session,
    schedule: o.Schedule,
    version: Annotated[int | None, typer.Option(min=1, help="What it said then; else how it stands.")] = None,
) -> None:
    """Show a schedule."""
    path = at("schedules", schedule) if version is None else at("schedules", schedule, "versions", str(version))
    found = session.api.get(path)
    session.answer(found, views.schedule(found))


@command(app, "create")
def create(
    session: Session,
    file: o.File,
    schedule: Annotated[str | None, typer.Option("--id", help="Its id, if the file has none.")] = None,
    held: Annotated[bool, typer.Option("--held", help="Register it without turning it on.")] = False,
    dry_run: o.DryRun = False,
) -> None:
    """Register a schedule that a file describes, as YAML or JSON. To create or change many, use `apply`."""
    body = {**document_of(file), **given(id=schedule)}
    if held:
        body["held"] = True
    made = session.api.post(at("schedules"), body, {"dry_run": dry_run or None})
    session.answer(made, views.schedule(made))


@command(app, "change")
def change(
    session: Session, schedule: o.Schedule, file: o.File, reason: o.Reason = "", dry_run: o.DryRun = False
) -> None:
    """Change the parts of a schedule that a file names, as YAML or JSON; null takes a part back to its default."""
    query = {"reason": reason, "dry_run": dry_run or None}
    changed = session.api.ask("PATCH", at("schedules", schedule), query=query, body=document_of(file)).data
    session.answer(changed, views.schedule(changed))


@command(app, "delete")
def delete(session: Session, schedule: o.Schedule, reason: o.Reason = "") -> None:
    """Delete a schedule. Its history stays."""
    session.api.ask("DELETE", at("schedules", schedule), query={"reason": reason})
    session.answer_with({"id": schedule, "deleted": True}, f"{schedule} is deleted.")


@command(app, "pause")
def pause(
    session: Session,
    schedule: o.Schedule,
    reason: o.NeededReason,
    until: Annotated[str | None, typer.Option(help="When it goes on by itself.")] = None,
    dry_run: o.DryRun = False,
) -> None:
    """Pause a schedule: nothing starts after this has returned."""
    _act(session, schedule, "pause", given(reason=reason, until=until), dry_run)


@command(app, "resume")
def resume(
    session: Session,
    schedule: o.Schedule,
    reason: o.Reason = "",
    missed: Annotated[
        str | None, typer.Option(help='What the pause held back: JSON, as {"policy": "catch_up", "max": 10}.')
    ] = None,
    dry_run: o.DryRun = False,
) -> None:
    """Resume a schedule, from its next regular time on."""
    policy = None if missed is None else json_of(missed, "--missed")
    _act(session, schedule, "resume", given(reason=reason, missed=policy), dry_run)


def _act(session: Session, schedule: str, verb: str, body: Any, dry_run: bool) -> None:
    changed = session.api.post(at("schedules", schedule, verb), body, {"dry_run": dry_run or None})
    session.answer(changed, views.schedule(changed))


@command(app, "run")
def run_now(
    session: Session,
    schedule: o.Schedule,
    payload: o.Payload = None,
    reason: o.Reason = "",
    follow: Annotated[bool, typer.Option("--follow", help="Wait for its end; exit 1 unless it succeeded.")] = False,
) -> None:
    """Run a schedule now, once, beside its regular fires."""
    body = given(reason=reason)
    if payload is not None:
        body["payload"] = json_of(payload, "--payload")
    run = session.api.post(at("schedules", schedule, "run"), body)
    if follow:
        await_run(session, run)
    else:
        session.answer(run, views.run(run))


@command(app, "versions")
def versions(session: Session, schedule: o.Schedule, limit: o.Limit = o.DEFAULT_LIMIT) -> None:
    """Show what a schedule has said over time, who wanted it, and why."""
    session.list(at("schedules", schedule, "versions"), "versions", views.VERSIONS, limit)


@command(app, "diff")
def diff(
    session: Session,
    schedule: o.Schedule,
    version: Annotated[int, typer.Argument(min=1, help="The version to compare.")],
    to: Annotated[int | None, typer.Option(min=1, help="With this one; else with the current.")] = None,
) -> None:
    """Show what changed from one version to another."""
    found = session.api.get(at("schedules", schedule, "versions", str(version), "diff"), {"to": to})
    session.answer(found, table(found["changes"], views.CHANGES, "changes"))


@command(app, "rollback")
def rollback(
    session: Session,
    schedule: o.Schedule,
    version: Annotated[int, typer.Argument(min=1, help="The version to go back to.")],
    reason: o.Reason = "",
    dry_run: o.DryRun = False,
) -> None:
    """Make a new version that says what an old one said."""
    _act(session, schedule, "rollback", given(version=version, reason=reason), dry_run)


@command(app, "ledger")
def ledger(
    session: Session,
    schedule: o.Schedule,
    from_: Annotated[str, typer.Option("--from", help="From this time on.")],
    to: Annotated[str, typer.Option("--to", help="Up to this time, included.")],
    limit: o.Limit = o.DEFAULT_LIMIT,
) -> None:
    """Show what became of every fire."""
    path = at("schedules", schedule, "ledger")
    session.answer_list(session.api.listed(path, "entries", {"from": from_, "to": to}, limit), "entries", views.LEDGER)


@command(app, "heartbeat")
def heartbeat(
    session: Session,
    schedule: o.Schedule,
    create: Annotated[bool, typer.Option("--create", help="Make its URL, anew if there is one. Shown once.")] = False,
    reason: o.Reason = "",
) -> None:
    """Show the latest ping of a job that runs elsewhere; with --create, make the URL that it pings."""
    path = at("schedules", schedule, "heartbeat")
    # The answer holds a secret that nobody keeps, so a repetition cannot be answered with it.
    found = session.api.post(path, given(reason=reason), repeat=Repeat.NEVER) if create else session.api.get(path)
    session.answer_fields(found)


@command(app, "shadow")
def shadow(
    session: Session,
    schedule: o.Schedule,
    on: Annotated[bool | None, typer.Option("--on/--off", help="Note what it would fire while it is held.")] = None,
    from_: o.From = None,
    to: o.To = None,
    reason: o.Reason = "",
) -> None:
    """Compare a held schedule with the pings of the old system; with --on or --off, start or end noting."""
    path = at("schedules", schedule, "shadow")
    if on is not None:
        changed = session.api.post(path, {"on": on, **given(reason=reason)})
        session.answer(changed, views.schedule(changed))
        return
    session.answer_fields(session.api.get(path, {"from": from_, "to": to}), leave_out=("entries",))
