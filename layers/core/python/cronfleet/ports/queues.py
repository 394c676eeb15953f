"""Queues: at least once, in no order, with a delay of up to a quarter of an hour per message."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from cronfleet.domain.instant import SECOND, Instant, ceil_second
from cronfleet.domain.run import RunMessage
from cronfleet.domain.run_spans import Delivery

MAX_DELAY_SECONDS: Final = 900
"""The longest delay that a queue takes per message (SQS: SendMessage, DelaySeconds)."""

SENDS_AT_ONCE: Final = 10
"""Messages that a queue takes in one request (SQS: SendMessageBatch)."""


@dataclass(frozen=True, slots=True)
class DelayedMessage:
    """A message and the whole seconds (0 to `MAX_DELAY_SECONDS`) after which it may be received."""

    message: RunMessage
    delay_seconds: int


@dataclass(frozen=True, slots=True)
class Tick:
    """Asks the dispatcher to serve `shard` in the slot that begins at `slot_at`.

    `shards` is how many are served in all; None in what an older ticker sends, which does not say it.
    """

    shard: int
    slot_at: Instant
    shards: int | None = None


class RunQueue(Protocol):
    """The run queues, one per tier; messages of one tenant form one fair group."""

    def send(self, messages: Sequence[DelayedMessage]) -> Sequence[DelayedMessage]:
        """Send all, each to its tier's queue, in as few requests as limits of count and bytes allow: `SENDS_AT_ONCE` of
        one queue are one request.

        Returns those that were not accepted, so that exactly they are sent again; empty when all were.
        A request without an answer counts as not accepted: a copy is harmless, a loss is not.
        """
        ...


@dataclass(frozen=True, slots=True)
class Taken:
    """A message that is ours until it is hidden no more. `message` is `None` where `unreadable` says what is wrong."""

    receipt: str
    message: RunMessage | None
    delivery: Delivery | None = None
    unreadable: str = ""


class NoQueue(Exception):
    """The queue gave no answer."""


class RunSource(Protocol):
    """A run queue as who takes from it sees it: one message at a time, hidden for a while from everybody else."""

    def receive(self) -> Taken | None:
        """Wait for a message, for some seconds; `None` when none came. Raises `NoQueue`."""
        ...

    def delete(self, receipt: str) -> None:
        """It is needed no more. Raises `NoQueue`."""
        ...

    def give_back(self, receipt: str) -> None:
        """Let somebody else have it, at once. Raises `NoQueue`."""
        ...


class TickQueue(Protocol):
    """The queue between the ticker and the dispatcher."""

    def send(self, ticks: Sequence[tuple[Tick, int]]) -> Sequence[tuple[Tick, int]]:
        """Send ticks with their delays in whole seconds; returns those that were not accepted."""
        ...


def delay_until(due_at: Instant, now: Instant) -> int:
    """Whole seconds from `now` until `due_at`, rounded up, since nothing starts early; at most what a queue takes."""
    return min(max(0, ceil_second(due_at - now) // SECOND), MAX_DELAY_SECONDS)
