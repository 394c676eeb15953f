"""Operations, as the store keeps them."""

from dataclasses import dataclass
from typing import Protocol

from cronfleet.domain.operation import Operation
from cronfleet.ports.page import Page


@dataclass(frozen=True, slots=True)
class PutOperation:
    """Put an operation, on the condition that its `rev` is still that of `before` (`None`: there is none)."""

    operation: Operation
    before: Operation | None


class OperationStore(Protocol):
    """Operations by tenant. They are written by transactions alone."""

    def get_operation(self, tenant: str, operation_id: str) -> Operation | None:
        """The operation, read strongly; `None` once it has expired, too. Raises `Damaged`."""
        ...

    def list_operations(self, tenant: str, *, cursor: str | None, limit: int) -> Page[Operation]:
        """A tenant's operations, newest first, by an index: one of the last moments may be missing."""
        ...
