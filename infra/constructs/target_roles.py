"""Target roles: the functions that may assume roles of tenants, and the names by which tenants know those functions.

A tenant's role trusts the roles of these functions by their ARNs. So their names are fixed, and an update that makes
one anew breaks no tenant's trust. No role of ours begins as a tenant's must: `cronfleet-target-`.
"""

from collections.abc import Mapping
from typing import Final, cast

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from cronfleet import settings
from infra.config.installation import APPLICATION, Config

TENANTS_ROLES: Final = f"{APPLICATION}-target-*"
CALLERS: Final = (*(f"worker-{queue}" for queue in settings.FUNCTION_QUEUES), "clerk")
"""The functions that call targets: workers start and send, the clerk follows. Long workers hand nothing over."""


def target_settings(config: Config) -> Mapping[str, str]:
    """What a caller is told. On the emulator every role trusts everybody, and is not tried for that."""
    is_enforced = "false" if config.local else "true"
    return {settings.INSTALLATION: config.installation, settings.TRUST_IS_ENFORCED: is_enforced}


def let_call_targets(role: iam.Role, config: Config, function: str) -> None:
    """Let the role of `function` assume roles that tenants lend, and give it the name that these trust."""
    cast("iam.CfnRole", role.node.default_child).role_name = _role_name(config, function)
    role.add_to_policy(
        iam.PolicyStatement(
            actions=["sts:AssumeRole"], resources=[f"arn:{cdk.Aws.PARTITION}:iam::*:role/{TENANTS_ROLES}"]
        )
    )


def caller_arns(scope: Construct, config: Config) -> str:
    """The ARNs of the callers' roles, with commas between them."""
    stack = cdk.Stack.of(scope)
    return ",".join(
        stack.format_arn(service="iam", region="", resource="role", resource_name=_role_name(config, name))
        for name in CALLERS
    )


def _role_name(config: Config, function: str) -> str:
    """With the region, since the roles of an account are those of all its regions."""
    return f"{config.prefix}-{function}-{cdk.Aws.REGION}"
