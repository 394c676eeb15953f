"""Spans are delivered as OTLP/HTTP, and an endpoint that fails or hangs costs a bounded time and nothing else."""

import socket
import threading
import time
from dataclasses import replace
from typing import Any

import pytest
from botocore.credentials import Credentials
from opentelemetry import trace

from cronfleet.adapters.otel import delivery
from cronfleet.adapters.otel.signing import Signature
from cronfleet.adapters.otel.tracing import OtelTracing
from cronfleet.domain.attempt import Result
from cronfleet.domain.instant import DAY, MINUTE
from cronfleet.domain.run import Outcome
from cronfleet.domain.span import Span, SpanKind
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.trace import TraceContext
from cronfleet.sdk import Context, handler
from tests.support.calls import Felt, call
from tests.support.collector import collecting, value_of
from tests.support.settable_clock import NOON
from tests.support.world import Notes
from tests.unit.adapters.targets.test_handler import make_traced

CONTEXT = TraceContext("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", sampled=True)
ORIGIN = TraceContext("ab" * 16, "cd" * 8)
SPAN = Span(
    CONTEXT,
    "00f067aa0ba902b7",
    "process runs-standard",
    "worker",
    NOON,
    NOON + 1_250,
    SpanKind.CONSUMER,
    {"cronfleet.tenant": "acme", "cronfleet.attempt": 2, "cronfleet.lag_seconds": 1.5, "ok": True},
    "failed: ValueError",
    (ORIGIN,),
)


def tracing(url: str, notes: Notes | None = None, **more: Any) -> OtelTracing:
    return OtelTracing(url, "worker", "1.2.3", telemetry=notes or Notes(), **more)


def test_a_span_arrives_with_its_ids_times_attributes_and_links() -> None:
    with collecting() as collector:
        ours = tracing(collector.url)
        ours.keep([SPAN])
        ours.flush()
        ours.flush()
    (span,) = collector.spans
    assert (span["traceId"], span["spanId"], span["parentSpanId"]) == (*_ids(CONTEXT), "00f067aa0ba902b7")
    assert (int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])) == (NOON * 10**6, (NOON + 1_250) * 10**6)
    assert span["service"] == "cronfleet-worker"
    assert span["kind"] == 5
    assert span["status"] == {"code": 2, "message": "failed: ValueError"}
    assert value_of(span["attributes"], "cronfleet.tenant") == "acme"
    assert value_of(span["attributes"], "cronfleet.lag_seconds") == 1.5
    assert [(link["traceId"], link["spanId"]) for link in span["links"]] == [_ids(ORIGIN)]
    assert len(collector.taken) == 1, "what was delivered is forgotten"


def _ids(context: TraceContext) -> tuple[str, str]:
    return context.trace_id, context.span_id


def test_spans_of_several_parts_come_from_several_services_in_one_request() -> None:
    with collecting() as collector:
        ours = tracing(collector.url)
        ours.keep([SPAN, *(_of_part("dispatcher") for _ in range(30))])
        ours.flush()
    assert {span["service"] for span in collector.spans} == {"cronfleet-worker", "cronfleet-dispatcher"}
    assert len(collector.taken) == 1
    assert len(collector.spans) == 31


def _of_part(part: str) -> Span:
    return Span(CONTEXT, "", "claim", part, NOON, NOON)


def test_spans_that_lie_days_apart_go_in_requests_of_their_own() -> None:
    began = (NOON - 3 * DAY, NOON - 3 * DAY + MINUTE, NOON)
    with collecting() as collector:
        ours = tracing(collector.url)
        ours.keep([replace(SPAN, name=str(at), began_at=at, ended_at=NOON) for at in began])
        ours.flush()
    assert len(collector.taken) == 2
    assert sorted(span["name"] for span in collector.spans) == sorted(map(str, began))


@pytest.mark.parametrize("status", [400, 404, 429, 500, 503])
def test_what_is_refused_is_lost_and_counted_and_asked_for_once(status: int) -> None:
    notes = Notes()
    with collecting(status) as collector:
        ours = tracing(collector.url, notes)
        for _ in range(3):
            ours.keep([SPAN])
            ours.flush()
    assert len(collector.taken) == 1, "after a failure nothing is sent for a while"
    assert notes.counts["spans_lost"] == 3


def test_an_endpoint_that_is_not_there_costs_next_to_nothing() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        _costs(f"http://127.0.0.1:{taken.getsockname()[1]}/v1/traces", 0.5)


def test_an_endpoint_that_takes_a_request_and_never_answers_is_given_up() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        _costs(f"http://127.0.0.1:{silent.getsockname()[1]}/v1/traces", delivery.TOTAL_SECONDS + 0.5)


def test_an_endpoint_that_answers_byte_by_byte_is_given_up_as_well() -> None:
    with socket.socket() as slow:
        slow.bind(("127.0.0.1", 0))
        slow.listen()
        over = threading.Event()

        def trickle() -> None:
            connection, _ = slow.accept()
            while not over.wait(0.1):
                connection.send(b"H")

        thread = threading.Thread(target=trickle, daemon=True)
        thread.start()
        _costs(f"http://127.0.0.1:{slow.getsockname()[1]}/v1/traces", delivery.TOTAL_SECONDS + 0.5)
        over.set()


def _costs(url: str, most_seconds: float) -> None:
    """Deliver twice: the first may cost so much, the second nothing; nothing is raised."""
    notes = Notes()
    ours = tracing(url, notes)
    took = []
    for _ in range(2):
        ours.keep([SPAN])
        began = time.monotonic()
        ours.flush()
        took.append(time.monotonic() - began)
    assert took[0] < most_seconds
    assert took[1] < 0.1
    assert notes.counts["spans_lost"] == 2


def test_requests_to_aws_are_signed() -> None:
    with collecting() as collector:
        ours = tracing(collector.url, sign=Signature("eu-central-1", Credentials("AKIDEXAMPLE", "secret", "token")))
        ours.keep([SPAN])
        ours.flush()
    ((headers, _),) = collector.taken
    assert headers["Authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert "/eu-central-1/xray/aws4_request" in headers["Authorization"]
    assert headers["X-Amz-Security-Token"] == "token"


# --- jobs --------------------------------------------------------------------------------------------------------


@handler("traced.job")
def traced_job(context: Context, payload: Any) -> None:
    with trace.get_tracer("billing").start_as_current_span("load invoices") as span:
        span.set_attribute("invoices", 42)
        with trace.get_tracer("billing").start_as_current_span("send"):
            pass
    if payload == "many":
        for number in range(400):
            with trace.get_tracer("billing").start_as_current_span(f"page {number}") as page:
                page.set_attribute("text", "x" * 500)
    assert context.traceparent == CONTEXT.traceparent


def _call_job(ours: OtelTracing, payload: Any = None, context: TraceContext = CONTEXT) -> Result:
    target = HandlerTarget("traced.job")
    return make_traced(ours).call(replace(call(target, payload), trace=context), target, Felt())


def test_spans_that_a_job_makes_stand_below_the_call_and_arrive_with_the_runs() -> None:
    with collecting() as collector:
        ours = tracing(collector.url)
        assert _call_job(ours) == Result(Outcome.SUCCEEDED)
        ours.keep([SPAN])
        ours.flush()
    spans = {span["name"]: span for span in collector.spans}
    load = spans["load invoices"]
    assert (load["traceId"], load["parentSpanId"]) == _ids(CONTEXT)
    assert spans["send"]["parentSpanId"] == load["spanId"]
    assert load["service"] == "cronfleet-job"
    assert value_of(load["attributes"], "invoices") == "42" or value_of(load["attributes"], "invoices") == 42


def test_spans_of_a_job_whose_run_is_not_kept_are_forgotten() -> None:
    with collecting() as collector:
        ours = tracing(collector.url)
        _call_job(ours, context=TraceContext(CONTEXT.trace_id, CONTEXT.span_id))
        ours.flush()
        ours.keep([SPAN])
        ours.flush()
    assert [span["name"] for span in collector.spans] == [SPAN.name]


def test_many_spans_of_a_job_come_over_the_line_in_pieces() -> None:
    with collecting() as collector:
        ours = tracing(collector.url)
        assert _call_job(ours, "many") == Result(Outcome.SUCCEEDED)
        ours.keep([])
        ours.flush()
    assert len(collector.spans) == 402
