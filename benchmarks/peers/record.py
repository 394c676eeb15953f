"""What ran, by the handlers' own record: one line for each call, written before the handler returned."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.drivers.herd import Order


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the handler."""

    name: str
    at_ns: int


@dataclass(frozen=True, slots=True)
class Tally:
    """Of the herd: `ran` at least once, `doubled` more than once; `stuck` did not run but stands in the store as open.

    `lost` did not run, and nothing in the store says that they still will. `early` ran before they were due.
    """

    ran: int
    doubled: int
    stuck: int
    lost: int
    early: int = 0


def read(path: Path) -> Sequence[Call]:
    """The calls in a record; a line that is still being written is left out."""
    if not path.exists():
        return []
    lines = path.read_text().split("\n")[:-1]
    return [Call(name, int(at)) for name, _, at in (line.partition(" ") for line in lines)]


def tally(calls: Sequence[Call], order: Order, still_open: Collection[str]) -> Tally:
    """Count the herd of `order` by its record and by what its store has open."""
    times = Counter(call.name for call in calls)
    missing = [name for name in order.names if name not in times]
    stuck = len(set(missing) & set(still_open))
    return Tally(
        ran=order.schedules - len(missing),
        doubled=sum(count - 1 for count in times.values()),
        stuck=stuck,
        lost=len(missing) - stuck,
        early=sum(call.at_ns < order.due * 10**9 for call in calls),
    )


def lags(calls: Sequence[Call], order: Order) -> Sequence[float]:
    """Seconds from due to the first call, of each schedule that ran, shortest first."""
    first: dict[str, int] = {}
    for call in calls:
        first.setdefault(call.name, call.at_ns)
    return sorted(at / 10**9 - order.due for at in first.values())


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the sorted values lie; 0 for none."""
    return values[min(int(len(values) * share), len(values) - 1)] if values else 0.0
