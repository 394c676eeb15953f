"""What a workload costs a month on AWS, beside EventBridge Scheduler, and which quotas to raise for it.

    python -m benchmarks.cost --schedules 1000000 --firings-per-minute 10000 --hours-a-day 24
    python -m benchmarks.cost --schedules 1000000 --firings-per-minute 10000 --hours-a-day 24 --json
    python -m benchmarks.cost --write      puts the tables into docs/capacity.md

Units come from the counts that tests assert (`benchmarks/metering`), prices from `infra/prices.py`.
"""

import argparse
import json
import sys
from dataclasses import MISSING, asdict, fields
from typing import Any

from benchmarks.cost import bill, document
from benchmarks.cost.bill import Bill, Costs
from benchmarks.cost.needs import needs
from benchmarks.cost.workload import HOURS_A_MONTH, Workload, WrongWorkload

BILLS = {
    "on_demand": "Cronfleet, DynamoDB on demand",
    "provisioned": "Cronfleet, DynamoDB provisioned",
    "eventbridge": "EventBridge Scheduler, queue and workers, no history",
    "eventbridge_with_history": "EventBridge Scheduler with a row for each run",
}

ASSUMED = (
    "REQUEST_MS",
    "TICK_MS",
    "WORKER_MS",
    "WORKER_REQUESTS",
    "CONTROL_GB",
    "LOG_BYTES_A_RUN",
    "METRICS",
    "ALARMED_METRICS",
    "TRIGGERS",
    "POLLERS_AT_REST",
    "LONG_POLL_SECONDS",
    "UTILISATION",
    "RECEIVES_A_FIRING",
    "HISTORY_WRITES",
)
"""Constants of `benchmarks.cost.bill`."""


def form(costs: Costs) -> dict[str, Any]:
    """All of it as JSON."""
    firings = costs.workload.firings
    return {
        "workload": asdict(costs.workload),
        "assumptions": assumptions(),
        "firings_a_month": round(firings),
        "firings_at_once": round(costs.workload.in_a_tick, 3),
        "units_per_firing": _per_firing(costs),
        "kept_gb": round(costs.kept_gb, 3),
        **{name: getattr(costs, name).form(firings) for name in BILLS},
        "needs": needs(costs).form(),
    }


def assumptions() -> dict[str, float]:
    """What the bill takes for granted, by name."""
    return {"hours_a_month": HOURS_A_MONTH} | {name.lower(): getattr(bill, name) for name in ASSUMED}


def _per_firing(costs: Costs) -> dict[str, float]:
    firings = costs.workload.firings
    return {name: round(value / firings, 4) if firings else 0 for name, value in asdict(costs.firing).items()}


def text(costs: Costs) -> str:
    """For people: the lines of our bill, the sums of all, and what to raise first."""
    workload, found = costs.workload, needs(costs)
    lines = [
        (
            f"{workload.schedules:,} schedules, {workload.firings_per_minute:,g} firings a minute for "
            f"{workload.hours_a_day:g} hours a day: {workload.firings:,.0f} firings a month of {HOURS_A_MONTH} hours"
        ),
        "",
        *_lines(costs.on_demand),
        "",
        f"{'a month, by list price':<56}{'$':>14}{'free tier off':>16}{'$ per million':>16}",
    ]
    for name, title in BILLS.items():
        one: Bill = getattr(costs, name)
        million = one.per_million(workload.firings)
        shown = "-" if million is None else f"{million:,.2f}"
        lines.append(f"{title:<56}{one.dollars:>14,.2f}{one.after_free_tier:>16,.2f}{shown:>16}")
    lines += ["", f"Shards: {found.shards_at_least} at least ({workload.shards} claim a minute's firings that are all "]
    lines[-1] += f"due in one second in {found.herd_seconds:g} s); runs at once: {found.worker_concurrency:,}"
    lines += [f"Raise: {one.name} from {one.default:,} to {one.needed:,}" for one in found.quotas if not one.is_enough]
    return "\n".join(lines)


def _lines(one: Bill) -> list[str]:
    shown = [line for line in one.lines if line.quantity]
    head = f"{'Cronfleet, DynamoDB on demand':<40}{'quantity':>16}  {'unit':<14}{'$ a month':>14}"
    return [head, *(f"{line.name:<40}{line.quantity:>16,.2f}  {line.unit:<14}{line.dollars:>14,.2f}" for line in shown)]


def _workload(arguments: list[str]) -> tuple[Workload, argparse.Namespace]:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cost", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for field in fields(Workload):
        kind = field.type if isinstance(field.type, type) else {"int": int, "float": float}[str(field.type)]
        default = {"schedules": 1_000, "firings_per_minute": 100}.get(field.name, field.default)
        assert default is not MISSING
        parser.add_argument(
            "--" + field.name.replace("_", "-"), type=kind, default=default, metavar="N", help=f"{default} if left out"
        )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/capacity.md")
    parsed = parser.parse_args(arguments)
    try:
        return Workload(**{field.name: getattr(parsed, field.name) for field in fields(Workload)}), parsed
    except WrongWorkload as error:
        parser.error(str(error))


def main(arguments: list[str]) -> None:
    """Print, or write."""
    workload, parsed = _workload(arguments)
    if parsed.write:
        document.write()
        print(f"{document.DOCUMENT.name} is written")
        return
    costs = Costs(workload)
    print(json.dumps(form(costs), indent=2) if parsed.json else text(costs))


if __name__ == "__main__":
    main(sys.argv[1:])
