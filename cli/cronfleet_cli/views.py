"""Views: which parts of an answer people see, and how."""

from collections.abc import Mapping
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from cronfleet_cli.screen import Column, fields, status, table, text

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
    Column("id", "id"),
    Column("status", "status"),
    Column("when", "words"),
    Column("next", "next_fire_at"),
    Column("owner", "owner"),
    Column("labels", _labels),
)
RUNS: Final = (
    Column("nominal", "nominal_at"),
    Column("status", "status"),
    Column("cause", "cause"),
    Column("started", "started_at"),
    Column("lag", _lag, right=True),
    Column("tries", _attempts, right=True),
    Column("reason", lambda row: _reason(row) or _progress(row)),
    Column("run", "run_id"),
)
ATTEMPTS: Final = (
    Column("try", "number", right=True),
    Column("outcome", lambda row: row.get("outcome") or row.get("status")),
    Column("started", "started_at"),
    Column("finished", "finished_at"),
    Column("error", lambda row: row.get("error") or row.get("reason")),
)
FIRES: Final = (
    Column("nominal", "nominal_at"),
    Column("due", "due_at"),
    Column("", lambda row: "frozen" if row.get("frozen") else ""),
)
LEDGER: Final = (
    Column("at", "at"),
    Column("until", "until_nominal_at"),
    Column("fires", "count", right=True),
    Column("code", "code"),
    Column("what", "text"),
)
VERSIONS: Final = (
    Column("version", "version", right=True),
    Column("", lambda row: "current" if row.get("is_current") else ""),
    Column("at", "created_at"),
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
    Column("id", "id"),
    Column("status", "status"),
    Column("scope", "scope"),
    Column("until", "until"),
    Column("by", "by"),
    Column("reason", "reason"),
)
KEYS: Final = (
    Column("id", "id"),
    Column("status", "status"),
    Column("role", "role"),
    Column("name", "name"),
    Column("expires", "expires_at"),
    Column("last used", "last_used_at"),
)
TENANTS: Final = (Column("id", "id"), Column("status", "status"), Column("tier", "tier"), Column("name", "name"))
AUDIT: Final = (
    Column("at", "at"),
    Column("who", "actor"),
    Column("action", "action"),
    Column("what", lambda row: row.get("schedule_id") or row.get("subject")),
    Column("reason", "reason"),
)
OPERATIONS: Final = (
    Column("id", "id"),
    Column("kind", "kind"),
    Column("status", "status"),
    Column("total", "total", right=True),
    Column("counts", "counts"),
    Column("created", "created_at"),
    Column("reason", "reason"),
)
LINT: Final = (
    Column("schedule", "id"),
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


def schedule(row: Row) -> RenderableType:
    """One schedule: what it says and how it stands, its warnings last."""
    parts: list[RenderableType] = [fields(row, leave_out=("warnings", "effect"))]
    parts += [warning(each) for each in row.get("warnings") or ()]
    if "effect" in row:
        parts.append(effect(row["effect"]))
    return Group(*parts)


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
