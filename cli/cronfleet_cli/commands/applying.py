"""Applying a folder: the files say which schedules there should be, and `apply` makes it so."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.progress import Progress
from rich.text import Text

from cronfleet_cli import folder, views
from cronfleet_cli import options as o
from cronfleet_cli.api import Answer, at
from cronfleet_cli.errors import REFUSED, WOULD_CHANGE, Refused, WrongUse
from cronfleet_cli.inputs import labels_of
from cronfleet_cli.plan import Change, Plan, Refusal, compared, ordered, spelled_out, waits_for
from cronfleet_cli.screen import shown, status, text
from cronfleet_cli.session import Session, command

MOST_SHOWN: Final = 200
"""Of a value, so many characters are shown; the plan as JSON has all."""

_SIGNS: Final = {"create": "+", "replace": "~", "delete": "-", "unchanged": "="}
_NOT_FOUND: Final = 404


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    command(app, "apply")(apply)


def apply(
    session: Session,
    file: Annotated[
        list[Path], typer.Option("--file", "-f", help="A folder or file of schedules; - is standard input.")
    ],
    plan: Annotated[bool, typer.Option("--plan", help="Change nothing: exit 3 if something would, 0 if not.")] = False,
    prune: Annotated[bool, typer.Option("--prune", help="Delete what has the label and stands in no file.")] = False,
    label: o.Labels = None,
    reason: o.Reason = "",
) -> None:
    """Make the installation have the schedules that files describe. What says the same already is left alone."""
    labels = labels_of(label or ())
    entries = folder.read(file)
    _require_safe(entries, prune, labels)
    made = _planned(session, entries, labels if prune else None)
    if not plan and not made.refused:
        for change in made.changes:
            _carry_out(session, change, reason)
    applied = not plan and not made.refused
    session.answer(made.form(applied=applied), _shown(made, applied=applied))
    if made.refused:
        raise typer.Exit(REFUSED)
    if plan and made.would_change:
        raise typer.Exit(WOULD_CHANGE)


def _require_safe(entries: list[folder.Entry], prune: bool, labels: Mapping[str, str]) -> None:
    if prune and not labels:
        raise WrongUse("--prune deletes what is in no file: write --label too, which all that it may delete must have")
    if labels and not prune:
        raise WrongUse("--label says what --prune may delete; write both or neither")
    if not entries:
        raise WrongUse("no schedule is in these files; to delete schedules use `bulk cancel`")


def _planned(session: Session, entries: list[folder.Entry], pruned: Mapping[str, str] | None) -> Plan:
    """Ask of every schedule what is there, and what the server would make of it; nothing is changed."""
    changes: list[Change] = []
    refused: list[Refusal] = []
    with Progress(console=session.screen.err, transient=True, disable=not session.screen.err.is_terminal) as bar:
        for place, body in bar.track(ordered(entries), description="Comparing"):
            changed = {change.schedule for change in changes if change.action != "unchanged"}
            judged = _judged(session, place, body, changed)
            if isinstance(judged, Refusal):
                refused.append(judged)
            else:
                changes.append(judged)
    if pruned is not None:
        changes += _deletions(session, pruned, {str(body["id"]) for _, body in entries})
    return Plan(tuple(changes), tuple(refused))


def _judged(session: Session, place: str, body: dict[str, Any], changed: set[str]) -> Change | Refusal:
    name = str(body["id"])
    current: Answer | None = None
    try:
        current = _found(session, name)
        tried = session.api.ask("PUT", at("schedules", name), query={"dry_run": True}, body=body).data
    except Refused as refusal:
        judged = Refusal(name, place, refusal.status, refusal.problem)
        if not waits_for(judged, body, changed):
            return judged
        if current is None:
            return Change(name, "create", place, spelled_out(body), body=body)
        after = {"field": "trigger", "before": current.data["trigger"], "after": body["trigger"]}
        return Change(name, "replace", place, (after,), etag=current.etag, body=body)
    if current is None:
        return Change(name, "create", place, spelled_out(body), tried.get("effect"), body=body)
    differences = compared(current.data, tried)
    action = "replace" if current.data["version"] != tried["version"] else "unchanged"
    return Change(name, action, place, differences, tried.get("effect"), current.etag, body)


def _found(session: Session, name: str) -> Answer | None:
    try:
        return session.api.ask("GET", at("schedules", name))
    except Refused as refusal:
        if refusal.status == _NOT_FOUND:
            return None
        raise


def _deletions(session: Session, labels: Mapping[str, str], kept: set[str]) -> list[Change]:
    query = {"label": [f"{name}={value}" for name, value in labels.items()]}
    listed = session.api.listed(at("schedules"), "schedules", query, o.MAX_LISTED)
    gone = [(str(each["id"]), each) for each in listed["schedules"] if each["id"] not in kept]
    # What runs after others goes before them.
    found = ((name, _found(session, name)) for name, _ in reversed(ordered(gone)))
    return [Change(name, "delete", "", etag=current.etag) for name, current in found if current is not None]


def _carry_out(session: Session, change: Change, reason: str) -> None:
    """Make the change, unless somebody has changed the schedule since it was looked at: then the server refuses."""
    path = at("schedules", change.schedule)
    condition = {"If-Match": change.etag} if change.etag else {"If-None-Match": "*"}
    if change.action == "delete":
        session.api.ask("DELETE", path, query={"reason": reason}, headers=condition)
    elif change.action != "unchanged":
        session.api.ask("PUT", path, query={"reason": reason}, body=change.body, headers=condition)


def _shown(plan: Plan, *, applied: bool) -> Text:
    lines = Text()
    for change in plan.changes:
        if change.action != "unchanged":
            _add_change(lines, change)
    for refusal in plan.refused:
        _add_refusal(lines, refusal)
    counts = plan.counts
    done = ("created", "replaced", "deleted") if applied else ("to create", "to replace", "to delete")
    said = ", ".join(f"{counts[name]} {word}" for name, word in zip(("create", "replace", "delete"), done, strict=True))
    lines.append(f"{said}, {counts['unchanged']} unchanged")
    lines.append(f", {counts['refused']} refused: nothing is applied." if plan.refused else ".")
    return lines


def _add_change(lines: Text, change: Change) -> None:
    lines.append_text(status(change.action).append(f" {_SIGNS[change.action]} "))
    lines.append_text(text(change.schedule, "bold"))
    lines.append_text(text(f"  {change.place}\n" if change.place else "\n", "dim"))
    for difference in change.differences:
        after = _cut(difference["after"])
        said = after if change.action == "create" else f"{_cut(difference['before'])} → {after}"
        lines.append_text(text(f"    {difference['field']}: {said}\n"))
    if change.effect and change.action == "replace":
        lines.append("    ").append_text(views.effect(change.effect)).append("\n")


def _add_refusal(lines: Text, refusal: Refusal) -> None:
    lines.append_text(status("refused").append(" ! ")).append_text(text(refusal.schedule, "bold"))
    lines.append_text(text(f"  {refusal.place}\n", "dim"))
    problem = refusal.problem
    for error in problem.get("errors") or ():
        lines.append_text(text(f"    {error.get('field')}: {error.get('reason')}\n"))
    if not problem.get("errors"):
        lines.append_text(text(f"    {problem.get('detail') or problem.get('title')}\n"))


def _cut(value: Any) -> str:
    said = shown(value) or "nothing"
    return said if len(said) <= MOST_SHOWN else f"{said[: MOST_SHOWN - 1]}…"
