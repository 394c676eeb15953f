"""Moving in and out: the files of other schedulers, and a tenant's document."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from cronfleet_cli import folder
from cronfleet_cli import options as o
from cronfleet_cli.api import MAX_PAGES, Repeat, at
from cronfleet_cli.errors import REFUSED, WrongUse
from cronfleet_cli.inputs import file_bytes
from cronfleet_cli.screen import Column, table, text
from cronfleet_cli.session import Session, command

MAX_ROUNDS: Final = 1_000
"""Each does twenty seconds of work: an import of hours is one that does not get on."""

_OUTCOMES: Final = (
    Column("id", "id"),
    Column("outcome", "outcome"),
    Column("status", "status"),
    Column("when", "words"),
    Column("differs", lambda row: ", ".join(row.get("differs") or ())),
    Column("notes", lambda row: " ".join(row.get("notes") or ())),
)
_REFUSED: Final = (
    Column("line", lambda row: row.get("line") or row.get("entry")),
    Column("text", lambda row: row.get("text") or row.get("id")),
    Column("refused, since", "reason"),
)


class Kind(StrEnum):
    """Where a file comes from."""

    CRONTAB = "crontab"
    KUBERNETES = "kubernetes"
    EVENTBRIDGE = "eventbridge"
    CRONFLEET = "cronfleet"


_TYPES: Final = {
    Kind.CRONTAB: "application/octet-stream",
    Kind.KUBERNETES: "application/yaml",
    Kind.EVENTBRIDGE: "application/json",
    Kind.CRONFLEET: "application/json",
}
_OPTIONS: Final = {
    Kind.CRONTAB: {"timezone", "form", "tz", "source", "target", "owner", "existing", "shadow"},
    Kind.KUBERNETES: {"timezone", "source", "target", "owner", "existing", "shadow"},
    Kind.EVENTBRIDGE: {"source", "target", "role", "owner", "existing", "shadow"},
    Kind.CRONFLEET: {"existing", "held"},
}


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    command(app, "import")(import_file)
    command(app, "export")(export)


def import_file(
    session: Session,
    kind: Annotated[Kind, typer.Argument(help="Where the file comes from.")],
    file: o.File,
    timezone: Annotated[str | None, typer.Option(help="The machine's zone, where the file names none.")] = None,
    form: Annotated[str | None, typer.Option(help="Of a crontab: user or system.")] = None,
    tz: Annotated[str | None, typer.Option(help="What TZ= in a crontab means: times or command.")] = None,
    source: Annotated[str | None, typer.Option(help="Where it was, as web1:/etc/crontab; else the file.")] = None,
    target: Annotated[str | None, typer.Option(help="What gets the commands: a handler, an URL, a function.")] = None,
    role: Annotated[str | None, typer.Option(help="As which queues, topics, state machines … are called.")] = None,
    owner: Annotated[str | None, typer.Option(help="Whose the schedules are.")] = None,
    existing: Annotated[str | None, typer.Option(help="What is there and says otherwise: keep or replace.")] = None,
    shadow: Annotated[bool, typer.Option("--shadow", help="Note from now on what they would fire.")] = False,
    held: Annotated[bool, typer.Option("--held", help="Of a tenant's document: register without turning on.")] = False,
    dry_run: o.DryRun = False,
) -> None:
    """Import a file as held schedules: a crontab, CronJobs, EventBridge schedules; or a tenant's document."""
    asked: dict[str, Any] = {
        "timezone": timezone, "form": form, "tz": tz, "source": source, "target": target, "role": role, "owner": owner,
        "existing": existing, "shadow": shadow or None, "held": held or None,
    }  # fmt: skip
    for name, value in asked.items():
        if value is not None and name not in _OPTIONS[kind]:
            raise WrongUse(f"--{name} means nothing for {kind}; it takes --{', --'.join(sorted(_OPTIONS[kind]))}")
    if source is None and "source" in _OPTIONS[kind] and str(file) != "-":
        asked["source"] = file.name
    answer = _until_complete(session, kind, file_bytes(file), {**asked, "dry_run": dry_run or None})
    session.answer(
        answer,
        table(answer["schedules"], _OUTCOMES, "schedules"),
        *([table(answer["refused"], _REFUSED)] if answer["refused"] else ()),
        *(text(note, "dim") for note in answer.get("notes") or ()),
        text(", ".join(f"{count} {name}" for name, count in answer["counts"].items() if count)),
    )
    if answer["refused"] and not dry_run:
        raise typer.Exit(REFUSED)


def _until_complete(session: Session, kind: Kind, content: bytes, query: dict[str, Any]) -> Any:
    """The last answer: one that ran out of time is asked the same again, and goes on where it was."""
    for _ in range(MAX_ROUNDS):
        answer = session.api.ask(
            "POST", at("imports", kind), query=query, content=(content, _TYPES[kind]), repeat=Repeat.AS_IS
        ).data
        if answer["complete"] or query["dry_run"]:
            return answer
        session.screen.note(f"{answer['counts'].get('pending', 0)} are still to come …")
    raise WrongUse("the import does not come to its end; apply a part of the file")


def export(
    session: Session,
    into: Annotated[
        Path | None, typer.Option("--folder", help="Write each schedule to a file here, as `apply` reads it.")
    ] = None,
    raw: Annotated[
        str | None, typer.Option("--documents", help="Write the whole documents here, as PREFIX-1.json, …")
    ] = None,
) -> None:
    """Export the tenant's schedules and calendars: a document for `import cronfleet`, or a folder for `apply`."""
    documents = list(_documents(session))
    unreadable = [each for document in documents for each in document["unreadable"]]
    for each in unreadable:
        session.screen.note(f"{each['id']} is missing: {each['reason']}", "yellow")
    if into is not None:
        schedules = [schedule for document in documents for schedule in document["schedules"]]
        files = folder.write(into, schedules)
        session.answer_with({"files": list(map(str, files))}, f"{len(files)} schedules are in {into}.")
    elif raw is not None:
        names = [f"{raw}-{number}.json" for number, _ in enumerate(documents, 1)]
        for name, document in zip(names, documents, strict=True):
            Path(name).write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
        session.answer_with({"files": names}, f"{len(names)} documents are in {', '.join(names)}.")
    elif len(documents) == 1:
        session.screen.json(documents[0])
    else:
        raise WrongUse(f"these are {len(documents)} documents; write --documents PREFIX, or --folder")


def _documents(session: Session) -> Any:
    path, cursor = at("tenants", session.own_tenant(), "export"), None
    for _ in range(MAX_PAGES):
        document = session.api.get(path, {"cursor": cursor})
        yield document
        cursor = document["cursor"]
        if cursor is None:
            return
