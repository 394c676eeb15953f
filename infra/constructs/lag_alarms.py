"""LagAlarms: for each tier one that says that its runs start late, by what its own workers measure."""

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from cronfleet.domain.tenant import TIERS
from infra.config import Config

NAMESPACE: Final = "Cronfleet"
"""As `adapters/cloudwatch/telemetry.py` has it; a test compares them."""

LATE_SECONDS: Final = {"standard": 30, "priority": 3}
"""What of its runs' lag a tier's 99th percentile may reach, for most of five minutes."""

MINUTES: Final = 5
LATE_MINUTES: Final = 3


class LagAlarms(Construct):
    """Alarms `<prefix>-lag-<tier>`, without actions: whom they tell is up to the installation."""

    def __init__(self, scope: Construct, construct_id: str, config: Config) -> None:
        super().__init__(scope, construct_id)
        for tier in TIERS:
            cloudwatch.Alarm(
                self,
                tier.capitalize(),
                alarm_name=f"{config.prefix}-lag-{tier}",
                alarm_description=f"Runs of the tier {tier} start late: see docs/fairness.md",
                metric=cloudwatch.Metric(
                    namespace=NAMESPACE,
                    metric_name="lag",
                    dimensions_map={"service": "worker", "tier": tier},
                    statistic="p99",
                    period=cdk.Duration.minutes(1),
                ),
                threshold=LATE_SECONDS[tier],
                evaluation_periods=MINUTES,
                datapoints_to_alarm=LATE_MINUTES,
                comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
                # A tier that runs nothing is not late.
                treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
            )
