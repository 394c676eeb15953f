"""The promise of an upgrade: every local time of a schedule runs exactly once, by the new data once it is known.

Worked out with nothing but two offsets: each local time has one instant by the old data and one by the new, and those
of two local times never meet.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from simulator import zone_change
from simulator.checkers.promises import Spans
from simulator.checkers.violation import Violation
from simulator.faults import MINUTE, SECOND
from simulator.world import START, World
from simulator.zone_change import Upgrade

NEVER_RAN: Final = frozenset({"skipped", "cancelled", "frozen", "refused"})
CREATED_BY: Final = START + 5 * MINUTE


def check_zone_change(world: World, upgrade: Upgrade, spans: Spans) -> Iterator[Violation]:
    """For every schedule in the zone that moves."""
    for number in range(zone_change.MOVERS):
        name = zone_change.name_of(number)
        timers = [timer for key, timer in world.store.state.timers.items() if key[1] == name]
        rows = [row for key, row in world.rows.items() if key.schedule_id == name and key.cause == "schedule"]
        if timers:
            yield from _check(name, zone_change.APART_MINUTES * number, rows, timers[0], upgrade, spans)
    if spans.end_at > upgrade.ends_at + 30 * MINUTE:
        yield from _check_job(world, spans)


def _check(name: str, minute: int, rows: list[Any], timer: Any, upgrade: Upgrade, spans: Spans) -> Iterator[Violation]:
    ran = Counter(row.key.nominal_at for row in rows if row.status.value not in NEVER_RAN)
    lost = [row for row in rows if row.until_nominal_at is not None and row.status.value != "skipped"]
    ranges = [(row.key.nominal_at, row.until_nominal_at) for row in lost]
    for first, last in ranges:
        yield Violation(first, "a stretch in which a fire is lost", f"{name}: {first} to {last}")
    for at, times in ran.items():
        if times > 1:
            yield Violation(at, "one instant ran twice", f"{name} at {at}")
    born = max(CREATED_BY, timer.created_at)
    step = zone_change.EVERY_MINUTES * MINUTE
    begin = born + zone_change.OFFSET * SECOND + step
    local = begin - begin % step + minute * MINUTE
    while local - zone_change.OFFSET * SECOND < spans.settled_at - step:
        instants = _instants(local, upgrade)
        runs = [at for at in instants if ran[at]]
        if len(runs) != 1:
            text = "a local time did not run" if not runs else "a local time ran twice"
            yield Violation(instants[0], text, f"{name}: local {local}, which is one of {instants}; ran {runs}")
        elif runs[0] != instants[-1] and min(instants) > spans.calm_at + 30 * MINUTE:
            yield Violation(runs[0], "a local time ran by the old data", f"{name}: {runs[0]} instead of {instants[-1]}")
        local += step


def _instants(local: int, upgrade: Upgrade) -> list[int]:
    """When that local time is: by the old data, and, if that is another instant, by the new."""
    old = local - zone_change.OFFSET * SECOND
    new = old - upgrade.shift * SECOND
    forward = upgrade.shift > 0
    if new >= upgrade.changes_at:
        # Put back, the clock shows it twice where it also came before the change: the first counts.
        return [old] if not forward and old < upgrade.changes_at else [old, new]
    if forward and old >= upgrade.changes_at:
        return [old, upgrade.changes_at]  # in the gap: it fires at its end
    return [old]


def _check_job(world: World, spans: Spans) -> Iterator[Violation]:
    state = world.store.state
    release = state.zone_release
    if release is None or release.release != zone_change.AFTER:
        yield Violation(spans.end_at, "the new zone data never came into force", str(release))
    for job in state.open_retimings.values():
        yield Violation(spans.end_at, "a retiming never ends", str(job))
    for job in state.finished_retimings.values():
        if job.failed:
            yield Violation(spans.end_at, "a sound schedule was not retimed", str(job))
