"""Peeking: who has something due, without reading what; for shards whose look-ahead one tenant has swamped."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from cronfleet.domain.claim import DueItem, RunTimer
from cronfleet.domain.instant import Instant
from cronfleet.domain.run import RunKey
from cronfleet.ports.page import Page


@dataclass(frozen=True, slots=True)
class DueKey:
    """The stored key of an item of the due index, and whose it is."""

    tenant: str
    partition: str
    sort: str


class PeekStore(Protocol):
    """The due index by its keys alone."""

    def peek(self, shard: int, until: Instant, cursor: str | None, limit: int) -> Page[DueKey]:
        """As `due`, with the same cursors, but the keys alone; a page may be short and still have a cursor."""
        ...

    def get_due(self, keys: Sequence[DueKey]) -> Sequence[DueItem]:
        """The items of these keys by batch reads, eventually consistent, in no order; what is gone is left out."""
        ...

    def find_run_timer(self, key: RunKey, attempt: int) -> RunTimer | None:
        """The timer of a run's attempt while it waits, read eventually."""
        ...
