"""Shadow's promise: what a schedule names while it is held in shadow is noted as such, and none of it is ever sent.

When a schedule was held, and in shadow, is read off the audit log.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from simulator.checkers.nominals import instant
from simulator.checkers.violation import Violation
from simulator.faults import SECOND
from simulator.world import World

FOREVER: Final = 1 << 62
NOTED: Final = {True: "shadow", False: "held"}

CLOCKS: Final = 5 * SECOND
"""How far the clock that dated a change may be from the true time of a call, and a second for the call itself."""


@dataclass(slots=True)
class Stretch:
    """From `start`, by the clock of who changed it, up to `end`: held, in shadow or not."""

    start: int
    in_shadow: bool
    end: int = FOREVER


def check_shadow(world: World, end_at: int) -> Iterator[Violation]:
    """Every row inside a stretch is of its kind, none outside is, and no call of a fire lies inside one."""
    yield from _check_turned_on(world)
    stretches = _stretches(world)
    for row in world.rows.values():
        if row.key.cause == "schedule":
            yield from _check_row(row, stretches.get((row.key.tenant, row.key.schedule_id), []))
    for call in world.history.calls:
        if not call.scheduled:
            continue
        for stretch in stretches.get((call.tenant, call.schedule_id), []):
            if stretch.start + CLOCKS < call.row_started_at < min(stretch.end, end_at) - CLOCKS:
                yield Violation(call.began_at, "a held schedule was run", f"{call}: {stretch}")


def _stretches(world: World) -> Mapping[tuple[str, str], list[Stretch]]:
    found: dict[tuple[str, str], list[Stretch]] = defaultdict(list)
    for entry in world.store.state.audit.values():
        after = entry.after or {}
        # A run that is asked for, and a cancellation of one, are no changes of the schedule.
        if "updated_at" not in after and entry.action != "cancel":
            continue
        stretches = found[entry.tenant, entry.schedule_id]
        at = instant(after["updated_at"]) if after else entry.at
        if stretches and stretches[-1].end == FOREVER:
            stretches[-1].end = at
        if after.get("status") == "held":
            stretches.append(Stretch(at, in_shadow=after["hold"]["shadow"] is not None))
    return found


def _check_turned_on(world: World) -> Iterator[Violation]:
    """Only a resume turns on what is held."""
    for entry in world.store.state.audit.values():
        was, is_now = (entry.before or {}).get("status"), (entry.after or {}).get("status", "held")
        if was == "held" and is_now != "held" and entry.action != "resume":
            yield Violation(entry.at, "a held schedule was turned on by a change that is no resume", str(entry))


def _check_row(row: Any, stretches: list[Stretch]) -> Iterator[Violation]:
    nominal, last = row.key.nominal_at, row.until_nominal_at or row.key.nominal_at
    around = next((one for one in stretches if one.start < nominal <= one.end), None)
    status = row.status.value
    if around is None:
        if status in NOTED.values():
            yield Violation(nominal, "a fire was noted that was not held", str(row))
        return
    if status != NOTED[around.in_shadow]:
        # What was claimed ahead of a deletion, in an earlier life, did not run: its row says so.
        if status not in ("cancelled", "skipped"):
            yield Violation(nominal, "a held schedule's fire was not noted as such", f"{row}: {around}")
    elif last > around.end:
        # An edit that leaves the trigger as it is ends no stretch of fires.
        later = [one for one in stretches if around.start < one.start <= last and one.in_shadow == around.in_shadow]
        if last > max([around.end, *(one.end for one in later)]):
            yield Violation(last, "a fire was noted that was not held", f"{row}: {around}")
