"""Trace contexts: read and written as the standards want it, and computed, so that copies share them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronfleet.domain.run import Run, RunKey, RunStatus
from cronfleet.domain.trace import TraceContext, is_sampled, parse_traceparent, trace_id_of
from tests.support.builders import message
from tests.support.settable_clock import NOON

EXAMPLE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
CONTEXT = TraceContext("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", sampled=True)
FIRE = RunKey("acme", "nightly", 1, NOON)
MANUAL = replace(FIRE, cause="manual-01kb")

contexts = st.builds(
    TraceContext,
    st.integers(1, 2**128 - 1).map(lambda number: f"{number:032x}"),
    st.integers(1, 2**64 - 1).map(lambda number: f"{number:016x}"),
    st.booleans(),
)


def test_the_example_of_the_standard_is_read() -> None:
    assert parse_traceparent(EXAMPLE) == CONTEXT


@given(contexts)
def test_a_traceparent_is_read_back_as_it_was_written(context: TraceContext) -> None:
    assert parse_traceparent(context.traceparent) == context


def test_of_a_later_version_what_is_known_is_read() -> None:
    assert parse_traceparent(EXAMPLE.replace("00-", "cc-", 1) + "-what-comes-later") == CONTEXT


@pytest.mark.parametrize(
    "text",
    [
        "",
        "garbage",
        EXAMPLE.upper(),
        EXAMPLE + "-more",
        EXAMPLE.replace("00-", "ff-", 1),
        EXAMPLE.replace("0af7651916cd43dd8448eb211c80319c", "0" * 32),
        EXAMPLE.replace("b7ad6b7169203331", "0" * 16),
        EXAMPLE.replace("-01", "-1"),
        EXAMPLE + "\r\nx-evil: 1",
        EXAMPLE.replace("0af7", "\u0660af"),
    ],
)
def test_what_is_no_traceparent_is_none(text: str) -> None:
    assert parse_traceparent(text) is None


def test_other_flags_than_sampled_are_passed_over() -> None:
    found = parse_traceparent(EXAMPLE[:-2] + "02")
    assert found is not None
    assert not found.sampled


def test_x_ray_reads_the_same_ids() -> None:
    assert CONTEXT.xray_header == "Root=1-0af76519-16cd43dd8448eb211c80319c;Parent=b7ad6b7169203331;Sampled=1"


def test_every_copy_and_every_attempt_of_a_fire_has_one_trace_without_anything_being_stored() -> None:
    first, third = message(NOON), message(NOON, attempt=3, batch="0.9.9", resent_at=NOON)
    assert first.context == third.context
    row = Run(first.key, RunStatus.RUNNING, due_at=NOON, tier="standard", origin=CONTEXT)
    assert row.trace == first.context
    assert row.carried is None


def test_two_fires_have_two_traces() -> None:
    assert FIRE.trace().trace_id != replace(FIRE, nominal_at=NOON + 1_000).trace().trace_id


def test_a_run_that_a_request_asked_for_goes_on_in_its_trace() -> None:
    row = Run(MANUAL, RunStatus.QUEUED, due_at=NOON, tier="standard", origin=CONTEXT)
    assert row.trace.trace_id == CONTEXT.trace_id
    assert row.trace.span_id != CONTEXT.span_id
    assert row.trace.sampled
    assert message(NOON, key=MANUAL, trace=row.carried).context == row.trace


@pytest.mark.parametrize("cause", ["schedule", "backfill-o123", "rerun-o123"])
def test_a_fire_and_each_run_of_an_operation_has_a_trace_of_its_own(cause: str) -> None:
    row = Run(replace(FIRE, cause=cause), RunStatus.QUEUED, due_at=NOON, tier="standard", origin=CONTEXT)
    assert row.trace.trace_id not in (CONTEXT.trace_id, FIRE.trace().trace_id if cause != "schedule" else "")


def test_the_share_of_traces_that_is_sampled_is_the_ratio() -> None:
    ids = [trace_id_of(number) for number in range(4_000)]
    assert 0.2 < sum(is_sampled(one, 0.25) for one in ids) / len(ids) < 0.3
    assert all(is_sampled(one, 1) for one in ids)
    assert not any(is_sampled(one, 0) for one in ids)
