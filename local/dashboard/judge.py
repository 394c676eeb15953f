"""Judges the alarms on this machine as CloudWatch does on AWS, and tells the emulator's CloudWatch how each stands.

The emulator would judge by itself, but without dimensions, without periods and without silence, so an alarm of one
tier would go off for another's lag, and no absence would ever be seen. `local/shared_layers.py` keeps it from that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from infra.alarms import AlarmSpec
from infra.metrics import Expression
from local.aws import Aws
from local.dashboard.formula import Value
from local.dashboard.reading import value_of
from local.dashboard.series import SLICE_SECONDS, Series


class State(StrEnum):
    """How an alarm stands, in CloudWatch's words."""

    OK = "OK"
    ALARM = "ALARM"
    UNKNOWN = "INSUFFICIENT_DATA"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How an alarm stands, and why in a sentence; `values` are its periods', the newest first."""

    state: State
    reason: str
    values: tuple[Value, ...]


def period_of(spec: AlarmSpec) -> int:
    """How many seconds one value of the alarm sums up."""
    return spec.metric.period_seconds


def judged(spec: AlarmSpec, series: Series, now: float, born_at: float) -> Verdict:
    """How `spec` stands at `now`. Periods end now, not with the minute: so a person sees what he has done at once.

    Of the time before `born_at` nothing can be known, and silence then is not bad.
    """
    end = int(now) // SLICE_SECONDS * SLICE_SECONDS
    period = period_of(spec)
    starts = [end - period * (number + 1) for number in range(spec.of_periods)]
    values = tuple(value_of(series, spec.metric, start, start + period) for start in starts)
    if spec.silence_is_bad and starts[-1] < born_at and None in values:
        return Verdict(State.UNKNOWN, "it has not been looked at for long enough", values)
    bad = sum(_is_bad(spec, value) for value in values)
    state = State.ALARM if bad >= spec.to_alarm else State.OK
    return Verdict(state, _reason(spec, values, bad), values)


def _is_bad(spec: AlarmSpec, value: Value) -> bool:
    if value is None:
        return spec.silence_is_bad
    return value > spec.threshold if spec.comparison == "above" else value < spec.threshold


def _reason(spec: AlarmSpec, values: Sequence[Value], bad: int) -> str:
    shown = ", ".join("silence" if value is None else f"{value:g}" for value in values)
    return f"{bad} of the last {len(values)} values are {spec.comparison} {spec.threshold:g} ({shown}, newest first)"


class Bench:
    """All alarms of an installation, judged again and again."""

    def __init__(self, specs: Sequence[AlarmSpec], prefix: str, series: Series, aws: Aws, born_at: float) -> None:
        self.specs = specs
        self._prefix = prefix
        self._series = series
        self._aws = aws
        self._born_at = born_at
        self._told: dict[str, State] = {}
        self.verdicts: dict[str, Verdict] = {}
        self.since: dict[str, float] = {}

    def open(self) -> None:
        """Put the alarms on expressions, which the emulator's CloudFormation refuses, beside the others."""
        for spec in self.specs:
            if isinstance(spec.metric, Expression):
                self._aws.client("cloudwatch").put_metric_alarm(**as_request(spec, self._prefix))

    def judge(self, now: float) -> None:
        """Look at every alarm, and tell CloudWatch of those that stand otherwise than it was told."""
        for spec in self.specs:
            verdict = judged(spec, self._series, now, self._born_at)
            self.verdicts[spec.name] = verdict
            if self._told.get(spec.name) is not verdict.state:
                self.since[spec.name] = now
                self._tell(spec.name, verdict)

    def _tell(self, name: str, verdict: Verdict) -> None:
        try:
            self._aws.client("cloudwatch").set_alarm_state(
                AlarmName=f"{self._prefix}-{name}", StateValue=verdict.state.value, StateReason=verdict.reason
            )
        except (ClientError, BotoCoreError):
            # Told again with the next look: the page shows it all the same.
            return
        self._told[name] = verdict.state


OPERATOR: Final = {"above": "GreaterThanThreshold", "below": "LessThanThreshold"}


def as_request(spec: AlarmSpec, prefix: str) -> dict[str, Any]:
    """What `PutMetricAlarm` takes for an alarm on an expression."""
    if not isinstance(spec.metric, Expression):
        raise TypeError(f"{spec.name} is on a metric: CloudFormation puts it there")
    stats = [
        {
            "Id": name,
            "ReturnData": False,
            "MetricStat": {
                "Metric": {
                    "Namespace": metric.namespace,
                    "MetricName": metric.name,
                    "Dimensions": [{"Name": key, "Value": value} for key, value in metric.dimensions],
                },
                "Period": metric.period_seconds,
                "Stat": metric.statistic,
            },
        }
        for name, metric in spec.metric.metrics
    ]
    return {
        "AlarmName": f"{prefix}-{spec.name}",
        "AlarmDescription": f"{spec.summary}: see docs/runbook.md, {spec.name}",
        "Metrics": [{"Id": "value", "Expression": spec.metric.text, "ReturnData": True}, *stats],
        "EvaluationPeriods": spec.of_periods,
        "DatapointsToAlarm": spec.to_alarm,
        "Threshold": spec.threshold,
        "ComparisonOperator": OPERATOR[spec.comparison],
        "TreatMissingData": "breaching" if spec.silence_is_bad else "notBreaching",
    }
