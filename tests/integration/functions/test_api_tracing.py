"""Requests are spans: below their caller's, above the runs that they ask for, and the answer says which."""

from typing import Any

import pytest

from cronfleet import settings
from cronfleet.domain.run import RunKey
from cronfleet.domain.trace import TraceContext, parse_traceparent
from tests.support.api import Api, api_on_memory
from tests.support.collector import Collector, collecting, value_of

OURS = TraceContext("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", sampled=True)


def traced(monkeypatch: pytest.MonkeyPatch, collector: Collector, ratio: str = "1") -> Api:
    return api_on_memory(monkeypatch, **{settings.TRACES: collector.url, settings.TRACE_RATIO: ratio})


def run_now(api: Api, **headers: str) -> tuple[TraceContext | None, Any]:
    """The span that the answer names, and the run's row."""
    assert api.register().status == 201
    answer = api.call("POST", "/v1/schedules/nightly/run", {}, headers=headers)
    assert answer.status == 201
    row = api.store.get_run(RunKey.parse(answer.json["run_id"]))
    assert answer.json["trace_id"] == row.trace.trace_id
    return parse_traceparent(answer.headers.get("traceparent", "")), row


def test_a_request_goes_on_in_its_callers_trace_and_its_run_in_the_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    with collecting() as collector:
        context, row = run_now(traced(monkeypatch, collector, "0"), traceparent=OURS.traceparent)
    assert context is not None
    assert (context.trace_id, context.sampled) == (OURS.trace_id, True)
    assert row.origin == context
    (span,) = [one for one in collector.spans if one["traceId"] == OURS.trace_id]
    assert (span["name"], span["parentSpanId"]) == ("POST /v1/schedules/{schedule_id}/run", OURS.span_id)
    assert span["spanId"] == context.span_id
    assert value_of(span["attributes"], "http.route") == "/v1/schedules/{schedule_id}/run"
    assert value_of(span["attributes"], "cronfleet.tenant") == "acme"


def test_a_caller_who_keeps_nothing_is_heeded(monkeypatch: pytest.MonkeyPatch) -> None:
    unsampled = TraceContext(OURS.trace_id, OURS.span_id)
    with collecting() as collector:
        context, row = run_now(traced(monkeypatch, collector), traceparent=unsampled.traceparent)
    assert context is not None
    assert not context.sampled
    assert row.trace.trace_id == OURS.trace_id
    assert OURS.trace_id not in {span["traceId"] for span in collector.spans}


def test_a_request_of_its_own_begins_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    with collecting() as collector:
        context, row = run_now(traced(monkeypatch, collector))
    assert context is not None
    assert row.origin == context
    assert not any(span.get("parentSpanId") for span in collector.spans)


@pytest.mark.parametrize("text", ["garbage", "00-" + "0" * 32 + "-00f067aa0ba902b7-01", "ff" + OURS.traceparent[2:]])
def test_what_is_no_traceparent_is_passed_over(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    with collecting() as collector:
        context, _ = run_now(traced(monkeypatch, collector), traceparent=text)
    assert context is not None
    assert context.trace_id not in text


def test_where_nothing_is_traced_a_callers_trace_goes_on_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    context, row = run_now(api_on_memory(monkeypatch), traceparent=OURS.traceparent)
    assert context is not None
    assert row.trace.trace_id == OURS.trace_id


def test_where_nothing_is_traced_a_run_has_the_trace_that_its_id_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    context, row = run_now(api_on_memory(monkeypatch))
    assert context is None
    assert row.origin is None
    assert row.trace == row.key.trace()


def test_a_fault_of_ours_is_kept_though_nobody_chose_it_and_its_path_tells_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with collecting() as collector:
        api = traced(monkeypatch, collector, "0")
        assert api.call("GET", "/v1/schedules/none-such").status == 404
        monkeypatch.setattr(api.store, "get_timer", lambda *_: 1 / 0)
        assert api.call("GET", "/v1/schedules/secret-name").status == 500
    (span,) = collector.spans
    assert span["status"] == {"code": 2, "message": "http 500"}
    assert "secret-name" not in str(span)
