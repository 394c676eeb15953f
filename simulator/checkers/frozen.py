"""The promises about freezes: nothing starts after one has returned, and none holds what it was not asked to hold."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from simulator.checkers.violation import Violation
from simulator.faults import SECOND
from simulator.history import Frozen
from simulator.world import World

CLOCKS: Final = 3 * SECOND
"""By how much a process's clock may differ from the store's."""

OBEYED: Final = 5 * SECOND
"""A thaw ends what it ends up to three seconds after it is written, by a clock that may be off."""


def check_frozen(world: World, end_at: int) -> Iterator[Violation]:
    """Of every freeze that returned, and of every entry that says it was frozen."""
    labels = _labels(world)
    for frozen in world.history.frozen:
        yield from _check_obeyed(world, frozen, labels, end_at)
    for row in world.rows.values():
        if row.status.value == "frozen" and not any(_explains(one, row) for one in world.history.frozen):
            yield Violation(row.finished_at or end_at, "a fire was frozen by no freeze", str(row))


def _check_obeyed(
    world: World, frozen: Frozen, labels: Mapping[tuple[str, str], list[dict[str, str]]], end_at: int
) -> Iterator[Violation]:
    request = frozen.request
    if request.answer != "accepted" or request.answered_at is None:
        return
    until = min([frozen.until - CLOCKS, end_at, *(thaw.asked_at for thaw in frozen.thaws)])
    for call in world.history.calls:
        # Its row is written first, and then it looks for freezes. Who stands still in between until this one has ended
        # finds none, and may call: what counts is when the call begins.
        is_inside = request.answered_at < call.row_started_at and call.began_at < until
        if not is_inside or frozen.tenant not in (None, call.tenant):
            continue
        said = labels.get((call.tenant, call.schedule_id), [{}])
        if frozen.labels is None or all(frozen.labels.items() <= one.items() for one in said):
            text = f"{call.run_id}, its row at {call.row_started_at}; the freeze returned at {request.answered_at}"
            yield Violation(call.began_at, "a freeze was not obeyed", text)


def _explains(frozen: Frozen, row: Any) -> bool:
    """Whether this freeze may have held what `row` stands for: it was asked for before, and had not ended."""
    if frozen.request.answer == "refused" or frozen.tenant not in (None, row.key.tenant):
        return False
    if row.finished_at < frozen.request.asked_at - CLOCKS:
        return False
    return bool(row.last_nominal_at <= _ended_at(frozen) + CLOCKS)


def _ended_at(frozen: Frozen) -> int:
    """The latest that it can have ended."""
    thawed = [thaw.answered_at + OBEYED for thaw in frozen.thaws if thaw.answer == "accepted" and thaw.answered_at]
    return min([frozen.until, *thawed])


def _labels(world: World) -> dict[tuple[str, str], list[dict[str, str]]]:
    """What each schedule's versions have ever had for labels."""
    found: dict[tuple[str, str], list[dict[str, str]]] = {}
    for (key, _), definition in world.store.state.definitions.items():
        found.setdefault(key, []).append(dict(definition.spec.labels))
    return found
