"""`FreezeStore` in memory."""

from collections.abc import Collection, Mapping

from cronfleet.adapters.memory.state import State
from cronfleet.domain.freeze import FreezeDirectory, FreezeList
from cronfleet.ports.freezes import FreezeWrite, PutFreezeDirectory


class MemoryFreezes:
    """The directory of freezes, and tenants' lists."""

    def __init__(self, state: State) -> None:
        self.state = state

    def get_freeze_directory(self, *, consistent: bool = True) -> FreezeDirectory:  # noqa: ARG002 - there is but one copy here
        return self.state.freeze_directory or FreezeDirectory()

    def get_freeze_list(self, tenant: str) -> FreezeList:
        return self.state.freeze_lists.get(tenant, FreezeList(tenant))

    def get_freeze_lists(self, tenants: Collection[str]) -> Mapping[str, FreezeList]:
        lists = self.state.freeze_lists
        return {tenant: lists[tenant] for tenant in tenants if tenant in lists}


def stored_freezes(state: State, write: FreezeWrite) -> FreezeDirectory | FreezeList | None:
    """What stands where `write` is to write."""
    if isinstance(write, PutFreezeDirectory):
        return state.freeze_directory
    return state.freeze_lists.get(write.freezes.tenant)


def put_freezes(state: State, write: FreezeWrite) -> None:
    """Store the directory or a tenant's list."""
    if isinstance(write, PutFreezeDirectory):
        state.freeze_directory = write.directory
    else:
        state.freeze_lists[write.freezes.tenant] = write.freezes
