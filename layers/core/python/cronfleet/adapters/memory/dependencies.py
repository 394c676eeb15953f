"""`DependencyStore` in memory."""

from cronfleet.adapters.memory.state import State
from cronfleet.domain.dependency import Dependants, DependencyMark
from cronfleet.ports.dependencies import DependencyWrite, PutDependants


class MemoryDependencies:
    """Who runs after whom."""

    state: State

    def get_dependants(self, tenant: str, schedule_id: str) -> Dependants:
        return self.state.dependants.get((tenant, schedule_id), Dependants(tenant, schedule_id))

    def get_dependency_mark(self, tenant: str) -> DependencyMark:
        return self.state.dependency_marks.get(tenant, DependencyMark(tenant))


def stored_dependency(state: State, write: DependencyWrite) -> Dependants | DependencyMark | None:
    """What stands where `write` is to write."""
    if isinstance(write, PutDependants):
        return state.dependants.get((write.dependants.tenant, write.dependants.schedule_id))
    return state.dependency_marks.get(write.mark.tenant)


def put_dependency(state: State, write: DependencyWrite) -> None:
    """Carry `write` out."""
    if isinstance(write, PutDependants):
        state.dependants[write.dependants.tenant, write.dependants.schedule_id] = write.dependants
    else:
        state.dependency_marks[write.mark.tenant] = write.mark
