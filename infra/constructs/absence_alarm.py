"""AbsenceAlarm: says that a part which works each minute no longer does: it is not invoked, or never gets through.

It lies with CloudWatch alone: who watches the watcher must not be the same installation.
"""

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from infra.constructs.lag_alarms import NAMESPACE

MINUTES: Final = 3
"""Without a word for so long: by then the ticks that were laid ahead are used up."""


class AbsenceAlarm(Construct):
    """The alarm `<name>-absent` on a counter that the part raises whenever it has done its work."""

    def __init__(self, scope: Construct, construct_id: str, *, name: str, service: str, metric: str) -> None:
        super().__init__(scope, construct_id)
        cloudwatch.Alarm(
            self,
            "Alarm",
            alarm_name=f"{name}-absent",
            alarm_description=f"{name} did no work for {MINUTES} minutes: see docs/alerts.md",
            metric=cloudwatch.Metric(
                namespace=NAMESPACE,
                metric_name=metric,
                dimensions_map={"service": service},
                statistic="Sum",
                period=cdk.Duration.minutes(1),
            ),
            threshold=1,
            evaluation_periods=MINUTES,
            comparison_operator=cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD,
            # What is not there says nothing: that is what is to be told.
            treat_missing_data=cloudwatch.TreatMissingData.BREACHING,
        )
