"""What the installation watches of itself, and when each is broken and whole again. Pure.

Between the two nothing changes: an incident neither opens nor ends where a figure swings about one line.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cronfleet.domain.claim import DueItem, RunTimer
from cronfleet.domain.incident import Broken, named
from cronfleet.domain.instant import MINUTE, SECOND, Instant, to_text
from cronfleet.domain.run import LONG_QUEUE, Lane, RunMessage
from cronfleet.domain.schedule import Status, Timer

SCHEDULER: Final = "scheduler"
"""The subject of the installation's incidents about itself, one of each kind."""

SWEEPS: Final = "sweeps"
"""The installation's own watch, under `PLATFORM`: it was judged until its last whole sweep."""

LAG_OPENS: Final = 2 * MINUTE
"""A fire that is due for longer and not claimed, in a shard whose ticks are served, is late by the dispatcher."""
LAG_HEALS: Final = 30 * SECOND
"""… which keeps up again once nothing is due for longer than this."""

QUEUE_AGE_OPENS: Final = 2 * MINUTE
"""Claimed fires that wait for longer for a worker, more than `FEW` of them …"""
FEW: Final = 10
QUEUE_AGE_OF_FEW: Final = 7 * MINUTE
"""… or as few as one for so long: a single message that the queue lost is sent again after five minutes."""
QUEUE_AGE_HEALS: Final = MINUTE
"""Workers keep up again once none waits for longer than this."""

LONG_AGE_OPENS: Final = 30 * MINUTE
"""A long run that waits for longer has no worker: those that are busy are joined by new ones within minutes."""
LONG_AGE_HEALS: Final = 10 * MINUTE

DEAD_LETTERS_QUIET: Final = 15 * MINUTE
"""The incident of dead letters ends when none came for so long."""


class State(StrEnum):
    """How something stands that is watched."""

    BROKEN = "broken"
    BETWEEN = "between"
    WHOLE = "whole"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A fire that waits: since when, whose it is, and where: a shard or a run queue."""

    since_at: Instant
    tenant: str
    schedule_id: str
    where: str

    @property
    def name(self) -> str:
        """As the installation's incidents name it."""
        return f"{self.tenant}/{self.schedule_id}"


def waits_for_claim(item: DueItem, shard: int) -> Waiting | None:
    """A fire, or an attempt, that should have been sent; a pause's end and an errand are none."""
    if isinstance(item, Timer) and item.status is Status.ACTIVE and item.due_at is not None:
        return Waiting(item.due_at, item.tenant, item.schedule_id, str(shard))
    if isinstance(item, RunTimer):
        return Waiting(item.due_at, item.key.tenant, item.key.schedule_id, str(shard))
    return None


def waits_for_worker(message: RunMessage) -> Waiting | None:
    """A claimed fire without a start; what operations asked for yields to live traffic, and may wait."""
    if message.key.lane is not Lane.LIVE:
        return None
    since_at = max(message.claimed_at, message.due_at)
    return Waiting(since_at, message.key.tenant, message.key.schedule_id, message.queue)


def lag_state(waiting: Sequence[Waiting], now: Instant) -> State:
    """How claiming stands, where `waiting` is what is due."""
    oldest = _oldest(waiting, now)
    if oldest > LAG_OPENS:
        return State.BROKEN
    return State.WHOLE if oldest <= LAG_HEALS else State.BETWEEN


def queue_state(waiting: Sequence[Waiting], now: Instant) -> State:
    """How starting stands, where `waiting` is what is claimed and not started."""
    ordinary = [one for one in waiting if one.where != LONG_QUEUE]
    oldest, oldest_long = _oldest(ordinary, now), _oldest([one for one in waiting if one.where == LONG_QUEUE], now)
    aged = sum(now - one.since_at > QUEUE_AGE_OPENS for one in ordinary)
    if oldest > QUEUE_AGE_OF_FEW or aged > FEW or oldest_long > LONG_AGE_OPENS:
        return State.BROKEN
    return State.WHOLE if oldest <= QUEUE_AGE_HEALS and oldest_long <= LONG_AGE_HEALS else State.BETWEEN


def _oldest(waiting: Sequence[Waiting], now: Instant) -> int:
    return max((now - one.since_at for one in waiting), default=0)


def lag_broken(waiting: Sequence[Waiting]) -> Broken:
    """What is told of fires that are not claimed."""
    shards = sorted({int(one.where) for one in waiting})
    since_at, names, count = _told(waiting)
    text = (
        f"fires are due since {to_text(since_at)} and not claimed, although ticks are served, "
        f"in {len(shards)} shards ({', '.join(map(str, shards[:10]))}{', …' if shards[10:] else ''})"
    )
    return Broken(since_at, text, {"shards": len(shards)}, names, count)


def queue_broken(waiting: Sequence[Waiting]) -> Broken:
    """What is told of fires that no worker starts."""
    queues = sorted({one.where for one in waiting})
    since_at, names, count = _told(waiting)
    text = (
        f"{len(waiting):,} claimed fires wait for a worker in {', '.join(queues)}, the oldest since {to_text(since_at)}"
    )
    return Broken(since_at, text, {"fires": len(waiting), "queues": ", ".join(queues)}, names, count)


def _told(waiting: Iterable[Waiting]) -> tuple[Instant, tuple[str, ...], int]:
    kept = list(waiting)
    return min(one.since_at for one in kept), *named({one.name for one in kept})
