"""Operations: backfills, re-runs and redrives, made, watched and steered."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

import typer

from cronfleet_cli import options as o
from cronfleet_cli import views
from cronfleet_cli.api import at
from cronfleet_cli.errors import REFUSED, WrongUse
from cronfleet_cli.following import watch_operation
from cronfleet_cli.inputs import given, json_of, labels_of
from cronfleet_cli.screen import table, text
from cronfleet_cli.session import Session, command

app = typer.Typer(no_args_is_help=True, help="Operations of every kind: how far they are; pause, resume, cancel.")
backfills = typer.Typer(no_args_is_help=True, help="Backfills: how far they are, date by date; pause, resume, cancel.")

FAILED: Final = ("dead", "refused")
"""Ends of runs of which whoever watches is told by the exit code."""

Operation = Annotated[str, typer.Argument(metavar="OPERATION", help="Its id, as `operations list` shows it.")]
Rate = Annotated[int | None, typer.Option("--rate", min=1, help="Begin at most so many a minute.")]
Concurrent = Annotated[int | None, typer.Option("--max-concurrent", min=1, help="At most so many under way.")]
FlowOn = Annotated[bool, typer.Option("--flow-on", help="What runs after it follows, with runs of its own.")]
Signature = Annotated[str | None, typer.Option(help="Of this failure, as `dead-letters groups` shows it.")]
Status = Annotated[str | None, typer.Option(help="running, paused, stopped, cancelled or finished.")]


def register(root: typer.Typer) -> None:
    """Add the commands that stand by themselves to `root`."""
    command(root, "backfill")(backfill)
    command(root, "rerun")(rerun)
    command(root, "reruns")(reruns)


def backfill(
    session: Session,
    from_: Annotated[str, typer.Option("--from", help="The first time that is meant, as 2026-11-01T00:00:00Z.")],
    to: Annotated[str, typer.Option("--to", help="The first that is not meant any more.")],
    schedule: Annotated[
        str | None, typer.Argument(metavar="[SCHEDULE]", help="Its id.", autocompletion=o.complete_schedule)
    ] = None,
    label: o.Labels = None,
    order: Annotated[str | None, typer.Option(help="oldest or newest first.")] = None,
    mode: Annotated[str | None, typer.Option(help="skip_succeeded, redo_failed or redo_all.")] = None,
    version: Annotated[int | None, typer.Option(min=1, help="With this version; else with the current one.")] = None,
    again: Annotated[int | None, typer.Option(min=1, help="Once more what the same call has done: 2, then 3.")] = None,
    max_concurrent: Concurrent = None,
    rate: Rate = None,
    payload: o.Payload = None,
    flow_on: FlowOn = False,
    reason: o.Reason = "",
    dry_run: o.DryRun = False,
    watch: o.Watch = False,
) -> None:
    """Run dates of the past: of a schedule, or of all that have the labels. The same call again creates nothing."""
    if (schedule is None) == (not label):
        raise WrongUse("write one schedule, or --label")
    body = given(
        schedule=schedule, labels=labels_of(label or ()), from_=from_, to=to, order=order, mode=mode, version=version,
        again=again, max_concurrent=max_concurrent, rate_per_minute=rate, reason=reason, flow_on=flow_on or None,
    )  # fmt: skip
    _with_payload(body, payload)
    made = session.api.post(at("backfills"), body, {"dry_run": dry_run or None})
    if dry_run:
        session.answer_fields(made)
    else:
        show(session, made, watch=watch, place=at("backfills", made["id"]))


def rerun(
    session: Session,
    run_id: o.RunId,
    version: Annotated[str | None, typer.Option(help="newest, or same as then.")] = None,
    payload: o.Payload = None,
    flow_on: FlowOn = False,
    reason: o.Reason = "",
) -> None:
    """Run a run again, under an id of its own."""
    body = given(version=version, reason=reason, flow_on=flow_on or None)
    _with_payload(body, payload)
    run = session.api.post(at("runs", run_id, "rerun"), body)
    session.answer(run, views.run(run))


def reruns(
    session: Session,
    schedule: o.SomeSchedule = None,
    label: o.Labels = None,
    from_: o.From = None,
    to: o.To = None,
    status: Annotated[list[str] | None, typer.Option(help="Runs that ended so; dead ones without.")] = None,
    signature: Signature = None,
    version: Annotated[str | None, typer.Option(help="newest, or same as then.")] = None,
    rate: Rate = None,
    max_concurrent: Concurrent = None,
    expected: o.Expected = None,
    reason: o.Reason = "",
    dry_run: o.DryRun = False,
    watch: o.Watch = False,
) -> None:
    """Run many runs again: all that match, at a rate."""
    meant = given(
        schedule=schedule, labels=labels_of(label or ()), from_=from_, to=to, status=status, signature=signature
    )
    body = {
        "filter": meant,
        **given(version=version, rate_per_minute=rate, max_concurrent=max_concurrent, reason=reason),
        **given(expected=expected),
    }
    made = session.api.post(at("reruns"), body, {"dry_run": dry_run or None})
    if dry_run:
        examples = made.get("examples") or ()
        session.answer(made, table(examples, views.RUNS, "runs"), text(counted(made), "bold"))
    else:
        show(session, made, watch=watch, place=at("operations", made["id"]))


def counted(tried: Mapping[str, Any]) -> str:
    """What a dry run has counted, in a sentence."""
    least = "" if tried.get("is_complete", True) else "at least "
    return f"{least}{tried['count']} runs, {tried['write_units']} write units"


def _with_payload(body: dict[str, Any], payload: str | None) -> None:
    if payload is not None:
        body["payload"] = json_of(payload, "--payload")


def show(session: Session, operation: Mapping[str, Any], *, watch: bool, place: str) -> None:
    """The operation as it is; or, watched, as it is when it stands still: exit 1 unless all of it went well."""
    if not watch:
        session.answer(operation, views.operation(operation))
        return
    last = watch_operation(session, place)
    if not session.screen.is_json:
        session.screen.show(views.operation(last))
    counts = last.get("counts") or {}
    if last["status"] != "finished" or any(counts.get(state) for state in FAILED):
        raise typer.Exit(REFUSED)


@command(app, "list")
def list_operations(
    session: Session,
    kind: Annotated[str | None, typer.Option(help="backfill, rerun or redrive.")] = None,
    status: Status = None,
    limit: o.Limit = o.DEFAULT_LIMIT,
) -> None:
    """List operations, newest first."""
    session.list(at("operations"), "operations", views.OPERATIONS, limit, kind=kind, status=status)


@command(backfills, "list")
def list_backfills(session: Session, status: Status = None, limit: o.Limit = o.DEFAULT_LIMIT) -> None:
    """List backfills, newest first."""
    session.list(at("backfills"), "operations", views.OPERATIONS, limit, status=status)


@command(app, "results")
def results(session: Session, operation: Operation, limit: o.Limit = o.DEFAULT_LIMIT) -> None:
    """Show what became of each run."""
    session.list(at("operations", operation, "results"), "results", views.RESULTS, limit)


@command(backfills, "dates")
def dates(session: Session, operation: Operation, limit: o.Limit = o.DEFAULT_LIMIT) -> None:
    """Show what became of each date."""
    session.list(at("backfills", operation, "dates"), "dates", views.RESULTS, limit)


def _add_verbs(group: typer.Typer, place: str) -> None:
    """The verbs that every kind has."""

    def get(session: Session, operation: Operation) -> None:
        """Show how far it is."""
        show(session, session.api.get(at(place, operation)), watch=False, place="")

    def watch(session: Session, operation: Operation) -> None:
        """Show its progress until it stands still: exit 1 unless all of it went well."""
        show(session, {}, watch=True, place=at(place, operation))

    for verb in (get, watch):
        command(group, verb.__name__)(verb)
    for name, sentence in (
        ("pause", "Begin nothing new; what was begun goes on."),
        ("cancel", "Begin nothing new, and cancel what is queued; what runs goes on."),
    ):
        command(group, name)(_verb(place, name, sentence))


def _verb(place: str, name: str, sentence: str) -> Callable[..., None]:
    def turn(session: Session, operation: Operation, reason: o.Reason = "") -> None:
        turned = session.api.post(at(place, operation, name), given(reason=reason))
        session.answer(turned, views.operation(turned))

    turn.__name__, turn.__doc__ = name, sentence
    return turn


_add_verbs(app, "operations")
_add_verbs(backfills, "backfills")
command(backfills, "resume")(_verb("backfills", "resume", "Go on where it was."))


@command(app, "resume")
def resume(
    session: Session,
    operation: Operation,
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude-signature", help="Of a redrive that stopped itself: leave out what fails so."),
    ] = None,
    reason: o.Reason = "",
) -> None:
    """Go on where it was."""
    body = given(reason=reason, exclude_signatures=exclude)
    turned = session.api.post(at("operations", operation, "resume"), body)
    session.answer(turned, views.operation(turned))
