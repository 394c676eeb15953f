"""Edge secret: what CloudFront shows with each request, so that the API takes none that did not come through it."""

from aws_cdk import aws_iam as iam
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from infra.config import edge
from infra.config.installation import Config

LENGTH = 64


def secret_name(config: Config) -> str:
    """The secret's name, in every region. Not below `cronfleet/`: there, tenants' schedules may name secrets."""
    return f"{config.prefix}-edge"


class EdgeSecret(Construct):
    """The secret, with a copy where CloudFront's stack is deployed; nobody ever sees its value."""

    def __init__(self, scope: Construct, construct_id: str, config: Config) -> None:
        super().__init__(scope, construct_id)
        elsewhere = config.platform.region != edge.REGION
        self.secret = secretsmanager.CfnSecret(
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

    def grant_read(self, role: iam.Role) -> None:
        """Let `role` read the secret."""
        role.add_to_policy(iam.PolicyStatement(actions=["secretsmanager:GetSecretValue"], resources=[self.secret.ref]))
