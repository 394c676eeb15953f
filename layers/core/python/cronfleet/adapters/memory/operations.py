"""`OperationStore` in memory."""

from cronfleet.adapters.memory.state import State
from cronfleet.domain.instant import Instant
from cronfleet.domain.operation import Operation
from cronfleet.ports import cursors
from cronfleet.ports.operations import PutOperation
from cronfleet.ports.page import Page


class MemoryOperations:
    """Operations by tenant."""

    def __init__(self, state: State) -> None:
        self.state = state

    def get_operation(self, tenant: str, operation_id: str) -> Operation | None:
        return self.state.operations.get((tenant, operation_id))

    def list_operations(self, tenant: str, *, cursor: str | None, limit: int) -> Page[Operation]:
        before = None if cursor is None else _place_of(cursor)
        own = [one for (owner, _), one in self.state.operations.items() if owner == tenant]
        newest = sorted((one for one in own if before is None or _place(one) < before), key=_place, reverse=True)
        more = len(newest) > limit
        last = newest[limit - 1] if more else None
        return Page(newest[:limit], cursors.encode([str(last.created_at), last.operation_id]) if last else None)


def may_put_operation(write: PutOperation, stored: Operation | None) -> bool:
    """Whether the condition of `write` holds."""
    return (None if stored is None else stored.rev) == (None if write.before is None else write.before.rev)


def _place(operation: Operation) -> tuple[Instant, str]:
    return operation.created_at, operation.operation_id


def _place_of(cursor: str) -> tuple[Instant, str]:
    created_at, operation_id = cursors.decode(cursor, 2)
    try:
        return int(created_at), operation_id
    except ValueError as error:
        raise cursors.foreign() from error
