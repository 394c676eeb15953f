"""Telemetry is lines on standard output: structured ones, and metrics in CloudWatch's embedded format."""

import json
from typing import Any

import pytest

from cronfleet.adapters.cloudwatch.telemetry import CloudWatchTelemetry


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_count_is_a_metric_with_its_dimensions(capsys: pytest.CaptureFixture[str]) -> None:
    CloudWatchTelemetry("dispatcher").count("fires", 7, shard="3")
    (line,) = lines(capsys)
    (metrics,) = line["_aws"]["CloudWatchMetrics"]
    assert metrics["Namespace"] == "Cronfleet"
    assert sorted(metrics["Dimensions"][0]) == ["service", "shard"]
    assert (metrics["Metrics"][0]["Name"], metrics["Metrics"][0]["Unit"]) == ("fires", "Count")
    assert (line["fires"], line["shard"], line["service"]) == ([7.0], "3", "dispatcher")


def test_each_metric_has_its_own_dimensions(capsys: pytest.CaptureFixture[str]) -> None:
    telemetry = CloudWatchTelemetry("worker")
    telemetry.measure("lag", 0.25, tier="standard")
    telemetry.measure("lag", 1.5, tier="priority")
    telemetry.count("takeovers")
    assert [(line.get("lag"), line.get("tier")) for line in lines(capsys)] == [
        ([0.25], "standard"),
        ([1.5], "priority"),
        (None, None),
    ]


def test_an_event_is_a_line_with_its_fields(capsys: pytest.CaptureFixture[str]) -> None:
    # A part of its own: a logger keeps the standard output that it was made with.
    telemetry = CloudWatchTelemetry("event-tester")
    telemetry.event("attempt_finished", run_id="r", outcome="failed", module="n", message="m")
    (line,) = lines(capsys)
    assert (line["level"], line["message"], line["service"]) == ("INFO", "attempt_finished", "event-tester")
    assert (line["run_id"], line["outcome"]) == ("r", "failed")
    assert (line["module_"], line["message_"]) == ("n", "m"), "names that log records keep for themselves"


def test_an_alarm_is_an_error_and_a_counter_of_the_same_name(capsys: pytest.CaptureFixture[str]) -> None:
    CloudWatchTelemetry("alarm-tester").alarm("books_full", shard=3)
    log, metric = lines(capsys)
    assert (log["level"], log["message"], log["shard"]) == ("ERROR", "books_full", 3)
    assert metric["books_full"] == [1.0]
