"""Table: who may reach what, from the templates, in Markdown: a row for each part and thing."""

from collections.abc import Iterator
from typing import Final

from permissions.templates import Part, Role, Statement, Templates

HEADING: Final = "| part | may | of |\n|---|---|---|"


def table(templates: Templates, prefix: str) -> str:
    """The rows of every function and container; workers of all tiers are one row where they are alike."""
    roles = templates.roles()
    rows: dict[tuple[str, str], list[str]] = {}
    for part in templates.parts(prefix):
        for thing, actions in _things(roles[part.role], part, prefix):
            rows.setdefault((thing, actions), []).append(part.name)
    lines = [f"| {_parts(names)} | {actions} | {thing} |" for (thing, actions), names in rows.items()]
    return "\n".join([HEADING, *sorted(lines)])


def _things(role: Role, part: Part, prefix: str) -> Iterator[tuple[str, str]]:
    found: dict[str, set[str]] = {}
    for statement in role.statements:
        for resource in statement.resources:
            thing = _thing(resource, prefix).replace(f"/{part.name}`", "/<part>`").replace(f"-{part.name}:", "-<part>:")
            found.setdefault(thing + _only(statement), set()).update(statement.actions)
    for thing, actions in found.items():
        yield thing, ", ".join(sorted(action.partition(":")[2] for action in actions))


def _thing(arn: str, prefix: str) -> str:
    """`table runs` or `queue ticks` of an ARN; what tenants name keeps its pattern."""
    service, rest = arn.split(":", 5)[2], arn.split(":", 5)[5]
    kind = {"sqs": "queue ", "sns": "topic ", "events": "", "secretsmanager": ""}.get(service, "")
    return f"{kind}`{rest.replace(f'{prefix}-', '', 1) if '*' not in rest else rest}`"


def _only(statement: Statement) -> str:
    return f" where {statement.condition.replace('|', '/')}" if statement.condition else ""


def _parts(names: list[str]) -> str:
    return ", ".join(sorted(names))
