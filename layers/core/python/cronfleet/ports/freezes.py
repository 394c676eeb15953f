"""Where freezes are kept: one small item for the installation, and a list for each tenant that has some."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from cronfleet.domain.freeze import FreezeDirectory, FreezeList


@dataclass(frozen=True, slots=True)
class PutFreezeDirectory:
    """Replace the directory, on the condition that its `rev` is still `directory.rev - 1` (0: none)."""

    directory: FreezeDirectory


@dataclass(frozen=True, slots=True)
class PutFreezeList:
    """Replace a tenant's list, on the condition that its `rev` is still `freezes.rev - 1` (0: none)."""

    freezes: FreezeList


FreezeWrite: TypeAlias = PutFreezeDirectory | PutFreezeList
"""A tenant's freeze takes both, in one transaction; a tier's the directory alone."""


class FreezeStore(Protocol):
    """Freezes, read."""

    def get_freeze_directory(self, *, consistent: bool = True) -> FreezeDirectory:
        """The installation's directory, by default as it is now; an empty one before the first freeze."""
        ...

    def get_freeze_list(self, tenant: str) -> FreezeList:
        """A tenant's freezes, read strongly; an empty list before the first."""
        ...

    def get_freeze_lists(self, tenants: Collection[str]) -> Mapping[str, FreezeList]:
        """Lists by batch reads, eventually consistent; tenants that never had a freeze are left out."""
        ...
