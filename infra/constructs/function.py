"""Function: one Lambda function with a role and a log group of its own."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as event_sources
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from cronfleet import settings
from infra.config.installation import Config
from infra.config.traces import TRACED
from infra.config.triggers import Trigger
from infra.constructs.code import Code
from infra.constructs.log_group import log_group
from infra.constructs.rollout import LIVE, Rollout, Shift
from infra.constructs.service_principal import acting_for_this_account


@dataclass(frozen=True, slots=True)
class Size:
    """How much a function gets: `memory_mb` also sets its share of a processor (1,769 MB is one)."""

    memory_mb: int
    timeout_seconds: int


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the product as a function: the folder it runs and, where one folder runs twice, which one it is.

    `shift` is how a new version of it takes over on AWS.
    """

    name: str
    size: Size
    variant: str = ""
    shift: Shift = Shift.LINEAR
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def function_name(self) -> str:
        """The name after the installation's prefix, e.g. `ticker` or `worker-priority`."""
        return f"{self.name}-{self.variant}" if self.variant else self.name


class Function(Construct):
    """A part's function. Its role may write to its own log group and do nothing else until it is granted more.

    Whatever invokes it goes by `live`, the alias that a deployment shifts from version to version.
    """

    def __init__(self, scope: Construct, construct_id: str, config: Config, code: Code, part: Part) -> None:
        super().__init__(scope, construct_id)
        self.name = f"{config.prefix}-{part.function_name}"
        self.log_group = log_group(self, "Logs", config, f"/aws/lambda/{self.name}")
        self.role = self._role()
        if config.traces.goes_to_cloudwatch and part.name in TRACED:
            # The action knows no resource to narrow it to.
            self.role.add_to_policy(iam.PolicyStatement(actions=["xray:PutTraceSegments"], resources=["*"]))
        self.function = lambda_.Function(
            self,
            "Function",
            function_name=self.name,
            description=f"Cronfleet's {part.function_name}",
            code=code.of(part.name),
            handler=f"{part.name}.handler.handle",
            runtime=code.runtime,
            architecture=code.architecture,
            layers=code.layers,
            memory_size=part.size.memory_mb,
            timeout=cdk.Duration.seconds(part.size.timeout_seconds),
            role=self.role,
            log_group=self.log_group,
            environment=environment_of(config, part),
            # On AWS old versions stay: the alias can be set back to one in a second. They go with the function.
            current_version_options=lambda_.VersionOptions(
                removal_policy=cdk.RemovalPolicy.DESTROY if config.local else cdk.RemovalPolicy.RETAIN
            ),
        )
        self.live = lambda_.Alias(self, "Live", alias_name=LIVE, version=self.function.current_version)
        if config.rollout.is_gradual:
            Rollout(self, "Rollout", config, name=self.name, part=part.name, alias=self.live, shift=part.shift)

    def _role(self) -> iam.Role:
        role = iam.Role(
            self, "Role", assumed_by=acting_for_this_account(self, "lambda.amazonaws.com", says_always=False)
        )
        role.add_to_policy(
            iam.PolicyStatement(
                actions=["logs:CreateLogStream", "logs:PutLogEvents"],
                resources=[self.log_group.log_group_arn],
            )
        )
        return role

    def take_from(self, queue: sqs.IQueue, trigger: Trigger) -> None:
        """Run for each message of `queue`, alone in its batch: it has no neighbours that it could fail."""
        self.live.add_event_source(
            event_sources.SqsEventSource(
                queue,
                batch_size=1,
                report_batch_item_failures=True,
                provisioned_poller_config=_pollers(trigger),
                max_concurrency=trigger.max_concurrency,
            )
        )


def _pollers(trigger: Trigger) -> lambda_.ProvisionedPollerConfig | None:
    if trigger.pollers is None:
        return None
    return lambda_.ProvisionedPollerConfig(
        minimum_pollers=trigger.pollers.minimum, maximum_pollers=trigger.pollers.maximum
    )


def environment_of(config: Config, part: Part) -> dict[str, str]:
    """What the part reads from its environment, wherever it runs."""
    return {
        settings.TABLE_PREFIX: config.tables.prefix,
        settings.SHARDS: str(config.shards),
        settings.STANDBY: config.regions.standby,
        # Empty: zones come from the pinned tzdata package, never from the host.
        "PYTHONTZPATH": "",
        "POWERTOOLS_SERVICE_NAME": part.name,
        settings.METRICS_NAMESPACE: settings.namespace_of(config.prefix),
        **config.traces.environment(part.name),
        **part.environment,
    }
