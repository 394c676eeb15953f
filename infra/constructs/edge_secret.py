"""Edge secret: what CloudFront shows with each request, so that the API takes none that did not come through it."""

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from infra.config import edge
from infra.config.installation import Config

LENGTH: Final = 64


def secret_name(config: Config) -> str:
    """The secret's name, in every region. Not below `cronfleet/`: there, tenants' schedules may name secrets."""
    return f"{config.prefix}-edge"


def grant_edge_secret(role: iam.Role, config: Config) -> None:
    """Let `role` read the secret, whose ARN ends with six characters that nobody knows before it is made."""
    arn = cdk.Stack.of(role).format_arn(
        service="secretsmanager",
        resource="secret",
        resource_name=f"{secret_name(config)}-??????",
        arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
    )
    role.add_to_policy(iam.PolicyStatement(actions=["secretsmanager:GetSecretValue"], resources=[arn]))


class NewEdgeSecret(Construct):
    """The secret, with a copy where CloudFront's stack is deployed; nobody ever sees its value."""

    def __init__(self, scope: Construct, construct_id: str, config: Config) -> None:
        super().__init__(scope, construct_id)
        elsewhere = config.platform.region != edge.REGION
        secretsmanager.CfnSecret(
            self,
            "Secret",
            name=secret_name(config),
            description="Shows the API that a request came through CloudFront",
            generate_secret_string=secretsmanager.CfnSecret.GenerateSecretStringProperty(
                password_length=LENGTH, exclude_punctuation=True
            ),
            replica_regions=(
                [secretsmanager.CfnSecret.ReplicaRegionProperty(region=edge.REGION)] if elsewhere else None
            ),
        )
