"""Backfills: each date of the stretch exactly once, nothing else, and everything comes to an end."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from simulator.checkers.nominals import instant, nominals
from simulator.checkers.statuses import TERMINAL
from simulator.checkers.violation import Violation
from simulator.world import World

CAUSE: Final = "backfill-"
NO_RUN: Final = frozenset({"passed_over", "forgotten"})


def check_operations(world: World, end_at: int) -> Iterator[Violation]:
    """What every backfill that there is has made of its dates."""
    rows: defaultdict[tuple[str, str], list[Any]] = defaultdict(list)
    for key, row in world.rows.items():
        if key.cause.startswith(CAUSE):
            rows[key.tenant, key.cause.removeprefix(CAUSE)].append(row)
    for place, operation in world.store.state.operations.items():
        yield from _check_one(world, operation, rows.pop(place, []), end_at)
    for place in rows:
        yield Violation(end_at, "runs of a backfill that there never was", str(place))


def _check_one(world: World, operation: Any, rows: list[Any], end_at: int) -> Iterator[Violation]:
    name = f"{operation.tenant} {operation.operation_id}"
    if operation.ended_at is None:
        yield Violation(end_at, "a backfill does not come to its end", f"{name}: {operation.status}")
    at = operation.ended_at or end_at
    times = Counter(row.key.nominal_at for row in rows)
    for nominal_at, count in times.items():
        if count > 1:
            yield Violation(at, "a date of a backfill ran more than once", f"{name}: {nominal_at}")
    wanted = _dates(world, operation)
    invented = [] if wanted is None else sorted(times.keys() - set(wanted))
    if invented:
        yield Violation(at, "a backfill ran what is no date of it", f"{name}: {invented[0]}")
    yield from _check_counts(operation, rows, wanted, at)


def _check_counts(operation: Any, rows: list[Any], wanted: list[int] | None, at: int) -> Iterator[Violation]:
    """What it counts is what there is; a finished one has come by each date."""
    name, counts = f"{operation.tenant} {operation.operation_id}", Counter(operation.counts)
    begun = {status: count for status, count in counts.items() if status not in NO_RUN}
    ends = Counter(row.status.value for row in rows if row.status.value in TERMINAL)
    if operation.ended_at is not None and begun != dict(ends):
        yield Violation(at, "a backfill counts its runs wrong", f"{name}: {begun} of {dict(ends)}")
    if counts["forgotten"]:
        yield Violation(at, "runs of a backfill are gone", f"{name}: {counts['forgotten']}")
    if operation.status.value == "finished" and wanted is not None and counts.total() != len(wanted):
        yield Violation(at, "a date of a backfill was lost", f"{name}: {counts.total()} of {len(wanted)}")


def _dates(world: World, operation: Any) -> list[int] | None:
    """The dates by the oracle; `None` where the audit log does not tell what its version said, or a calendar rules."""
    ((schedule_id, version, _epoch),) = operation.asked["subjects"]
    said = _form(world, operation.tenant, schedule_id, version)
    if said is None or said["trigger"].get("calendar") is not None:
        return None
    since, until = operation.asked["from"], operation.asked["to"] - 1
    if said.get("start_at"):
        since = max(since, instant(said["start_at"]))
    if said.get("end_at"):
        until = min(until, instant(said["end_at"]))
    return nominals(said["trigger"], since - 1, until)


def _form(world: World, tenant: str, schedule_id: str, version: int) -> Mapping[str, Any] | None:
    """What the audit log says of a version of a schedule."""
    for entry in world.store.state.audit.values():
        after = entry.after or {}
        is_of_it = (entry.tenant, entry.schedule_id, after.get("version")) == (tenant, schedule_id, version)
        if is_of_it and after.get("trigger"):
            return after
    return None
