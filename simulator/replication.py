"""Replication: two regions' tables, copied to each other item by item, asynchronously, the last writer winning.

As DynamoDB's global tables do it under eventual consistency: each write of an item arrives in the other region after a
lag of its own, whatever it was written together with; a write that is older than what is there changes nothing. While
the regions are cut off from each other nothing arrives, and what one of them writes waits, or is lost with it.
"""

import random
from bisect import insort
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from cronfleet.adapters.memory.errands import put_errand, remove_errand
from cronfleet.adapters.memory.state import State
from cronfleet.adapters.memory.timers import put_run_timer, put_timer
from cronfleet.ports.dead_letters import owner_of
from simulator.loop import Loop

DERIVED: Final = frozenset({"clock", "due_index", "history", "log", "letters", "pings", "seals", "skew_ms"})
"""What is worked out from items, or holds none; and `seals`, which failing worlds do without."""

GONE: Final = object()
"""In the place of an item that was removed."""

Place = tuple[str, Any]
"""A table of the memory store, and the key of an item in it."""


class _Tracked:
    """Mixed into a dict of the memory store: tells of each item that is written."""

    told: Callable[[Any], None]

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)  # type: ignore[misc] # of the dict that it is mixed into
        self.told(key)

    def __delitem__(self, key: Any) -> None:
        super().__delitem__(key)  # type: ignore[misc] # as above
        self.told(key)

    def pop(self, key: Any, *default: Any) -> Any:
        """As a dict's."""
        was_there = key in self  # type: ignore[operator] # as above
        value = super().pop(key, *default)  # type: ignore[misc] # as above
        if was_there:
            self.told(key)
        return value

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """As a dict's."""
        if key not in self:  # type: ignore[operator] # as above
            self[key] = default
        return super().__getitem__(key)  # type: ignore[misc] # as above

    def __ior__(self, other: Any) -> Any:
        for key, value in dict(other).items():
            self[key] = value
        return self


class _TrackedDict(_Tracked, dict[Any, Any]):
    pass


@dataclass(frozen=True)
class Lag:
    """How late copies arrive, in ms: most within `usual`, one in a hundred within `worst`; from `worse_at` on all."""

    usual: int
    worst: int
    worse_at: int

    def drawn(self, rng: random.Random, now: int) -> int:
        """The lag of one item's write."""
        bad = now >= self.worse_at or rng.random() < 0.01
        return rng.randint(50, self.worst if bad else self.usual)


@dataclass(eq=False)
class Side:
    """One region's tables: when each item was last written there (true time, and whose write it was)."""

    name: str
    state: State
    stamps: dict[Place, tuple[int, str]] = field(default_factory=dict)
    writes: int = 0
    """Of its own."""
    arrivals: dict[Place, list[tuple[int, int]]] = field(default_factory=dict)
    """Of each item: when the other region wrote it, and when that came here."""


class Replication:
    """Copies what one side writes to the other."""

    def __init__(self, loop: Loop, rng: random.Random, lag: Lag) -> None:
        self._loop = loop
        self._rng = rng
        self._lag = lag
        self.sides: list[Side] = []
        self.is_cut = False
        self._waiting: list[tuple[Side, Place, Any, tuple[int, str]]] = []
        self.lags: list[int] = []
        self._applying = False

    def attach(self, name: str, state: State) -> Side:
        """Track all tables of `state`."""
        side = Side(name, state)
        for slot in type(state).__slots__:
            table = getattr(state, slot)
            if slot in DERIVED or not isinstance(table, dict):
                continue
            tracked = self._tracked(table)
            tracked.told = partial(self._written, side, slot)
            setattr(state, slot, tracked)
        self.sides.append(side)
        return side

    def _tracked(self, table: dict[Any, Any]) -> Any:
        if type(table) is dict:
            return _TrackedDict(table)
        # One of the simulator's own, which goes on watching.
        table.__class__ = type(f"Tracked{type(table).__name__}", (_Tracked, type(table)), {})
        return table

    def _written(self, side: Side, table: str, key: Any) -> None:
        if self._applying:
            return
        side.writes += 1
        place, stamp = (table, key), (self._loop.now, side.name)
        side.stamps[place] = stamp
        value = getattr(side.state, table).get(key, GONE)
        (other,) = [one for one in self.sides if one is not side]
        lag = self._lag.drawn(self._rng, self._loop.now)
        self.lags.append(lag)
        self._loop.after(lag, lambda: self._arrive(other, place, value, stamp))

    def _arrive(self, side: Side, place: Place, value: Any, stamp: tuple[int, str]) -> None:
        if self.is_cut:
            self._waiting.append((side, place, value, stamp))
            return
        if stamp <= side.stamps.get(place, (0, "")):
            return
        side.stamps[place] = stamp
        side.arrivals.setdefault(place, []).append((stamp[0], self._loop.now))
        self._applying = True
        try:
            _apply(side.state, *place, value)
        finally:
            self._applying = False

    def cut(self) -> None:
        """From now on nothing arrives."""
        self.is_cut = True

    def heal(self) -> None:
        """All that has waited arrives, in any order."""
        self.is_cut = False
        waiting, self._waiting = self._waiting, []
        self._rng.shuffle(waiting)
        for one in waiting:
            self._loop.after(self._rng.randint(50, 2_000), partial(self._arrive, *one))

    def forget(self) -> None:
        """What has not arrived never will: the region that wrote it is gone."""
        self._waiting.clear()


def _apply(state: State, table: str, key: Any, value: Any) -> None:
    """Write a copy, past whoever watches the table; what is worked out from the item follows."""
    items = getattr(state, table)
    if table == "timers" and value is not GONE:
        put_timer(state, value)
    elif table == "run_timers" and value is not GONE:
        put_run_timer(state, value)
    elif table == "errands":
        if value is GONE:
            remove_errand(state, key)
        else:
            put_errand(state, value)
    elif value is GONE:
        dict.pop(items, key, None)
    else:
        _note_place(state, table, key, value)
        dict.__setitem__(items, key, value)


def _note_place(state: State, table: str, key: Any, value: Any) -> None:
    """The lists in which the memory store finds rows and batches by their order."""
    if table == "runs":
        if key not in state.runs:
            insort(state.history.setdefault((key.tenant, key.schedule_id), []), key)
        owner = owner_of(value)
        if owner is not None:
            state.letters.setdefault(owner, set()).add(key)
    elif table == "batches" and key not in state.batches:
        insort(state.log.setdefault(key.shard, []), key.order)
