"""Attempts as spans: noted while an attempt goes on, drawn when it has ended, and kept if the run is to be seen.

Whether it is, is known at the end alone: a run that failed or was late has all its spans, as if it had been chosen.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from cronfleet.domain.attempt_line import error_kind
from cronfleet.domain.run import Outcome, Run, RunMessage
from cronfleet.domain.run_spans import Called, Delivery, attempt_context, execution_spans, run_spans, target_context
from cronfleet.domain.span import Keeping
from cronfleet.domain.trace import TraceContext
from cronfleet.ports.clock import Clock

if TYPE_CHECKING:
    from cronfleet.domain.attempt import Result
    from cronfleet.domain.target import Target
    from cronfleet.ports.tracing import Tracing


class AttemptTracing:
    """What is known of the message that is being handled. Without a `tracing` nothing is kept, but ids go on."""

    def __init__(self, clock: Clock, tracing: "Tracing | None" = None, keeping: Keeping | None = None) -> None:
        self._clock = clock
        self._tracing = tracing
        self._keeping = keeping or Keeping(ratio=0)
        self._handled: tuple[RunMessage, Delivery] | None = None
        self._called: Called | None = None

    @contextmanager
    def handling(self, message: RunMessage, delivery: Delivery | None) -> Iterator[None]:
        """While `message` is handled. What is to be kept is delivered when all else is done."""
        self._handled = message, delivery or Delivery(self._clock.now())
        self._called = None
        try:
            yield
        finally:
            self._handled = None
            if self._tracing is not None:
                self._tracing.flush()

    def context(self, run: Run) -> TraceContext:
        """The span of the attempt that is being made."""
        whole = replace(run.trace, sampled=self._keeping.samples(run))
        return whole if self._handled is None else attempt_context(whole, self._handled[0])

    def calls(self, run: Run, target: "Target") -> TraceContext:
        """The target is about to be called: the span that it is called with."""
        self._called = Called(target, self._clock.now())
        return target_context(self.context(run))

    def called(self, result: "Result") -> None:
        """The target has answered."""
        if self._called is None:
            return
        failed = result.outcome in (Outcome.FAILED, Outcome.TIMED_OUT)
        error = f"{result.outcome}: {error_kind(result.error)}" if failed else ""
        self._called = replace(self._called, ended_at=self._clock.now(), error=error)

    def ended(self, run: Run) -> None:
        """An attempt of `run` has ended, as its row now says."""
        if self._tracing is None or not self._keeping.keeps(run):
            return
        now = self._clock.now()
        if self._handled is None:
            self._tracing.keep(execution_spans(run, now))
            self._tracing.flush()
        else:
            self._tracing.keep(run_spans(run, *self._handled, self._called, now))

    def handed_over(self, run: Run) -> None:
        """The attempt of `run` goes on elsewhere: its way here is kept now, its end by whoever follows it."""
        if self._tracing is not None and self._handled is not None and self._keeping.samples(run):
            self._tracing.keep(run_spans(run, *self._handled, self._called, self._clock.now()))
