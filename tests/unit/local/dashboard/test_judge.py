"""An alarm is judged as CloudWatch documents it: m of n periods, by its own dimensions, and silence as it says."""

from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from infra.alarms import AlarmSpec, alarms
from infra.config.installation import from_context
from infra.metrics import Expression, Metric, metrics_of
from local.dashboard.judge import Bench, State, as_request, judged
from local.dashboard.series import Series

NOW = 1_796_040_000.0
LONG_AGO = NOW - 86_400
SPECS = {spec.name: spec for spec in alarms(from_context({"local": "true"}))}


def add(series: Series, metric: Metric, value: float, at: float) -> None:
    series.add(metric.namespace, metric.name, dict(metric.dimensions), [value], at)


def bad(spec: AlarmSpec) -> float:
    return spec.threshold + 1 if spec.comparison == "above" else spec.threshold - 1


def good(spec: AlarmSpec) -> float:
    return spec.threshold


def told(spec: AlarmSpec, *, beyond: bool, now: float = NOW) -> Series:
    """What every period of the alarm says, by one of the metrics that it looks at."""
    series = Series()
    metric = next(iter(metrics_of(spec.metric).values()))
    for number in range(spec.of_periods):
        at = now - metric.period_seconds * number - metric.period_seconds / 2
        add(series, metric, bad(spec) if beyond else good(spec), at)
    return series


@pytest.mark.parametrize("name", sorted(SPECS))
def test_every_alarm_goes_off_when_what_it_looks_at_is_beyond_its_threshold_and_not_before(name: str) -> None:
    spec = SPECS[name]
    assert judged(spec, told(spec, beyond=True), NOW, LONG_AGO).state is State.ALARM
    assert judged(spec, told(spec, beyond=False), NOW, LONG_AGO).state is State.OK


@pytest.mark.parametrize("name", sorted(SPECS))
def test_each_metric_that_an_alarm_looks_at_sets_it_off_alone(name: str) -> None:
    spec = SPECS[name]
    for metric in metrics_of(spec.metric).values():
        series = Series()
        for number in range(spec.of_periods):
            add(series, metric, bad(spec), NOW - metric.period_seconds * (number + 0.5))
        assert judged(spec, series, NOW, LONG_AGO).state is State.ALARM, metric


@pytest.mark.parametrize("name", sorted(SPECS))
def test_an_alarm_that_went_off_is_over_once_its_periods_are_well_again(name: str) -> None:
    spec = SPECS[name]
    series = told(spec, beyond=True)
    later = NOW + spec.of_periods * spec.metric.period_seconds
    if spec.silence_is_bad:
        metric = next(iter(metrics_of(spec.metric).values()))
        for number in range(spec.of_periods):
            add(series, metric, good(spec), later - metric.period_seconds * (number + 0.5))
    assert judged(spec, series, later, LONG_AGO).state is State.OK


@pytest.mark.parametrize("name", sorted(SPECS))
def test_silence_is_an_alarm_where_it_is_bad_and_nothing_elsewhere(name: str) -> None:
    spec = SPECS[name]
    assert judged(spec, Series(), NOW, LONG_AGO).state is (State.ALARM if spec.silence_is_bad else State.OK)
    if spec.silence_is_bad:
        assert judged(spec, Series(), NOW, NOW - 30).state is State.UNKNOWN, "it has only begun to listen"


def test_another_tiers_lag_sets_off_no_alarm() -> None:
    spec = SPECS["lag-priority"]
    assert judged(spec, told(SPECS["lag-standard"], beyond=True), NOW, LONG_AGO).state is State.OK


def test_fewer_bad_periods_than_it_takes_set_off_no_alarm() -> None:
    spec = SPECS["lag-standard"]
    assert (spec.of_periods, spec.to_alarm) == (5, 3)
    series = Series()
    for number in range(spec.to_alarm - 1):
        add(series, spec.metric, 1_000, NOW - 60 * (number + 0.5))  # type: ignore[arg-type]  # lag is a plain metric
    assert judged(spec, series, NOW, LONG_AGO).state is State.OK


class CloudWatch:
    """A CloudWatch that is told of alarms, and may be silent."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []
        self.put: list[str] = []
        self.is_silent = False

    def client(self, service: str) -> "CloudWatch":
        assert service == "cloudwatch"
        return self

    def put_metric_alarm(self, **request: Any) -> None:
        self.put.append(request["AlarmName"])

    def set_alarm_state(self, AlarmName: str, StateValue: str, StateReason: str) -> None:  # noqa: N803 - boto3's names
        if self.is_silent:
            raise ClientError({"Error": {"Code": "Unavailable"}}, "SetAlarmState")
        assert StateReason
        self.told.append((AlarmName, StateValue))


def test_cloudwatch_is_told_of_each_change_once_and_again_if_it_did_not_hear() -> None:
    spec, aws = SPECS["books-full"], CloudWatch()
    series = Series()
    bench = Bench([spec], "cronfleet", series, aws, LONG_AGO)  # type: ignore[arg-type]  # it asks for clients alone
    bench.judge(NOW)
    bench.judge(NOW + 10)
    assert aws.told == [("cronfleet-books-full", "OK")]
    add(series, spec.metric, 1, NOW + 15)  # type: ignore[arg-type]  # a plain metric
    aws.is_silent = True
    bench.judge(NOW + 20)
    assert bench.verdicts["books-full"].state is State.ALARM, "the page says so all the same"
    aws.is_silent = False
    bench.judge(NOW + 30)
    assert aws.told[1:] == [("cronfleet-books-full", "ALARM")]


def test_alarms_on_expressions_are_put_where_cloudformation_does_not() -> None:
    aws = CloudWatch()
    Bench(list(SPECS.values()), "cronfleet", Series(), aws, NOW).open()  # type: ignore[arg-type]  # as above
    assert set(aws.put) == {f"cronfleet-{spec.name}" for spec in SPECS.values() if isinstance(spec.metric, Expression)}
    with pytest.raises(TypeError, match="CloudFormation puts it there"):
        as_request(replace(SPECS["books-full"]), "cronfleet")
