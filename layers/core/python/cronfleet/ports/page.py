"""A page of a list."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """Some items and, while there may be more, an opaque `cursor` (URL-safe text) to go on from."""

    items: Sequence[Item]
    cursor: str | None = None
