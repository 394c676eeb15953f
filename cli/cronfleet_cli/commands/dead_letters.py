"""Dead letters: what ended without having done its work; looked at, sent again, let go of."""

from typing import Annotated, Any, Final

import typer

from cronfleet_cli import options as o
from cronfleet_cli import views
from cronfleet_cli.api import at
from cronfleet_cli.commands.operations import Concurrent, Rate, Signature, counted, show
from cronfleet_cli.errors import WrongUse
from cronfleet_cli.inputs import given, json_of, labels_of
from cronfleet_cli.screen import text
from cronfleet_cli.session import Session, command

app = typer.Typer(no_args_is_help=True, help="Dead letters: what ended without having done its work.")

MAX_ROUNDS: Final = 10_000
"""Of five hundred letters each."""

RunIds = Annotated[list[str] | None, typer.Argument(metavar="[RUN_ID]...", help="These.")]
DiedFrom = Annotated[str | None, typer.Option("--from", help="Dead since then, or later.")]
DiedTo = Annotated[str | None, typer.Option("--to", help="Dead before.")]
All = Annotated[bool, typer.Option("--all", help="Every dead letter.")]


@command(app, "list")
def list_letters(
    session: Session,
    schedule: o.SomeSchedule = None,
    label: o.Labels = None,
    signature: Signature = None,
    kind: Annotated[str | None, typer.Option(help="Only this kind, as undelivered; unreadable: messages.")] = None,
    from_: DiedFrom = None,
    to: DiedTo = None,
    limit: o.Limit = o.DEFAULT_LIMIT,
) -> None:
    """List dead letters, newest first."""
    query = {
        "schedule": schedule,
        "label": _texts(label),
        "signature": signature,
        "kind": kind,
        "from": from_,
        "to": to,
    }
    found = session.api.listed(at("dead-letters"), "dead_letters", {**query, "from": from_, "to": to}, limit)
    columns = views.UNREADABLE if kind == "unreadable" else views.LETTERS
    session.answer_list(found, "dead_letters", columns, "dead letters")


@command(app, "groups")
def groups(
    session: Session,
    schedule: o.SomeSchedule = None,
    label: o.Labels = None,
    from_: DiedFrom = None,
    to: DiedTo = None,
) -> None:
    """Show how many dead letters there are of each failure."""
    query = {"group": "signature", "schedule": schedule, "label": _texts(label), "from": from_, "to": to}
    session.answer_list(session.api.get(at("dead-letters"), query), "groups", views.LETTER_GROUPS, "dead letters")


@command(app, "show")
def show_letter(session: Session, run_id: o.RunId) -> None:
    """Show a dead letter: every attempt, the payload, what was called."""
    found = session.api.get(at("dead-letters", run_id))
    session.answer(found, views.letter(found))


@command(app, "redrive")
def redrive(
    session: Session,
    run_ids: RunIds = None,
    schedule: o.SomeSchedule = None,
    label: o.Labels = None,
    signature: Signature = None,
    from_: DiedFrom = None,
    to: DiedTo = None,
    every: All = False,
    version: Annotated[str | None, typer.Option(help="newest, or same as then.")] = None,
    payload: o.Payload = None,
    rate: Rate = None,
    max_concurrent: Concurrent = None,
    expected: o.Expected = None,
    reason: o.Reason = "",
    dry_run: o.DryRun = False,
    watch: o.Watch = False,
) -> None:
    """Run dead letters again: these, or all that match, at a rate. It stops by itself when the failures return."""
    body = _meant(run_ids, _filter(schedule, label, signature, from_, to), every)
    body |= given(
        version=version, rate_per_minute=rate, max_concurrent=max_concurrent, expected=expected, reason=reason
    )
    if payload is not None:
        body["payload"] = json_of(payload, "--payload")
    made = session.api.post(at("dead-letters", "redrive"), body, {"dry_run": dry_run or None})
    if dry_run:
        session.answer(made, *map(text, made["examples"]), text(counted(made), "bold"))
    else:
        show(session, made, watch=watch, place=at("operations", made["id"]))


@command(app, "discard")
def discard(
    session: Session,
    reason: o.NeededReason,
    run_ids: RunIds = None,
    schedule: o.SomeSchedule = None,
    label: o.Labels = None,
    signature: Signature = None,
    from_: DiedFrom = None,
    to: DiedTo = None,
    every: All = False,
    expected: o.Expected = None,
    dry_run: o.DryRun = False,
) -> None:
    """Let go of dead letters: they leave the view, and their runs stay in the history."""
    body = _meant(run_ids, _filter(schedule, label, signature, from_, to), every) | {"reason": reason}
    discarded, more = 0, True
    for count in range(MAX_ROUNDS):
        # Only what was counted before the first is held to the count.
        first = given(expected=expected) if count == 0 else {}
        made = session.api.post(at("dead-letters", "discard"), body | first, {"dry_run": dry_run or None})
        discarded, more = discarded + made["discarded"], made["more"]
        if dry_run or not more:
            break
    done = {"discarded": discarded, "more": more}
    said = "would be discarded" if dry_run else "are discarded"
    session.answer_with(done, f"{'At least ' if more else ''}{discarded} dead letters {said}.")


@command(app, "discard-message")
def discard_message(
    session: Session,
    message: Annotated[str, typer.Argument(metavar="ID", help="As `list --kind unreadable` shows it.")],
    reason: o.NeededReason,
) -> None:
    """Let go of a message that nobody can read; takes a platform admin."""
    session.answer_fields(session.api.post(at("dead-letters", "unreadable", message, "discard"), {"reason": reason}))


def _texts(label: list[str] | None) -> list[str]:
    return [f"{name}={value}" for name, value in labels_of(label or ()).items()]


def _filter(
    schedule: str | None, label: list[str] | None, signature: str | None, from_: str | None, to: str | None
) -> dict[str, Any]:
    return given(schedule=schedule, labels=labels_of(label or ()), signature=signature, from_=from_, to=to)


def _meant(run_ids: list[str] | None, asked: dict[str, Any], every: bool) -> dict[str, Any]:
    """Exactly one of the three ways to say which."""
    if sum((bool(run_ids), bool(asked), every)) != 1:
        raise WrongUse("say which: run ids; or --schedule, --label, --signature, --from, --to; or --all")
    return {"run_ids": run_ids} if run_ids else {"filter": asked}
