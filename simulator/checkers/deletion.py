"""Deletion, watched from outside: nothing of the tenant starts any more, nothing of it stays, and all is counted."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Final

from simulator.checkers.violation import Violation
from simulator.doomed import DOOMED, PLATFORM, Doom
from simulator.world import World

EXPIRING: Final = frozenset({"batches", "log", "books", "leases"})
"""The dispatch log, which holds ids alone, and forgets them."""
STAYING: Final = frozenset({"tenants", "ended_deletions", "clock"})
"""The tombstone and the certificate."""


def check_deletion(world: World, told: Doom, end_at: int) -> Iterator[Violation]:
    """Whatever of the promises about a deleted tenant is broken."""
    state = world.store.state
    if told.deleted_at is None:
        yield Violation(end_at, "a deletion could not be asked for", DOOMED)
        return
    for call in told.calls:
        if call.row_started_at > told.deleted_at:
            text = f"{call.run_id} began at {call.row_started_at}, and the deletion returned at {told.deleted_at}"
            yield Violation(call.began_at, "something of a deleted tenant started", text)
    job = state.ended_deletions.get(DOOMED)
    if job is None or state.open_deletions:
        yield Violation(end_at, "a deletion did not come to its end", str(state.open_deletions.get(DOOMED)))
        return
    yield from (Violation(end_at, "something of a deleted tenant stays", found) for found in _traces(world))
    made = {one.schedule_id for one in told.requests if one.action == "create" and one.answer == "accepted"}
    asked = {one.schedule_id for one in told.requests if one.action == "create"}
    counted = job.removed.get("schedules", 0)
    if not len(made) <= counted <= len(asked):
        yield Violation(end_at, "a certificate counts wrong", f"{counted} schedules, of {len(made)} that there were")


def _traces(world: World) -> Iterator[str]:
    state = world.store.state
    for one in fields(state):
        if one.name in EXPIRING | STAYING:
            continue
        held = getattr(state, one.name)
        if one.name == "audit":
            held = {key: entry for key, entry in held.items() if key[0] != PLATFORM}
        if one.name == "audit_heads":
            held = {key: head for key, head in held.items() if key[0] != PLATFORM}
        if one.name == "seals":
            held = {tenant: seals for tenant, seals in held.items() if tenant != PLATFORM}
        if DOOMED in repr(held):
            yield one.name
