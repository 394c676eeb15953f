"""What a firing costs in write units, read units and requests, counted exactly, with its price.

    python -m benchmarks.units            prints the tables of docs/capacity.md
    python -m benchmarks.units --write    puts them into it

The real services and adapters run on a DynamoDB and an SQS in memory that charge by AWS's rules
(`benchmarks/metering`). `tests/integration/test_metering.py` holds those against the emulator, request by request,
`tests/unit/test_capacity_document.py` the counts against their budgets, and the document against the counts.
"""

import argparse
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from benchmarks.figures import Figure, report
from benchmarks.marked import replaced, table
from benchmarks.metering import prices
from benchmarks.metering.chain import metered_chain
from benchmarks.metering.scenarios import IDLE, SCENARIOS, UNCOUNTED, Count
from infra.prices import MILLION

DOCUMENT: Final = Path(__file__).parent.parent / "docs" / "capacity.md"

MINUTES_PER_MONTH: Final = 30 * 24 * 60
SHARDS: Final = (2, 64)

_HEADINGS: Final = (
    "a firing",
    "write units",
    "to close the books",
    "read units",
    "requests to the store",
    "by the dispatcher",
    "requests to queues",
    "invocations",
    "$ per million",
)


@cache
def counts() -> Mapping[str, Count]:
    """Every scenario's count by its name; played once."""
    return {scenario.name: scenario.count(metered_chain()) for scenario in SCENARIOS}


@cache
def idle_minute() -> Count:
    """What an idle minute of one shard asks for."""
    return IDLE.count(metered_chain())


def tables() -> Mapping[str, str]:
    """The generated parts of the document, by the name of their marker."""
    return {"firings": _firings(), "where": _where(), "idle": _idle()}


def _firings() -> str:
    found = counts()
    return table([_HEADINGS, *(_row(scenario.title, found[scenario.name]) for scenario in SCENARIOS)])


def _row(title: str, count: Count) -> list[str]:
    figures = (
        count.writes,
        count.books,
        count.reads,
        count.store_requests,
        count.dispatcher_requests,
        count.sqs,
        count.invocations,
        prices.per_million(count),
    )
    return [title, *(f"{figure:.2f}" for figure in figures)]


def _where() -> str:
    """Where the units of an ordinary firing in a herd go, request by request."""
    count = counts()["ordinary"]
    rows = [["part", "request", "table", "per firing", "write units", "read units"]]
    for name, part in count.parts.items():
        if name == UNCOUNTED:
            continue
        kinds = dict.fromkeys((one.operation, one.table) for one in part.bill.requests)
        for operation, of_table in kinds:
            same = [one for one in part.bill.requests if (one.operation, one.table) == (operation, of_table)]
            figures = (len(same), sum(one.writes for one in same), sum(one.reads for one in same))
            rows.append(
                [name, operation, of_table.partition("-")[2], *(f"{each / count.firings:.2f}" for each in figures)]
            )
    return table(rows)


def _idle() -> str:
    parts = idle_minute().parts
    rows = [["a minute of an idle shard", "write units", "read units", "requests to queues", "invocations"]]
    for name, part in parts.items():
        rows.append([name, *(f"{each:g}" for each in (part.bill.writes, part.bill.reads, part.sqs, part.invocations))])
    per_shard = sum(map(prices.of_part, parts.values())) / MILLION * MINUTES_PER_MONTH
    lines = [f"- {shards} shards: ${shards * per_shard:,.2f} a month" for shards in SHARDS]
    return "\n".join([table(rows), "", *lines])


def written(document: str) -> str:
    """`document` with what stands between its markers made anew."""
    return replaced(document, tables(), DOCUMENT.name)


def main() -> None:
    """Print the tables, or write them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.units", description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/capacity.md")
    if parser.parse_args().write:
        DOCUMENT.write_text(written(DOCUMENT.read_text()))
        print(f"{DOCUMENT.name} is written")
        return
    for content in tables().values():
        print(f"{content}\n", flush=True)
    report(*_figures())


def _figures() -> Iterator[Figure]:
    """The counts that have budgets, for the page of figures; the tables of docs/capacity.md have all."""
    found, tick = counts(), idle_minute().parts["dispatcher"]
    herd, lone = found["herd"], found["lone"]
    ticks = tick.invocations
    for what, count, most in (
        ("write units of an ordinary firing in a herd", herd.writes, 5.3),
        ("write units of a lone firing", lone.writes, 9.0),
        ("read units of an ordinary firing in a herd", herd.reads, 2.1),
        ("write units of an empty tick", tick.bill.writes / ticks, 1.0),
        ("read units of an empty tick", tick.bill.reads / ticks, 1.0),
        ("requests by the dispatcher for a firing in a herd", herd.dispatcher_requests, 0.2),
    ):
        yield Figure("Units", what, f"{count:.2f}", "exact", f"≤ {most:g}", count <= most)


if __name__ == "__main__":
    main()
