"""`DeletionStore` in memory. A thing's place is the name of the dictionary that holds it, and its key as text."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from cronfleet.adapters.memory.errands import remove_errand
from cronfleet.adapters.memory.state import State
from cronfleet.adapters.memory.timers import timer_key
from cronfleet.domain.deletion import Deletion, Kind, Owned, Stage
from cronfleet.domain.heartbeat import heartbeat_name
from cronfleet.domain.rate import line_of_key, line_of_slots, line_of_tenant
from cronfleet.domain.run import Run, RunKey
from cronfleet.ports.deletions import Found, InsertDeletion

_SCHEDULES: Final = (
    Kind.RUNS,
    Kind.ATTEMPT_LOGS,
    Kind.RECEIPTS,
    Kind.PINGS,
    Kind.HEARTBEATS,
    Kind.VERSIONS,
    Kind.DEPENDANTS,
    Kind.GATES,
    Kind.RUN_TIMERS,
    Kind.SCHEDULES,
)
_OF_STAGE: Final[Mapping[Stage, Sequence[Kind]]] = {
    Stage.KEYS: (Kind.LINES, Kind.API_KEYS, Kind.KEY_LISTINGS),
    Stage.SCHEDULES: _SCHEDULES,
    Stage.LISTED: _SCHEDULES,
    Stage.AGAIN: _SCHEDULES,
    Stage.CALENDARS: (Kind.CALENDAR_VERSIONS, Kind.CALENDARS),
    Stage.JOBS: (Kind.ERRANDS, Kind.OPERATIONS, Kind.ALERTS, Kind.RETIMINGS),
    # Keys once more: a request that was under way may have made one.
    Stage.COUNTS: (
        Kind.SLOTS,
        Kind.BREAKERS,
        Kind.COUNTERS,
        Kind.LINES,
        Kind.ANSWERS,
        Kind.FREEZE_LISTS,
        Kind.API_KEYS,
        Kind.KEY_LISTINGS,
    ),
    Stage.AUDIT: (Kind.AUDIT_CHAINS, Kind.AUDIT_ENTRIES),
}


class MemoryDeletions:
    """Deletions, and what is left of a tenant."""

    state: State

    def get_deletion(self, tenant: str) -> Deletion | None:
        return self.state.ended_deletions.get(tenant) or self.state.open_deletions.get(tenant)

    def open_deletions(self, limit: int) -> Sequence[Deletion]:
        return [job for _, job in sorted(self.state.open_deletions.items())][:limit]

    def put_deletion(self, job: Deletion) -> bool:
        stored = self.state.open_deletions.get(job.tenant)
        if stored is None or stored.rev != job.rev - 1:
            return stored == job
        self.state.open_deletions[job.tenant] = job
        return True

    def close_deletion(self, tenant: str) -> None:
        self.state.open_deletions.pop(tenant, None)

    def owned(self, tenant: str, stage: Stage, cursor: str | None, limit: int) -> Found:  # noqa: ARG002 - it begins at the start
        found = [Owned(kind, place) for kind in _OF_STAGE[stage] for place in _places(self.state, kind, tenant)]
        return Found(found[:limit], None)

    def erase(self, items: Sequence[Owned]) -> None:
        for owned in items:
            _REMOVERS.get(owned.kind, _remove)(self.state, owned)

    def forget_run(self, run: Run) -> bool:
        stored = self.state.runs.get(run.key)
        if stored is None or stored.rev != run.rev:
            return False
        _forget(self.state, run.key)
        return True


def stored_deletion(state: State, write: InsertDeletion) -> Deletion | None:
    """What stands where `write` is to write."""
    return (state.open_deletions if write.job.is_open else state.ended_deletions).get(write.job.tenant)


def put_deletion(state: State, write: InsertDeletion) -> None:
    """Carry `write` out."""
    (state.open_deletions if write.job.is_open else state.ended_deletions)[write.job.tenant] = write.job


# --- what there is ---------------------------------------------------------------------------------------------


def _places(state: State, kind: Kind, tenant: str) -> Iterator[tuple[str, ...]]:
    for key in _FINDERS[kind](state, tenant):
        yield tuple(map(str, key)) if isinstance(key, tuple) else (str(key),)


def _by_first(name: str) -> Callable[[State, str], list[Any]]:
    """The keys of a dictionary that begin with the tenant."""
    return lambda state, tenant: [key for key in getattr(state, name) if key[0] == tenant]


def _by_whole(name: str) -> Callable[[State, str], list[Any]]:
    return lambda state, tenant: [key for key in getattr(state, name) if key == tenant]


def _heartbeats_of(state: State, tenant: str) -> set[str]:
    return {heartbeat_name(tenant, schedule_id) for owner, schedule_id in _schedules_of(state, tenant)}


def _schedules_of(state: State, tenant: str) -> set[tuple[str, str]]:
    """Every schedule that the audit log, or a timer, names."""
    logged = {(entry.tenant, entry.schedule_id) for entry in state.audit.values()}
    return {key for key in logged | state.timers.keys() if key[0] == tenant}


def _keys_of(state: State, tenant: str) -> list[str]:
    return [key_id for key_id, key in state.api_keys.items() if key.tenant.tenant_id == tenant]


def _lines_of(state: State, tenant: str) -> list[str]:
    names = {line_of_tenant(tenant), line_of_slots(tenant), *map(line_of_key, _keys_of(state, tenant))}
    return [name for name in state.lines if name in names]


_FINDERS: Final[Mapping[Kind, Callable[[State, str], Any]]] = {
    Kind.API_KEYS: _keys_of,
    Kind.KEY_LISTINGS: _by_first("listed_keys"),
    Kind.SCHEDULES: _by_first("timers"),
    Kind.VERSIONS: lambda state, tenant: [(*key, version) for key, version in state.definitions if key[0] == tenant],
    Kind.GATES: lambda state, tenant: [key for key in (*state.gates, *state.gates_free_since) if key[0] == tenant],
    Kind.RUN_TIMERS: lambda state, tenant: [
        key for key, timer in state.run_timers.items() if timer.key.tenant == tenant
    ],
    Kind.RUNS: lambda state, tenant: [key.run_id for key in state.runs if key.tenant == tenant],
    Kind.ATTEMPT_LOGS: lambda state, tenant: [
        (key.run_id, attempt) for key, attempt in state.attempt_logs if key.tenant == tenant
    ],
    Kind.RECEIPTS: lambda state, tenant: [(key.run_id, name) for key, name in state.receipts if key.tenant == tenant],
    Kind.HEARTBEATS: lambda state, tenant: [
        name for name, heartbeat in state.heartbeats.items() if heartbeat.tenant == tenant
    ],
    Kind.PINGS: lambda state, tenant: [
        (name, ping.ping_id) for name in _heartbeats_of(state, tenant) for ping in state.pings.get(name, ())
    ],
    Kind.CALENDARS: _by_first("calendar_heads"),
    Kind.CALENDAR_VERSIONS: _by_first("calendars"),
    Kind.RETIMINGS: lambda state, tenant: [
        job_id for job_id, job in (state.open_retimings | state.finished_retimings).items() if job.tenant == tenant
    ],
    Kind.ERRANDS: lambda state, tenant: [key for key, errand in state.errands.items() if errand.tenant == tenant],
    Kind.OPERATIONS: _by_first("operations"),
    Kind.DEPENDANTS: _by_first("dependants"),
    Kind.ALERTS: _by_first("alerts"),
    Kind.BREAKERS: _by_first("breakers"),
    Kind.SLOTS: _by_first("slots"),
    Kind.COUNTERS: lambda state, tenant: [
        one
        for one in {*state.schedule_counts, *state.counted_tenants, *state.counted_until, *state.dependency_marks}
        if one == tenant
    ],
    Kind.LINES: _lines_of,
    Kind.ANSWERS: _by_first("idempotency"),
    Kind.FREEZE_LISTS: _by_whole("freeze_lists"),
    Kind.AUDIT_ENTRIES: _by_first("audit"),
    Kind.AUDIT_CHAINS: lambda state, tenant: [
        *(("end", *chain) for chain in state.audit_heads if chain[0] == tenant),
        *(("seals", owner) for owner in state.seals if owner == tenant),
    ],
}

# --- removing it -----------------------------------------------------------------------------------------------


def _forget(state: State, key: RunKey) -> None:
    state.runs.pop(key, None)
    for owner in [owner for owner, keys in state.letters.items() if key in keys]:
        state.letters[owner].discard(key)
        if not state.letters[owner]:
            del state.letters[owner]
    kept = state.history.get((key.tenant, key.schedule_id), [])
    if key in kept:
        kept.remove(key)
    if not kept:
        state.history.pop((key.tenant, key.schedule_id), None)


def _remove_timer(state: State, owned: Owned) -> None:
    tenant, schedule_id = owned.place
    state.timers.pop((tenant, schedule_id), None)
    state.damaged.pop(timer_key(tenant, schedule_id), None)
    state.due_index.remove(timer_key(tenant, schedule_id))


def _remove_run_timer(state: State, owned: Owned) -> None:
    partition, sort = owned.place
    state.run_timers.pop((partition, sort), None)
    state.due_index.remove((partition, sort))


def _remove_gate(state: State, owned: Owned) -> None:
    tenant, schedule_id = owned.place
    state.gates.pop((tenant, schedule_id), None)
    state.gates_free_since.pop((tenant, schedule_id), None)
    state.gate_lines.pop((tenant, schedule_id), None)


def _remove_ping(state: State, owned: Owned) -> None:
    name, ping_id = owned.place
    left = [ping for ping in state.pings.get(name, ()) if ping.ping_id != ping_id]
    if left:
        state.pings[name] = left
    else:
        state.pings.pop(name, None)


def _remove_retiming(state: State, owned: Owned) -> None:
    state.open_retimings.pop(owned.place[0], None)
    state.finished_retimings.pop(owned.place[0], None)


def _remove_count(state: State, owned: Owned) -> None:
    (tenant,) = owned.place
    state.schedule_counts.pop(tenant, None)
    state.counted_tenants.discard(tenant)
    state.counted_until.pop(tenant, None)
    state.dependency_marks.pop(tenant, None)


def _remove_chain(state: State, owned: Owned) -> None:
    what, tenant, *rest = owned.place
    if what == "end":
        state.audit_heads.pop((tenant, rest[0]), None)
    else:
        state.seals.pop(tenant, None)


_REMOVERS: Final[Mapping[Kind, Callable[[State, Owned], None]]] = {
    Kind.RUNS: lambda state, owned: _forget(state, RunKey.parse(owned.place[0])),
    Kind.SCHEDULES: _remove_timer,
    Kind.RUN_TIMERS: _remove_run_timer,
    Kind.GATES: _remove_gate,
    Kind.ERRANDS: lambda state, owned: remove_errand(state, (owned.place[0], owned.place[1])),
    Kind.PINGS: _remove_ping,
    Kind.RETIMINGS: _remove_retiming,
    Kind.AUDIT_CHAINS: _remove_chain,
    Kind.COUNTERS: _remove_count,
    Kind.KEY_LISTINGS: lambda state, owned: state.listed_keys.discard((owned.place[0], owned.place[1])),
}
_HOLDERS: Final[Mapping[Kind, Callable[[State, tuple[str, ...]], tuple[dict[Any, Any], Any]]]] = {
    Kind.API_KEYS: lambda state, place: (state.api_keys, place[0]),
    Kind.VERSIONS: lambda state, place: (state.definitions, ((place[0], place[1]), int(place[2]))),
    Kind.ATTEMPT_LOGS: lambda state, place: (state.attempt_logs, (RunKey.parse(place[0]), int(place[1]))),
    Kind.RECEIPTS: lambda state, place: (state.receipts, (RunKey.parse(place[0]), place[1])),
    Kind.HEARTBEATS: lambda state, place: (state.heartbeats, place[0]),
    Kind.CALENDARS: lambda state, place: (state.calendar_heads, (place[0], place[1])),
    Kind.CALENDAR_VERSIONS: lambda state, place: (state.calendars, (place[0], place[1], int(place[2]))),
    Kind.DEPENDANTS: lambda state, place: (state.dependants, (place[0], place[1])),
    Kind.OPERATIONS: lambda state, place: (state.operations, (place[0], place[1])),
    Kind.ALERTS: lambda state, place: (state.alerts, (place[0], place[1], place[2])),
    Kind.BREAKERS: lambda state, place: (state.breakers, (place[0], place[1])),
    Kind.SLOTS: lambda state, place: (state.slots, (place[0], int(place[1]))),
    Kind.LINES: lambda state, place: (state.lines, place[0]),
    Kind.ANSWERS: lambda state, place: (state.idempotency, (place[0], place[1])),
    Kind.FREEZE_LISTS: lambda state, place: (state.freeze_lists, place[0]),
    Kind.AUDIT_ENTRIES: lambda state, place: (state.audit, (place[0], place[1])),
}


def _remove(state: State, owned: Owned) -> None:
    holder, key = _HOLDERS[owned.kind](state, owned.place)
    holder.pop(key, None)
