"""Telemetry is lines on standard output: structured ones, and metrics in CloudWatch's embedded format."""

import json
from typing import Any

import pytest

from cronfleet.adapters.cloudwatch.telemetry import CloudWatchTelemetry
from tests.support.settable_clock import NOON, SettableClock


def telemetry(part: str) -> CloudWatchTelemetry:
    return CloudWatchTelemetry(part, "Cronfleet", SettableClock(NOON))


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_count_is_a_metric_with_its_dimensions(capsys: pytest.CaptureFixture[str]) -> None:
    telemetry("dispatcher").count("fires", 7, shard="3", reason="late")
    (line,) = lines(capsys)
    (metrics,) = line["_aws"]["CloudWatchMetrics"]
    assert metrics["Namespace"] == "Cronfleet"
    assert metrics["Dimensions"] == [["service", "reason"]], "a series for each shard would be paid for"
    assert (metrics["Metrics"][0]["Name"], metrics["Metrics"][0]["Unit"]) == ("fires", "Count")
    assert (line["fires"], line["shard"], line["service"]) == ([7], "3", "dispatcher")


def test_lag_is_a_series_of_its_tier_and_one_of_its_shard(capsys: pytest.CaptureFixture[str]) -> None:
    telemetry("worker").measure("lag", 0.5, tier="standard", shard="7")
    (line,) = lines(capsys)
    assert line["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["service", "tier"], ["service", "shard"]]
    assert line["_aws"]["Timestamp"] == NOON


def test_several_counts_take_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    telemetry("dispatcher").tally({"claims_won": 3, "fires": 2}, shard="0")
    (line,) = lines(capsys)
    assert (line["claims_won"], line["fires"]) == ([3], [2])
    assert [one["Name"] for one in line["_aws"]["CloudWatchMetrics"][0]["Metrics"]] == ["claims_won", "fires"]


def test_each_metric_has_its_own_dimensions(capsys: pytest.CaptureFixture[str]) -> None:
    part = telemetry("worker")
    part.measure("lag", 0.25, tier="standard")
    part.measure("lag", 1.5, tier="priority")
    part.count("takeovers")
    assert [(line.get("lag"), line.get("tier")) for line in lines(capsys)] == [
        ([0.25], "standard"),
        ([1.5], "priority"),
        (None, None),
    ]


def test_an_event_is_a_line_with_its_fields(capsys: pytest.CaptureFixture[str]) -> None:
    # A part of its own: a logger keeps the standard output that it was made with.
    part = telemetry("event-tester")
    part.event("attempt_finished", run_id="r", outcome="failed", module="n", message="m")
    (line,) = lines(capsys)
    assert (line["level"], line["message"], line["service"]) == ("INFO", "attempt_finished", "event-tester")
    assert (line["run_id"], line["outcome"]) == ("r", "failed")
    assert (line["module_"], line["message_"]) == ("n", "m"), "names that log records keep for themselves"


def test_an_alarm_is_an_error_and_a_counter_of_the_same_name(capsys: pytest.CaptureFixture[str]) -> None:
    telemetry("alarm-tester").alarm("books_full", shard=3)
    log, metric = lines(capsys)
    assert (log["level"], log["message"], log["shard"]) == ("ERROR", "books_full", 3)
    assert metric["books_full"] == [1]
    assert metric["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [[], ["service"]], "the total, and the part's"
