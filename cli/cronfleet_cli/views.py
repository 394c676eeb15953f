"""Views: which parts of an answer people see, and how."""

from collections.abc import Mapping
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from cronfleet_cli.screen import Column, fields, shown, status, table, text

Row = Mapping[str, Any]


def _reason(row: Row) -> str:
    return str((row.get("reason") or {}).get("text", ""))


def _attempts(row: Row) -> str:
    return str(len(row.get("attempts") or ())) if row.get("attempts") else ""


def _labels(row: Row) -> str:
    return " ".join(f"{name}={value}" for name, value in (row.get("labels") or {}).items())


def _lag(row: Row) -> str:
    lag = row.get("lag_seconds")
    return "" if lag is None else f"{lag:.1f}s"


def _progress(row: Row) -> str:
    progress = row.get("progress") or {}
    share = progress.get("fraction")
    percent = "" if share is None else f"{share:.0%} "
    return f"{percent}{progress.get('text') or ''}".strip()


SCHEDULES: Final = (
    Column("id", "id", whole=True),
    Column("status", "status"),
    Column("when", "words"),
    Column("next", "next_fire_at", whole=True),
    Column("owner", "owner"),
    Column("labels", _labels),
)
RUNS: Final = (
    Column("nominal", "nominal_at", whole=True),
    Column("status", "status"),
    Column("lag", _lag, right=True),
    Column("tries", _attempts, right=True),
    Column("reason", lambda row: _reason(row) or _progress(row)),
    Column("run", "run_id", whole=True),
)
ATTEMPTS: Final = (
    Column("try", "number", right=True),
    Column("outcome", lambda row: row.get("outcome") or row.get("status")),
    Column("started", "started_at"),
    Column("finished", "finished_at"),
    Column("error", lambda row: row.get("error") or row.get("reason")),
)
FIRES: Final = (
    Column("nominal", "nominal_at", whole=True),
    Column("due", "due_at"),
    Column("", lambda row: "frozen" if row.get("frozen") else ""),
)
LEDGER: Final = (
    Column("at", "at", whole=True),
    Column("until", "until_nominal_at"),
    Column("fires", "count", right=True),
    Column("code", "code"),
    Column("what", "text"),
)
VERSIONS: Final = (
    Column("version", "version", right=True),
    Column("", lambda row: "current" if row.get("is_current") else ""),
    Column("at", "created_at", whole=True),
    Column("author", "author"),
    Column("changed", lambda row: ", ".join(row.get("changed") or ())),
    Column("reason", "reason"),
)
CHANGES: Final = (
    Column("field", "field"),
    Column("change", "change"),
    Column("before", "before"),
    Column("after", "after"),
)
FREEZES: Final = (
    Column("id", "id", whole=True),
    Column("status", "status"),
    Column("scope", "scope"),
    Column("until", "until"),
    Column("by", "by"),
    Column("reason", "reason"),
)
KEYS: Final = (
    Column("id", "id", whole=True),
    Column("status", "status"),
    Column("role", "role"),
    Column("name", "name"),
    Column("expires", "expires_at"),
    Column("last used", "last_used_at"),
)
TENANTS: Final = (
    Column("id", "id", whole=True),
    Column("status", "status"),
    Column("tier", "tier"),
    Column("name", "name"),
)
AUDIT: Final = (
    Column("at", "at", whole=True),
    Column("who", "actor"),
    Column("action", "action"),
    Column("what", lambda row: row.get("schedule_id") or row.get("subject")),
    Column("reason", "reason"),
)
OPERATIONS: Final = (
    Column("id", "id", whole=True),
    Column("kind", "kind"),
    Column("status", "status"),
    Column("of", "total", right=True),
    Column("counts", lambda row: counted(row.get("counts") or {})),
    Column("created", "created_at", whole=True),
    Column("reason", "reason"),
)
RESULTS: Final = (
    Column("nominal", "nominal_at", whole=True),
    Column("schedule", "schedule_id", whole=True),
    Column("state", "state"),
    Column("finished", "finished_at"),
    Column("reason", _reason),
    Column("run", "run_id", whole=True),
)
LETTERS: Final = (
    Column("died", "died_at", whole=True),
    Column("failure", "failure"),
    Column("signature", "signature", whole=True),
    Column("expires", lambda row: row["expires_at"] if row.get("expires_soon") else ""),
    Column("run", "run_id", whole=True),
)
LETTER_GROUPS: Final = (
    Column("count", "count", right=True),
    Column("signature", "signature", whole=True),
    Column("failure", "failure"),
    Column("schedules", lambda row: ", ".join(row.get("schedules") or ())),
    Column("first", "first_died_at", whole=True),
    Column("last", "last_died_at", whole=True),
    Column("expires", lambda row: row["first_expires_at"] if row.get("expires_soon") else ""),
)
RELATED: Final = (
    Column("", "side"),
    Column("schedule", "schedule_id", whole=True),
    Column("status", "status"),
    Column("latest", "latest.nominal_at", whole=True),
    Column("ended", "latest.status"),
)
UNREADABLE: Final = (
    Column("came", "came_at"),
    Column("queue", "queue"),
    Column("received", "receives", right=True),
    Column("why", "why"),
    Column("id", "id", whole=True),
)
LINT: Final = (
    Column("schedule", "id", whole=True),
    Column("status", "status"),
    Column("when", "words"),
    Column("warnings", lambda row: "\n".join(warning["text"] for warning in row["warnings"])),
)


def run(row: Row) -> RenderableType:
    """One run with its attempts."""
    parts: list[RenderableType] = [fields(row, leave_out=("attempts",))]
    if row.get("attempts"):
        parts.append(table(row["attempts"], ATTEMPTS))
    return Group(*parts)


_FIRST: Final = ("id", "status", "words", "next_fire_at")


def schedule(row: Row) -> RenderableType:
    """One schedule: how it stands, what it says, and its warnings last. A policy stands in one line."""
    policies = {name: _one_line(policy) for name, policy in (row.get("policies") or {}).items()}
    ordered = {**{name: row.get(name) for name in _FIRST}, **row, "policies": policies}
    parts: list[RenderableType] = [fields(ordered, leave_out=("warnings", "effect"))]
    parts += [warning(each) for each in row.get("warnings") or ()]
    if "effect" in row:
        parts += [effect(row["effect"]), text("Nothing is changed: this is what would be.", "bold")]
    return Group(*parts)


def _one_line(policy: Any) -> Any:
    if not isinstance(policy, Mapping):
        return policy
    said = ((name, value) for name, value in policy.items() if value is not None)
    return " ".join(
        f"{name}=({_one_line(value)})" if isinstance(value, Mapping) else f"{name}={shown(value)}"
        for name, value in said
    )


def warning(row: Row) -> Text:
    """A warning, in one line."""
    return Text.assemble(text("! ", "yellow"), text(row.get("text")))


def effect(row: Row) -> Text:
    """What a change does to the fires, in one line."""
    counts = {name: row.get(name, {}).get("count", 0) for name in ("gained", "lost", "moved")}
    said = ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "none comes, goes or moves"
    return text(f"Fires up to {row.get('until')}: {said}, {row.get('unchanged', 0)} stay.")


def explanation(row: Row) -> RenderableType:
    """Why it ran at a time, or did not."""
    head = Text.assemble(text(row.get("at"), "bold"), "  ", status(row.get("code")), "\n", text(row.get("text")))
    parts: list[RenderableType] = [head]
    if row.get("detail"):
        parts.append(fields(row["detail"]))
    if row.get("run"):
        parts.append(table([row["run"]], RUNS))
    return Group(*parts)


def counted(counts: Row) -> str:
    """Counts by state, without what there is none of."""
    return " ".join(f"{name}={count}" for name, count in counts.items() if count)


def operation(row: Row) -> RenderableType:
    """One operation: what it does, how far it is, and why it stopped if it did."""
    flat = {**row, "counts": counted(row.get("counts") or {})}
    return fields(flat, leave_out=("is_over",))


def letter(row: Row) -> RenderableType:
    """One dead letter, with all there is of it."""
    return Group(fields(row, leave_out=("run",)), run(row["run"]))


def dependencies(row: Row) -> RenderableType:
    """What a schedule runs after and what runs after it, with the latest run of each, and the latest join."""
    related = [
        {"side": side, **each} for side, name in (("after", "parents"), ("then", "dependants")) for each in row[name]
    ]
    parts: list[RenderableType] = [table(related, RELATED, "schedules before or after it")]
    if row.get("after"):
        parts.insert(0, fields({"after": _one_line(row["after"])}))
    if row.get("latest"):
        parts.append(fields({"latest": row["latest"]}))
    return Group(*parts)


LEVELS: Final = {"WARNING": "yellow", "ERROR": "red", "CRITICAL": "bold red", "DEBUG": "dim"}


def log_line(row: Row) -> Text:
    """One line of a log."""
    level = str(row.get("level", ""))
    return Text.assemble(
        text(row.get("at"), "dim"), " ", text(f"{level:<7}", LEVELS.get(level, "")), " ", text(row["text"])
    )
