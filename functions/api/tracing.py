"""Tracing of requests: each is a span, below its caller's where it came with a `traceparent`.

An answer says under which span its request can be found. What a request asks for goes on from there: a run now and a
single re-run in the same trace, the many runs of an operation in traces of their own that are linked to it.
"""

import functools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from cronfleet import bootstrap
from cronfleet.domain.span import Span, SpanKind, Value
from cronfleet.domain.trace import TRACEPARENT, TraceContext, is_sampled, parse_traceparent, span_id_of, trace_id_of
from cronfleet.settings import Settings, from_environment

from .requests import ADMITTED, ROUTE, TRACE

if TYPE_CHECKING:
    from cronfleet.ports.tracing import Tracing

PART: Final = "api"
_SERVER_ERROR: Final = 500


@functools.cache
def _settings() -> Settings:
    return from_environment()


@functools.cache
def _tracing() -> "Tracing | None":
    return bootstrap.tracing(_settings(), PART, bootstrap.telemetry(PART))


@contextmanager
def traced(event: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """While a request is answered; what is put into the answer stands in what this gives, once that is done."""
    parent = parse_traceparent(str(event.get("headers", {}).get(TRACEPARENT, "")))
    context = _context(event, parent)
    if context is None:
        yield {}
        return
    event["requestContext"][TRACE] = context
    began_at, answer = bootstrap.now(), {}
    with bootstrap.telemetry(PART).about(trace_id=context.trace_id, span_id=context.span_id):
        yield answer
    answer.setdefault("headers", {})[TRACEPARENT] = context.traceparent
    tracing = _tracing()
    status = int(answer.get("statusCode", _SERVER_ERROR))
    if tracing is None or not (context.sampled or status >= _SERVER_ERROR):
        return
    tracing.keep([_span(event, context, "" if parent is None else parent.span_id, began_at, status)])
    tracing.flush()


def _context(event: Mapping[str, Any], parent: TraceContext | None) -> TraceContext | None:
    """The span of a request. Where nothing is traced here, its caller's trace goes on all the same."""
    traces = _settings().traces
    request_id = event["requestContext"]["requestId"]
    if parent is not None:
        return TraceContext(parent.trace_id, span_id_of(parent.trace_id, request_id), parent.sampled)
    if traces is None:
        return None
    trace_id = trace_id_of("request", request_id)
    return TraceContext(trace_id, span_id_of(trace_id, request_id), is_sampled(trace_id, traces.keeping.ratio))


def _span(event: Mapping[str, Any], context: TraceContext, parent_id: str, began_at: int, status: int) -> Span:
    """Of its path the route alone is told: a path may hold a token."""
    about = event["requestContext"]
    method = about["http"]["method"]
    route = about.get(ROUTE, "")
    attributes: dict[str, Value] = {
        "http.request.method": method,
        "http.response.status_code": status,
        "faas.trigger": "http",
        "faas.invocation_id": about["requestId"],
    }
    if route:
        attributes["http.route"] = route
    caller = about.get(ADMITTED)
    if caller is not None:
        attributes["cronfleet.tenant"] = caller.tenant.tenant_id
    error = f"http {status}" if status >= _SERVER_ERROR else ""
    name = f"{method} {route}".strip()
    return Span(context, parent_id, name, PART, began_at, bootstrap.now(), SpanKind.SERVER, attributes, error)
