"""`RunStore` in memory."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence

from cronfleet.adapters.memory.state import State
from cronfleet.adapters.memory.transactions import put_run
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import Instant
from cronfleet.domain.run import Run, RunKey
from cronfleet.ports import cursors
from cronfleet.ports.job_store import Page, Refused


class MemoryRuns:
    """Ledger rows and the overlap gate."""

    def __init__(self, state: State) -> None:
        self.state = state

    def insert_run(self, run: Run) -> Run | None:
        stored = self.state.runs.get(run.key)
        if stored is None:
            put_run(self.state, run)
        return stored

    def replace_run(self, run: Run) -> Run | None:
        stored = self.state.runs.get(run.key)
        if stored is None:
            raise Refused(0, None)
        if stored.rev != run.rev - 1:
            return stored
        put_run(self.state, run)
        return None

    def get_run(self, key: RunKey) -> Run | None:
        return self.state.runs.get(key)

    def get_runs(self, keys: Sequence[RunKey]) -> Mapping[RunKey, Run]:
        return {key: self.state.runs[key] for key in keys if key in self.state.runs}

    def list_runs(
        self,
        tenant: str,
        schedule_id: str,
        *,
        cursor: str | None,
        limit: int,
        through: tuple[int, Instant] | None = None,
    ) -> Page[Run]:
        history = self.state.history.get((tenant, schedule_id), [])
        end = len(history)
        if cursor is not None:
            end = bisect_left(history, _key_of(cursor, tenant, schedule_id))
        elif through is not None:
            end = bisect_right(history, through, key=lambda key: (key.epoch, key.nominal_at))
        start = max(0, end - limit)
        keys = history[start:end][::-1]
        more = start > 0
        return Page([self.state.runs[key] for key in keys], cursors.encode([keys[-1].run_id]) if more else None)

    def take_gate(
        self, tenant: str, schedule_id: str, run_id: str, began_at: Instant, instead_of: str | None
    ) -> str | None:
        gate = (tenant, schedule_id)
        holder = self.state.gates.get(gate)
        if holder is not None and holder not in (run_id, instead_of):
            return holder
        last, ended_at = self.state.gates_free_since.get(gate, (run_id, began_at))
        if ended_at > began_at:
            return last
        self.state.gates_free_since.pop(gate, None)
        self.state.gates[gate] = run_id
        return None

    def release_gate(self, tenant: str, schedule_id: str, run_id: str, ended_at: Instant) -> None:
        gate = (tenant, schedule_id)
        if self.state.gates.get(gate) == run_id:
            del self.state.gates[gate]
            self.state.gates_free_since[gate] = (run_id, ended_at)


def _key_of(cursor: str, tenant: str, schedule_id: str) -> RunKey:
    (run_id,) = cursors.decode(cursor, 1)
    try:
        key = RunKey.parse(run_id)
    except Invalid as error:
        raise cursors.foreign() from error
    if (key.tenant, key.schedule_id) != (tenant, schedule_id):
        raise cursors.foreign()
    return key
