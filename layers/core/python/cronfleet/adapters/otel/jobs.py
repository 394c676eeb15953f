"""Spans of jobs: what a job makes with OpenTelemetry's API in its own process, below the span of its call.

A job needs nothing but `opentelemetry.trace.get_tracer(...)`. A handlers' module that has set a provider of its own
keeps it, and delivers for itself; its spans stand below the run's all the same.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from opentelemetry import context as current
from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult

from cronfleet.adapters.otel.encoding import encoded, span_context
from cronfleet.domain.trace import TraceContext

MAX_SPANS: Final = 500
"""Of one attempt; later ones are left out."""

MAX_PIECE_BYTES: Final = 48 * 1024
"""Of a piece as JSON: it goes over the line between a job and its worker, whose messages are bounded."""


class _Kept(SpanProcessor):
    """Keeps spans that have ended."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        if len(self.spans) < MAX_SPANS:
            self.spans.append(span)


class _AsItsRun(Sampler):
    """Records all, since its run may yet fail; what goes on to other services says what its run said."""

    def should_sample(self, parent_context: Any, *_: Any, **__: Any) -> SamplingResult:
        is_sampled = trace.get_current_span(parent_context).get_span_context().trace_flags.sampled
        return SamplingResult(Decision.RECORD_AND_SAMPLE if is_sampled else Decision.RECORD_ONLY)

    def get_description(self) -> str:
        return "AsItsRun"


@contextmanager
def job_spans(context: TraceContext, resource: Resource) -> Iterator[list[Mapping[str, Any]]]:
    """See `JobSpans.inside`."""
    pieces: list[Mapping[str, Any]] = []
    kept = _Kept()
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        provider = TracerProvider(sampler=_AsItsRun(), resource=resource, shutdown_on_exit=False)
        provider.add_span_processor(kept)
        trace.set_tracer_provider(provider)
    span = trace.NonRecordingSpan(span_context(context, is_remote=True))
    token = current.attach(trace.set_span_in_context(span))
    try:
        yield pieces
    finally:
        current.detach(token)
        pieces += _pieces(kept.spans)


def _pieces(spans: list[ReadableSpan]) -> Iterator[Mapping[str, Any]]:
    """`spans` in parts that are small enough; one that is too large by itself is left out."""
    if not spans:
        return
    piece = {"resourceSpans": encoded(spans)}
    if len(json.dumps(piece)) <= MAX_PIECE_BYTES:
        yield piece
    elif len(spans) > 1:
        middle = len(spans) // 2
        yield from _pieces(spans[:middle])
        yield from _pieces(spans[middle:])
