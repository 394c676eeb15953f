"""Ports as an invocation sees them in a bad world: every call takes time, and may fail on the way there or back."""

import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from cronfleet.domain.claim import ClaimOutcome
from cronfleet.ports.job_store import NoAnswer
from simulator.faults import NONE, SECOND, Faults
from simulator.history import Deferred, History
from simulator.loop import Killed, Process

TIMER_WRITES: Final = frozenset({"claim", "defer", "commit"})
"""Calls that write the due index: those a hot partition throttles, claims and callers' changes alike."""

UNITS_PER_TIMER_WRITE: Final = 2
"""Write units of the index: an entry out, an entry in."""

CLOCK_STEPS: Final = (-3_600_000, -30_000, -2_000, 2_000, 30_000, 3_600_000)
"""Milliseconds by which a clock is set in the middle of an invocation."""

WORK_IN_CALLS: Final = 10
"""A job's work lasts far longer than a call to the store: a clock is set as often during it as during so many."""

TIMEOUT: Final = 5 * SECOND
"""After which a call to a store that is out is given up."""


class Weather:
    """The faults in force now, and the dice. `calm` ends them all."""

    def __init__(self, rng: random.Random, faults: Faults, history: History) -> None:
        self.rng = rng
        self.faults = faults
        self.history = history
        self._budget = 0.0
        self._budget_at = 0
        self.batches_claims = True
        """Whether claims go in requests of many, or one by one."""
        self.sets_clocks_at_work = False
        self.clockmaker = random.Random(0)
        """Dice of their own for clocks that are set between calls: the world's others fall as they would without."""

    def calm(self) -> None:
        """No more faults from now on."""
        self.faults = NONE

    def strikes(self, kind: str) -> bool:
        """Whether a fault of `kind` happens here; counted if so."""
        chance: float = getattr(self.faults, kind)
        if chance == 0.0 or self.rng.random() >= chance:
            return False
        self.history.faults[kind] += 1
        return True

    def step_at_work(self) -> int:
        """By how much a clock was set during a piece of work; 0: not at all."""
        if not self.sets_clocks_at_work or self.clockmaker.random() >= self.faults.clock_step * WORK_IN_CALLS:
            return 0
        self.history.faults["clock_step"] += 1
        return self.clockmaker.choice(CLOCK_STEPS)

    def is_out(self, what: str, now: int) -> bool:
        """Whether the store, or the polling of queues, is out at `now`."""
        begin, end = getattr(self.faults, what)
        if not begin <= now < end:
            return False
        self.history.faults[what] += 1
        return True

    def latency(self) -> int:
        """A call's way, one way."""
        if self.strikes("slow_call"):
            return self.rng.randint(3_000, 45_000)
        return self.rng.randint(1, 12)

    def takes_write(self, now: int) -> bool:
        """Whether the due index's partition takes one more timer write: a bucket of a second's units."""
        rate = self.faults.hot_partition
        if not rate:
            return True
        self._budget = min(rate, self._budget + (now - self._budget_at) * rate / 1_000)
        self._budget_at = now
        if self._budget < UNITS_PER_TIMER_WRITE:
            self.history.faults["hot_partition"] += 1
            return False
        self._budget -= UNITS_PER_TIMER_WRITE
        return True


class Wire:
    """Makes a process's calls take time and go wrong."""

    def __init__(self, weather: Weather, process: Process) -> None:
        self._weather = weather
        self._process = process

    def note_deferral(self, deferred: Deferred) -> None:
        """Keep it for the checkers."""
        self._weather.history.deferrals.setdefault((deferred.fire, deferred.until), deferred)

    def note_won(self, batch: str, claim: Any) -> None:
        """Keep for the checkers what a claim owes that has been won."""
        history = self._weather.history
        won = history.won.setdefault(batch, {})
        for message in claim.messages(batch, 0):
            won.setdefault(name_of(message), self._process.loop.now)
        rows = history.noted_by.setdefault(batch, set())
        rows.update(claim.run_key(one.first_at).run_id for one in getattr(claim, "skipped", ()))

    @property
    def batches_claims(self) -> bool:
        """Whether claims go in requests of many."""
        return self._weather.batches_claims

    def takes_statement(self) -> bool:
        """Whether one of a request's statements is carried out: it may be throttled alone."""
        return not self._weather.strikes("throttle") and self._weather.takes_write(self._process.loop.now)

    def work(self, milliseconds: int) -> None:
        """Work that asks nobody: of a clock that is set meanwhile, no answer has told."""
        self._process.sleep(milliseconds)
        step = self._weather.step_at_work()
        if step:
            self._process.step_clock(step)

    def call(self, name: str, effect: Callable[[], Any]) -> Any:
        """`effect`, there and back. Raises `NoAnswer` or `Killed`."""
        weather, process = self._weather, self._process
        process.sleep(weather.latency(), sends=True)
        if process.is_over:
            # Its invocation has died since. Nobody hears the answer.
            weather.history.landed_late += 1
            weather.history.note(process.loop.now, process.name, name, "late")
            effect()
            raise Killed
        if weather.strikes("clock_step"):
            process.step_clock(weather.rng.choice(CLOCK_STEPS))
        if weather.strikes("crash"):
            raise Killed
        if weather.is_out("store_outage", process.loop.now):
            process.sleep(TIMEOUT)
            raise NoAnswer("the store is out")
        if weather.strikes("throttle") or (name in TIMER_WRITES and not weather.takes_write(process.loop.now)):
            raise NoAnswer(f"{name} was throttled")
        answer = effect()
        weather.history.note(process.loop.now, process.name, name)
        process.sleep(weather.latency())
        if weather.strikes("crash"):
            raise Killed
        if weather.strikes("lost_reply"):
            raise NoAnswer(f"the reply to {name} was lost")
        return answer


def name_of(message: Any) -> str:
    """A message, whoever sent it."""
    return f"{message.batch}/{message.key.run_id}/{message.attempt}"


def _fire_of(item: Any) -> str:
    """The name of what waits: a run's attempt, or the fire that a schedule's timer waits for."""
    if hasattr(item, "attempt"):
        return f"{item.key.run_id}/{item.attempt}/{item.due_at}"
    return f"{item.tenant}~{item.schedule_id}~{item.epoch}~{item.nominal_at}"


class WiredStore:
    """A `JobStore` behind a wire."""

    def __init__(self, store: Any, wire: Wire, process: Process) -> None:
        self._store = store
        self._wire = wire
        self._process = process
        self._heard: tuple[int, int] | None = None

    @property
    def here(self) -> Any:
        """Which installation the process belongs to: its settings say, and no call."""
        return self._store.here

    def skew_ms(self) -> int | None:
        """By a Date header of whole seconds: less than a second off looks like none.

        Nothing is known before an answer, nor between a setting of the clock and the next answer.
        """
        if self._heard is None or self._heard[1] != self._process.times_set:
            return None
        error, _ = self._heard
        return 0 if abs(error) < 1_000 else error - 1_000 if error > 0 else error + 1_000

    def claim(self, batch_id: Any, claims: Sequence[Any]) -> list[ClaimOutcome]:
        """Claims go in one request, or one by one; either way each may stay unanswered."""
        if not self._wire.batches_claims:
            return [self._claim_one(batch_id, claim) for claim in claims]
        try:
            outcomes: list[ClaimOutcome] = self._wire.call(
                "claims", lambda: [self._stated(batch_id, claim) for claim in claims]
            )
        except NoAnswer:
            return [ClaimOutcome.UNANSWERED] * len(claims)
        return outcomes

    def _stated(self, batch_id: Any, claim: Any) -> ClaimOutcome:
        """One of a request's statements: the partition may take this one, and not the next."""
        if not self._wire.takes_statement():
            return ClaimOutcome.UNANSWERED
        return self._watched(batch_id, claim)

    def _claim_one(self, batch_id: Any, claim: Any) -> ClaimOutcome:
        try:
            return ClaimOutcome(self._wire.call("claim", lambda: self._watched(batch_id, claim)))
        except NoAnswer:
            return ClaimOutcome.UNANSWERED

    def _watched(self, batch_id: Any, claim: Any) -> ClaimOutcome:
        (outcome,) = self._store.claim(batch_id, [claim])
        if outcome is ClaimOutcome.WON:
            self._wire.note_won(str(batch_id), claim)
        return ClaimOutcome(outcome)

    def defer(self, item: Any, due_at: int, reason: Any) -> Any:
        """Noted where it was done, also if nobody hears of it."""

        def effect() -> Any:
            done = self._store.defer(item, due_at, reason)
            if done:
                noted = Deferred(self._process.loop.now, _fire_of(item), due_at, reason.code.value)
                self._wire.note_deferral(noted)
            return done

        return self._wire.call("defer", effect)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            answer = self._wire.call(name, lambda: method(*args, **kwargs))
            self._heard = self._process.clock_error, self._process.times_set
            return answer

        return call


class WiredQueue:
    """A `RunQueue` or `TickQueue` behind a wire: silence counts as not sent, so a copy is sent and none is lost."""

    def __init__(self, put: Callable[[Any], None], wire: Wire, weather: Weather) -> None:
        self._put = put
        self._wire = wire
        self._weather = weather

    def send(self, messages: Sequence[Any]) -> Sequence[Any]:
        """In requests of ten; each entry may be refused alone."""
        unsent: list[Any] = []
        for start in range(0, len(messages), 10):
            entries = messages[start : start + 10]
            refused = [entry for entry in entries if self._weather.strikes("refused_message")]
            accepted = [entry for entry in entries if entry not in refused]
            try:
                self._wire.call("send", partial(self._put_all, accepted))
            except NoAnswer:
                unsent += entries
            else:
                unsent += refused
        return unsent

    def _put_all(self, entries: Sequence[Any]) -> None:
        for entry in entries:
            self._put(entry)
