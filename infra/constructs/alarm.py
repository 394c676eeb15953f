"""Alarm: one alarm of `infra/alarms.py` as CloudWatch has it."""

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from infra.alarms import AlarmSpec
from infra.config.installation import Config
from infra.metrics import Metric


def drawn(metric: Metric) -> cloudwatch.Metric:
    """The metric in the CDK's words."""
    return cloudwatch.Metric(
        namespace=metric.namespace,
        metric_name=metric.name,
        dimensions_map=dict(metric.dimensions),
        statistic=metric.statistic,
        period=cdk.Duration.seconds(metric.period_seconds),
    )


class Alarm(Construct):
    """The alarm `<prefix>-<name>`, whose description names its section in the runbook."""

    def __init__(self, scope: Construct, construct_id: str, config: Config, spec: AlarmSpec) -> None:
        super().__init__(scope, construct_id)
        operators = cloudwatch.ComparisonOperator
        missing = cloudwatch.TreatMissingData
        self.alarm = cloudwatch.Alarm(
            self,
            "Alarm",
            alarm_name=f"{config.prefix}-{spec.name}",
            alarm_description=f"{spec.summary}: see docs/runbook.md, {spec.name}",
            metric=drawn(spec.metric),
            threshold=spec.threshold,
            evaluation_periods=spec.of_periods,
            datapoints_to_alarm=spec.to_alarm,
            comparison_operator=(
                operators.GREATER_THAN_THRESHOLD if spec.comparison == "above" else operators.LESS_THAN_THRESHOLD
            ),
            treat_missing_data=missing.BREACHING if spec.silence_is_bad else missing.NOT_BREACHING,
        )
