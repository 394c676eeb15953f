"""Event bus: where tenants that asked for it are told of their runs and schedules."""

from collections.abc import Mapping

from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from constructs import Construct

from cronfleet import settings
from infra.config import Config


class EventBus(Construct):
    """The bus. Who listens to it puts rules of their own on it; none are here."""

    def __init__(self, scope: Construct, construct_id: str, config: Config) -> None:
        super().__init__(scope, construct_id)
        self.name = f"{config.prefix}-events"
        self.bus = events.CfnEventBus(self, "Bus", name=self.name)

    @property
    def settings(self) -> Mapping[str, str]:
        """What a function that tells reads from its environment."""
        return {settings.EVENT_BUS: self.name}

    def grant_tell(self, role: iam.Role) -> None:
        """Let `role` put events on this bus."""
        role.add_to_policy(iam.PolicyStatement(actions=["events:PutEvents"], resources=[self.bus.attr_arn]))
