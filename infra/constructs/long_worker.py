"""LongWorker: the Fargate service of long jobs: its task, its two roles, and how many of it there are."""

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_applicationautoscaling as autoscaling
from aws_cdk import aws_ecr_assets as ecr_assets
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from constructs import Construct

from cronfleet import settings
from cronfleet.domain.run import LONG_QUEUE
from infra.config.installation import Config
from infra.config.long_workers import ECR_IMAGE
from infra.constructs.event_bus import EventBus
from infra.constructs.function import Part, Size, environment_of
from infra.constructs.job_store import JobStore
from infra.constructs.log_group import log_group
from infra.constructs.long_network import LongNetwork
from infra.constructs.run_queues import RunQueues
from infra.constructs.service_principal import acting_for_this_account
from infra.constructs.worker import let_attempt, let_read_secrets
from infra.image import DOCKERFILE, build_folder

TAKES: Final = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility")
PULLS: Final = ("ecr:BatchCheckLayerAvailability", "ecr:GetDownloadUrlForLayer", "ecr:BatchGetImage")
PROTECTS_ITSELF: Final = ("ecs:UpdateTaskProtection",)
"""Asked of the agent inside the task, which does it with the role of the task."""

JOBS: Final = "CRONFLEET_LONG_JOBS"
STOP_SECONDS: Final = "CRONFLEET_LONG_STOP_SECONDS"
PROTECTION_MINUTES: Final = "CRONFLEET_LONG_PROTECTION_MINUTES"
"""As `functions/long_worker/options.py` has them; a test compares them."""

LOAD: Final = (
    "IF(FILL(places, 0) > 0, (FILL(waiting, 0) + FILL(busy, 0)) / FILL(places, 0), FILL(waiting, 0) + FILL(busy, 0))"
)
"""How much work, waiting and under way, there is for each place. What is under way counts: else the workers of a full
house would be sent home as soon as nothing waits behind them.
"""

SCALE_OUT_SECONDS: Final = 60
SCALE_IN_SECONDS: Final = 300


class LongWorker(Construct):
    """The service `<prefix>-long-worker` in the cluster `<prefix>-long-workers`."""

    def __init__(self, scope: Construct, construct_id: str, config: Config, network: LongNetwork) -> None:
        super().__init__(scope, construct_id)
        self._config = config
        self._choice = config.long_workers
        self.name = f"{config.prefix}-long-worker"
        self.cluster = ecs.Cluster(
            self,
            "Cluster",
            cluster_name=f"{config.prefix}-long-workers",
            vpc=network.vpc,
            container_insights_v2=ecs.ContainerInsights.DISABLED,
        )
        # Not the cluster's own, which no service waits for: one would be made before there is capacity to name, and
        # capacity that a service still uses cannot be taken away, so that the stack could not be deleted.
        self.providers = ecs.CfnClusterCapacityProviderAssociations(
            self,
            "Capacity",
            cluster=self.cluster.cluster_name,
            capacity_providers=["FARGATE", "FARGATE_SPOT"],
            default_capacity_provider_strategy=[],
        )
        self.log_group = log_group(self, "Logs", config, f"/aws/ecs/{self.name}")
        self.role = self._task_role()
        self.execution_role = self._execution_role()
        self.task = self._task()
        self.service = self._service(network)
        self.service.node.add_dependency(self.providers)
        self._scale()

    # --- the task ----------------------------------------------------------------------------------------------

    def _task_role(self) -> iam.Role:
        """What the worker, and every job in it, may do."""
        role = iam.Role(self, "TaskRole", assumed_by=acting_for_this_account(self, "ecs-tasks.amazonaws.com"))
        let_attempt(role, JobStore(self._config))
        EventBus(self._config).grant_tell(role)
        let_read_secrets(role)
        if self._config.traces.goes_to_cloudwatch:
            role.add_to_policy(iam.PolicyStatement(actions=["xray:PutTraceSegments"], resources=["*"]))
        queue = self._queues().by_tier[LONG_QUEUE]
        # A message that comes before its time goes back to where it came from, with the delay that is left.
        queue.grant_send(role)
        role.add_to_policy(iam.PolicyStatement(actions=list(TAKES), resources=[queue.queue.queue_arn]))
        tasks = cdk.Stack.of(self).format_arn(
            service="ecs", resource="task", resource_name=f"{self._config.prefix}-long-workers/*"
        )
        role.add_to_policy(iam.PolicyStatement(actions=list(PROTECTS_ITSELF), resources=[tasks]))
        return role

    def _execution_role(self) -> iam.Role:
        """What Fargate may do to start a task: pull its image, write its log."""
        role = iam.Role(self, "ExecutionRole", assumed_by=acting_for_this_account(self, "ecs-tasks.amazonaws.com"))
        self.log_group.grant_write(role)
        return role

    def _queues(self) -> RunQueues:
        found = self.node.try_find_child("RunQueues")
        return found if isinstance(found, RunQueues) else RunQueues(self, "RunQueues", self._config)

    def _task(self) -> ecs.FargateTaskDefinition:
        arm = self._config.architecture == "arm64"
        task = ecs.FargateTaskDefinition(
            self,
            "Task",
            family=self.name,
            cpu=self._choice.cpu,
            memory_limit_mib=self._choice.memory_mb,
            task_role=self.role,
            execution_role=self.execution_role,
            runtime_platform=ecs.RuntimePlatform(
                cpu_architecture=ecs.CpuArchitecture.ARM64 if arm else ecs.CpuArchitecture.X86_64,
                operating_system_family=ecs.OperatingSystemFamily.LINUX,
            ),
            volumes=[ecs.Volume(name="tmp")],
        )
        container = task.add_container(
            "Worker",
            container_name="long-worker",
            image=self._image(),
            environment=self._environment(),
            readonly_root_filesystem=True,
            stop_timeout=cdk.Duration.seconds(self._choice.stop_seconds),
            health_check=ecs.HealthCheck(
                command=["CMD", "python", "-m", "long_worker.health"],
                interval=cdk.Duration.seconds(30),
                timeout=cdk.Duration.seconds(5),
                start_period=cdk.Duration.seconds(60),
                retries=3,
            ),
            # A log that cannot be written holds up no job.
            logging=ecs.AwsLogDriver(
                stream_prefix="worker",
                log_group=self.log_group,
                mode=ecs.AwsLogDriverMode.NON_BLOCKING,
                max_buffer_size=cdk.Size.mebibytes(8),
            ),
        )
        container.add_mount_points(ecs.MountPoint(source_volume="tmp", container_path="/tmp", read_only=False))  # noqa: S108 - in the container
        return task

    def _image(self) -> ecs.ContainerImage:
        if self._choice.image:
            self._grant_pull(self._choice.image)
            return ecs.ContainerImage.from_registry(self._choice.image)
        arm = self._config.architecture == "arm64"
        platform = ecr_assets.Platform.LINUX_ARM64 if arm else ecr_assets.Platform.LINUX_AMD64
        return ecs.ContainerImage.from_asset(str(build_folder()), file=DOCKERFILE, platform=platform)

    def _grant_pull(self, image: str) -> None:
        """Of a repository in ECR; any other has to be open to everybody."""
        found = ECR_IMAGE.fullmatch(image)
        if found is None:
            return
        account, region, name = found.groups()
        arn = cdk.Stack.of(self).format_arn(
            service="ecr", account=account, region=region, resource="repository", resource_name=name
        )
        self.execution_role.add_to_policy(iam.PolicyStatement(actions=list(PULLS), resources=[arn]))
        # Of the registry as a whole: it has no resource.
        self.execution_role.add_to_policy(iam.PolicyStatement(actions=["ecr:GetAuthorizationToken"], resources=["*"]))

    def _environment(self) -> dict[str, str]:
        part = Part(
            "worker",
            Size(memory_mb=self._choice.memory_mb, timeout_seconds=0),
            environment={
                settings.RUN_QUEUE_URLS: self._queues().urls,
                settings.WEBHOOK_ALLOWED_NETWORKS: self._config.webhook_allowed_networks,
                **EventBus(self._config).settings,
                JOBS: str(self._choice.jobs_at_once),
                STOP_SECONDS: str(self._choice.stop_seconds),
                PROTECTION_MINUTES: str(self._choice.protection_minutes),
                "AWS_DEFAULT_REGION": cdk.Stack.of(self).region,
            },
        )
        return environment_of(self._config, part)

    # --- the service -------------------------------------------------------------------------------------------

    def _service(self, network: LongNetwork) -> ecs.FargateService:
        return ecs.FargateService(
            self,
            "Service",
            service_name=self.name,
            cluster=self.cluster,
            task_definition=self.task,
            capacity_provider_strategies=self._capacity(),
            vpc_subnets=network.subnets,
            security_groups=network.security_groups,
            assign_public_ip=network.has_public_addresses,
            circuit_breaker=ecs.DeploymentCircuitBreaker(enable=True, rollback=True),
            min_healthy_percent=100,
            max_healthy_percent=200,
            # It would stop tasks for no more than an even spread.
            availability_zone_rebalancing=ecs.AvailabilityZoneRebalancing.DISABLED,
            propagate_tags=ecs.PropagatedTagSource.SERVICE,
            enable_execute_command=False,
        )

    def _capacity(self) -> list[ecs.CapacityProviderStrategy]:
        if not self._choice.has_spot:
            return [ecs.CapacityProviderStrategy(capacity_provider="FARGATE", weight=1)]
        base = self._choice.on_demand_tasks
        # The base cannot be taken back at two minutes' notice, and is there when there is no Spot capacity.
        return [
            ecs.CapacityProviderStrategy(capacity_provider="FARGATE", base=base, weight=0),
            ecs.CapacityProviderStrategy(capacity_provider="FARGATE_SPOT", weight=1),
        ]

    # --- how many ----------------------------------------------------------------------------------------------

    def _scale(self) -> None:
        target = self.service.auto_scale_task_count(
            min_capacity=self._choice.min_tasks, max_capacity=self._choice.max_tasks
        )
        # By the resource itself: the CDK's own policies take no metric math.
        autoscaling.CfnScalingPolicy(
            self,
            "Load",
            policy_name=f"{self.name}-load",
            policy_type="TargetTrackingScaling",
            scaling_target_id=self._target_id(target),
            target_tracking_scaling_policy_configuration=autoscaling.CfnScalingPolicy.TargetTrackingScalingPolicyConfigurationProperty(
                target_value=self._choice.load_percent / 100,
                scale_out_cooldown=SCALE_OUT_SECONDS,
                scale_in_cooldown=SCALE_IN_SECONDS,
                customized_metric_specification=autoscaling.CfnScalingPolicy.CustomizedMetricSpecificationProperty(
                    metrics=self._metrics()
                ),
            ),
        )

    def _target_id(self, target: ecs.ScalableTaskCount) -> str:
        [found] = [one for one in target.node.find_all() if isinstance(one, autoscaling.CfnScalableTarget)]
        return found.ref

    def _metrics(self) -> list[autoscaling.CfnScalingPolicy.TargetTrackingMetricDataQueryProperty]:
        queue = f"{self._config.prefix}-runs-{LONG_QUEUE}"
        own = settings.namespace_of(self._config.prefix)
        return [
            _query("waiting", "AWS/SQS", "ApproximateNumberOfMessagesVisible", {"QueueName": queue}, "Maximum"),
            _query("busy", own, "long_busy", {"service": "worker"}, "Sum"),
            _query("places", own, "long_places", {"service": "worker"}, "Sum"),
            autoscaling.CfnScalingPolicy.TargetTrackingMetricDataQueryProperty(
                id="load", expression=LOAD, label="work for each place", return_data=True
            ),
        ]


def _query(
    name: str, namespace: str, metric: str, dimensions: dict[str, str], stat: str
) -> autoscaling.CfnScalingPolicy.TargetTrackingMetricDataQueryProperty:
    policy = autoscaling.CfnScalingPolicy
    return policy.TargetTrackingMetricDataQueryProperty(
        id=name,
        return_data=False,
        metric_stat=policy.TargetTrackingMetricStatProperty(
            stat=stat,
            metric=policy.TargetTrackingMetricProperty(
                namespace=namespace,
                metric_name=metric,
                dimensions=[
                    policy.TargetTrackingMetricDimensionProperty(name=one, value=value)
                    for one, value in dimensions.items()
                ],
            ),
        ),
    )
