"""What must not overlap does not: of a schedule with a gate, or of a concurrency key, one run goes on at a time.

An attempt goes on from the call of its target to its end. One whose lease has ended counts no more: its run is another
worker's, or over. Which gate a schedule has is read off its versions; those that changed it in mid-run are left out.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, TypeAlias

from simulator.checkers.violation import Violation
from simulator.history import Call

Gate: TypeAlias = tuple[str, ...]


def check_overlap(world: Any, _end_at: int) -> Iterator[Violation]:
    """No two runs at once behind one gate, and nobody is left waiting at one that is free."""
    gates = _gates(world)
    calls: dict[Gate, list[Call]] = defaultdict(list)
    for call in world.history.calls:
        gate = gates.get((call.tenant, call.schedule_id), ())
        if gate:
            calls[gate].append(call)
    for gate, behind in calls.items():
        yield from _side_by_side(gate, sorted(behind, key=lambda call: call.began_at))


def _gates(world: Any) -> dict[tuple[str, str], Gate]:
    """The one gate of each schedule that never had another."""
    found: dict[tuple[str, str], set[Gate]] = defaultdict(set)
    for (owner, _), definition in world.store.state.definitions.items():
        found[owner].add(_gate(owner[0], owner[1], definition.spec.policies))
    return {owner: next(iter(gates)) for owner, gates in found.items() if len(gates) == 1}


def those_that_may_wait(world: Any) -> set[tuple[str, str]]:
    """The schedules that have, or had, a gate at which runs wait for each other."""
    definitions = world.store.state.definitions.items()
    return {owner for (owner, _), definition in definitions if _is_patient(definition.spec.policies)}


def _is_patient(policies: Any) -> bool:
    return bool(policies.concurrency_key) or policies.overlap.value in ("buffer_one", "cancel_other")


def _gate(tenant: str, schedule_id: str, policies: Any) -> Gate:
    if policies.concurrency_key:
        return (tenant, "key", policies.concurrency_key)
    return () if policies.overlap.value == "allow" else (tenant, "schedule", schedule_id)


def _side_by_side(gate: Gate, calls: list[Call]) -> Iterator[Violation]:
    going: list[Call] = []
    for call in calls:
        going = [one for one in going if _until(one) > call.began_at]
        for other in going:
            if other.run_id != call.run_id:
                text = f"{'/'.join(gate)}: {other.run_id} was going on when {call.run_id} began"
                yield Violation(call.began_at, "runs overlap that must not", text)
        going.append(call)


def _until(call: Call) -> int:
    ended_at = call.lease_until if call.ended_at is None or call.is_cut_short else call.ended_at
    return min(ended_at, call.lease_until)
