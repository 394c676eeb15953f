"""The verdict on a stack that was under fire: when all has come to rest, and what is to be complained of."""

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cronfleet.adapters.dynamodb.items.packing import unpack
from local.aws import Aws
from local.testing import StackProcess
from tests.e2e import ledger, victims
from tests.e2e.callers import ACCOUNTS, BILLED, CALLED, Callers, now
from tests.e2e.clocks import Clocks

LOOK_SECONDS = 5
TABLES = "cronfleet"

Histories = Mapping[str, Sequence[ledger.Row]]


@dataclass(frozen=True)
class Verdict:
    """What the sum came to, `seconds` after it was first asked for."""

    owed: int
    statuses: Counter[str]
    complaints: list[str]
    seconds: float

    def __str__(self) -> str:
        entries = f"{self.statuses.total()} entries {dict(self.statuses)}"
        rest = f"at rest {self.seconds:.0f} s later"
        return f"{self.owed} nominal times, {entries}, {len(self.complaints)} complaints, {rest}"


def settle(
    stack: StackProcess,
    callers: Callers,
    clocks: Clocks | None,
    until: int,
    limit: float,
    meanwhile: Callable[[str], None],
) -> Verdict:
    """Add up again and again until there is nothing to complain of, or `limit` seconds are over.

    `meanwhile` is told, after each look, what is still amiss.
    """
    began = time.monotonic()
    while True:
        histories = {name: _past(callers.client.runs(name), until) for name in callers.orders}
        complaints = list(complaints_of(stack, callers, clocks, histories, until))
        if not complaints or time.monotonic() - began > limit:
            owed = sum(len(list(order.owed(until))) for order in callers.orders.values())
            statuses = Counter(row["status"] for rows in histories.values() for row in rows)
            return Verdict(owed, statuses, complaints, time.monotonic() - began)
        meanwhile(f"{len(complaints)} complaints yet: {kinds(complaints)}")
        time.sleep(LOOK_SECONDS)


def kinds(complaints: Sequence[str]) -> dict[str, int]:
    """How many complaints there are of each kind: alike but for names and numbers."""
    return dict(Counter(re.sub(r"\S*\d\S*", "…", text) for text in complaints).most_common())


def complaints_of(
    stack: StackProcess, callers: Callers, clocks: Clocks | None, histories: Histories, until: int
) -> Iterator[str]:
    """Everything that is not as promised, for nominal times up to `until`."""
    yield from callers.failures
    for name, rows in histories.items():
        yield from ledger.audit(callers.orders[name], rows, until)
    yield from ledger.witnesses(_logged(stack))
    yield from callers.receiver.complaints(row for name in CALLED for row in histories[name])
    if clocks is not None:
        yield from clocks.complaints()
    yield from _manual(callers, histories)
    aws = Aws(stack.facts["emulator"])
    yield from _receipts(aws, histories[BILLED])
    yield from _books(aws, until)


def _past(rows: Sequence[ledger.Row], until: int) -> list[ledger.Row]:
    return [row for row in rows if row["cause"] != "schedule" or ledger.instant(row["nominal_at"]) <= until]


def _manual(callers: Callers, histories: Histories) -> Iterator[str]:
    """What was run by hand is there once, and nothing else is."""
    found = Counter(
        row["run_id"]
        for name, rows in histories.items()
        for row in rows
        if row["cause"] != "schedule" and not callers.orders[name].is_caught_up(row)
    )
    for run_id in callers.manual | found.keys():
        if found[run_id] != 1 or run_id not in callers.manual:
            yield f"{run_id}: asked for: {run_id in callers.manual}, found: {found[run_id]} times"


def _receipts(aws: Aws, rows: Sequence[ledger.Row]) -> Iterator[str]:
    """Each account of each run that succeeded has its receipt."""
    found: dict[str, set[str]] = {}
    for item in aws.all("dynamodb", "scan", "Items", TableName=f"{TABLES}-receipts"):
        _, moment, cause, name = item["sk"]["S"].split("#")
        found.setdefault(f"{moment}~{cause}", set()).add(name)
    for row in rows:
        names = found.get(row["run_id"].split("~", 3)[3], set())
        if row["status"] == "succeeded" and names != {f"invoice-{account}" for account in ACCOUNTS}:
            yield f"{row['run_id']} succeeded with the receipts {sorted(names)}"


def _books(aws: Aws, until: int) -> Iterator[str]:
    """The sweeper has settled every batch that was claimed by then."""
    items = list(aws.all("dynamodb", "scan", "Items", TableName=f"{TABLES}-shards"))
    claimed_at = {
        (item["pk"]["S"], item["sk"]["S"]): int(item["claimed_at"]["N"]) for item in items if "claimed_at" in item
    }
    books = {item["pk"]["S"]: item for item in items if item["sk"]["S"] == "BOOKS"}
    for (shard, batch), moment in claimed_at.items():
        closed_through = books[shard]["closed_through"]["S"] if shard in books else ""
        if moment <= until and batch > closed_through:
            yield f"{shard}: {batch} was never looked at"
    for shard, item in books.items():
        for open_batch in unpack(item["owed"]["B"]):
            _, fence, number = map(int, open_batch.split("."))
            if claimed_at[shard, f"B#{fence:012}#{number:06}"] <= until:
                yield f"{shard}: batch {open_batch} is not settled"


def _logged(stack: StackProcess) -> Iterator[dict[str, Any]]:
    """What functions and jobs have logged."""
    for line in (stack.state / "emulator.log").read_text(errors="replace").splitlines():
        if line.startswith("{"):
            try:
                yield json.loads(line)
            except ValueError:
                continue


def calm(stack: StackProcess, callers: Callers, seconds: int) -> str:
    """Lag and processor time while nothing is killed, in words."""
    pids = {name: stack.facts["processes"][name] for name in ("emulator", "front", "supervisor")}
    before = {name: victims.cpu_seconds(pid) for name, pid in pids.items()}
    since = now()
    time.sleep(seconds)
    used = {name: 100 * (victims.cpu_seconds(pid) - before[name]) / seconds for name, pid in pids.items()}
    time.sleep(LOOK_SECONDS)
    rows = [row for name in callers.orders for row in callers.client.runs(name)]
    lags = ledger.lags(rows, since, since + seconds * ledger.SECOND)
    if not lags:
        return "in calm nothing ran"
    p50, p99 = lags[len(lags) // 2], lags[len(lags) * 99 // 100]
    cpu = ", ".join(f"{name} {share:.0f} %" for name, share in used.items())
    lag = f"lag p50 {p50:.2f} s, p99 {p99:.2f} s, max {lags[-1]:.2f} s"
    return f"in calm {len(lags) / seconds:.1f} firings/s, {lag}; CPU {cpu}"
