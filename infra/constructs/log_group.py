"""Log group: how long an installation keeps what one of its parts says."""

import aws_cdk as cdk
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.config.installation import Config


def log_group(scope: Construct, construct_id: str, config: Config, name: str) -> logs.LogGroup:
    """The log group `name`: a week on the local stack, a month on AWS; gone with its stack."""
    return logs.LogGroup(
        scope,
        construct_id,
        log_group_name=name,
        retention=logs.RetentionDays.ONE_WEEK if config.local else logs.RetentionDays.ONE_MONTH,
        removal_policy=cdk.RemovalPolicy.DESTROY,
    )
