"""Rollout: how the traffic of one function goes over to its new version, and back when an alarm says so."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_codedeploy as codedeploy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.alarms import ROLLBACK_ALARMS
from infra.config.installation import Config
from infra.constructs.service_principal import acting_for_this_account

LIVE: Final = "live"
"""The alias by which everything reaches a function: queues, schedules, the HTTP API. Nothing goes past it."""

HALF_PERCENT: Final = 50
HALF_FOR: Final = cdk.Duration.minutes(10)


MOST_ALARMS: Final = 10
"""CodeDeploy looks at no more for one deployment group."""

FAILING: Final = "-failing"
OF_ALL: Final = "api"
"""Whatever part is to blame, the API's callers are the ones who must not be failed."""


def watched(part: str) -> tuple[str, ...]:
    """The names of the alarms that take a new version of `part` back: those of all parts, and that it fails itself."""
    others = {f"{name}{FAILING}" for name in (part.replace("_", "-"), OF_ALL)}
    return tuple(name for name in ROLLBACK_ALARMS if not name.endswith(FAILING) or name in others)


class Shift(StrEnum):
    """How a function's invocations are shared out between the old version and the new one while it is deployed.

    Of what many callers see, a tenth goes first: a mistake meets few of them, and five minutes tell it. What queues
    feed goes over by a tenth a minute, so that the lag says how the new version keeps up. What runs once a minute
    takes turns for ten minutes, in which each version does about five of the ten. What hardly ever runs goes at once:
    to wait for invocations that do not come would tell nothing.
    """

    CANARY = "canary"
    LINEAR = "linear"
    TURNS = "turns"
    AT_ONCE = "at once"


class Rollout(Construct):
    """The deployment group of one alias. CloudFormation waits for it, and goes back with it."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        config: Config,
        *,
        name: str,
        part: str,
        alias: lambda_.Alias,
        shift: Shift,
    ) -> None:
        super().__init__(scope, construct_id)
        shared = Shared.of(cdk.Stack.of(self))
        alarms = watched(part)
        shared.allow(config, name, alarms)
        group = codedeploy.LambdaDeploymentGroup(
            self,
            "Group",
            application=shared.application,
            deployment_group_name=name,
            alias=alias,
            # It would be given a policy of AWS's own, which reaches every function there is.
            role=shared.role.without_policy_updates(),
            deployment_config=shared.config_of(shift),
            alarms=[self._alarm(config, alarm) for alarm in alarms],
            auto_rollback=codedeploy.AutoRollbackConfig(
                failed_deployment=True, stopped_deployment=True, deployment_in_alarm=True
            ),
        )
        # With the policy that hangs on it: without, the first shift of the alias could come before its right to.
        group.node.add_dependency(shared.role)

    def _alarm(self, config: Config, name: str) -> cloudwatch.IAlarm:
        # By name: the stack of the alarms is deployed before all others, and knows none of them.
        return cloudwatch.Alarm.from_alarm_name(self, name, f"{config.prefix}-{name}")


class Shared(Construct):
    """What the deployment groups of one stack have in common."""

    ID: Final = "Rollout"

    def __init__(self, scope: Construct) -> None:
        super().__init__(scope, self.ID)
        self.application = codedeploy.LambdaApplication(self, "Application")
        self.role = iam.Role(
            self, "Role", assumed_by=acting_for_this_account(self, "codedeploy.amazonaws.com", says_always=False)
        )
        configs = codedeploy.LambdaDeploymentConfig
        self._configs: dict[Shift, codedeploy.ILambdaDeploymentConfig] = {
            Shift.CANARY: configs.CANARY_10_PERCENT_5_MINUTES,
            Shift.LINEAR: configs.LINEAR_10_PERCENT_EVERY_1_MINUTE,
            Shift.AT_ONCE: configs.ALL_AT_ONCE,
        }

    def allow(self, config: Config, function: str, alarms: Sequence[str]) -> None:
        """Let CodeDeploy shift the alias of one function, and look at the alarms that take it back."""
        stack = cdk.Stack.of(self)
        # Of names: the alias itself waits for its deployment group, which waits for this.
        arn = stack.format_arn(
            service="lambda",
            resource="function",
            resource_name=function,
            arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
        )
        moves = ["lambda:GetAlias", "lambda:UpdateAlias", "lambda:GetProvisionedConcurrencyConfig"]
        self.role.add_to_policy(iam.PolicyStatement(actions=moves, resources=[arn, f"{arn}:{LIVE}"]))
        watched = [
            stack.format_arn(
                service="cloudwatch",
                resource="alarm",
                resource_name=f"{config.prefix}-{name}",
                arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
            )
            for name in alarms
        ]
        self.role.add_to_policy(iam.PolicyStatement(actions=["cloudwatch:DescribeAlarms"], resources=watched))

    @classmethod
    def of(cls, stack: cdk.Stack) -> "Shared":
        """The one of `stack`, made when it is first asked for."""
        there = stack.node.try_find_child(cls.ID)
        return there if isinstance(there, Shared) else cls(stack)

    def config_of(self, shift: Shift) -> codedeploy.ILambdaDeploymentConfig:
        """CodeDeploy's configuration of a shift; the one that is no ready-made one is made when it is needed."""
        if shift not in self._configs:
            half = codedeploy.TrafficRouting.time_based_canary(interval=HALF_FOR, percentage=HALF_PERCENT)
            self._configs[shift] = codedeploy.LambdaDeploymentConfig(self, "Turns", traffic_routing=half)
        return self._configs[shift]
