"""Log injection: whatever a target, a receiver or a job says stands in one line, inside an object of ours."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from cronfleet.adapters.cloudwatch.telemetry import CloudWatchTelemetry
from cronfleet.adapters.system.clock import SystemClock
from cronfleet.adapters.targets.targets import AllTargets
from cronfleet.domain.message import Message, email_subject, sns_subject
from cronfleet.domain.notice import Edge
from cronfleet.domain.run import Outcome
from cronfleet.domain.target import HandlerTarget
from tests.support.calls import Felt, Notebook, call

FORGED = 'x\r\n{"level":"ERROR","message":"forged"}\n\x1b[2J\u2028\x85'


@pytest.fixture
def told() -> Iterator[tuple[CloudWatchTelemetry, io.StringIO]]:
    """A worker that has just begun, and what it writes."""
    package = logging.getLogger("cronfleet")
    kept = package.handlers[:], package.propagate
    telemetry, written = CloudWatchTelemetry("worker", "Cronfleet", SystemClock()), io.StringIO()
    handlers = telemetry._logger.handlers
    streams = [handler.setStream(written) for handler in handlers if isinstance(handler, logging.StreamHandler)]
    yield telemetry, written
    for handler, stream in zip(handlers, streams, strict=True):
        handler.setStream(stream)
    package.handlers[:], package.propagate = kept


def lines(written: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in written.getvalue().split("\n") if line]


def test_what_an_adapter_logs_of_a_failure_is_one_line_whatever_the_failure_says(
    told: tuple[CloudWatchTelemetry, io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    targets = AllTargets(receipts=Notebook(), clock=SystemClock(), handlers_package="functions.worker.handlers")

    def broken(*_: object) -> None:
        raise RuntimeError(FORGED)

    monkeypatch.setattr(targets, "_dispatch", broken)
    result = targets.call(call(HandlerTarget("a.b")), Felt())
    assert result.outcome is Outcome.FAILED
    [line] = lines(told[1])
    assert str(line["message"]).startswith("target_broken")
    assert "forged" in str(line["exception"])
    assert line["service"] == "worker"


def test_an_event_and_a_field_hold_what_they_hold_in_one_line(
    told: tuple[CloudWatchTelemetry, io.StringIO],
) -> None:
    told[0].event("told", reason=FORGED, message=FORGED)
    [line] = lines(told[1])
    assert line["message"] == "told"
    assert line["reason"] == FORGED


def test_the_subject_of_a_mail_and_of_a_topic_is_one_line_whatever_a_schedule_is_called() -> None:
    message = Message("n", Edge.OPENED, "title\r\nBcc: everybody@example.com\n", "text", (), {}, 0)
    for subject in (email_subject(message), sns_subject(message)):
        assert subject == "title Bcc: everybody@example.com"
