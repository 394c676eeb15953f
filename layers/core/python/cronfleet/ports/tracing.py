"""Tracing: where finished spans go. Nothing that happens here fails or delays a run."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from cronfleet.domain.span import Span
from cronfleet.domain.trace import TraceContext


class Tracing(Protocol):
    """Takes spans that are to be kept; what cannot be delivered is lost, and counted."""

    def keep(self, spans: Sequence[Span]) -> None:
        """Have `spans` delivered with the next `flush`, and what was relayed since the last one."""
        ...

    def flush(self) -> None:
        """Deliver what is to be kept, within a bounded time, and forget the rest. Raises nothing."""
        ...


class JobSpans(Protocol):
    """Spans that jobs make themselves, with OpenTelemetry's own API, below the span of their call."""

    def inside(self, context: TraceContext) -> AbstractContextManager[Sequence[Mapping[str, Any]]]:
        """In the job's process: `context` is the current span meanwhile. What was made is there once it is over, in
        pieces of a bounded size.
        """
        ...

    def relay(self, piece: Mapping[str, Any]) -> None:
        """In the worker's process: take over a piece that the job's process made."""
        ...
