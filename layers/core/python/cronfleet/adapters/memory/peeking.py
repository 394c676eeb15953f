"""`PeekStore` in memory."""

from collections.abc import Sequence
from functools import partial

from cronfleet.adapters.memory.calendars import find
from cronfleet.adapters.memory.state import State
from cronfleet.adapters.memory.timers import run_timer_key
from cronfleet.domain.claim import DueItem, RunTimer
from cronfleet.domain.instant import Instant
from cronfleet.domain.run import RunKey
from cronfleet.ports.bound import bound_item
from cronfleet.ports.page import Page
from cronfleet.ports.peeking import DueKey


class MemoryPeeking:
    """The due index by its keys alone."""

    def __init__(self, state: State) -> None:
        self.state = state

    def peek(self, shard: int, until: Instant, cursor: str | None, limit: int) -> Page[DueKey]:
        page = self.state.due_index.keys(shard, until, cursor, limit)
        return Page([DueKey(key[0].partition("#")[0], *key) for key in page.items], page.cursor)

    def get_due(self, keys: Sequence[DueKey]) -> Sequence[DueItem]:
        found = (self.state.due_index.get((key.partition, key.sort)) for key in keys)
        return [bound_item(item, partial(find, self.state)) for item in found if item is not None]

    def find_run_timer(self, key: RunKey, attempt: int) -> RunTimer | None:
        timer = self.state.run_timers.get(run_timer_key(key, attempt))
        return None if timer is None or timer.claim_batch is not None else timer
