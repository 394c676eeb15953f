"""Alarm: one alarm of `infra/alarms.py` as CloudWatch has it."""

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from constructs import Construct

from infra.alarms import AlarmSpec
from infra.config.installation import Config
from infra.constructs.series import series


class Alarm(Construct):
    """The alarm `<prefix>-<name>`, whose description names its section in the runbook, and whom it tells."""

    def __init__(self, scope: Construct, construct_id: str, config: Config, spec: AlarmSpec) -> None:
        super().__init__(scope, construct_id)
        operators = cloudwatch.ComparisonOperator
        missing = cloudwatch.TreatMissingData
        self.alarm = cloudwatch.Alarm(
            self,
            "Alarm",
            alarm_name=f"{config.prefix}-{spec.name}",
            alarm_description=f"{spec.summary}: see docs/runbook.md, {spec.name}",
            metric=series(spec.metric),
            threshold=spec.threshold,
            evaluation_periods=spec.of_periods,
            datapoints_to_alarm=spec.to_alarm,
            comparison_operator=(
                operators.GREATER_THAN_THRESHOLD if spec.comparison == "above" else operators.LESS_THAN_THRESHOLD
            ),
            treat_missing_data=missing.BREACHING if spec.silence_is_bad else missing.NOT_BREACHING,
        )
        for number, target in enumerate(config.alarms.targets):
            action = actions.SnsAction(sns.Topic.from_topic_arn(self, f"Target{number}", target))
            self.alarm.add_alarm_action(action)
            # Whoever was woken is told when it is over.
            self.alarm.add_ok_action(action)
