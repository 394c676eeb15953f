"""Our spans as OpenTelemetry's, and those as OTLP's JSON by its own encoder."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from opentelemetry.exporter.otlp.json.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from cronfleet.domain import span as spans
from cronfleet.domain.instant import Instant
from cronfleet.domain.trace import TraceContext

SCOPE: Final = InstrumentationScope("cronfleet")

NANOSECONDS: Final = 1_000_000
"""Of a millisecond."""

_KINDS: Final = {
    spans.SpanKind.INTERNAL: SpanKind.INTERNAL,
    spans.SpanKind.SERVER: SpanKind.SERVER,
    spans.SpanKind.CLIENT: SpanKind.CLIENT,
    spans.SpanKind.PRODUCER: SpanKind.PRODUCER,
    spans.SpanKind.CONSUMER: SpanKind.CONSUMER,
}


def span_context(context: TraceContext, *, is_remote: bool = False) -> SpanContext:
    """The same in OpenTelemetry's words."""
    flags = TraceFlags(TraceFlags.SAMPLED if context.sampled else TraceFlags.DEFAULT)
    return SpanContext(int(context.trace_id, 16), int(context.span_id, 16), is_remote, flags)


def readable(span: spans.Span, resource: Resource) -> ReadableSpan:
    """A span of ours, which is over."""
    context = span.context
    parent = TraceContext(context.trace_id, span.parent_id, context.sampled) if span.parent_id else None
    return ReadableSpan(
        span.name,
        context=span_context(context),
        parent=None if parent is None else span_context(parent),
        resource=resource,
        attributes=dict(span.attributes),
        links=[Link(span_context(link, is_remote=True)) for link in span.links],
        kind=_KINDS[span.kind],
        instrumentation_scope=SCOPE,
        status=Status(StatusCode.ERROR, span.error) if span.error else Status(),
        start_time=_nanoseconds(span.began_at),
        end_time=_nanoseconds(max(span.began_at, span.ended_at)),
    )


def encoded(readable_spans: Sequence[ReadableSpan]) -> list[Mapping[str, Any]]:
    """What stands under `resourceSpans`."""
    made: list[Mapping[str, Any]] = encode_spans(readable_spans).to_dict().get("resourceSpans", [])
    return made


def _nanoseconds(instant: Instant) -> int:
    return instant * NANOSECONDS
