"""Encryption key: the KMS key of tables and logs, where the installation does not leave that to AWS."""

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from infra.config.installation import Config

READS: Final = ("kms:Decrypt", "kms:DescribeKey")
WRITES: Final = ("kms:Encrypt", "kms:GenerateDataKey", "kms:ReEncryptFrom", "kms:ReEncryptTo")
"""What DynamoDB does with the key in the name of whoever reads or writes a table."""

KEEPS_LOGS: Final = (
    "kms:Encrypt*",
    "kms:Decrypt*",
    "kms:ReEncrypt*",
    "kms:GenerateDataKey*",
    "kms:Describe*",
)
"""As CloudWatch Logs asks for in its guide."""


def key_arn(scope: Construct, config: Config) -> str | None:
    """The key's ARN in any stack that is deployed after the state; None where AWS's own keys are used.

    The id of a key is drawn by KMS. A stack reads it from a parameter at its deployment, which blocks nothing, as an
    export would.
    """
    if config.encryption.kind == "own":
        return ssm.StringParameter.value_for_string_parameter(cdk.Stack.of(scope), parameter_name(config))
    return config.encryption.arn or None


def key_of(scope: Construct, construct_id: str, config: Config) -> kms.IKey | None:
    """The same as a construct."""
    arn = key_arn(scope, config)
    return None if arn is None else kms.Key.from_key_arn(scope, construct_id, arn)


def parameter_name(config: Config) -> str:
    """Where the state stack writes down which key it made."""
    return f"/{config.prefix}/encryption-key"


def grant_key(role: iam.Role, config: Config, *, writes: bool) -> None:
    """Let DynamoDB use the key in the name of `role`; nothing else can, and `role` itself cannot."""
    arn = key_arn(role, config)
    if arn is None:
        return
    stack = cdk.Stack.of(role)
    via = {"kms:ViaService": f"dynamodb.{stack.region}.{stack.url_suffix}"}
    actions = [*READS, *(WRITES if writes else ())]
    role.add_to_policy(iam.PolicyStatement(actions=actions, resources=[arn], conditions={"StringEquals": via}))


class NewEncryptionKey(Construct):
    """A key that is changed every year, outlives its stack, and that nobody can use but through tables and logs."""

    def __init__(self, scope: Construct, construct_id: str, config: Config) -> None:
        super().__init__(scope, construct_id)
        self.key = kms.Key(
            self,
            "Key",
            description=f"{config.prefix}: tables and logs",
            alias=f"alias/{config.prefix}",
            enable_key_rotation=True,
            removal_policy=cdk.RemovalPolicy.RETAIN if config.tables.protected else cdk.RemovalPolicy.DESTROY,
        )
        self.key.add_to_resource_policy(self._logs(config))
        ssm.StringParameter(
            self,
            "Arn",
            parameter_name=parameter_name(config),
            string_value=self.key.key_arn,
            description="The key of tables and logs; stacks read it at their deployment",
        )

    def _logs(self, config: Config) -> iam.PolicyStatement:
        stack = cdk.Stack.of(self)
        groups = [
            stack.format_arn(
                service="logs",
                resource="log-group",
                resource_name=f"{folder}/{config.prefix}*",
                arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
            )
            for folder in LOG_FOLDERS
        ]
        return iam.PolicyStatement(
            principals=[iam.ServicePrincipal(f"logs.{stack.region}.amazonaws.com")],
            actions=list(KEEPS_LOGS),
            resources=["*"],
            conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": groups}},
        )


LOG_FOLDERS: Final = ("/aws/lambda", "/aws/vendedlogs/apigateway", "/aws/ecs")
"""Where the log groups of an installation stand."""
