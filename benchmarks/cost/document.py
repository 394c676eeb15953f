"""The tables of docs/capacity.md about money and quotas."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final

from benchmarks.cost.bill import Costs
from benchmarks.cost.needs import needs
from benchmarks.cost.workload import Workload
from benchmarks.marked import replaced, table

DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "capacity.md"

SIZES: Final = (
    (1, 1),
    (100, 20),
    (1_000, 200),
    (10_000, 1_000),
    (100_000, 5_000),
    (1_000_000, 20_000),
    (10_000_000, 100_000),
)
"""Schedules, and firings a minute all day."""
PEAKED: Final = Workload(10_000_000, 100_000, hours_a_day=1)

_HEADINGS: Final = (
    "schedules",
    "firings a minute",
    "hours a day",
    "shards",
    "on demand",
    "provisioned",
    "EventBridge",
    "with history",
)


@cache
def rows() -> tuple[Costs, ...]:
    """What is shown, the smallest first."""
    return (*(Costs(Workload(*size)) for size in SIZES), Costs(PEAKED))


def tables() -> dict[str, str]:
    """By the names of their markers."""
    return {"cost": table(_cost()), "needs": table(_needs())}


def _cost() -> Iterable[list[str]]:
    yield list(_HEADINGS)
    for costs in rows():
        workload = costs.workload
        size = (workload.schedules, workload.firings_per_minute, workload.hours_a_day, workload.shards)
        bills = (costs.on_demand, costs.provisioned, costs.eventbridge, costs.eventbridge_with_history)
        yield [
            *(f"{one:,}" for one in size),
            *(_shown(bill.dollars, bill.per_million(workload.firings)) for bill in bills),
        ]


def _shown(dollars: float, per_million: float | None) -> str:
    return f"${dollars:,.0f} ({per_million:,.2f})" if per_million is not None else f"${dollars:,.0f}"


def _needs() -> Iterable[list[str]]:
    yield ["firings a minute", "shards", "runs at once", "GB kept", "quotas to raise first"]
    for costs in rows()[:-1]:
        found = needs(costs)
        raised = [f"{one.name}: {one.needed:,} ({one.default:,})" for one in found.quotas if not one.is_enough]
        firings = f"{costs.workload.firings_per_minute:,g}"
        kept = f"{costs.kept_gb:,.1f}"
        yield [firings, str(found.shards_at_least), f"{found.worker_concurrency:,}", kept, "; ".join(raised) or "none"]


def written(document: str) -> str:
    """`document` with what stands between its markers made anew."""
    return replaced(document, tables(), DOCUMENT.name)


def write() -> None:
    """Put the tables into the document."""
    DOCUMENT.write_text(written(DOCUMENT.read_text()))
