"""Dependencies as the services need them stored: who runs after whom."""

from dataclasses import dataclass
from typing import Protocol, TypeAlias

from cronfleet.domain.dependency import Dependants, DependencyMark


@dataclass(frozen=True, slots=True)
class PutDependants:
    """Replace a schedule's list of dependants, on the condition that its `rev` is still one less (0: none)."""

    dependants: Dependants


@dataclass(frozen=True, slots=True)
class PutDependencyMark:
    """Replace a tenant's mark, on the condition that its `rev` is still one less (0: none)."""

    mark: DependencyMark


DependencyWrite: TypeAlias = PutDependants | PutDependencyMark


class DependencyStore(Protocol):
    """Who runs after whom."""

    def get_dependants(self, tenant: str, schedule_id: str) -> Dependants:
        """The schedules that run directly after one, read strongly; without a `rev` where none ever did."""
        ...

    def get_dependency_mark(self, tenant: str) -> DependencyMark:
        """The tenant's mark, read strongly; without a `rev` before the first dependency."""
        ...
