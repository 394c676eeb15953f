"""The ticker: once a minute it puts the ticks of the next minutes on the tick queue, each with its delay."""

from collections.abc import Iterator
from typing import Final

from cronfleet.domain.instant import SECOND, Instant, ceil_second
from cronfleet.domain.lease import SLOT, slot_of, too_skewed
from cronfleet.ports.clock import WaitingClock
from cronfleet.ports.job_store import Damaged, JobStore, NoAnswer
from cronfleet.ports.queues import Tick, TickQueue, delay_until
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.asking import ask
from cronfleet.services.noticeboard import Noticeboard
from cronfleet.services.true_clock import true_now

HORIZON: Final = 150 * SECOND
"""Ticks are laid this far ahead, so that a ticker that misses a minute is not noticed."""

MAX_SENDS: Final = 3


class Laid:
    """What a process has laid, as long as it lives: up to which slot, and for how many shards.

    It is forgotten wherever there is a doubt, and another process knows nothing of it. Then ticks are laid once more,
    which costs a little and harms nobody.
    """

    def __init__(self) -> None:
        self._until: Instant = 0
        self._shards = 0

    def since(self, now: Instant, shards: int) -> Instant:
        """The first slot from that of `now` on which has no tick yet, as far as is known."""
        first = slot_of(now)
        # Further ahead than anybody lays at `now`: it was another clock's time.
        is_sound = self._shards == shards and first <= self._until < now + HORIZON + SLOT
        return self._until if is_sound else first

    def note(self, until: Instant, shards: int) -> None:
        """Every slot before `until` has its ticks."""
        self._until, self._shards = until, shards

    def forget(self) -> None:
        """Nothing is known any more."""
        self._until = 0


class Ticker:
    """Lays ticks for every shard and slot up to the horizon, each once by a process that lives on.

    Slots laid twice, by two processes, are served once: doubles are cheap, not free.
    """

    def __init__(
        self,
        *,
        tick_queue: TickQueue,
        store: JobStore,
        clock: WaitingClock,
        telemetry: Telemetry,
        shards: int,
        laid: Laid | None = None,
    ) -> None:
        self._queue = tick_queue
        self._store = store
        self._clock = clock
        self._telemetry = telemetry
        self._shards = shards
        self._laid = Laid() if laid is None else laid
        self._board = Noticeboard(store, clock, telemetry, consistent=False)

    def tick(self) -> int:
        """Send the ticks; returns how many were accepted. What the queue refuses comes again with the next minute.

        Raises `ClockSkewed` before anything is sent.
        """
        if self._is_standby():
            return self._keep_warm()
        # A queue counts a delay in whole seconds from the sending: what is sent as a second begins comes as one begins,
        # and so do the fires that its dispatcher delays. Else the fraction would be in the lag of every run.
        self._clock.wait_until(ceil_second(self._clock.now()))
        now, shards = self._now(), self._served()
        since, until = self._laid.since(now, shards), ceil_slot(now + HORIZON)
        ticks = list(ticks_between(since, until, now, shards))
        unsent = self._queue.send(ticks)
        for _ in range(MAX_SENDS - 1):
            if not unsent:
                break
            unsent = self._queue.send(unsent)
        accepted = len(ticks) - len(unsent)
        self._telemetry.count("ticks_laid", accepted)
        if unsent:
            self._laid.forget()
            self._telemetry.alarm("ticks_refused", refused=len(unsent), accepted=accepted)
        elif self._is_true():
            # By a clock that nobody has compared, they may come too early, and be refused: then they are to come again.
            self._laid.note(until, shards)
        return accepted

    def _keep_warm(self) -> int:
        """In a standby one tick a minute goes the whole way, and is served by doing nothing: so it is known to work."""
        slot_at = slot_of(self._clock.now())
        laid = 1 - len(self._queue.send([(Tick(0, slot_at, self._shards), 0)]))
        self._telemetry.count("ticks_laid", laid)
        return laid

    def _is_standby(self) -> bool:
        try:
            return self._board.is_standby()
        except NoAnswer:
            # Whoever gets a tick asks again.
            return False

    def _now(self) -> Instant:
        try:
            return true_now(self._store, self._clock, self._telemetry, lambda: self._store.get_lease(0))
        except NoAnswer:
            # Nothing is known against this clock. Ticks that come too early are refused; too few would be missed when
            # the store is back.
            self._laid.forget()
            return self._clock.now()

    def _is_true(self) -> bool:
        """Whether this clock is the store's; where that was silent at first, it may tell the time after all."""
        skew = self._store.skew_ms()
        return skew is not None and not too_skewed(skew)

    def _served(self) -> int:
        """How many shards are served: never fewer than ever were, for what waits in one of them waits there."""
        try:
            lease = ask(lambda: self._store.get_lease(0))
            if lease is not None and lease.shards < self._shards:
                ask(lambda: self._store.raise_shards(self._shards))
        except (NoAnswer, Damaged):
            return self._shards
        noted = 0 if lease is None else lease.shards
        if noted > self._shards:
            self._telemetry.event("shards_kept", served=noted, set=self._shards)
        return max(noted, self._shards)


def ceil_slot(instant: Instant) -> Instant:
    """The first slot that begins no earlier."""
    return slot_of(instant + SLOT - 1)


def ticks_between(since: Instant, until: Instant, now: Instant, shards: int) -> Iterator[tuple[Tick, int]]:
    """Every (tick, delay in whole seconds from `now`) of the slots from `since` on that begin before `until`."""
    for slot_at in range(since, until, SLOT):
        delay = delay_until(slot_at, now)
        for shard in range(shards):
            yield Tick(shard, slot_at, shards), delay
