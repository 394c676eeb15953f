"""EveryMinute: EventBridge Scheduler invokes one function once a minute, somewhere in that minute."""

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from infra.constructs.service_principal import acting_for_this_account

MINUTE_SECONDS: Final = 60


class EveryMinute(Construct):
    """A schedule with a role that may invoke this one function."""

    def __init__(self, scope: Construct, construct_id: str, *, name: str, function: lambda_.IFunction) -> None:
        super().__init__(scope, construct_id)
        role = self._role(function)
        # The next minute brings the next invocation: one that could not be made in time is not worth making.
        function.configure_async_invoke(retry_attempts=0, max_event_age=cdk.Duration.seconds(MINUTE_SECONDS))
        scheduler.CfnSchedule(
            self,
            "Schedule",
            name=name,
            description=f"Invokes {name} once a minute",
            schedule_expression="rate(1 minute)",
            flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
            target=scheduler.CfnSchedule.TargetProperty(
                arn=function.function_arn,
                role_arn=role.role_arn,
                retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(
                    maximum_event_age_in_seconds=MINUTE_SECONDS, maximum_retry_attempts=1
                ),
            ),
        )

    def _role(self, function: lambda_.IFunction) -> iam.Role:
        # Else another customer's schedules could use it ("confused deputy").
        role = iam.Role(self, "Role", assumed_by=acting_for_this_account(self, "scheduler.amazonaws.com"))
        role.add_to_policy(iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=[function.function_arn]))
        return role
