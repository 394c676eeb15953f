"""Table: who may reach what, from the templates, in Markdown: a row for each part."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from permissions.templates import Role, Statement, Templates

HEADING: Final = "| part | reads | writes | removes | sends to | takes from | besides |\n|---|---|---|---|---|---|---|"
BEGIN, END = "<!-- roles: begin -->", "<!-- roles: end -->"

READS: Final = frozenset({"GetItem", "BatchGetItem", "Query", "Scan"})
WRITES: Final = frozenset({"PartiQLUpdate", "PutItem", "UpdateItem"})
REMOVES: Final = frozenset({"DeleteItem", "BatchWriteItem"})


def table(templates: Templates, prefix: str) -> str:
    """The rows of every function and container; those that may do the same, their queues apart, share one."""
    roles = templates.roles()
    rows: dict[str, list[str]] = {}
    for part in sorted(templates.parts(prefix), key=lambda one: one.name):
        own = part.name.partition("-")[2]
        row = _row(roles[part.role], prefix)
        rows.setdefault(row.replace(f"runs-{own}", "runs-<tier>") if own else row, []).append(part.name)
    lines = [f"| {', '.join(names)} | {row} |" for row, names in rows.items()]
    return "\n".join([HEADING, *lines])


def put_into(document: Path, made: str) -> None:
    """Put a table between the marks of a document."""
    before, _, rest = document.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    document.write_text(f"{before}{BEGIN}\n{made}\n{END}{after}", encoding="utf-8")


def _row(role: Role, prefix: str) -> str:
    columns: list[set[str]] = [set() for _ in range(6)]
    for statement in role.statements:
        for action in statement.actions:
            for resource in statement.resources:
                for place, thing in _told(action, resource, statement, prefix):
                    columns[place].add(thing)
    return " | ".join(", ".join(sorted(one)) or "–" for one in columns)


def _told(action: str, resource: str, statement: Statement, prefix: str) -> Iterator[tuple[int, str]]:
    """In which column it stands, and as what. Logs are everybody's own, and a key is that of the tables."""
    service, _, verb = action.partition(":")
    name = resource.split(":", 5)[-1]
    if service == "dynamodb":
        thing = name.removeprefix("table/").partition("/")[0].removeprefix(f"{prefix}-") + _of(statement)
        for place, verbs in enumerate((READS, WRITES, REMOVES)):
            if verb in verbs:
                yield place, thing
    elif service == "sqs":
        yield (3 if verb == "SendMessage" else 4), name.removeprefix(f"{prefix}-")
    elif service not in ("logs", "kms"):
        yield 5, f"{verb} `{name}`"


def _of(statement: Statement) -> str:
    return " (of some keys alone)" if "LeadingKeys" in statement.condition else ""
