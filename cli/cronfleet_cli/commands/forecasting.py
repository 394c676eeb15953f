"""Forecasting: how many fires are due in the next days, as a chart or as numbers."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Literal

import typer
from rich.text import Text

from cronfleet_cli import options as o
from cronfleet_cli.api import at
from cronfleet_cli.errors import WrongUse
from cronfleet_cli.screen import Column, table, text
from cronfleet_cli.session import Session, command

MAX_PAGES: Final = 1_000
"""Answers that are added up: of 2,000 schedules each, or fewer that fire very often."""

ROWS: Final = 48
BAR: Final = 40
WIDTHS: Final = (1, 5, 10, 15, 30, 60, 120, 240)
"""Minutes that a row of the chart may stand for."""
_EIGHTHS: Final = " ▏▎▍▌▋▊▉"
_TIME: Final = "%Y-%m-%dT%H:%M:%SZ"

By = Annotated[
    Literal["minute", "shard", "tenant"], typer.Option("--by", help="What the fires are counted by.", metavar="BY")
]
Platform = Annotated[bool, typer.Option("--platform", help="Of all tenants; for platform admins.")]


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    command(app, "forecast")(forecast)


def forecast(
    session: Session, from_: o.From = None, to: o.To = None, by: By = "minute", platform: Platform = False
) -> None:
    """Show how many fires are due in the next day, or up to seven, and when the peak is."""
    found = _added_up(session, {"from": from_, "to": to, "by": by, "scope": "platform" if platform else None})
    session.answer(found, *_shown(found))


def _added_up(session: Session, query: Mapping[str, Any]) -> dict[str, Any]:
    """The whole forecast: a large tenant's comes in parts, of which each counts other schedules."""
    whole: dict[str, Any] = session.api.get(at("forecast"), query)
    cursor = whole["cursor"]
    for _ in range(MAX_PAGES):
        if cursor is None:
            return whole
        part = session.api.get(at("forecast"), {**query, "from": whole["from"], "to": whole["to"], "cursor": cursor})
        whole, cursor = _sum(whole, part), part["cursor"]
    raise WrongUse(f"more than {MAX_PAGES} answers would have to be added; ask for a shorter time")


def _sum(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Two parts of a forecast as one; the peak is known where minutes are."""
    numbers = {name: one[name] + other[name] for name in ("fires", "schedules", "uncomputable", "following", "mean")}
    made = {**one, **numbers, "read_at": other["read_at"], "is_complete": other["is_complete"], "cursor": None}
    for name, key in (("shards", "shard"), ("tenants", "tenant")):
        if one[name] is not None:
            parts = {row[key]: row["fires"] for row in one[name]}
            for row in other[name]:
                parts[row[key]] = parts.get(row[key], 0) + row["fires"]
            made[name] = [{key: part, "fires": fires} for part, fires in sorted(parts.items())]
    made["peak"] = made["peak_to_mean"] = None
    if one["minutes"] is not None:
        made["minutes"] = minutes = [a + b for a, b in zip(one["minutes"], other["minutes"], strict=True)]
        most = max(minutes)
        if most:
            made["peak"] = {"at": _later(one["from"], minutes.index(most)), "fires": most}
            made["peak_to_mean"] = round(most / (sum(minutes) / len(minutes)), 2)
    return made


def _later(moment: str, minutes: int) -> str:
    return (datetime.strptime(moment, _TIME) + timedelta(minutes=minutes)).strftime(_TIME)  # noqa: DTZ007 - Z, both ways


def _shown(found: Mapping[str, Any]) -> Sequence[Any]:
    whose = "all tenants" if found["scope"] == "platform" else "this tenant"
    said = f"{found['fires']:,} fires of {found['schedules']:,} schedules of {whose}, {found['from']} to {found['to']}"
    parts: list[Any] = [text(said, "bold")]
    if found["peak"] is not None:
        peak = f"peak {found['peak']['fires']:,} in the minute of {found['peak']['at']}"
        ratio = "" if found["peak_to_mean"] is None else f", {found['peak_to_mean']:g} times the mean"
        parts.append(text(f"{peak}{ratio}"))
    parts.append(text(f"counted {found['as_of']}", "dim"))
    for name, many in (("following", "run after others, and are not counted"), ("uncomputable", "cannot be computed")):
        if found[name]:
            parts.append(text(f"{found[name]:,} schedules {many}", "yellow"))
    for name, key in (("shards", "shard"), ("tenants", "tenant")):
        if found[name] is not None:
            rows = [{**row, key: _name(row[key])} for row in found[name]]
            parts.append(table(rows, (Column(key, key, whole=True), Column("fires", "fires", right=True)), "fires"))
    if found["minutes"] is not None:
        parts += _chart(found["from"], found["minutes"])
    return parts


def _name(part: Any) -> str:
    return "all others" if part is None else str(part)


def _chart(since: str, minutes: Sequence[int]) -> list[Text]:
    """A bar for each row's mean fires a minute, and a mark at its fullest minute."""
    width = next((one for one in WIDTHS if one * ROWS >= len(minutes)), WIDTHS[-1])
    rows = [minutes[start : start + width] for start in range(0, len(minutes), width)]
    most = max(map(max, rows))
    if not most:
        return []
    head = f"{'from':16}  {'fires a minute' if width == 1 else 'fires a minute: the mean, │ the fullest':{BAR + 1}}"
    lines = [text(f"{head}{'fires':>9}{'fullest':>9}", "bold")]
    for number, row in enumerate(rows):
        begins = _later(since, number * width)[:16].replace("T", " ")
        line = Text(f"{begins}  ")
        line.append(_bar(sum(row) / len(row), max(row), most), "cyan")
        line.append(f"{sum(row):>9,}")
        line.append(f"{max(row):>9,}", "bold red" if max(row) == most else "")
        lines.append(line)
    return lines


def _bar(mean: float, fullest: int, most: int) -> str:
    eighths = round(mean / most * BAR * 8)
    bar = "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
    mark = round(fullest / most * BAR)
    return f"{bar:{BAR + 1}}" if mark <= len(bar) else f"{bar:{mark}}│{'':{BAR - mark}}"
