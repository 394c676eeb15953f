"""Spans: what a part did, from when to when, for whom, as values. Nothing here knows who keeps or shows them.

Names and attributes follow OpenTelemetry's semantic conventions where these have one; the rest begin with `cronfleet.`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias

from cronfleet.domain.instant import SECOND, Instant
from cronfleet.domain.run import FAILED, Outcome, Run
from cronfleet.domain.trace import TraceContext, is_sampled

Value: TypeAlias = str | int | float | bool

DEFAULT_RATIO: Final = 0.05
DEFAULT_LATE_SECONDS: Final = 60

_BAD: Final = frozenset({Outcome.FAILED, Outcome.TIMED_OUT, Outcome.LOST})


class SpanKind(StrEnum):
    """As OpenTelemetry has them."""

    INTERNAL = "internal"
    SERVER = "server"
    CLIENT = "client"
    PRODUCER = "producer"
    CONSUMER = "consumer"


@dataclass(frozen=True, slots=True)
class Span:
    """Something that `part` did. `error` is one short line of ours, and never what a target answered or a job said."""

    context: TraceContext
    parent_id: str
    """Empty: it has none."""
    name: str
    part: str
    began_at: Instant
    ended_at: Instant
    kind: SpanKind = SpanKind.INTERNAL
    attributes: Mapping[str, Value] = field(default_factory=dict)
    error: str = ""
    links: tuple[TraceContext, ...] = ()


@dataclass(frozen=True, slots=True)
class Keeping:
    """Which traces are kept: the share `ratio`, and every run that failed or was later than `late_seconds`."""

    ratio: float = DEFAULT_RATIO
    late_seconds: int = DEFAULT_LATE_SECONDS

    def samples(self, run: Run) -> bool:
        """Whether the trace of `run` is among the share. A request that went on in a caller's trace decided for all."""
        decided = run.carried
        return decided.sampled if decided is not None else is_sampled(run.trace.trace_id, self.ratio)

    def keeps(self, run: Run) -> bool:
        """Whether the spans of `run` are kept, as its row says how it went."""
        return self.samples(run) or went_wrong(run) or is_late(run, self.late_seconds)


def went_wrong(run: Run) -> bool:
    """Whether the run, or an attempt of it, failed."""
    return run.status in FAILED or any(attempt.outcome in _BAD for attempt in run.attempts)


def is_late(run: Run, late_seconds: int) -> bool:
    """Whether the run started later than `late_seconds` after its time."""
    return run.lag_ms is not None and run.lag_ms > late_seconds * SECOND
