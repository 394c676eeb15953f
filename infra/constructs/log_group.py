"""Log group: how long an installation keeps what one of its parts says, and with whose key."""

import aws_cdk as cdk
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.config.installation import Config
from infra.config.logs import DAYS
from infra.constructs.encryption_key import key_of


def log_group(scope: Construct, construct_id: str, config: Config, name: str, days: int | None = None) -> logs.LogGroup:
    """The log group `name`, kept for `days` or as long as all logs of functions; gone with its stack."""
    return logs.LogGroup(
        scope,
        construct_id,
        log_group_name=name,
        retention=logs.RetentionDays[DAYS[days or config.logs.retention_days]],
        encryption_key=key_of(scope, f"{construct_id}Key", config),
        removal_policy=cdk.RemovalPolicy.DESTROY,
    )
