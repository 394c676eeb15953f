"""Targets: where a run is executed. A new kind is one adapter behind this port."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from cronfleet.domain.attempt import Result
from cronfleet.domain.attempt_log import LogLine, LogPlace
from cronfleet.domain.cancel_request import CancelRequest
from cronfleet.domain.instant import Instant
from cronfleet.domain.run import RunKey
from cronfleet.domain.target import Target
from cronfleet.domain.trace import TraceContext


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt as a target sees it.

    `deadline_at` is when the attempt must have ended (it is stopped then); `fence` guards its receipts. After
    `heartbeat_seconds` without a beat it is stopped too; 0: it need not beat.
    """

    key: RunKey
    attempt: int
    fence: int
    due_at: Instant
    deadline_at: Instant
    target: Target
    payload: Any
    heartbeat_seconds: int = 0
    trace: TraceContext | None = None
    """The span of this call: what the target does stands below it."""
    noted: Mapping[str, object] = field(default_factory=dict)
    """What else stands in each line that the attempt logs."""

    @property
    def traceparent(self) -> str:
        """As the target is told it; empty where it is not."""
        return "" if self.trace is None else self.trace.traceparent


class Pulse(Protocol):
    """What an attempt tells of itself while it goes on, and what it is told."""

    @property
    def cancel(self) -> CancelRequest | None:
        """The request to cancel its run, as soon as it is known here."""
        ...

    @property
    def is_stopping(self) -> bool:
        """Whether its worker was asked to stop: an attempt that cannot end soon is interrupted, and made again."""
        ...

    def beat(self, fraction: float | None = None, text: str | None = None) -> None:
        """It is alive; and so far, if it says so (`None`: as before). Written at most every `BEAT_SECONDS`.

        Raises `FenceLost` and `Interrupted`: the attempt is to be stopped. A store that stays silent is asked at the
        next beat.
        """
        ...

    def look(self) -> None:
        """To be called every second or so while the attempt goes on: writes what is due, learns what can be learnt.

        Raises `FenceLost` and `Interrupted`.
        """
        ...

    def log(self, lines: Sequence[LogLine], *, is_whole: bool, place: LogPlace | None = None) -> None:
        """What it has said until now, instead of what was given before: its end is kept with the attempt.

        Written every `LOG_SECONDS` while it goes on, and when it is over.
        """
        ...


class Targets(Protocol):
    """Every target kind behind one call."""

    def call(self, call: Call, pulse: Pulse) -> Result:
        """Run the attempt to its end or its deadline. A job that fails is a `Result`, never an exception."""
        ...


@dataclass(frozen=True, slots=True)
class Receipt:
    """The record of an effect: `first` is True for the one call that wrote it, `value` what that call recorded."""

    first: bool
    value: Any


class FenceLost(Exception):
    """The attempt's lease is over and another has the run: it may record nothing any more."""


class Interrupted(Exception):
    """The attempt cannot go on here, through no fault of its own, and is made anew elsewhere; its text says why."""


class CancelAsked(Exception):
    """The run's cancellation was asked for, which the attempt learns here; it may record all the same."""


class Receipts(Protocol):
    """Effects that happen once per run and name, guarded by the run's fence."""

    def record(
        self, key: RunKey, fence: int, name: str, value: Any, now: Instant, *, knows_of_cancel: bool = False
    ) -> Receipt:
        """Record `value` under (run, name) unless it is there; raises `FenceLost` when `fence` is not the run's.

        Raises `CancelAsked`, and records nothing, when the run's cancellation was asked for and the attempt does not
        know that yet.
        """
        ...
