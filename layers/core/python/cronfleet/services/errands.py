"""Errands in the dispatcher: what is due of them is taken by a lease, one conditional write each, and sent.

Whatever is taken and not sent, or sent and not carried on, is due again when its lease is over.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from cronfleet.domain.errand import ERRAND_LEASE, Errand, ErrandMessage
from cronfleet.domain.fairness import rounds
from cronfleet.domain.instant import Instant
from cronfleet.ports.clock import Clock
from cronfleet.ports.errands import ErrandQueue
from cronfleet.ports.job_store import JobStore
from cronfleet.services.asking import ask

TAKEN_AT_LEAST: Final = 25
"""So many errands are taken in each tick, however little time there is."""

SENT_TOGETHER: Final = 10
"""As many as one request takes; what a crash leaves unsent is no more than that."""


class Errands:
    """Takes and sends; holds nothing between ticks."""

    def __init__(self, store: JobStore, queue: ErrandQueue, clock: Clock) -> None:
        self._store = store
        self._queue = queue
        self._clock = clock

    def send_due(self, errands: Sequence[Errand], now: Instant, until: Instant) -> int:
        """Send what of `errands` is due at `now`, tenant by tenant in turn, as long as there is time, a few at least.

        The number sent. Raises `NoAnswer`.
        """
        sent = 0
        together: list[ErrandMessage] = []
        for errand in self._in_turn(errands, now, until):
            if ask(partial(self._store.move_errand, errand, now + ERRAND_LEASE)):
                together.append(ErrandMessage(errand.tenant, errand.kind, errand.errand_id, errand.rev + 1))
            if len(together) == SENT_TOGETHER:
                sent += self._send(together)
                together = []
        return sent + self._send(together)

    def _in_turn(self, errands: Sequence[Errand], now: Instant, until: Instant) -> Iterator[Errand]:
        queues: defaultdict[str, list[Errand]] = defaultdict(list)
        for errand in dict.fromkeys(errands):
            if errand.due_at <= now:
                queues[errand.tenant].append(errand)
        for number, errand in enumerate(rounds(queues, cost=lambda _: 1, quantum=lambda _: 1)):
            if number >= TAKEN_AT_LEAST and self._clock.now() >= until:
                return
            yield errand

    def _send(self, messages: Sequence[ErrandMessage]) -> int:
        """The number that the queue took; the others are due again when their lease is over."""
        return len(messages) - len(self._queue.send(messages)) if messages else 0
