"""The long worker: the worker behind a poll of its own, which may be called off in the middle of a job.

What it does with a message is `services/worker.py`, the same that worker functions have. Here is what lies around it.
The message is deleted as soon as the run has begun: from then on the ledger knows of it, and its short lease says
whether it goes on. So nothing has to be kept hidden for hours, and a worker that dies is found by the sweeper like any
other.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from cronfleet.domain.instant import SECOND, Instant
from cronfleet.domain.run import RunMessage
from cronfleet.ports.clock import Clock
from cronfleet.ports.protection import Protection
from cronfleet.ports.queues import NoQueue, RunSource, Taken
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.worker import Worker

HAND_ON_SECONDS: Final = 15
"""Of what a worker is given to stop, the end: an attempt that is still going is stopped then, and handed on."""


Tell: TypeAlias = Callable[[bool], None]
"""Is told every few seconds that the worker is alive, and whether it has a job."""


def say_nothing(_is_busy: bool) -> None:
    """Tells nobody."""


class LongShift:
    """Implements `Shift`: from the start of a process until it is told to stop."""

    def __init__(
        self,
        *,
        source: RunSource,
        protection: Protection,
        clock: Clock,
        telemetry: Telemetry,
        tell: Tell = say_nothing,
    ) -> None:
        self._tell = tell
        self._source = source
        self._protection = protection
        self._clock = clock
        self._telemetry = telemetry
        self._ends_at: Instant | None = None
        self._receipt: str | None = None

    @property
    def ends_at(self) -> Instant | None:
        """See `Shift.ends_at`."""
        return self._ends_at

    def stop_within(self, seconds: int) -> None:
        """The process will be killed in so many seconds. What was said first stands. Safe in a signal's handler."""
        if self._ends_at is None:
            self._ends_at = self._clock.now() + max(0, seconds - HAND_ON_SECONDS) * SECOND

    def took(self, receipt: str) -> None:
        """A message was received, and is ours."""
        self._receipt = receipt

    def began(self) -> None:
        """See `Shift.began`."""
        self._tell(True)
        self._protection.begin()
        self.done()

    def done(self) -> None:
        """The message at hand is needed no more, if that was not said before."""
        if self._receipt is None:
            return
        receipt, self._receipt = self._receipt, None
        try:
            self._source.delete(receipt)
        except NoQueue:
            # It comes again, and finds a run that has begun.
            self._telemetry.count("messages_left")

    def left(self) -> None:
        """The message at hand is left to whoever receives it next, when it is hidden no more."""
        self._receipt = None

    def look(self) -> None:
        """See `Shift.look`."""
        self._tell(True)
        self._protection.look()

    def over(self) -> None:
        """The attempt is over, whatever became of it."""
        self._protection.end()
        self.idles()

    def idles(self) -> None:
        """There is nothing to do."""
        self._tell(False)


class LongWorker:
    """Takes one message after the other from the run queue of long runs."""

    def __init__(self, *, worker: Worker, shift: LongShift, source: RunSource, telemetry: Telemetry) -> None:
        """`worker` was made with the same `shift`."""
        self._worker = worker
        self._shift = shift
        self._source = source
        self._telemetry = telemetry

    def stop_within(self, seconds: int) -> None:
        """Take no more, and have what is at hand end or handed on before so many seconds are over."""
        self._shift.stop_within(seconds)

    @property
    def is_stopping(self) -> bool:
        """Whether it was told to stop."""
        return self._shift.ends_at is not None

    def work(self) -> bool:
        """Wait for one message, and see its run through; whether there was one. Raises `NoQueue`."""
        self._shift.idles()
        taken = self._source.receive()
        if taken is None:
            return False
        if self.is_stopping:
            self._source.give_back(taken.receipt)
            return False
        if taken.message is None:
            self._leave(taken)
        else:
            self._carry_out(taken, taken.message)
        return True

    def _leave(self, taken: Taken) -> None:
        """It goes to the dead-letter queue after its last delivery, where an operator can read it."""
        message_id = "" if taken.delivery is None else taken.delivery.message_id
        self._telemetry.alarm("message_unreadable", message_id=message_id, error=taken.unreadable)

    def _carry_out(self, taken: Taken, message: RunMessage) -> None:
        self._shift.took(taken.receipt)
        try:
            self._worker.handle(message, taken.delivery)
            self._shift.done()
        finally:
            self._shift.left()
            self._shift.over()
