"""The ledger's promise: each nominal fire has exactly one entry, and nothing was invented.

What should be there is worked out from the audit log (which trigger was in force from when to when) and the oracle.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from simulator import population, zone_change
from simulator.checkers.nominals import instant, nominals
from simulator.checkers.violation import Violation
from simulator.families import is_dependant
from simulator.world import World

NEW_EPOCH: Final = frozenset({"create", "retime", "resume", "cancel"})
NEVER_RAN: Final = frozenset({"skipped", "cancelled", "frozen", "refused"})
FOREVER: Final = 1 << 62


@dataclass(slots=True)
class Epoch:
    """A stretch in which one trigger was in force: its nominals in (start, end] are this epoch's to account for."""

    number: int
    trigger: Mapping[str, Any] | None
    """`None` after a cancellation: nothing is named."""
    start: int
    end: int = FOREVER
    resumed: bool = False


def check_ledger(world: World, settled_at: int, calm_at: int = FOREVER) -> Iterator[Violation]:
    """Promise 1, for every schedule of every tenant; what is later than `calm_at` may still wait for its place."""
    rows: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for row in world.rows.values():
        if row.key.cause == "schedule":
            rows[row.key.tenant, row.key.schedule_id].append(row)
    for key, epochs in _epochs(world).items():
        if zone_change.is_mover(key):
            rows.pop(key, None)  # Which data named what, and when, is for another checker.
            continue
        if is_dependant(key):
            rows.pop(key, None)  # Its parents name its times: that is for another checker.
            continue
        yield from _check_schedule(key, epochs, rows.pop(key, []), settled_at, _waits_from(world, key, calm_at))
    for key in rows:
        yield Violation(settled_at, "the ledger has rows of a schedule that was never created", str(key))


def _waits_from(world: World, key: tuple[str, str], calm_at: int) -> int:
    """From which nominal on its timer waits for a place, of a tenant with more due than it may run: no loss.

    Everybody may see that it waits: the timer is active, names that very nominal, and will be due. What waits since
    before the calm is no excuse, or one that is put off for ever would never be found out.
    """
    timer = world.store.state.timers.get(key)
    if timer is None or timer.status.value != "active" or timer.due_at is None or timer.reserved_at is None:
        return FOREVER
    return FOREVER if timer.nominal_at is None or timer.nominal_at <= calm_at else timer.nominal_at


def _epochs(world: World) -> dict[tuple[str, str], list[Epoch]]:
    """The epochs of each schedule, from the audit log in the order in which changes were committed."""
    found: dict[tuple[str, str], list[Epoch]] = defaultdict(list)
    for entry in world.store.state.audit.values():
        if entry.action not in NEW_EPOCH:
            continue
        epochs = found[entry.tenant, entry.schedule_id]
        after = entry.after or {}
        at = instant(after["updated_at"]) if "updated_at" in after else entry.at
        written = _with_calendar(world, entry.tenant, after.get("trigger"))
        trigger = None if entry.action == "cancel" else written or (epochs[-1].trigger if epochs else None)
        if epochs:
            epochs[-1].end = at
        epochs.append(Epoch(len(epochs) + 1, trigger, at, resumed=entry.action == "resume"))
    return found


def _with_calendar(world: World, tenant: str, trigger: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """`trigger` with what its calendar's version says, in the words of the caller who put it."""
    use = None if trigger is None else trigger.get("calendar")
    if trigger is None or use is None:
        return trigger
    stored = world.store.state.calendars[tenant, use["name"], use["version"]]
    return {**trigger, "calendar": {**use, "content": population.CALENDARS[stored.description]}}


def _check_schedule(
    key: tuple[str, str], epochs: list[Epoch], rows: list[Any], settled_at: int, waits_from: int
) -> Iterator[Violation]:
    singles: dict[tuple[int, int], Any] = {}
    ranges: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for row in rows:
        if row.until_nominal_at is None:
            singles[row.key.epoch, row.key.nominal_at] = row
        else:
            ranges[row.key.epoch].append((row.key.nominal_at, row.until_nominal_at))
    for position, epoch in enumerate(epochs):
        until = min(epoch.end, settled_at)
        heirs = _heirs(epochs, position)
        for nominal in nominals(epoch.trigger, epoch.start, until) if epoch.trigger else []:
            entries = sum((heir, nominal) in singles for heir in heirs)
            entries += sum(first <= nominal <= last for heir in heirs for first, last in ranges[heir])
            # What waits has none yet; but two it may not have either.
            if entries > 1 or (entries == 0 and nominal < waits_from):
                text = "a fire is lost" if entries == 0 else "a fire has more than one entry"
                yield Violation(nominal, text, f"{key} epoch {epoch.number} nominal {nominal}: {entries} entries")
    yield from _check_invented(key, epochs, singles)


def _heirs(epochs: list[Epoch], position: int) -> list[int]:
    """The epoch and those that may catch its fires up: each resume hands on what it, or the one before, held back."""
    heirs = [epochs[position].number]
    for following in epochs[position + 1 :]:
        if not following.resumed:
            break
        heirs.append(following.number)
    return heirs


def _check_invented(
    key: tuple[str, str], epochs: list[Epoch], singles: Mapping[tuple[int, int], Any]
) -> Iterator[Violation]:
    """Every row stands for a nominal of its epoch; one past the epoch's end (claimed ahead) did not run."""
    for (number, nominal), row in singles.items():
        if number > len(epochs):
            yield Violation(nominal, "a row of an epoch that never was", f"{key}: {row}")
            continue
        epoch = epochs[number - 1]
        before = epochs[number - 2] if number > 1 else None
        named = epoch.trigger is not None and nominals(epoch.trigger, nominal - 1, nominal) == [nominal]
        if not named:
            yield Violation(nominal, "a row for a time that its trigger does not name", f"{key}: {row}")
        if nominal > epoch.end and row.status.value not in NEVER_RAN:
            yield Violation(nominal, "a fire ran that a change had overtaken", f"{key}: {row}")
        caught_up = epoch.resumed and before is not None
        if nominal <= epoch.start and not caught_up:
            yield Violation(nominal, "a fire of a time before its epoch", f"{key}: {row}")
