"""Event bus: where tenants that asked for it are told of their runs and schedules."""

from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from constructs import Construct

from cronfleet import settings
from infra.config.installation import Config


class EventBus:
    """The bus as those know it who tell: by its name, in whatever stack it lies."""

    def __init__(self, config: Config) -> None:
        self.name = f"{config.prefix}-events"

    @property
    def settings(self) -> Mapping[str, str]:
        """What a function that tells reads from its environment."""
        return {settings.EVENT_BUS: self.name}

    def grant_tell(self, role: iam.Role) -> None:
        """Let `role` put events on this bus."""
        arn = cdk.Stack.of(role).format_arn(service="events", resource="event-bus", resource_name=self.name)
        role.add_to_policy(iam.PolicyStatement(actions=["events:PutEvents"], resources=[arn]))


class NewEventBus(Construct):
    """The bus itself. Who listens to it puts rules of their own on it; none are here."""

    def __init__(self, scope: Construct, construct_id: str, config: Config) -> None:
        super().__init__(scope, construct_id)
        events.CfnEventBus(self, "Bus", name=EventBus(config).name)
